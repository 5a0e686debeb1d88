/* SPDX-License-Identifier: MIT
 *
 * export/scope_stacks.h - the stacks of a heat map's rows, as one tree; of scope_write.c only
 */
#ifndef EXPORT_SCOPE_STACKS_H
#define EXPORT_SCOPE_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/pair_map.h"
#include "export/scope_cells.h"

struct drawing;

#define SCOPE_NO_STACK UINT32_MAX

struct scope_node {
	uint32_t parent, frame; /* frame: of the drawing's graph */
};

struct scope_stacks {
	struct scope_node *nodes; /* 0: the root */
	size_t nodes_count, nodes_capacity;
	struct pair_map node_numbers; /* (parent, frame) -> index */
	struct pair_map stacks;       /* (kind << 32 | part, index) -> node */
	uint64_t cut;                 /* stacks that are not whole: there were too many nodes */
	uint64_t lost;                /* launches without a time … */
	uint32_t lost_stack;          /* … are here */
	const char *source;           /* of the samples that are drawn; NULL: none is */
};

/* Draws all rows of the drawing's analysis. -ENOMEM, what drawing fails with. */
int scope_stacks_init(struct scope_stacks *stacks, struct drawing *drawing);
void scope_stacks_fini(struct scope_stacks *stacks); /* NULL-safe */

/* The node at which the stack of an item ends; SCOPE_NO_STACK: it is of nothing that is drawn. */
uint32_t scope_stacks_find(const struct scope_stacks *stacks, const struct scope_item *item);

#endif
