/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/pending_samples.h - a queue of instruction samples that wait until all executions
 * of their time window are known
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

/* The members in which samples of one window differ. */
struct pending_row {
	uint64_t offset, count;
	uint32_t stall_string, reserved;
};

struct pending_window {
	/* the first sample; the others share all members that are not in struct pending_row */
	struct event_instruction_sample head;
	uint64_t due_ns;
	size_t count;
};

/* A FIFO of windows. Initialise to zero. Both rings have a power of two as capacity. */
struct pending_samples {
	struct pending_window *windows; /* owned */
	size_t windows_first, windows_count, windows_capacity;
	struct pending_row *rows; /* owned; the rows of the first window, then of the second, … */
	size_t rows_first, rows_count, rows_capacity;
};

void pending_samples_fini(struct pending_samples *waiting);

/* Appends a sample. Its due time is raised to that of the sample before it. On -ENOMEM nothing has
 * changed. */
int pending_samples_put(struct pending_samples *waiting, const struct event_instruction_sample *row,
			uint64_t due_ns);

/* The first window; NULL: the queue is empty. Valid until the next pending_samples_put. */
const struct pending_window *pending_samples_first(const struct pending_samples *waiting);
/* A row of the first window. */
const struct pending_row *pending_samples_row_at(const struct pending_samples *waiting,
						 size_t index);
/* Removes the first window. */
void pending_samples_drop(struct pending_samples *waiting);

/* Size of the queue in rows. A window counts as the number of rows that take the same memory. */
size_t pending_samples_size(const struct pending_samples *waiting);
