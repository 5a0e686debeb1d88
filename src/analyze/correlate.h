/* SPDX-License-Identifier: MIT
 *
 * analyze/correlate.h - launches that wait for their execution, and who waits for whom
 *
 * Tables are keyed by open commands only: launched and not yet executed, or executed and not yet
 * ended, or waited for by such a one.
 */
#ifndef ANALYZE_CORRELATE_H
#define ANALYZE_CORRELATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/calls.h"
#include "analyze/pair_map.h"
#include "event/event.h"

#define CORRELATE_NONE PAIR_MAP_NONE

enum open_state {
	OPEN_FREE,
	OPEN_EXPECTED, /* only a wait-list entry named it so far */
	OPEN_LAUNCHED,
	OPEN_DONE /* executed; kept for those who wait for it */
};

/* The program's ranges that something was within. */
struct within_ranges {
	uint32_t row; /* of the analysis, + 1: the innermost of its thread; 0: none */
	uint32_t set; /* of those that its process has started */
};

struct open_command {
	uint64_t enter, exit, correlation, bytes, handle;
	uint64_t number;        /* of the launch, among all */
	uint64_t groups, items; /* work-groups, work items of one; 0: not known */
	uint64_t ended;         /* OPEN_DONE: host ns; 0: not known */
	uint64_t over_by;       /* known to be over then; UINT64_MAX: not yet known to be */
	uint64_t passes_ns;     /* as unexecuted_add_launch gives it */
	struct calls_sum at_enter;
	uint32_t process, thread, queue; /* process: id; the others: index in the things' lists */
	uint32_t kernel, stack;          /* code id, stack id */
	uint32_t function;               /* string of the call's name */
	uint32_t type, flags;            /* enum event_command, enum event_launch_flag */
	uint32_t launches;               /* row of the analysis's launches; CORRELATE_NONE: none */
	struct within_ranges within;
	uint32_t waits;          /* first of its wait-list entries, CORRELATE_NONE: none */
	uint32_t references;     /* wait-list entries that point here */
	uint32_t previous, next; /* open commands of its queue by enter; CORRELATE_NONE */
	uint8_t state;           /* enum open_state */
	bool has_handle;         /* the table of handles points here */
};

struct correlate_wait {
	uint32_t on, next;
};

struct correlate_end {
	uint64_t ended;
	uint32_t place;
};

struct correlate {
	struct open_command *commands;
	size_t count, capacity;
	uint32_t *free_places;
	size_t free_count, free_capacity;
	struct correlate_wait *waits;
	size_t waits_count, waits_capacity;
	uint32_t free_wait;
	struct pair_map open;       /* (process, correlation) -> place */
	struct pair_map handles;    /* (process, event handle) -> place of the latest launch */
	struct correlate_end *ends; /* heap: executed commands with a handle, earliest end on top */
	size_t ends_count, ends_capacity;
};

void correlate_init(struct correlate *correlate);
void correlate_fini(struct correlate *correlate); /* NULL-safe */

/* Places are valid until correlate_done; pointers until the next launch or dependency. */
int correlate_launch(struct correlate *correlate, uint32_t process, const struct event_launch *row,
		     uint32_t *ret_place);
int correlate_dependency(struct correlate *correlate, const struct event_dependency *row);

/* The launch that waits for this execution, CORRELATE_NONE. */
uint32_t correlate_find(const struct correlate *correlate, uint32_t process, uint64_t correlation);

/* When the last command that this one waits for ended, of those that ended in (after, until]; 0:
 * none did. */
uint64_t correlate_dependency_end(const struct correlate *correlate, uint32_t place, uint64_t after,
				  uint64_t until);

/* It was executed; ended 0: not known. -ENOMEM. */
int correlate_done(struct correlate *correlate, uint32_t place, uint64_t ended);

/* Forgets the handles of commands that had ended by `now`. */
void correlate_expire(struct correlate *correlate, uint64_t now);

#endif
