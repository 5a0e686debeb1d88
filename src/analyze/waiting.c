/* SPDX-License-Identifier: MIT
 *
 * analyze/waiting.c - samples of windows that wait until all is known that may have run in them
 *
 * Runs in:  the readers
 * Gets:     rows of a trace   Gives: them back, window by window
 * Owns:     what they differ in, and of each window once what they have in common
 * Fails:    -ENOMEM
 * Why so:   a window of a busy GPU has 10^5 rows that differ in offset, reason and count alone: 24 bytes instead of 104
 */
#include "analyze/waiting.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

void waiting_fini(struct waiting *waiting)
{
	free(waiting->windows);
	free(waiting->rows);
	*waiting = (struct waiting){0};
}

/* A ring of twice as many items, which begin at its first place. */
static void *grow(const void *ring, size_t size, size_t first, size_t capacity)
{
	const size_t larger = capacity ? 2 * capacity : FIRST_CAPACITY, behind = capacity - first;
	char *made = malloc(larger * size);

	if (!made || !capacity)
		return made;
	memcpy(made, (const char *)ring + first * size, behind * size);
	memcpy(made + behind * size, ring, first * size);
	return made;
}

static int make_room(struct waiting *waiting)
{
	if (waiting->rows_count == waiting->rows_capacity) {
		struct waiting_row *rows = grow(waiting->rows, sizeof(*rows), waiting->rows_first,
						waiting->rows_capacity);

		if (!rows)
			return -ENOMEM;
		free(waiting->rows);
		waiting->rows = rows;
		waiting->rows_first = 0;
		waiting->rows_capacity =
			waiting->rows_capacity ? 2 * waiting->rows_capacity : FIRST_CAPACITY;
	}
	if (waiting->windows_count == waiting->windows_capacity) {
		struct waiting_window *windows =
			grow(waiting->windows, sizeof(*windows), waiting->windows_first,
			     waiting->windows_capacity);

		if (!windows)
			return -ENOMEM;
		free(waiting->windows);
		waiting->windows = windows;
		waiting->windows_first = 0;
		waiting->windows_capacity =
			waiting->windows_capacity ? 2 * waiting->windows_capacity : FIRST_CAPACITY;
	}
	return 0;
}

static bool is_alike(const struct event_instruction_sample *a,
		     const struct event_instruction_sample *b)
{
	return a->begin == b->begin && a->end == b->end && a->correlation == b->correlation &&
	       a->period == b->period && a->period_unit_string == b->period_unit_string &&
	       a->process == b->process && a->device == b->device && a->code == b->code &&
	       a->thread == b->thread && a->stack == b->stack && a->text_string == b->text_string;
}

int waiting_put(struct waiting *waiting, const struct event_instruction_sample *row,
		uint64_t due_ns)
{
	struct waiting_window *last;

	if (make_room(waiting))
		return -ENOMEM;
	last = &waiting->windows[(waiting->windows_first + waiting->windows_count - 1) &
				 (waiting->windows_capacity - 1)];
	if (waiting->windows_count && due_ns < last->due_ns)
		due_ns = last->due_ns;
	if (!waiting->windows_count || due_ns != last->due_ns || !is_alike(&last->head, row)) {
		last = &waiting->windows[(waiting->windows_first + waiting->windows_count++) &
					 (waiting->windows_capacity - 1)];
		*last = (struct waiting_window){.head = *row, .due_ns = due_ns};
	}
	last->count++;
	waiting->rows[(waiting->rows_first + waiting->rows_count++) &
		      (waiting->rows_capacity - 1)] =
		(struct waiting_row){row->offset, row->count, row->stall_string, 0};
	return 0;
}

const struct waiting_window *waiting_first(const struct waiting *waiting)
{
	return waiting->windows_count ? &waiting->windows[waiting->windows_first] : NULL;
}

const struct waiting_row *waiting_row_at(const struct waiting *waiting, size_t index)
{
	return &waiting->rows[(waiting->rows_first + index) & (waiting->rows_capacity - 1)];
}

void waiting_drop(struct waiting *waiting)
{
	const size_t count = waiting->windows[waiting->windows_first].count;

	waiting->windows_first = (waiting->windows_first + 1) & (waiting->windows_capacity - 1);
	waiting->windows_count--;
	waiting->rows_first = (waiting->rows_first + count) & (waiting->rows_capacity - 1);
	waiting->rows_count -= count;
}

size_t waiting_size(const struct waiting *waiting)
{
	return waiting->rows_count +
	       waiting->windows_count * sizeof(struct waiting_window) / sizeof(struct waiting_row);
}
