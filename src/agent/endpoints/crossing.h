/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/crossing.h - commands and calls that are still running at the end of an interval
 *
 * An analysis counts a command in each window that it overlaps. Crossings take it out of all
 * windows but the one in which it ends, so that counts of consecutive intervals add up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/observer.h"

struct crossing;
struct live_snapshot;

/* All zero except for end_ns: none. */
struct crossings {
	uint64_t end_ns; /* end of the interval, host ns */
	const struct analysis *analysis;
	struct crossing *all; /* owned */
	size_t count, capacity;
};

void crossings_fini(struct crossings *crossings);

/* Collects them during an analysis. */
struct analysis_observer crossings_observer(struct crossings *crossings);

/* Takes them out of the counts and sums of durations of a snapshot of that analysis. Busy and idle
 * times are not changed: they are those of the interval. */
void crossings_subtract(const struct crossings *crossings, struct live_snapshot *snapshot);
