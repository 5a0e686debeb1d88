/* SPDX-License-Identifier: MIT
 *
 * collect/nodes.h - which call launched a command that the device alone tells of
 */
#ifndef COLLECT_NODES_H
#define COLLECT_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "collect/recording.h"
#include "event/event.h"

/* A call that launched commands, as its thread's ring told of it. Ids are the trace's. */
struct node_call {
	uint64_t correlation; /* the guest's; 0: none */
	uint64_t enter, exit;
	uint32_t thread, function_string, stack;
};

/* A command whose call is told of in a ring that comes later in the round. */
struct waiting_node {
	uint64_t parent;
	struct event_launch launch; /* all but what the call says */
	uint64_t graph_node;        /* the runtime's id; 0: none */
	uint32_t guest_queue;
	struct event_execution execution;
};

/* The call that made a node of a graph. */
struct captured {
	uint32_t function_string, stack;
};

/* Of one guest. All zero: nothing. The last NODE_CALLS calls are known. */
struct nodes {
	struct node_call
		*calls; /* owned; NODE_CALLS of them, by correlation; NULL: none was told of */
	struct waiting_node *waiting; /* owned */
	size_t waiting_count, waiting_capacity;
	struct hash_map captured; /* owned; graph node -> stack << 32 | function string */
	struct hash_map
		copies; /* owned; graph node -> the one it was copied from, not captured yet */
	struct hash_map stacks; /* owned; launch's stack << 32 | captured one -> both as one */
};
enum { NODE_CALLS = 1 << 16, NODES_WAITING_MOST = 1 << 16 };
/* What a node takes, in a map that is half full. */
enum { CAPTURED_BYTES = 2 * sizeof(struct hash_slot) };

void nodes_fini(struct nodes *nodes);

/* False: no memory. */
bool nodes_remember(struct nodes *nodes, const struct node_call *call);

/* NULL: not known. */
const struct node_call *nodes_find(const struct nodes *nodes, uint64_t correlation);

/* False: no memory. */
bool nodes_capture(struct nodes *nodes, uint64_t graph_node, const struct captured *captured);
/* The same of a copy, also where the original is told of in a ring that comes later in the round. */
bool nodes_copy(struct nodes *nodes, uint64_t graph_node, uint64_t original);
/* Whether the call that made it is known. */
bool nodes_is_captured(const struct nodes *nodes, uint64_t graph_node);

/* Fills in what the call says of the command (NULL: it is not known), and of a graph's node where it comes from: its
 * function is that of the call that made it, its stack the launch's, "[graph launch]", and of the stack of the other call
 * what the two have not in common. */
void nodes_complete(struct nodes *nodes, struct recording *recording, struct waiting_node *node,
		    const struct node_call *call);

#endif
