/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/heads.h - launches at the head of a loop, and what they have in common
 */
#pragma once

#include "analyze/iterations/sequence.h"

/* A sign that fewer segments have is none. */
static const double majority = 0.5;

enum head_sign { HEAD_UNKNOWN, HEAD_BY_PLACE, HEAD_BY_GAP, HEAD_BY_REPETITION };

/* A segment has the launches after an anchor up to the next one. */
struct heads {
	const struct sequence *sequence;
	const struct anchor *anchor;
	enum head_sign sign;
	uint32_t place; /* the smallest usual place */
	uint32_t pair;  /* the usual pair of a head */
	uint32_t key;   /* the usual key of a head */
	/* launches from the anchor before and to the anchor after, with the share of the segments
	 * that have this distance */
	size_t after, before;
	double after_share, before_share;
	size_t length; /* median of the segments */
};

/* A pair after long gaps. */
struct long_pair {
	uint64_t gap_ns;                   /* sum of all, divided by the number of anchors */
	size_t last;                       /* its last launch */
	uint32_t segment, segments, count; /* the last segment with it, from 1; their number */
};

enum { NEIGHBOURS = 8, SIDES = 4 };

/* Common properties of the launches at the head of a loop. */
struct head_likeness {
	uint64_t low_gap_ns, high_gap_ns; /* nearly all gaps are between */
	uint32_t keys[SIDES][NEIGHBOURS]; /* beside most heads: before and after them, each
					     launch and without repetitions */
	double shares[SIDES][NEIGHBOURS]; /* part of the heads with this key; 0: less than half */
	/* before and after: the sum of shares that most heads have, and how little of it other
	 * launches of their kernel have, 0 to 1 */
	double usual[2], weight[2];
	uint64_t *lengths;                 /* owned; of the segments, sorted */
	size_t lengths_count, usual_count; /* usual_count: median number of similar lengths */
	bool is_regular;                   /* most lengths are similar */
};

/* list: launches known as heads. -ENOMEM. */
int head_likeness_init(const struct heads *heads, const size_t *list, size_t count,
		       struct head_likeness *like);
void head_likeness_fini(struct head_likeness *like);
/* Evidence for a head: positive for one, negative against it. */
double head_likeness_of_launch(const struct heads *heads, const struct head_likeness *like,
			       size_t i);
/* 0 for a usual length of an iteration, negative for an unusual one. */
double head_likeness_of_length(const struct head_likeness *like, size_t length);

/* The launches that are most likely the heads: a list that the caller frees. -ENOMEM. */
int heads_choose(const struct heads *heads, const struct head_likeness *like, size_t **ret_list,
		 size_t *ret_count);

/* Sorts numbers; returns the most frequent one and its share. */
uint64_t most_frequent(uint64_t *numbers, size_t count, double *ret_share);
