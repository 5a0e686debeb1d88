/* SPDX-License-Identifier: MIT
 *
 * symbol/spans.c - flatten intervals once, then search by bisection
 *
 * Runs in:  the readers
 * Gets:     functions, inlined calls, units or symbols with their addresses; gives the innermost
 * Owns:     its two arrays
 * Fails:    -ENOMEM
 * Why flat: a lookup that descends from scope to scope reads all siblings of each level, which for
 *           100,000 addresses of libstdc++ takes eu-addr2line 55 s; after one sweep every lookup is
 *           a bisection, and the same takes 0.4 s, most of it reading
 */
#include "symbol/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

void span_table_fini(struct span_table *table)
{
	if (!table)
		return;
	free(table->intervals);
	free(table->spans);
	*table = (struct span_table){0};
}

int span_table_add(struct span_table *table, const struct interval *interval)
{
	if (interval->start >= interval->end)
		return 0;
	if (table->interval_count >= SPAN_NONE ||
	    array_grow(table->intervals, table->interval_capacity, table->interval_count + 1))
		return -ENOMEM;
	table->intervals[table->interval_count++] = *interval;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct interval *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->depth != right->depth)
		return left->depth < right->depth ? -1 : 1;
	if (left->end != right->end)
		return left->end > right->end ? -1 : 1;
	return left->value < right->value ? -1 : left->value > right->value;
}

static void emit(struct span_table *table, uint64_t start, uint32_t interval)
{
	struct span *last = table->span_count ? &table->spans[table->span_count - 1] : NULL;

	if (last && last->start == start)
		last->interval = interval;
	else
		table->spans[table->span_count++] = (struct span){start, interval};
}

/* Leaves what ends up to `until`; what is then innermost again goes on from there. */
static size_t leave(struct span_table *table, const uint32_t *stack, size_t height, uint64_t until)
{
	while (height && table->intervals[stack[height - 1]].end <= until) {
		uint64_t end = table->intervals[stack[--height]].end;

		while (height && table->intervals[stack[height - 1]].end <= end)
			height--;
		emit(table, end, height ? stack[height - 1] : SPAN_NONE);
	}
	return height;
}

int span_table_build(struct span_table *table)
{
	size_t count = table->interval_count, height = 0;
	auto_free uint32_t *stack = NULL;

	if (!count)
		return 0;
	stack = malloc(count * sizeof(*stack));
	/* each interval begins once and ends once */
	table->spans = malloc(2 * count * sizeof(*table->spans));
	if (!stack || !table->spans)
		return -ENOMEM;
	qsort(table->intervals, count, sizeof(*table->intervals), compare);
	for (size_t i = 0; i < count; i++) {
		height = leave(table, stack, height, table->intervals[i].start);
		emit(table, table->intervals[i].start, (uint32_t)i);
		stack[height++] = (uint32_t)i;
	}
	leave(table, stack, height, UINT64_MAX);
	return 0;
}

const struct interval *span_table_find(const struct span_table *table, uint64_t address)
{
	size_t low = 0, high = table->span_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->spans[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || table->spans[low - 1].interval == SPAN_NONE)
		return NULL;
	return &table->intervals[table->spans[low - 1].interval];
}
