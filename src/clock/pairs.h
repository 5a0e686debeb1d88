/* SPDX-License-Identifier: MIT
 *
 * clock/pairs.h - a piecewise linear map from paired readings of a clock and the host clock
 */
#pragma once

#include "clock/map.h"

#define CLOCK_PAIRS_KEPT 4096

struct clock_pair {
	uint64_t time, lower, upper;
};

/* Sorted by time; the narrowest of each stretch of 2^stretch ticks. */
struct clock_pairs {
	struct clock_pair *pairs;
	size_t count, capacity;
	unsigned stretch;
};

void clock_pairs_fini(struct clock_pairs *pairs);
int clock_pairs_add(struct clock_pairs *pairs, const struct clock_pair *pair);

/* Nominal ticks per second from the first and last pair; 0 if they are not enough. */
uint64_t clock_pairs_frequency(const struct clock_pairs *pairs);

/* A piece between any two good pairs that are far enough apart; *ret_map is NULL with fewer than
 * two. [first, last]: times for which error_ns must hold. Errors: -ENOMEM. */
int clock_pairs_solve(const struct clock_pairs *pairs, uint64_t first, uint64_t last,
		      struct clock_map **ret_map, uint64_t *ret_error_ns);

uint64_t clock_pairs_violations(const struct clock_pairs *pairs, const struct clock_map *map,
				uint64_t tolerance_ns);
