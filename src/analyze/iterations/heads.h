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

enum { NEIGHBOURS = 8 };

/* Common properties of the launches at the head of a loop. */
struct head_likeness {
	uint64_t gap_ns;           /* median */
	uint32_t keys[NEIGHBOURS]; /* that most heads have beside them */
	double shares[NEIGHBOURS]; /* part of the heads with this key; 0: less than half */
};

/* numbers: room for `count`. */
void head_likeness_find(const struct heads *heads, const size_t *list, size_t count,
			uint64_t *numbers, struct head_likeness *ret_like);
/* Sides on which a launch with the key of the heads has the neighbours of a head: 0 to 2. */
unsigned int heads_like_sides(const struct heads *heads, const struct head_likeness *like,
			      size_t i);
/* Whether a launch has the key of the heads, a long gap, and the neighbours of a head on one side:
 * other launches may be on the other side. */
bool heads_is_like(const struct heads *heads, const struct head_likeness *like, size_t i);

/* Sorts numbers; returns the most frequent one and its share. */
uint64_t most_frequent(uint64_t *numbers, size_t count, double *ret_share);
