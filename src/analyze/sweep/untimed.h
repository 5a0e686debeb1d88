/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/untimed.h - commands without times: the state of untimed_commands.c, and unplaced.c
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pair_map.h"

struct sweep_skipped;
struct untimed_intervals;
struct analysis;

/* ---- unplaced.c: launches in flight that name no described queue ---- */

struct unplaced_launch {
	uint32_t process; /* id */
	uint64_t enter;
};

/* A process that launched a command of a device. */
struct device_user {
	uint32_t process;      /* id */
	uint32_t device;       /* index */
	uint64_t latest_enter; /* enter of its latest launch */
};

/* All zero before the first sweep_unplaced_init. */
struct sweep_unplaced {
	struct unplaced_launch *launches; /* owned */
	size_t count, capacity;
	struct device_user *users; /* owned */
	size_t users_count, users_capacity;
	struct pair_map users_index; /* (process, device) -> index of users */
};

void sweep_unplaced_fini(struct sweep_unplaced *unplaced);

/* A launch without an execution. Errors: -ENOMEM. */
int sweep_unplaced_add(struct sweep_unplaced *unplaced, uint32_t process, uint64_t enter);

/* A recorded launch whose command is in the account of the device. Errors: -ENOMEM. */
int sweep_unplaced_note_user(struct sweep_unplaced *unplaced, uint32_t process, size_t device,
			     uint64_t enter);

/* Adds each launch to the devices on which it may be in flight. */
void sweep_unplaced_place(struct sweep_unplaced *unplaced, struct analysis *analysis);

/* ---- untimed_commands.c ---- */

/* The open commands of a queue whose end is not known yet. */
struct queue_list {
	uint32_t first, last; /* places, CORRELATE_NONE: empty */
};

/* `intervals` and `skipped` belong to analysis.c, which keeps them from the first sweep to the
 * second. */
/* The end of an interval without recorded launches. Commands that were launched in it may run until
 * a later one starts. */
struct left_out_end {
	uint64_t end;
	uint32_t process; /* id */
	size_t device;    /* index */
	bool is_over;     /* a later command has started */
};

struct sweep_untimed {
	struct queue_list
		*lists; /* owned; by queue index: open commands in the order of their launch */
	struct untimed_intervals
		*intervals; /* by device index; found in a first sweep, used in a second */
	bool uses_intervals;
	struct sweep_skipped *skipped; /* found in a first sweep, used in a second */
	size_t skipped_next;           /* index of the next launch that is skipped */
	struct left_out_end *left_out; /* owned; sorted by end */
	size_t left_out_first, left_out_count, left_out_capacity; /* first: not over yet */
	struct sweep_unplaced unplaced;
};
