/* SPDX-License-Identifier: MIT
 *
 * analyze/verdict/launch_bound.h - idle time of launches that came only after a wait for the device
 *
 * docs/design/verdict.md, "Launch-bound programs", defines it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/verdict/verdict.h"
#include "base/pair_map.h"

/* A part of the time of several states that belongs to such launches. */
struct launch_bound_part {
	uint64_t ns;         /* not taken yet */
	uint64_t all_ns;     /* time of the states from which it was not taken yet */
	uint64_t missing_ns; /* no state has it */
};

/* The time that other causes lose to this one in a verdict's scope. All zero: none. */
struct launch_bound {
	struct launch_bound_part *parts; /* owned; by cause, then by call that waited */
	size_t count, capacity;
	struct pair_map calls;          /* (function string, stack) -> index of parts */
	uint64_t (*paths)[CAUSE_COUNT]; /* owned; by path */
};

/* Finds nothing if the verdict's device is not launch-bound. -ENOMEM. */
int launch_bound_find(struct launch_bound *bound, const struct analysis *analysis,
		      const struct verdict *verdict);
void launch_bound_fini(struct launch_bound *bound);

/* The part of a state's ns that belongs to such launches. Call it once for each state. */
uint64_t launch_bound_take(struct launch_bound *bound, const struct analysis_state *state,
			   uint64_t ns);
/* The same for the time of a path's cause. */
uint64_t launch_bound_of_path(const struct launch_bound *bound, size_t path,
			      enum account_cause cause);
/* The time of a row in the verdict's scope; ret_cause: the account's cause with most of it. */
uint64_t launch_bound_of_row(struct launch_bound *bound, const struct verdict *verdict,
			     const struct analysis_waited *row, enum account_cause *ret_cause);
