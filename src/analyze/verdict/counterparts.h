/* SPDX-License-Identifier: MIT
 *
 * analyze/verdict/counterparts.h - places of the threads for which launching threads wait
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/verdict/verdict.h"
#include "base/hash.h"
#include "base/pair_map.h"

/* Instead of the number of a wait. */
#define PREEMPTED_IN_MPI (UINT64_C(1) << 32)

/* A place of a launching thread's counterpart during all waits with one number. */
struct counterpart {
	struct verdict_place place; /* without a function: the late rank is not certain */
	enum verdict_kind kind;     /* its own wait */
	const char *what;           /* the object of that */
	uint32_t thread;
	uint64_t weight, away;
	uint32_t next; /* index + 1 of the next one of the same wait; 0: none */
	/* In the first one of a wait: the weight of all, and of those with a known place. */
	uint64_t all, known;
};

/* All zero: empty. */
struct counterparts {
	/* (wait, stack behind), or with wait 0 (0, place behind) -> index of the first counterpart
	 */
	struct pair_map waits;
	struct string_table places; /* places in which threads wait for other ranks */
	struct counterpart *list;   /* owned */
	size_t count, capacity;
};

/* Lists the counterparts in the verdict's scope. -ENOMEM. */
int counterparts_find(struct counterparts *counterparts, const struct analysis *analysis,
		      struct frames *frames, const struct verdict *verdict);
void counterparts_fini(struct counterparts *counterparts);

/* The number of a place in which a thread waits for other ranks. 0: out of memory. */
uint32_t counterparts_rank_place(struct counterparts *counterparts,
				 const struct verdict_place *place);
/* wait 0: for other ranks. NULL: none. */
const struct counterpart *counterparts_first(const struct counterparts *counterparts, uint64_t wait,
					     uint32_t behind);
const struct counterpart *counterparts_next(const struct counterparts *counterparts,
					    const struct counterpart *one);
/* Whether the wait can be divided among its counterparts. */
bool counterparts_are_certain(const struct counterpart *first);
/* The counterparts behind a thread that has no code of the user's; NULL: none of them has. Two
 * threads that wait in one stack are behind themselves. */
const struct counterpart *counterparts_behind(const struct counterparts *counterparts,
					      uint32_t wait, const struct counterpart *one,
					      unsigned int depth);
