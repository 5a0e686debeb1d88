/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/sequence.h - launches as a string of keys, and the anchor of its main loop
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/iterations/iterations.h"

enum { STANDS_OUT = 3 }; /* a gap this many times as long as another one differs from it */

/* Launches as a string. Keys and pairs are numbered from 0. */
struct sequence {
	const struct iterations_launch *launches; /* borrowed */
	size_t count;
	uint32_t *keys; /* owned; by launch */
	uint32_t keys_count;
	uint32_t *pairs; /* owned; the key before a launch, and its split key */
	uint32_t pairs_count;
	bool *pair_is_long;   /* owned; by pair: after a long gap */
	uint64_t long_gap_ns; /* the shortest of the long gaps */
};

int sequence_init(struct sequence *sequence, const struct iterations_input *input); /* -ENOMEM */
void sequence_fini(struct sequence *sequence);

/* Before the first launch: long, but a multiple of it is still a number. */
#define SEQUENCE_LONG_GAP (UINT64_C(1) << 60)

/* Host time between the call before a launch and its call. */
static inline uint64_t sequence_gap(const struct sequence *sequence, size_t i)
{
	const struct iterations_launch *launch = &sequence->launches[i];

	if (!i)
		return SEQUENCE_LONG_GAP;
	return launch->enter > launch[-1].exit ? launch->enter - launch[-1].exit : 0;
}

/* The same with the wait of a call that waits for the device. */
static inline uint64_t sequence_pause(const struct sequence *sequence, size_t i)
{
	const struct iterations_launch *launch = &sequence->launches[i];

	return i && launch[-1].is_blocking && launch->enter > launch[-1].enter
		       ? launch->enter - launch[-1].enter
		       : sequence_gap(sequence, i);
}

/* Doubles the length of the words that end at each launch. words: keys, or the result of an earlier
 * call; `length` is the length of its words. Returns the new words, which the caller frees, or
 * NULL. */
uint32_t *sequence_double(const uint32_t *words, size_t count, size_t length, uint32_t *ret_kinds);

/* Launches that occur once in each iteration: their positions. */
struct anchor {
	size_t *positions; /* owned */
	size_t count;      /* 0: no loop was found */
	bool *is_common;   /* owned; by key: nearly all iterations have it */
	size_t common_count;
};

int anchor_find(const struct sequence *sequence, struct anchor *ret_anchor); /* -ENOMEM */
void anchor_fini(struct anchor *anchor);

/* Drops launches of a list that cut an iteration in two. -ENOMEM. */
int sequence_repair(const struct sequence *sequence, const struct anchor *anchor, size_t *list,
		    size_t *count);

/* Extends steady to the launches directly before and after that are like those of the iterations.
 * -ENOMEM. */
int steady_extend(const struct sequence *sequence, struct iterations *iterations);

/* Sets the places of the launches from `first` to `last`, which are in the loop. */
struct place_source {
	int (*find)(void *context, size_t first, size_t last); /* -ENOMEM */
	void *context;
};

/* The iterations of a sequence. places NULL: the launches' places are as they are. -ENOMEM. */
int sequence_find_iterations(const struct iterations_input *input,
			     const struct place_source *places, struct iterations *ret_iterations);

/* The first launch of each iteration, at the head of the loop: a list that the caller frees.
 * -ENOMEM. */
int heads_find(const struct sequence *sequence, const struct anchor *anchor, size_t **ret_heads,
	       size_t *ret_count);
