/* SPDX-License-Identifier: MIT
 *
 * collect/counter/series.c - queue of rows from a sampler's thread to the writer
 *
 * Runs in:  a sampler's thread puts, the main thread takes
 * Gets:     rows, and the description of their series
 * Gives:    the same, in order
 * Owns:     a ring and a table of slots, both of fixed size
 * Fails:    if one is full, the row is refused and counted
 * Why:      The description of a series stays in a slot until the main thread passes it to the
 *           writer, because the writer may wait for a disk and a sampler must not. The slot is free
 *           again when the main thread has taken the series' end.
 */
#include "collect/counter/series.h"

#include <errno.h>
#include <stdlib.h>

int series_open(struct series *series, size_t slots, size_t rows)
{
	*series = (struct series){.items_count = 1, .slots_count = slots};
	while (series->items_count < rows)
		series->items_count *= 2;
	series->items = calloc(series->items_count, sizeof(*series->items));
	series->slots = calloc(slots, sizeof(*series->slots));
	if (series->items && series->slots)
		return 0;
	series_close(series);
	return -ENOMEM;
}

void series_close(struct series *series)
{
	if (!series)
		return;
	free(series->items);
	free(series->slots);
	series->items = NULL;
	series->slots = NULL;
}

static bool put_item(struct series *series, const struct series_item *item)
{
	uint64_t at = atomic_load_explicit(&series->put, memory_order_relaxed);

	if (at - atomic_load_explicit(&series->taken, memory_order_acquire) ==
	    series->items_count) {
		atomic_fetch_add_explicit(&series->refused, 1, memory_order_relaxed);
		atomic_store_explicit(&series->last_lost_ns, item->end, memory_order_relaxed);
		return false;
	}
	series->items[at & (series->items_count - 1)] = *item;
	atomic_store_explicit(&series->put, at + 1, memory_order_release);
	return true;
}

static uint32_t find_slot(struct series *series)
{
	for (size_t i = 0; i < series->slots_count; i++) {
		size_t slot = (series->next_slot + i) % series->slots_count;

		if (!atomic_load_explicit(&series->slots[slot].is_taken, memory_order_acquire)) {
			series->next_slot = slot + 1;
			return (uint32_t)slot;
		}
	}
	return SERIES_NO_SLOT;
}

void series_count_unnamed(struct series *series, uint64_t now_ns)
{
	atomic_fetch_add_explicit(&series->unnamed, 1, memory_order_relaxed);
	atomic_store_explicit(&series->last_lost_ns, now_ns, memory_order_relaxed);
}

void series_count_lost(struct series *series, uint64_t count, uint64_t now_ns)
{
	if (!count)
		return;
	atomic_fetch_add_explicit(&series->refused, count, memory_order_relaxed);
	atomic_store_explicit(&series->last_lost_ns, now_ns, memory_order_relaxed);
}

uint32_t series_begin(struct series *series, const struct series_slot *about, uint64_t now_ns)
{
	struct series_item item = {.begin = now_ns, .end = now_ns, .what = SERIES_BEGIN};
	struct series_slot *slot;

	item.slot = find_slot(series);
	if (item.slot == SERIES_NO_SLOT) {
		series_count_unnamed(series, now_ns);
		return SERIES_NO_SLOT;
	}
	slot = &series->slots[item.slot];
	slot->metric = about->metric;
	slot->file = about->file;
	slot->of = about->of;
	slot->limit = about->limit;
	slot->interval_ns = about->interval_ns;
	slot->id = 0;
	if (!put_item(series, &item))
		return SERIES_NO_SLOT;
	atomic_store_explicit(&slot->is_taken, true, memory_order_relaxed);
	return item.slot;
}

bool series_put(struct series *series, uint32_t slot, uint64_t begin_ns, uint64_t end_ns,
		int64_t value, uint64_t of)
{
	const struct series_item item = {.begin = begin_ns,
					 .end = end_ns,
					 .value = value,
					 .of = of,
					 .slot = slot,
					 .what = SERIES_ROW};

	return put_item(series, &item);
}

bool series_put_loss(struct series *series, uint64_t begin_ns, uint64_t end_ns, uint32_t reason,
		     uint64_t count)
{
	const struct series_item item = {.begin = begin_ns,
					 .end = end_ns,
					 .value = (int64_t)count,
					 .of = reason,
					 .what = SERIES_LOSS};

	return put_item(series, &item);
}

/* If the ring is full, the slot stays in use and the series ends with the recording. */
void series_end(struct series *series, uint32_t slot, uint64_t now_ns)
{
	const struct series_item item = {
		.begin = now_ns, .end = now_ns, .slot = slot, .what = SERIES_END};

	put_item(series, &item);
}

static bool is_noted(const struct series *series, const char *text)
{
	for (size_t i = 0; i < series->noted_count; i++)
		if (series->noted[i] == text)
			return true;
	return series->noted_count == SERIES_NOTES;
}

void series_note(struct series *series, const char *text, uint32_t process)
{
	const struct series_item item = {.slot = process, .what = SERIES_NOTE, .text = text};

	if ((process || !is_noted(series, text)) && put_item(series, &item) && !process)
		series->noted[series->noted_count++] = text;
}

bool series_take(struct series *series, struct series_item *ret_item)
{
	uint64_t at = atomic_load_explicit(&series->taken, memory_order_relaxed);

	if (at == atomic_load_explicit(&series->put, memory_order_acquire))
		return false;
	*ret_item = series->items[at & (series->items_count - 1)];
	atomic_store_explicit(&series->taken, at + 1, memory_order_release);
	return true;
}

void series_release(struct series *series, uint32_t slot)
{
	atomic_store_explicit(&series->slots[slot].is_taken, false, memory_order_release);
}
