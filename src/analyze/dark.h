/* SPDX-License-Identifier: MIT
 *
 * analyze/dark.h - when a device had a command of which nobody knows when it ran
 *
 * A set of half-open intervals of host time; memory is bounded however many are added.
 */
#ifndef ANALYZE_DARK_H
#define ANALYZE_DARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DARK_KEPT 65536

struct dark_interval {
	uint64_t begin, end;
	uint64_t before; /* dark time of all intervals before it, after dark_close */
};

struct dark {
	struct dark_interval *intervals;
	size_t count, capacity;
	uint64_t grain_ns; /* breaks shorter than this are dark too */
};

void dark_init(struct dark *dark);
void dark_fini(struct dark *dark); /* NULL-safe */

/* Nothing where begin >= end. -ENOMEM. */
int dark_add(struct dark *dark, uint64_t begin, uint64_t end);

/* Sorts and joins; only then it can be asked. */
void dark_close(struct dark *dark);

/* The first interval that ends after `time`; NULL: none does. */
const struct dark_interval *dark_find(const struct dark *dark, uint64_t time);

/* How much of [begin, end) is dark. */
uint64_t dark_inside(const struct dark *dark, uint64_t begin, uint64_t end);

#endif
