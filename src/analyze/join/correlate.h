/* SPDX-License-Identifier: MIT
 *
 * analyze/join/correlate.h - the open launches by correlation id, and the dependencies between them
 *
 * The tables contain only open commands. A command is open from its launch until it has ended, and
 * longer while an open command waits for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/account/calls.h"
#include "base/pair_map.h"
#include "event/event.h"

#define CORRELATE_NONE PAIR_MAP_NONE

enum open_state {
	OPEN_FREE,
	OPEN_EXPECTED, /* only its wait list came so far */
	OPEN_LAUNCHED,
	OPEN_DONE /* executed; kept for commands that wait for it */
};

/* The program's ranges that enclosed a launch or sample. */
struct within_ranges {
	uint32_t row; /* innermost range of the thread: index into the analysis's ranges + 1; 0:
			 none */
	uint32_t set; /* number of the set of start/stop ranges that its process had open */
};

struct open_command {
	uint64_t enter, exit, correlation, bytes, handle;
	uint64_t number;        /* number among all launches */
	uint64_t groups, items; /* number of work-groups, work items of one; 0: not known */
	uint64_t ended;         /* OPEN_DONE: host ns; 0: not known */
	uint64_t over_by;       /* time by which it is known to have ended; UINT64_MAX: not known */
	uint64_t passes_ns;     /* the result of unexecuted_add_launch */
	uint64_t full_begin, full_end; /* as in struct account_command */
	struct calls_sum at_enter;
	uint32_t process, thread,
		queue;          /* process: id; thread, queue: indices in the entities' lists */
	uint32_t kernel, stack; /* code id, stack id */
	uint32_t function;      /* string id of the function's name */
	uint32_t type, flags;   /* enum event_command, enum event_launch_flag */
	uint32_t launches;      /* index into the analysis's launches; CORRELATE_NONE: none */
	struct within_ranges within;
	uint32_t waits;      /* first wait-list entry; CORRELATE_NONE: none */
	uint32_t references; /* wait-list entries that name this command, and its entry in the heap
				of ends */
	uint32_t previous, next; /* neighbours in its queue's list of open commands, sorted by
				    enter; CORRELATE_NONE */
	uint8_t state;           /* enum open_state */
	/* No command, but an event that the program sets: `ended` is when, thread and stack are
	 * those of the call. 0: not yet. */
	bool is_event;
	bool has_handle; /* the entry of `handles` for its event handle is this command */
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

/* A place (index of `commands`) is valid until correlate_done. A pointer to a command is valid
 * until the next launch or dependency. */
int correlate_launch(struct correlate *correlate, uint32_t process, const struct event_launch *row,
		     uint32_t *ret_place);
int correlate_dependency(struct correlate *correlate, const struct event_dependency *row);

/* The place of an execution's open launch; CORRELATE_NONE: none. */
uint32_t correlate_find(const struct correlate *correlate, uint32_t process, uint64_t correlation);

/* A thread (an index in the entities' list) sets an event; row->argument is its handle. */
void correlate_signal(struct correlate *correlate, uint32_t process, uint32_t thread,
		      const struct event_api *row);

/* The place of the command or event in its wait list with the latest end in (after, until];
 * CORRELATE_NONE: none ended then. */
uint32_t correlate_dependency_last(const struct correlate *correlate, uint32_t place,
				   uint64_t after, uint64_t until);

/* Marks the command as executed. ended: host ns, 0: not known. Errors: -ENOMEM. */
int correlate_done(struct correlate *correlate, uint32_t place, uint64_t ended);

/* Drops the event handles of commands that had ended by `now`, and frees commands that are not
 * needed. */
void correlate_expire(struct correlate *correlate, uint64_t now);
