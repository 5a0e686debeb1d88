/* SPDX-License-Identifier: MIT
 *
 * import/chrome/join.c - match calls and commands of a Chrome trace by their correlation id
 *
 * Runs in:  our own process
 * Gets:     calls and commands in any order
 * Gives:    for each, the earlier events with the same id
 * Owns:     calls and commands that wait for their counterpart
 * Fails:    -ENOMEM
 * Why two tables: an entry per id (100 bytes) stays until the end of the file, because later
 *           commands of a graph have the same id. A waiting event takes 300 bytes, but usually its
 *           counterpart is only a few events away.
 */
#include "import/chrome/join.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void chrome_join_init(struct chrome_join *join)
{
	*join = (struct chrome_join){0};
}

void chrome_join_fini(struct chrome_join *join)
{
	string_table_fini(&join->keys);
	free(join->joined);
	free(join->held);
	free(join->aside);
}

int chrome_join_find(struct chrome_join *join, int64_t owner, int64_t correlation,
		     struct chrome_joined **ret_joined)
{
	const int64_t key[] = {owner, correlation};
	uint32_t id = string_table_add(&join->keys, key, sizeof(key));

	if (!id || array_grow(join->joined, join->joined_capacity, id))
		return -ENOMEM;
	*ret_joined = &join->joined[id - 1];
	return 0;
}

/* Returns place + 1; 0 if memory has run out. */
static uint32_t take_place(struct chrome_join *join)
{
	uint32_t place = join->free_held;

	if (place) {
		join->free_held = join->held[place - 1].next_free;
		return place;
	}
	if (array_grow(join->held, join->held_capacity, join->held_count + 1))
		return 0;
	return (uint32_t)++join->held_count;
}

static void free_place(struct chrome_join *join, struct chrome_joined *joined)
{
	join->held[joined->held - 1].next_free = join->free_held;
	join->free_held = joined->held;
	joined->held = 0;
	joined->has_command = false;
}

int chrome_join_hold_call(struct chrome_join *join, struct chrome_joined *joined,
			  const struct event_launch *call, uint32_t process)
{
	joined->held = take_place(join);
	if (!joined->held)
		return -ENOMEM;
	join->held[joined->held - 1].call = *call;
	joined->has_call = true;
	joined->enter = call->enter;
	joined->exit = call->exit;
	joined->function_string = call->function_string;
	joined->thread = call->thread;
	joined->stack = call->stack;
	joined->process = process;
	return 0;
}

int chrome_join_hold_command(struct chrome_join *join, struct chrome_joined *joined,
			     const struct chrome_command *command)
{
	joined->held = take_place(join);
	if (!joined->held)
		return -ENOMEM;
	join->held[joined->held - 1].command = *command;
	joined->has_command = true;
	return 0;
}

void chrome_join_take_call(struct chrome_join *join, struct chrome_joined *joined,
			   struct event_launch *ret_call)
{
	*ret_call = join->held[joined->held - 1].call;
	free_place(join, joined);
}

int chrome_join_set_aside(struct chrome_join *join, struct chrome_joined *joined)
{
	if (array_grow(join->aside, join->aside_capacity, join->aside_count + 1))
		return -ENOMEM;
	chrome_join_take_call(join, joined, &join->aside[join->aside_count++]);
	return 0;
}

void chrome_join_take_command(struct chrome_join *join, struct chrome_joined *joined,
			      struct chrome_command *ret_command)
{
	*ret_command = join->held[joined->held - 1].command;
	free_place(join, joined);
}
