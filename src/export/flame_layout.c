/* SPDX-License-Identifier: MIT
 *
 * export/flame_layout.c - which frames of a flame graph are drawn, and where
 *
 * Runs in:  our own process
 * Gets:     a flame, a width   Gives: boxes in units of value
 * Owns:     the boxes; 12 bytes a node for the time of a call
 * Fails:    -ENOMEM
 * Why two sweeps over all nodes and no walk: a parent's index is smaller than its children's, so
 *           sums come from going backwards and boxes from going forwards; of the millions of nodes of
 *           a large graph some ten thousand are drawn, and only those are sorted.
 */
#include "export/flame_layout.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

static uint64_t *sum_up(const struct flame *flame)
{
	uint64_t *totals = malloc(flame->nodes_count * sizeof(*totals));

	if (!totals)
		return NULL;
	for (uint32_t i = 0; i < flame->nodes_count; i++)
		totals[i] = flame->nodes[i].self;
	for (uint32_t i = flame->nodes_count - 1; i > 0; i--)
		totals[flame->nodes[i].parent] += totals[i];
	return totals;
}

static int add_box(struct flame_layout *layout, const struct flame_box *box)
{
	if (array_grow(layout->boxes, layout->boxes_capacity, layout->boxes_count + (size_t)1))
		return -ENOMEM;
	layout->boxes[layout->boxes_count++] = *box;
	return 0;
}

/* Boxes in the order of nodes: parents first, values right, places not yet. */
static int choose(struct flame_layout *layout, const struct flame *flame, const uint64_t *totals,
		  uint64_t least)
{
	auto_free uint32_t *boxes = malloc(flame->nodes_count * sizeof(*boxes));

	if (!boxes || add_box(layout, &(struct flame_box){.value = totals[0], .frame = FLAME_NONE}))
		return -ENOMEM;
	boxes[0] = 0;
	for (uint32_t i = 1; i < flame->nodes_count; i++) {
		uint32_t parent = boxes[flame->nodes[i].parent];
		struct flame_box box = {
			.value = totals[i], .frame = flame->nodes[i].frame, .parent = parent};

		boxes[i] = FLAME_NONE;
		if (parent == FLAME_NONE || !totals[i])
			continue;
		box.depth = layout->boxes[parent].depth + 1;
		if (totals[i] < least || box.depth >= FLAME_ROWS_MAX) {
			layout->boxes[parent].hidden_value += totals[i];
			layout->boxes[parent].hidden_count++;
			continue;
		}
		boxes[i] = layout->boxes_count;
		if (add_box(layout, &box))
			return -ENOMEM;
		if (box.depth > layout->depth)
			layout->depth = box.depth;
	}
	return 0;
}

struct order_context {
	const struct flame_box *boxes;
	const uint32_t *ranks;
};

static int compare_boxes(const void *a, const void *b, void *context)
{
	const struct order_context *order = context;
	uint32_t first = order->ranks[order->boxes[*(const uint32_t *)a].frame];
	uint32_t second = order->ranks[order->boxes[*(const uint32_t *)b].frame];

	return (first > second) - (first < second);
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

/* Links each box before its siblings, last name first, and so lists come out in order of name. */
static int link_boxes(struct flame_layout *layout, const struct flame *flame)
{
	auto_free uint32_t *ranks = NULL;
	auto_free uint32_t *order = malloc(layout->boxes_count * sizeof(*order));
	struct order_context context = {.boxes = layout->boxes};
	int error = order ? rank_names(flame, &ranks) : -ENOMEM;

	if (error)
		return error;
	context.ranks = ranks;
	for (uint32_t i = 1; i < layout->boxes_count; i++)
		order[i] = i;
	qsort_r(order + 1, layout->boxes_count - 1, sizeof(*order), compare_boxes, &context);
	for (uint32_t i = layout->boxes_count - 1; i > 0; i--) {
		struct flame_box *box = &layout->boxes[order[i]];

		box->next_sibling = layout->boxes[box->parent].first_child;
		layout->boxes[box->parent].first_child = order[i];
	}
	return 0;
}

static void place(struct flame_layout *layout)
{
	struct flame_box *boxes = layout->boxes;

	for (uint32_t i = flame_layout_next(layout, 0); i; i = flame_layout_next(layout, i)) {
		if (boxes[boxes[i].parent].first_child == i)
			boxes[i].start = boxes[boxes[i].parent].start;
		if (boxes[i].next_sibling)
			boxes[boxes[i].next_sibling].start = boxes[i].start + boxes[i].value;
	}
}

int flame_layout_init(struct flame_layout *layout, const struct flame *flame, double plot_width,
		      double min_width)
{
	auto_free uint64_t *totals = sum_up(flame);
	double least = ceil(min_width / plot_width * (double)flame->total);
	int error = -ENOMEM;

	*layout = (struct flame_layout){0};
	if (totals)
		error = choose(layout, flame, totals,
			       least < 1         ? 1
			       : least >= 0x1p64 ? UINT64_MAX
						 : (uint64_t)least);
	if (!error)
		error = link_boxes(layout, flame);
	if (error) {
		flame_layout_fini(layout);
		return error;
	}
	place(layout);
	return 0;
}

void flame_layout_fini(struct flame_layout *layout)
{
	if (!layout)
		return;
	free(layout->boxes);
	*layout = (struct flame_layout){0};
}

uint32_t flame_layout_next(const struct flame_layout *layout, uint32_t box)
{
	const struct flame_box *boxes = layout->boxes;

	if (boxes[box].first_child)
		return boxes[box].first_child;
	while (box && !boxes[box].next_sibling)
		box = boxes[box].parent;
	return box ? boxes[box].next_sibling : 0;
}
