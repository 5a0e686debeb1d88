/* SPDX-License-Identifier: MIT
 *
 * flame/walk.c - the nodes of a flame graph in order
 *
 * Runs in:  our own process
 * Gets:     a flame, ranks of its frames
 * Gives:    sorted lists of children
 * Owns:     4 bytes per node during a call
 * Fails:    NULL if out of memory
 * Why stacks are not sorted: nodes are taken by the rank of their first frame in descending order,
 *           and each is inserted before its siblings. This takes linear time, and compares only
 *           names and not stacks: 20,000 names instead of a million stacks of a kilobyte each.
 */
#include "flame/tree.h"

#include <stdlib.h>

#include "base/cleanup.h"

static uint32_t rank_of(const struct flame *flame, const uint32_t *ranks, uint32_t node)
{
	return ranks[flame->pool[flame->nodes[node].first]];
}

/* All nodes except the root, in the order of their first frames' ranks. */
static uint32_t *order_by_rank(const struct flame *flame, const uint32_t *ranks)
{
	auto_free uint32_t *starts = calloc(flame->frames_count + (size_t)2, sizeof(*starts));
	auto_free uint32_t *order = flame_allocate(flame->nodes_count, sizeof(*order));

	if (!starts || !order)
		return NULL;
	for (uint32_t i = 1; i < flame->nodes_count; i++)
		starts[rank_of(flame, ranks, i) + 1]++;
	for (uint32_t i = 0; i < flame->frames_count; i++)
		starts[i + 1] += starts[i];
	for (uint32_t i = 1; i < flame->nodes_count; i++)
		order[starts[rank_of(flame, ranks, i)]++] = i;
	return take_ptr(order);
}

struct flame_step *flame_walk(const struct flame *flame, const uint32_t *ranks)
{
	auto_free uint32_t *order = order_by_rank(flame, ranks);
	auto_free struct flame_step *steps = flame_allocate(flame->nodes_count, sizeof(*steps));

	if (!order || !steps)
		return NULL;
	for (uint32_t i = 0; i < flame->nodes_count; i++) {
		const struct flame_node *node = &flame->nodes[i];

		steps[i] = (struct flame_step){
			node->self, node->parent, node->first, node->length, 0, 0};
	}
	for (uint32_t i = flame->nodes_count - 1; i > 0; i--) {
		struct flame_step *step = &steps[order[i - 1]];

		step->next_sibling = steps[step->parent].first_child;
		steps[step->parent].first_child = order[i - 1];
	}
	return take_ptr(steps);
}

uint32_t flame_walk_next(const struct flame_step *steps, uint32_t node, size_t *depth)
{
	size_t unused = 0, *level = depth ? depth : &unused;

	if (steps[node].first_child) {
		(*level)++;
		return steps[node].first_child;
	}
	while (node && !steps[node].next_sibling) {
		node = steps[node].parent;
		(*level)--;
	}
	return node ? steps[node].next_sibling : 0;
}
