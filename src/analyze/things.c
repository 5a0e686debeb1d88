/* SPDX-License-Identifier: MIT
 *
 * analyze/things.c - the things of one kind by their place in the reader's list
 *
 * Runs in:  the readers
 * Gets:     a reader's sorted lists   Gives: dense indices
 * Owns:     nothing
 * Fails:    never; an id that is not there has an index of its own
 * Why:      a file may hold any 32-bit id, so an array by id could take 4 GiB; a list's place never
 *           does, and for the ids a recorder gives out (1, 2, 3, …) it is found at the first look.
 */
#include "analyze/things.h"

#include "trace/reader.h"

static size_t size_of(enum event_kind kind)
{
	switch (kind) {
	case EVENT_HOST:
		return sizeof(struct event_host);
	case EVENT_PROCESS:
		return sizeof(struct event_process);
	case EVENT_THREAD:
		return sizeof(struct event_thread);
	case EVENT_DEVICE:
		return sizeof(struct event_device);
	case EVENT_CONTEXT:
		return sizeof(struct event_context);
	case EVENT_QUEUE:
		return sizeof(struct event_queue);
	case EVENT_CLOCK:
		return sizeof(struct event_clock);
	case EVENT_COLLECTOR:
		return sizeof(struct event_collector);
	case EVENT_CODE:
		return sizeof(struct event_code);
	case EVENT_SERIES:
		return sizeof(struct event_series);
	default:
		return sizeof(struct event_mapping);
	}
}

void things_init(struct things *things, const struct trace_reader *reader, enum event_kind kind)
{
	const void *rows = NULL;

	things->count = trace_reader_things(reader, kind, &rows);
	things->rows = rows;
	things->size = size_of(kind);
}

static uint32_t id_at(const struct things *things, size_t index)
{
	return *(const uint32_t *)(const void *)(things->rows + index * things->size);
}

size_t things_index(const struct things *things, uint32_t id)
{
	size_t low = 0, high = things->count;

	if (id && id <= things->count && id_at(things, id - 1) == id)
		return id - 1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (id_at(things, middle) < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < things->count && id_at(things, low) == id ? low : things->count;
}

const void *things_row(const struct things *things, size_t index)
{
	return index < things->count ? things->rows + index * things->size : NULL;
}
