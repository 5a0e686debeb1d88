/* SPDX-License-Identifier: MIT
 *
 * page/scope/stacks.c - the stacks of a heat map's rows, as one tree
 *
 * Runs in:  our own process
 * Gets:     a drawing of the whole window
 * Gives:    for each drawn row, the node of the tree at which its stack ends
 * Owns:     the tree
 * Fails:    -ENOMEM
 * Why a tree: cells refer to rows of the analysis. There are thousands of rows and millions of
 *           values in cells, so the tree has each stack once.
 */
#include "page/scope/stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/analysis.h"
#include "base/array.h"
#include "flame/drawing.h"

static int find_node(struct scope_stacks *stacks, uint32_t parent, uint32_t frame,
		     uint32_t *ret_node)
{
	*ret_node = pair_map_find(&stacks->node_numbers, parent, frame);
	if (*ret_node != PAIR_MAP_NONE || stacks->nodes_count >= MAX_SCOPE_NODES)
		return 0;
	*ret_node = pair_map_add(&stacks->node_numbers, parent, frame, stacks->nodes,
				 stacks->nodes_capacity, stacks->nodes_count,
				 (struct scope_node){parent, frame});
	return *ret_node == PAIR_MAP_NONE ? -ENOMEM : 0;
}

/* Finds or adds the nodes of the current stack; cuts it if the tree is full. */
static int find_stack(struct scope_stacks *stacks, const struct drawing *drawing,
		      uint32_t *ret_node)
{
	uint32_t node = 0, next;
	int error = 0;

	for (size_t i = 0; i < drawing->count && !error; i++) {
		error = find_node(stacks, node, drawing->stack[i], &next);
		if (next == PAIR_MAP_NONE) {
			stacks->cut += !error;
			break;
		}
		node = next;
	}
	*ret_node = node;
	return error;
}

/* The item of the cells that a drawn row represents. */
static struct scope_item item_of(const struct drawing *drawing)
{
	const struct drawing_row *row = &drawing->row;

	switch (row->kind) {
	case DRAWN_STATE:
		if (row->index == DRAWN_UNSAMPLED)
			return (struct scope_item){SCOPE_DIVIDED, row->device, row->part};
		return (struct scope_item){DRAWN_STATE, row->index, 0};
	case DRAWN_SAMPLE:
		return (struct scope_item){DRAWN_SAMPLE,
					   drawing->analysis->samples[row->index].stack, 0};
	case DRAWN_INSTRUCTION:
		return (struct scope_item){DRAWN_INSTRUCTION,
					   drawing->analysis->instructions[row->index].number, 0};
	case DRAWN_STALL:
		return (struct scope_item){DRAWN_STALL,
					   drawing->analysis->instructions[row->index].number, 0};
	default:
		return (struct scope_item){row->kind, row->index, row->part};
	}
}

static int on_stack(void *context, const struct drawing *drawing, uint64_t value)
{
	struct scope_stacks *stacks = context;
	const struct scope_item item = item_of(drawing);
	uint32_t node;
	int error = find_stack(stacks, drawing, &node);

	if (item.kind == DRAWN_LOST) {
		stacks->lost = value;
		stacks->lost_stack = node;
	}
	if (item.kind == DRAWN_SAMPLE)
		stacks->source = drawing->analysis->samples[drawing->row.index].source;
	return error ? error
		     : pair_map_put(&stacks->stacks, (uint64_t)item.kind << 32 | item.part,
				    item.index, node);
}

int scope_stacks_init(struct scope_stacks *stacks, struct drawing *drawing)
{
	int error;

	*stacks = (struct scope_stacks){.nodes_count = 1};
	if (array_grow(stacks->nodes, stacks->nodes_capacity, 1))
		return -ENOMEM;
	drawing->on_stack = on_stack;
	drawing->context = stacks;
	error = drawing_draw(drawing);
	drawing->on_stack = NULL;
	return error;
}

void scope_stacks_fini(struct scope_stacks *stacks)
{
	if (!stacks)
		return;
	free(stacks->nodes);
	pair_map_fini(&stacks->node_numbers);
	pair_map_fini(&stacks->stacks);
}

uint32_t scope_stacks_find(const struct scope_stacks *stacks, const struct scope_item *item)
{
	bool has_parts = item->kind != DRAWN_STATE && item->kind != DRAWN_SAMPLE &&
			 item->kind != DRAWN_INSTRUCTION;

	/* PAIR_MAP_NONE is SCOPE_NO_STACK. */
	return pair_map_find(&stacks->stacks,
			     (uint64_t)item->kind << 32 | (has_parts ? item->part : 0),
			     item->index);
}
