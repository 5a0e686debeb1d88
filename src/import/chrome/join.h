/* SPDX-License-Identifier: MIT
 *
 * import/chrome/join.h - match calls and commands of a Chrome trace by their correlation id
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "event/event.h"

/* A command whose launch is not written yet. */
struct chrome_command {
	struct event_execution row;
	struct event_launch launch; /* the members of its launch that the command contains */
	uint32_t device, queue_key; /* queue_key: id in struct chrome's texts */
	uint32_t kernel_name;       /* the same; 0: no kernel */
	bool has_owner;             /* row.process is set */
};

/* The events of one correlation id. After a call has found its command, its time, thread, process
 * and stack are kept, because a graph has more commands with the same id. */
struct chrome_joined {
	uint64_t enter, exit;                             /* of the call */
	uint32_t thread, function_string, stack, process; /* the call's */
	uint32_t held;            /* place + 1 of the waiting call or command; 0: none waits */
	bool has_call, is_launch; /* is_launch: even if no command comes */
	bool is_named_launch;     /* is_launch is guessed from the call's name */
	bool has_command;         /* a command waits for its call */
};

union chrome_held {
	struct event_launch call;
	struct chrome_command command;
	uint32_t next_free;
};

struct chrome_join {
	struct string_table keys;
	struct chrome_joined *joined; /* by id of a key - 1 */
	size_t joined_capacity;
	union chrome_held *held;
	size_t held_count, held_capacity;
	uint32_t free_held; /* place + 1 */
	struct event_launch *aside;
	size_t aside_count, aside_capacity;
};

void chrome_join_init(struct chrome_join *join);
void chrome_join_fini(struct chrome_join *join);

/* Finds or adds the entry of an id; valid until the next call. Errors: -ENOMEM. */
int chrome_join_find(struct chrome_join *join, int64_t owner, int64_t correlation,
		     struct chrome_joined **ret_joined);

/* Stores a call or command until its counterpart comes. No other event of the same id may wait.
 * Errors: -ENOMEM. */
int chrome_join_hold_call(struct chrome_join *join, struct chrome_joined *joined,
			  const struct event_launch *call, uint32_t process);
int chrome_join_hold_command(struct chrome_join *join, struct chrome_joined *joined,
			     const struct chrome_command *command);

/* Moves the waiting call to `aside` until the end, so that another one may wait. Errors:
 * -ENOMEM. */
int chrome_join_set_aside(struct chrome_join *join, struct chrome_joined *joined);

/* Take the waiting call, or the waiting command if has_command is set. */
void chrome_join_take_call(struct chrome_join *join, struct chrome_joined *joined,
			   struct event_launch *ret_call);
void chrome_join_take_command(struct chrome_join *join, struct chrome_joined *joined,
			      struct chrome_command *ret_command);
