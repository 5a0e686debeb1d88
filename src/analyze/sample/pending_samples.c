/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/pending_samples.c - a queue of instruction samples that wait until all executions
 * of their time window are known
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     instruction samples of a trace
 * Gives:    the samples, window by window
 * Owns:     a row for each sample, and each window's common members once
 * Fails:    -ENOMEM
 * Why common members once: a window of a busy GPU has 10^5 rows that differ only in offset, reason
 *           and count. So a row takes 24 bytes instead of 104.
 */
#include "analyze/sample/pending_samples.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

void pending_samples_fini(struct pending_samples *waiting)
{
	free(waiting->windows);
	free(waiting->rows);
	*waiting = (struct pending_samples){0};
}

static bool is_alike(const struct event_instruction_sample *a,
		     const struct event_instruction_sample *b)
{
	return a->begin == b->begin && a->end == b->end && a->correlation == b->correlation &&
	       a->period == b->period && a->period_unit_string == b->period_unit_string &&
	       a->process == b->process && a->device == b->device && a->code == b->code &&
	       a->thread == b->thread && a->stack == b->stack && a->text_string == b->text_string;
}

int pending_samples_put(struct pending_samples *waiting, const struct event_instruction_sample *row,
			uint64_t due_ns)
{
	struct pending_window *last;

	if (array_grow_ring(waiting->rows, waiting->rows_capacity, waiting->rows_first,
			    waiting->rows_count) ||
	    array_grow_ring(waiting->windows, waiting->windows_capacity, waiting->windows_first,
			    waiting->windows_count))
		return -ENOMEM;
	last = &waiting->windows[(waiting->windows_first + waiting->windows_count - 1) &
				 (waiting->windows_capacity - 1)];
	if (waiting->windows_count && due_ns < last->due_ns)
		due_ns = last->due_ns;
	if (!waiting->windows_count || due_ns != last->due_ns || !is_alike(&last->head, row)) {
		last = &waiting->windows[(waiting->windows_first + waiting->windows_count++) &
					 (waiting->windows_capacity - 1)];
		*last = (struct pending_window){.head = *row, .due_ns = due_ns};
	}
	last->count++;
	waiting->rows[(waiting->rows_first + waiting->rows_count++) &
		      (waiting->rows_capacity - 1)] =
		(struct pending_row){row->offset, row->count, row->stall_string, 0};
	return 0;
}

const struct pending_window *pending_samples_first(const struct pending_samples *waiting)
{
	return waiting->windows_count ? &waiting->windows[waiting->windows_first] : NULL;
}

const struct pending_row *pending_samples_row_at(const struct pending_samples *waiting,
						 size_t index)
{
	return &waiting->rows[(waiting->rows_first + index) & (waiting->rows_capacity - 1)];
}

void pending_samples_drop(struct pending_samples *waiting)
{
	const size_t count = waiting->windows[waiting->windows_first].count;

	waiting->windows_first = (waiting->windows_first + 1) & (waiting->windows_capacity - 1);
	waiting->windows_count--;
	waiting->rows_first = (waiting->rows_first + count) & (waiting->rows_capacity - 1);
	waiting->rows_count -= count;
}

size_t pending_samples_size(const struct pending_samples *waiting)
{
	return waiting->rows_count +
	       waiting->windows_count * sizeof(struct pending_window) / sizeof(struct pending_row);
}
