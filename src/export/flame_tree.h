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

/* A frame of a path. Node 0 is the root above all stacks, its own parent; a node's index is larger
 * than its parent's. */
struct flame_node {
	uint64_t self; /* of stacks that end here */
	uint32_t parent;
	uint32_t frame;
};

/* node 0: free, as no path leads to the root. */
struct flame_slot {
	uint32_t parent, frame, node;
	uint32_t hash; /* the low half of the path's hash: where the slot goes in a larger table */
};

struct flame {
	struct string_table names;
	struct hash_map frame_ids; /* string and class -> frame */
	struct flame_name *frames;
	size_t frames_capacity;
	uint32_t frames_count;
	struct flame_node *nodes;
	size_t nodes_capacity;
	uint32_t nodes_count;
	struct flame_slot *slots;
	size_t slots_count; /* a power of two */
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

/* The name's bytes. */
struct flame_text flame_frame_name(const struct flame *flame, uint32_t frame);

#endif
