/* SPDX-License-Identifier: MIT
 *
 * import/chrome_join.h - calls and commands of a Chrome trace, by their correlation id
 */
#ifndef IMPORT_CHROME_JOIN_H
#define IMPORT_CHROME_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "event/event.h"

/* A command, until its launch is written. */
struct chrome_command {
	struct event_execution row;
	struct event_launch launch; /* what it says of its launch */
	uint32_t device, queue_key; /* queue_key: a text of the import's */
	uint32_t kernel_name;       /* likewise; 0: no kernel */
	bool has_owner;             /* row.process */
};

/* What has one correlation id. A call that found its command is a name and a place only: a graph has more commands. */
struct chrome_joined {
	uint64_t enter;                  /* of the call */
	uint32_t thread, stack, process; /* of the call */
	uint32_t held; /* place + 1 of the call, or of the command, that waits; 0: none does */
	bool has_call, is_launch; /* is_launch: also where no command comes */
	bool has_command;         /* … that waits for its call */
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
};

void chrome_join_init(struct chrome_join *join);
void chrome_join_fini(struct chrome_join *join);

/* Valid until the next one. -ENOMEM. */
int chrome_join_find(struct chrome_join *join, int64_t owner, int64_t correlation,
		     struct chrome_joined **ret_joined);

/* Lets one wait; nothing else of the same id does. -ENOMEM. */
int chrome_join_hold_call(struct chrome_join *join, struct chrome_joined *joined,
			  const struct event_launch *call, uint32_t process);
int chrome_join_hold_command(struct chrome_join *join, struct chrome_joined *joined,
			     const struct chrome_command *command);

/* Takes what waits: has_command says what it is. */
void chrome_join_take_call(struct chrome_join *join, struct chrome_joined *joined,
			   struct event_launch *ret_call);
void chrome_join_take_command(struct chrome_join *join, struct chrome_joined *joined,
			      struct chrome_command *ret_command);

#endif
