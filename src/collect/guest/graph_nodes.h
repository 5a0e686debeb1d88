/* SPDX-License-Identifier: MIT
 *
 * collect/guest/graph_nodes.h - finds the call that launched a command which only the device
 * reports
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "collect/recording.h"
#include "event/event.h"

/* A call that launched commands, read from its thread's ring. Ids are those of the trace. */
struct node_call {
	uint64_t correlation; /* the guest's; 0: none */
	uint64_t enter, exit;
	uint32_t thread, function_string, stack;
};

/* A command whose call is in a ring that is read later in the round. */
struct waiting_node {
	uint64_t parent;
	struct event_launch launch; /* all but the members that the call fills in */
	uint64_t graph_node;        /* the runtime's id; 0: none */
	uint32_t guest_queue;
	struct event_execution execution;
};

/* The call that made a node of a graph. */
struct captured {
	uint32_t function_string, stack;
};

/* The graph commands of one guest. All zero: empty. Holds the last NODE_CALLS calls. */
struct graph_nodes {
	/* Owned; NODE_CALLS entries, indexed by correlation. NULL: no call was recorded. */
	struct node_call *calls;
	struct waiting_node *waiting; /* owned */
	size_t waiting_count, waiting_capacity;
	struct hash_map captured; /* owned; graph node -> stack << 32 | function string */
	/* Owned; graph node -> the node it was copied from, if that one is not captured yet. */
	struct hash_map copies;
	/* Owned; launch stack << 32 | captured stack -> the joined stack. */
	struct hash_map stacks;
};
enum { NODE_CALLS = 1 << 16, MAX_NODES_WAITING = 1 << 16 };
/* Bytes of one node in a hash map that is half full. */
enum { CAPTURED_BYTES = 2 * sizeof(struct hash_slot) };

void graph_nodes_fini(struct graph_nodes *nodes);

/* False: no memory. */
bool graph_nodes_remember(struct graph_nodes *nodes, const struct node_call *call);

/* NULL: the call is not known. */
const struct node_call *graph_nodes_find(const struct graph_nodes *nodes, uint64_t correlation);

/* False: no memory. */
bool graph_nodes_capture(struct graph_nodes *nodes, uint64_t graph_node,
			 const struct captured *captured);
/* Records that a node is a copy of another. The original may be in a ring that is read later in the
 * round. */
bool graph_nodes_copy(struct graph_nodes *nodes, uint64_t graph_node, uint64_t original);
/* Whether the call that created the node is known. */
bool graph_nodes_is_captured(const struct graph_nodes *nodes, uint64_t graph_node);

/* Fills in the command's members from its call; NULL: not known. If the node's capture is known
 * too, the function is that of the capturing call. The stack is then the launch's, a frame "[graph
 * launch]", and the frames that only the capturing stack has. */
void graph_nodes_complete(struct graph_nodes *nodes, struct recording *recording,
			  struct waiting_node *node, const struct node_call *call);
