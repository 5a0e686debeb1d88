/* SPDX-License-Identifier: MIT
 *
 * collect/nodes.h - which call launched a command that the device alone tells of
 */
#ifndef COLLECT_NODES_H
#define COLLECT_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	uint32_t guest_queue;
	struct event_execution execution;
};

/* Of one guest. All zero: nothing. The last NODE_CALLS calls are known. */
struct nodes {
	struct node_call
		*calls; /* owned; NODE_CALLS of them, by correlation; NULL: none was told of */
	struct waiting_node *waiting; /* owned */
	size_t waiting_count, waiting_capacity;
};
enum { NODE_CALLS = 1 << 16, NODES_WAITING_MOST = 1 << 16 };

void nodes_fini(struct nodes *nodes);

/* False: no memory. */
bool nodes_remember(struct nodes *nodes, const struct node_call *call);

/* NULL: not known. */
const struct node_call *nodes_find(const struct nodes *nodes, uint64_t correlation);

/* Fills in what the call says of the command; NULL: it is not known. */
void nodes_complete(struct event_launch *launch, const struct node_call *call);

#endif
