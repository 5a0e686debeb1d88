/* SPDX-License-Identifier: MIT
 *
 * trace/stacks.c - tables of frames and stacks; equal ones get the same id
 *
 * Runs in:  the recorder, and all commands that read a trace
 * Gets:     frames, and pairs of a caller and a frame; gives ids that count from 1
 * Owns:     the table
 * Fails:    id 0 if memory has run out
 * Why a tree: the stacks of a program share their outer frames. A node costs 8 bytes and a slot of
 *           the map, while a separate stack of 24 frames would cost 96 bytes.
 */
#include "trace/stacks.h"

#include <stdlib.h>

#include "base/array.h"

_Static_assert(sizeof(struct event_frame) == 8 * sizeof(uint32_t) + 3 * sizeof(uint64_t),
	       "a frame is compared as bytes and must have no padding");

void stack_table_fini(struct stack_table *table)
{
	string_table_fini(&table->frames);
	hash_map_fini(&table->by_pair);
	free(table->rows);
	free(table->nodes);
	*table = (struct stack_table){0};
}

static uint32_t add_frame(struct stack_table *table, const struct event_frame *frame,
			  const void *key, size_t key_size)
{
	uint32_t count = table->frames.count, id;

	if (array_grow(table->rows, table->rows_capacity, count + (size_t)1))
		return 0;
	id = string_table_add(&table->frames, key, key_size);
	if (id > count)
		table->rows[id - 1] = *frame;
	return id;
}

uint32_t stack_table_frame(struct stack_table *table, const struct event_frame *frame)
{
	return add_frame(table, frame, frame, sizeof(*frame));
}

uint32_t stack_table_own_frame(struct stack_table *table, const struct event_frame *frame,
			       uint32_t owner)
{
	struct {
		struct event_frame frame;
		uint64_t owner; /* a longer key: never that of a shared frame */
	} key = {*frame, owner};

	return add_frame(table, frame, &key, sizeof(key));
}

uint32_t stack_table_node(struct stack_table *table, uint32_t caller, uint32_t frame)
{
	uint64_t key = (uint64_t)caller << 32 | frame, known;

	if (!frame || frame > table->frames.count || caller > table->count ||
	    table->count == UINT32_MAX)
		return 0;
	known = hash_map_get(&table->by_pair, key, 0);
	if (known)
		return (uint32_t)known;
	if (array_grow(table->nodes, table->nodes_capacity, table->count + (size_t)1) ||
	    hash_map_put(&table->by_pair, key, table->count + (uint64_t)1))
		return 0;
	table->nodes[table->count] = (struct event_stack){caller, frame};
	return ++table->count;
}
