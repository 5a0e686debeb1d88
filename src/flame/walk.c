/* SPDX-License-Identifier: MIT
 *
 * flame/walk.c - the nodes of a flame graph in order
 *
 * Runs in:  our own process
 * Gets:     a flame, ranks of its frames
 * Gives:    sorted lists of children, sums, paths
 * Owns:     4 bytes per node during a call
 * Fails:    NULL or -ENOMEM if out of memory
 * Why stacks are not sorted: nodes are taken by the rank of their first frame in descending order,
 *           and each is inserted before its siblings. This takes linear time, and compares only
 *           names and not stacks: 20,000 names instead of a million stacks of a kilobyte each.
 */
#include "flame/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
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

static int rank_names(const struct flame *flame, uint32_t **ret_ranks)
{
	auto_free struct flame_text *texts =
		malloc((flame->frames_count + (size_t)1) * sizeof(*texts));
	bool has_equals;

	if (!texts)
		return -ENOMEM;
	for (uint32_t i = 0; i < flame->frames_count; i++)
		texts[i] = flame_frame_name(flame, i);
	return flame_rank(flame, texts, ret_ranks, &has_equals);
}

static void add_up(const struct flame_order *order, uint32_t count, uint64_t *totals)
{
	for (uint32_t i = count - 1; i > 0; i--) {
		uint32_t node = order->nodes[i];

		totals[order->steps[node].parent] += totals[node];
	}
}

int flame_order_init(struct flame_order *order, const struct flame *flame, const uint64_t *others)
{
	auto_free uint32_t *ranks = NULL;
	uint32_t count = flame->nodes_count, node = 0;

	*order = (struct flame_order){.nodes = flame_allocate(count, sizeof(*order->nodes)),
				      .totals = flame_allocate(count, sizeof(*order->totals))};
	if (others)
		order->others = flame_allocate(count, sizeof(*others));
	if (!order->nodes || !order->totals || (others && !order->others) ||
	    rank_names(flame, &ranks))
		return -ENOMEM;
	order->steps = flame_walk(flame, ranks);
	if (!order->steps)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		order->nodes[i] = node;
		order->totals[i] = flame->nodes[i].self;
		node = flame_walk_next(order->steps, node, NULL);
	}
	add_up(order, count, order->totals);
	if (!others)
		return 0;
	memcpy(order->others, others, count * sizeof(*others));
	add_up(order, count, order->others);
	return 0;
}

void flame_order_fini(struct flame_order *order)
{
	free(order->steps);
	free(order->nodes);
	free(order->totals);
	free(order->others);
}

int flame_path_to(const struct flame *flame, uint32_t node, struct flame_path *path)
{
	size_t count = 0, place;

	for (uint32_t i = node; i; i = flame->nodes[i].parent)
		count += flame->nodes[i].length;
	if (array_grow(path->frames, path->capacity, count))
		return -ENOMEM;
	path->count = place = count;
	for (uint32_t i = node; i; i = flame->nodes[i].parent) {
		const struct flame_node *piece = &flame->nodes[i];

		place -= piece->length;
		memcpy(path->frames + place, flame->pool + piece->first,
		       piece->length * sizeof(*path->frames));
	}
	return 0;
}
