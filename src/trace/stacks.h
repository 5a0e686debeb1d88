/* SPDX-License-Identifier: MIT
 *
 * trace/stacks.h - tables of frames and stacks; equal ones get the same id. Only trace/ includes
 * this
 */
#ifndef TRACE_STACKS_H
#define TRACE_STACKS_H

#include "base/hash.h"
#include "event/event.h"

/* All zero: empty. */
struct stack_table {
	struct string_table frames; /* their bytes, stored as strings: a frame has no padding */
	struct event_frame *rows;   /* by id - 1 */
	size_t rows_capacity;
	struct hash_map by_pair;   /* caller << 32 | frame -> id */
	struct event_stack *nodes; /* by id - 1 */
	size_t nodes_capacity;
	uint32_t count;
};

void stack_table_fini(struct stack_table *table);

/* Returns the id of a new or known frame; 0 if memory has run out. */
uint32_t stack_table_frame(struct stack_table *table, const struct event_frame *frame);
/* Equal frames of different owners get different ids, so that each can be named later. */
uint32_t stack_table_own_frame(struct stack_table *table, const struct event_frame *frame,
			       uint32_t owner);
uint32_t stack_table_node(struct stack_table *table, uint32_t caller, uint32_t frame);

static inline const struct event_stack *stack_table_find(const struct stack_table *table,
							 uint32_t id)
{
	return id && id <= table->count ? &table->nodes[id - 1] : NULL;
}

static inline const struct event_frame *stack_table_find_frame(const struct stack_table *table,
							       uint32_t id)
{
	return id && id <= table->frames.count ? &table->rows[id - 1] : NULL;
}

#endif
