/* SPDX-License-Identifier: MIT
 *
 * symbol/spans.h - which of many nested or overlapping intervals an address belongs to
 *
 * Only symbol/ includes this.
 */
#ifndef SYMBOL_SPANS_H
#define SYMBOL_SPANS_H

#include <stddef.h>
#include <stdint.h>

struct interval {
	uint64_t start, end; /* [start, end) */
	uint32_t depth;      /* of two around an address the deeper one is the inner one */
	uint32_t value;      /* the owner's */
};

/* Where the innermost interval changes. */
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

/* Intervals come in any order, empty ones are left out. Errors: -ENOMEM. */
int span_table_add(struct span_table *table, const struct interval *interval);

/* Once, after the last add. Errors: -ENOMEM. */
int span_table_build(struct span_table *table);

/* The deepest interval around `address`, of equally deep ones that which began last; NULL: none. */
const struct interval *span_table_find(const struct span_table *table, uint64_t address);

#endif
