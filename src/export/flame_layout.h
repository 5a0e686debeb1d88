/* SPDX-License-Identifier: MIT
 *
 * export/flame_layout.h - which frames of a flame graph are drawn, and where
 */
#ifndef EXPORT_FLAME_LAYOUT_H
#define EXPORT_FLAME_LAYOUT_H

#include "export/flame_tree.h"

/* Rows drawn; what is deeper is counted as hidden, as what is too narrow is. */
#define FLAME_ROWS_MAX 1024u

/* A drawn frame. Each stands before its children, and those from left to right: side by side from
 * their parent's left, then what is hidden, then what is the parent's own. */
struct flame_box {
	uint64_t value, start;  /* of the total */
	uint64_t drawn_value;   /* of children drawn */
	uint64_t hidden_value;  /* of children not drawn */
	uint32_t hidden_count;  /* how many they are */
	uint32_t frame;         /* FLAME_NONE for box 0, which is everything */
	uint32_t parent, depth; /* box 0 is its own parent, at depth 0 */
};

struct flame_layout {
	struct flame_box *boxes;
	size_t boxes_capacity;
	uint32_t boxes_count; /* at least 1 */
	uint32_t depth;       /* of the deepest box */
};

/* Draws what is at least min_width of plot_width wide. -ENOMEM. */
int flame_layout_init(struct flame_layout *layout, const struct flame *flame, double plot_width,
		      double min_width);
void flame_layout_fini(struct flame_layout *layout); /* NULL-safe */

#endif
