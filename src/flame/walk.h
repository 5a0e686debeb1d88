/* SPDX-License-Identifier: MIT
 *
 * flame/walk.h - the nodes of a flame graph in order
 */
#ifndef FLAME_WALK_H
#define FLAME_WALK_H

#include "flame/tree.h"

/* A copy of a node with its place in the tree. first_child, next_sibling 0: none, because the root
 * is not a child. */
struct flame_step {
	uint64_t self;
	uint32_t parent, first, length;
	uint32_t first_child, next_sibling;
};

/* The nodes as a tree with children in the order of their first frames' ranks; freed by the caller.
 * NULL: no memory. */
struct flame_step *flame_walk(const struct flame *flame, const uint32_t *ranks);

/* The next node in an order that puts parents before children; 0 at the end. Adds the difference of
 * depth to *depth, which may be NULL. */
uint32_t flame_walk_next(const struct flame_step *steps, uint32_t node, size_t *depth);

#endif
