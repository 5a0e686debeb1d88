/* SPDX-License-Identifier: MIT
 *
 * analyze/account/queue_depth.h - how many commands of a queue are in flight, over time
 *
 * A command is in flight from the enter of its launch to its end. The caller adds the enter and end
 * times of commands, each kind in order except for the error of the clocks. They are counted when
 * the caller states by depth_advance that no earlier time can come.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct depth {
	uint64_t from, to; /* the window; to may be UINT64_MAX until depth_finish */
	/* complete after depth_finish */
	uint64_t max;          /* maximum in flight */
	uint64_t empty_ns;     /* none was in flight */
	unsigned __int128 sum; /* commands times ns; divided by the window's length: the mean */

	uint64_t at_end; /* in flight at `to` */
	bool has_ended;  /* at_end is known */
	uint64_t count, cursor;
	uint64_t *enters; /* a ring */
	size_t enters_first, enters_count, enters_capacity;
	uint64_t *ends; /* a heap, the earliest on top */
	size_t ends_count, ends_capacity;
};

void depth_init(struct depth *depth, uint64_t from, uint64_t to);
void depth_fini(struct depth *depth); /* NULL-safe */

/* Enters come in order. -ENOMEM. */
int depth_enter(struct depth *depth, uint64_t enter_ns);
/* The end of a command that was entered. Ends come in any order, but not before the command's
 * enter. -ENOMEM. */
int depth_leave(struct depth *depth, uint64_t end_ns);
/* Counts up to `until`: nothing earlier will come. */
void depth_advance(struct depth *depth, uint64_t until);
/* Counts the rest, up to `to`. Commands without an end stay in flight. */
void depth_finish(struct depth *depth, uint64_t to);

/* Commands in flight on average. */
double depth_mean(const struct depth *depth);
