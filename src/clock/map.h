/* SPDX-License-Identifier: MIT
 *
 * clock/map.h - how a map is built; only clock/ includes this
 */
#pragma once

#include "clock/clock.h"

/* Host times inside clock/ carry 32 fraction bits, so that rounding does not move the middle of a
 * feasible set over a bound. A line nearer than half a nanosecond to a feasible one is rounded to a
 * nanosecond that the (whole) bound allows. */
#define CLOCK_FRACTION_BITS 32

/* A slope: rise_ns nanoseconds of the host in run_ticks ticks; run_ticks > 0. */
struct clock_slope {
	int64_t rise_ns, run_ticks;
};

/* Room for `capacity` pieces, none set. Errors: -ENOMEM. */
int clock_map_new(size_t capacity, struct clock_map **ret_map);

/* Appends a piece that starts at (time, host) and rises by `rise` in `run` ticks. host and rise
 * have CLOCK_FRACTION_BITS fraction bits. Call in the order of increasing time, at most `capacity`
 * times. A run of 0 or a rise that is not positive makes a flat piece. */
void clock_map_append(struct clock_map *map, uint64_t time, __int128 host, __int128 rise,
		      uint64_t run);

int clock_map_copy(const struct clock_map *map, struct clock_map **ret_map);
bool clock_map_is_identity(const struct clock_map *map);
