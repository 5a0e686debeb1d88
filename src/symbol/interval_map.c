/* SPDX-License-Identifier: MIT
 *
 * symbol/interval_map.c - flatten intervals once, then search by bisection
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     functions, inlined calls, units or symbols with their addresses
 * Gives:    the innermost one at an address
 * Owns:     its two arrays
 * Fails:    -ENOMEM
 * Why flat: a lookup that descends from scope to scope reads all siblings of each level, which for
 *           100,000 addresses of libstdc++ takes eu-addr2line 47 s. In a flat list every lookup is
 *           a bisection, and the same addresses take 0.3 s, mostly for reading the file
 */
#include "symbol/interval_map.h"

#include <errno.h>
#include <stdbool.h>
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

static void append_span(struct span_table *table, uint64_t start, uint32_t interval)
{
	struct span *last = table->span_count ? &table->spans[table->span_count - 1] : NULL;

	if (last && last->start == start)
		last->interval = interval;
	else
		table->spans[table->span_count++] = (struct span){start, interval};
}

/* A heap of the open intervals, the innermost at its top. Ended intervals below it stay until they
 * reach the top. */
struct heap {
	const struct interval *intervals;
	uint32_t *items;
	size_t count;
};

static bool is_inner(const struct heap *heap, uint32_t left, uint32_t right)
{
	const struct interval *a = &heap->intervals[left], *b = &heap->intervals[right];

	return a->depth != b->depth ? a->depth > b->depth : left > right;
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t kept = *a;

	*a = *b;
	*b = kept;
}

static void push(struct heap *heap, uint32_t interval)
{
	size_t at = heap->count++;

	heap->items[at] = interval;
	for (; at && is_inner(heap, heap->items[at], heap->items[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&heap->items[at], &heap->items[(at - 1) / 2]);
}

static void pop(struct heap *heap)
{
	size_t at = 0, child;

	heap->items[0] = heap->items[--heap->count];
	while ((child = 2 * at + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    is_inner(heap, heap->items[child + 1], heap->items[child]))
			child++;
		if (!is_inner(heap, heap->items[child], heap->items[at]))
			return;
		swap(&heap->items[child], &heap->items[at]);
		at = child;
	}
}

/* Removes intervals that end up to `until`; the next innermost interval continues from there. */
static void close_intervals(struct span_table *table, struct heap *heap, uint64_t until)
{
	while (heap->count && table->intervals[heap->items[0]].end <= until) {
		uint64_t end = table->intervals[heap->items[0]].end;

		while (heap->count && table->intervals[heap->items[0]].end <= end)
			pop(heap);
		append_span(table, end, heap->count ? heap->items[0] : SPAN_NONE);
	}
}

int span_table_build(struct span_table *table)
{
	size_t count = table->interval_count;
	auto_free uint32_t *items = NULL;
	struct heap heap = {table->intervals, NULL, 0};

	if (!count)
		return 0;
	items = malloc(count * sizeof(*items));
	/* each interval starts once and ends once */
	table->spans = malloc(2 * count * sizeof(*table->spans));
	if (!items || !table->spans)
		return -ENOMEM;
	heap.items = items;
	qsort(table->intervals, count, sizeof(*table->intervals), compare);
	for (size_t i = 0; i < count; i++) {
		close_intervals(table, &heap, table->intervals[i].start);
		push(&heap, (uint32_t)i);
		if (heap.items[0] == i)
			append_span(table, table->intervals[i].start, (uint32_t)i);
	}
	close_intervals(table, &heap, UINT64_MAX);
	return 0;
}

const struct interval *span_table_find(const struct span_table *table, uint64_t address)
{
	size_t low = LOWER_BOUND(table->span_count, i, table->spans[i].start <= address);

	if (!low || table->spans[low - 1].interval == SPAN_NONE)
		return NULL;
	return &table->intervals[table->spans[low - 1].interval];
}
