/* SPDX-License-Identifier: MIT
 *
 * symbol/interval_map.h - find the innermost of many nested or overlapping intervals
 *
 * Only symbol/ includes this.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct interval {
	uint64_t start, end; /* [start, end) */
	uint32_t depth;      /* the deepest interval around an address is the innermost one */
	uint32_t value;      /* the owner's */
};

/* A stretch of addresses with one innermost interval. */
struct span {
	uint64_t start;
	uint32_t interval; /* index into intervals, SPAN_NONE: none */
};

#define SPAN_NONE UINT32_MAX

struct span_table {
	struct interval *intervals; /* sorted */
	struct span *spans;
	size_t interval_count, interval_capacity, span_count;
};

void span_table_fini(struct span_table *table); /* NULL-safe */

/* Intervals come in any order, empty ones are ignored. Errors: -ENOMEM. */
int span_table_add(struct span_table *table, const struct interval *interval);

/* Call it once, after the last add. Errors: -ENOMEM. */
int span_table_build(struct span_table *table);

/* The deepest interval around `address`; of equally deep ones, the one that starts last; NULL:
 * none. */
const struct interval *span_table_find(const struct span_table *table, uint64_t address);
