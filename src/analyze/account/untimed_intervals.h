/* SPDX-License-Identifier: MIT
 *
 * analyze/account/untimed_intervals.h - intervals in which a device may have run a
 * command without times
 *
 * A set of half-open intervals of host time with bounded memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_UNTIMED_INTERVALS 65536

struct untimed_interval {
	uint64_t begin, end;
	uint64_t before; /* length of all intervals before it, after untimed_intervals_close */
};

struct untimed_intervals {
	struct untimed_interval *intervals;
	size_t count, capacity;
	uint64_t grain_ns; /* breaks shorter than this are part of an interval too */
};

void untimed_intervals_fini(struct untimed_intervals *untimed); /* NULL-safe */

/* Ignores empty intervals. -ENOMEM. */
int untimed_intervals_add(struct untimed_intervals *untimed, uint64_t begin, uint64_t end);

/* Sorts and joins. Call it before untimed_intervals_find and untimed_intervals_inside. */
void untimed_intervals_close(struct untimed_intervals *untimed);

/* The first interval that ends after `time`; NULL: none does. */
const struct untimed_interval *untimed_intervals_find(const struct untimed_intervals *untimed,
						      uint64_t time);

/* How much of [begin, end) is in an interval. */
uint64_t untimed_intervals_inside(const struct untimed_intervals *untimed, uint64_t begin,
				  uint64_t end);
