/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/switch_losses.h - the intervals in which rows of switches were lost
 *
 * Private to analyze/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_loss;
struct sweep;

/* The losses of switches that a thread has passed. */
struct loss_cursor {
	size_t next;   /* index of the next one */
	uint64_t from; /* latest row of the thread inside of that one or of an earlier one */
};

/* Disjoint intervals in which rows of switches were lost, ascending. */
struct sweep_switch_losses {
	struct switch_loss {
		uint64_t begin, end;
	} * list; /* owned */
	size_t count, capacity;
};

/* Whether the times of the lost switches are known. */
bool sweep_is_bounded_loss(const struct event_loss *loss);
int sweep_make_switch_losses(struct sweep *sweep);
void sweep_switch_losses_fini(struct sweep_switch_losses *losses);

/* A row that shows what a thread did. */
struct thread_row {
	uint64_t time;
	bool is_entry; /* it enters a processor; is_woken: the row names its waker */
	bool is_woken;
};

/* The time before a row in which the state of its thread is not known. */
struct switch_gap {
	bool has_any;
	bool is_inside; /* it lasts beyond the row */
	uint64_t from, until;
};
struct switch_gap sweep_pass_losses(const struct sweep *sweep, struct loss_cursor *cursor,
				    const struct thread_row *row);
