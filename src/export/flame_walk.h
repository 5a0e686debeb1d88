/* SPDX-License-Identifier: MIT
 *
 * export/flame_walk.h - the nodes of a flame graph in order
 */
#ifndef EXPORT_FLAME_WALK_H
#define EXPORT_FLAME_WALK_H

#include "export/flame_tree.h"

/* A copy of a node with its place; 0: there is none, as the root is nobody's child. */
struct flame_step {
	uint64_t self;
	uint32_t parent, first, length;
	uint32_t first_child, next_sibling;
};

/* The nodes as a tree whose children are in the order of their first frames' ranks; freed by the
 * caller. NULL: no memory. */
struct flame_step *flame_walk(const struct flame *flame, const uint32_t *ranks);

/* The next node, each before its children; 0 at the end. Adds to *depth, which may be NULL, how many
 * nodes it is deeper or less deep. */
uint32_t flame_walk_next(const struct flame_step *steps, uint32_t node, size_t *depth);

#endif
