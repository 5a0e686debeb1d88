/* SPDX-License-Identifier: MIT
 *
 * page/scope/stacks.h - the stacks of a heat map's rows, as one tree; used by scope/write.c only
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/pair_map.h"
#include "page/scope/cells.h"

struct drawing;

#define SCOPE_NO_STACK UINT32_MAX

struct scope_node {
	uint32_t parent, frame; /* frame: number in the drawing's flame graph */
};

struct scope_stacks {
	struct scope_node *nodes; /* 0: the root */
	size_t nodes_count, nodes_capacity;
	struct pair_map node_numbers; /* (parent, frame) -> index */
	struct pair_map stacks;       /* (kind << 32 | part, index) -> node */
	uint64_t cut;                 /* stacks that were cut, because there were too many nodes */
	uint64_t lost;                /* launches without a time */
	uint32_t lost_stack;          /* their node */
	const char *source;           /* the source whose samples are drawn; NULL: none */
};

/* Draws all rows of the drawing's analysis. Errors: -ENOMEM, errors of drawing. */
int scope_stacks_init(struct scope_stacks *stacks, struct drawing *drawing);
void scope_stacks_fini(struct scope_stacks *stacks); /* NULL-safe */

/* The node at which the stack of an item ends; SCOPE_NO_STACK: the item is not drawn. */
uint32_t scope_stacks_find(const struct scope_stacks *stacks, const struct scope_item *item);
