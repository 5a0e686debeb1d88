/* SPDX-License-Identifier: MIT
 *
 * flame/tree.h - the tree of a flame graph for its writers, its walk, and memory for large arrays
 */
#pragma once

#include "base/hash.h"
#include "flame/flame.h"

#define FLAME_NONE UINT32_MAX

struct flame_name {
	uint32_t string; /* id in names */
	uint8_t frame_class;
};

/* A piece of a path without branches: `length` frames of the pool, from `first` on. Node 0 is the
 * root above all stacks; it has no frames and is its own parent. */
struct flame_node {
	uint64_t self; /* value of the stacks that end with its last frame */
	uint32_t parent;
	uint32_t first, length;
	uint32_t hash; /* hash of the path up to its first frame, which gives its slot */
};

/* Slot of the child of `parent` that starts with `frame`. node 0: a free slot, because the root is
 * not a child. */
struct flame_slot {
	uint32_t parent, frame, node;
	uint32_t length; /* the node's; if it is 1, the node itself need not be read */
};

/* A text shown in the tooltip of a frame. A graph has few of them. */
struct flame_note {
	uint32_t frame;
	char *text; /* owned */
};

struct flame {
	struct string_table names;
	struct hash_map frame_ids; /* string and class -> frame */
	struct flame_name *frames;
	size_t frames_capacity;
	uint32_t frames_count;
	struct flame_note *notes;
	size_t notes_capacity, notes_count;
	uint32_t *pool; /* the frames of all nodes */
	size_t pool_capacity, pool_count;
	struct flame_node *nodes;
	size_t nodes_capacity;
	uint32_t nodes_count;
	struct flame_slot *slots;
	size_t slots_count; /* a power of two */
	uint64_t *hashes;   /* path hashes of the stack that is being added */
	size_t hashes_capacity;
	uint64_t total;
};

/* Ranks the frames by `texts`, and frames with equal texts by class. ret_ranks[frame], which the
 * caller frees, counts from 0. *ret_has_equals: two frames have the same text. */
struct flame_text {
	const char *bytes;
	size_t size;
};
int flame_rank(const struct flame *flame, const struct flame_text *texts, uint32_t **ret_ranks,
	       bool *ret_has_equals);

/* NULL: there is none. */
const struct flame_note *flame_find_note(const struct flame *flame, uint32_t frame);

/* The name's bytes. */
struct flame_text flame_frame_name(const struct flame *flame, uint32_t frame);

/* Finds the node at which a stack of `count` frames, root first, ends, or adds it. Its value does
 * not change. Errors, with a text: -EINVAL, -EOVERFLOW, -ENOMEM. */
int flame_insert(struct flame *flame, const uint32_t *frames, size_t count, uint32_t *ret_node);

/* ---- flame/walk.c ---- */

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

/* All nodes in an order that puts parents before children and sorts siblings by name, with the sums
 * of the values at and below them. */
struct flame_order {
	struct flame_step *steps;
	uint32_t *nodes;           /* by place; the root is the first */
	uint64_t *totals, *others; /* by node; others NULL: no second values */
};

/* others: a second value of each node; NULL: none. -ENOMEM. */
int flame_order_init(struct flame_order *order, const struct flame *flame, const uint64_t *others);
void flame_order_fini(struct flame_order *order); /* accepts a half-built order */

/* The frames of a stack, root first, which the caller frees. */
struct flame_path {
	uint32_t *frames;
	size_t capacity, count;
};

/* Replaces the path by that from the root to the end of a node. -ENOMEM. */
int flame_path_to(const struct flame *flame, uint32_t node, struct flame_path *path);

/* ---- flame/folded.c ---- */

/* As flame_write_folded, with a value before that of the flame: "a;b FIRST VALUE". firsts: by node.
 */
int flame_write_folded_pair(const struct flame *flame, const uint64_t *firsts, FILE *out);

/* ---- flame/memory.c ---- */

/* `count` items of `size` bytes, not initialised, in huge pages if they are large enough; for
 * free().
 * NULL: no memory. */
void *flame_allocate(size_t count, size_t size);

/* Makes room for at least `count` items of `size` bytes in *items, and grows it by at least a half.
 * *items is NULL or comes from flame_allocate. -ENOMEM changes nothing. */
int flame_grow(void **items, size_t *capacity, size_t count, size_t size);
