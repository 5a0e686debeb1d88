/* SPDX-License-Identifier: MIT
 *
 * export/flame_tree.h - what the writers of a flame graph see of it
 */
#ifndef EXPORT_FLAME_TREE_H
#define EXPORT_FLAME_TREE_H

#include "base/hash.h"
#include "export/flame.h"

#define FLAME_NONE UINT32_MAX

struct flame_name {
	uint32_t string; /* in names */
	uint8_t frame_class;
};

/* A piece of a path without branches: `length` frames from `first` on in the pool. Node 0 is the
 * root above all stacks, has no frames and is its own parent. */
struct flame_node {
	uint64_t self; /* of stacks that end behind the last of its frames */
	uint32_t parent;
	uint32_t first, length;
	uint32_t hash; /* of the path with the first of its frames: where its slot is */
};

/* Where the child of `parent` is that begins with `frame`. node 0: a free slot, as the root is
 * nobody's child. */
struct flame_slot {
	uint32_t parent, frame, node;
	uint32_t length; /* the node's, so that the node itself need not be fetched where it is 1 */
};

/* What is told of a frame beside its name. There are few. */
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
	uint32_t *pool; /* frames of the nodes */
	size_t pool_capacity, pool_count;
	struct flame_node *nodes;
	size_t nodes_capacity;
	uint32_t nodes_count;
	struct flame_slot *slots;
	size_t slots_count; /* a power of two */
	uint64_t *hashes;   /* of the paths of the stack that is being added */
	size_t hashes_capacity;
	uint64_t total;
};

/* The order of the frames by `texts`, equal ones by class: ret_ranks[frame], freed by the caller,
 * counts from 0. *ret_has_equals: two frames have the same text. */
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

#endif
