/* SPDX-License-Identifier: MIT
 *
 * flame/layout.h - choose the frames of a flame graph that are drawn, and place them
 */
#pragma once

#include "flame/tree.h"

/* Maximum number of rows; deeper frames are hidden like frames that are too narrow. */
#define FLAME_ROWS_MAX 1024u

/* A drawn frame. Boxes come before their children, and siblings from left to right. From a box's
 * left edge follow its drawn children, the value of hidden ones, and its own value. */
struct flame_box {
	uint64_t value, start;  /* start: sum of all values to its left */
	uint64_t drawn_value;   /* sum of drawn children */
	uint64_t hidden_value;  /* sum of hidden children */
	uint32_t hidden_count;  /* number of hidden children */
	uint32_t frame;         /* FLAME_NONE for box 0, the root */
	uint32_t parent, depth; /* box 0 is its own parent, at depth 0 */
};

struct flame_layout {
	struct flame_box *boxes;
	size_t boxes_capacity;
	uint32_t boxes_count; /* at least 1 */
	/* Only with second values: those of the boxes, and by node its last box, or FLAME_NONE. */
	uint64_t *others;
	size_t others_capacity;
	uint32_t *last_boxes;
	uint32_t depth; /* depth of the deepest box */
};

/* Draws frames that are at least min_width of plot_width wide. others: a second value of each node;
 * NULL: none. -ENOMEM. */
int flame_layout_init(struct flame_layout *layout, const struct flame *flame,
		      const uint64_t *others, double plot_width, double min_width);
void flame_layout_fini(struct flame_layout *layout); /* NULL-safe */
