/* SPDX-License-Identifier: MIT
 *
 * flame/layout.c - choose the frames of a flame graph that are drawn, and place them
 *
 * Runs in:  our own process
 * Gets:     a flame, a width
 * Gives:    boxes in units of value
 * Owns:     the boxes; during a call also the nodes' order and 4 bytes per node
 * Fails:    -ENOMEM
 * Why all nodes are ordered, not only the drawn ones: ordering takes linear time and gives all
 * sums. After it one forward pass gives all boxes. 2 million nodes take 50 ms.
 */
#include "flame/layout.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/number.h"

struct plan {
	const struct flame *flame;
	struct flame_order order;
	uint32_t *boxes; /* by node: its last box; FLAME_NONE if it has a hidden frame */
	uint64_t least;
};

static void plan_fini(struct plan *plan)
{
	flame_order_fini(&plan->order);
	free(plan->boxes);
}

static int plan_init(struct plan *plan, const struct flame *flame, const uint64_t *others)
{
	plan->flame = flame;
	plan->boxes = flame_allocate(flame->nodes_count, sizeof(*plan->boxes));
	return plan->boxes ? flame_order_init(&plan->order, flame, others) : -ENOMEM;
}

static int add_box(struct flame_layout *layout, uint32_t parent, uint32_t frame, uint64_t value)
{
	struct flame_box *box;

	if (array_grow(layout->boxes, layout->boxes_capacity, layout->boxes_count + (size_t)1))
		return -ENOMEM;
	box = &layout->boxes[layout->boxes_count++];
	*box = (struct flame_box){.value = value, .frame = frame, .parent = parent};
	if (frame == FLAME_NONE)
		return 0;
	box->start = layout->boxes[parent].start + layout->boxes[parent].drawn_value;
	box->depth = layout->boxes[parent].depth + 1;
	layout->boxes[parent].drawn_value += value;
	if (box->depth > layout->depth)
		layout->depth = box->depth;
	return 0;
}

/* The box's value of the second kind is that of its node. */
static int add_other(struct flame_layout *layout, const struct plan *plan, uint32_t node)
{
	if (!plan->order.others)
		return 0;
	if (array_grow(layout->others, layout->others_capacity, layout->boxes_count))
		return -ENOMEM;
	layout->others[layout->boxes_count - 1] = plan->order.others[node];
	return 0;
}

/* Adds a box for each frame of a node. If they are too narrow or too deep, the box below counts
 * them as hidden. */
static int draw(struct flame_layout *layout, struct plan *plan, uint32_t node)
{
	const struct flame_step *step = &plan->order.steps[node];
	const uint64_t value = plan->order.totals[node];
	uint32_t parent = plan->boxes[step->parent];

	plan->boxes[node] = FLAME_NONE;
	if (parent == FLAME_NONE)
		return 0;
	for (uint32_t i = 0; i < step->length; i++) {
		struct flame_box *box = &layout->boxes[parent];

		if (value < plan->least || box->depth + 1 >= FLAME_ROWS_MAX) {
			box->hidden_value += value;
			box->hidden_count += value > 0;
			return 0;
		}
		if (add_box(layout, parent, plan->flame->pool[step->first + i], value) ||
		    add_other(layout, plan, node))
			return -ENOMEM;
		parent = layout->boxes_count - 1;
	}
	plan->boxes[node] = parent;
	return 0;
}

static int draw_all(struct flame_layout *layout, struct plan *plan)
{
	int error = add_box(layout, 0, FLAME_NONE, plan->order.totals[0]);

	if (!error)
		error = add_other(layout, plan, 0);
	plan->boxes[0] = 0;
	for (uint32_t i = 1; i < plan->flame->nodes_count && !error; i++)
		error = draw(layout, plan, plan->order.nodes[i]);
	return error;
}

int flame_layout_init(struct flame_layout *layout, const struct flame *flame,
		      const uint64_t *others, double plot_width, double min_width)
{
	double least = ceil(min_width / plot_width * (double)flame->total);
	struct plan plan = {.least = least < 1 ? 1 : round_saturated(least)};
	int error = plan_init(&plan, flame, others);

	*layout = (struct flame_layout){0};
	if (!error)
		error = draw_all(layout, &plan);
	if (!error && others)
		layout->last_boxes = take_ptr(plan.boxes);
	if (error)
		flame_layout_fini(layout);
	plan_fini(&plan);
	return error;
}

void flame_layout_fini(struct flame_layout *layout)
{
	if (!layout)
		return;
	free(layout->boxes);
	free(layout->others);
	free(layout->last_boxes);
	*layout = (struct flame_layout){0};
}
