/* SPDX-License-Identifier: MIT
 *
 * collect/guest/graph_nodes.c - finds the call that launched a command which only the device
 * reports
 *
 * Runs in:  the recorder
 * Gets:     calls and commands of one guest, read from several rings
 * Gives:    the thread, times and stack of the call
 * Owns:     the latest calls, and the stacks that created the nodes of graphs
 * Fails:    returns NULL; the command then has no thread and no stack
 * Why:      The device reports the commands of a graph after it has run them, up to 200 ms after
 *           the call and through a thread of the runtime. Correlation ids count up, so a table of
 *           the last 65536 calls is indexed by them and needs no search. A graph is launched in one
 *           place and built in another; a user who looks for a kernel's cause needs both.
 */
#include "collect/guest/graph_nodes.h"

#include <stdlib.h>

static struct node_call *place(const struct graph_nodes *nodes, uint64_t correlation)
{
	return &nodes->calls[correlation & (NODE_CALLS - 1)];
}

bool graph_nodes_remember(struct graph_nodes *nodes, const struct node_call *call)
{
	if (!nodes->calls)
		nodes->calls = calloc(NODE_CALLS, sizeof(*nodes->calls));
	if (nodes->calls)
		*place(nodes, call->correlation) = *call;
	return nodes->calls != NULL;
}

const struct node_call *graph_nodes_find(const struct graph_nodes *nodes, uint64_t correlation)
{
	const struct node_call *call = nodes->calls ? place(nodes, correlation) : NULL;

	return call && correlation && call->correlation == correlation ? call : NULL;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

bool graph_nodes_capture(struct graph_nodes *nodes, uint64_t graph_node,
			 const struct captured *captured)
{
	return hash_map_put(&nodes->captured, graph_node,
			    (uint64_t)captured->stack << 32 | captured->function_string) == 0;
}

/* Cloning and instantiating a graph copies its nodes twice. */
enum { COPIES_DEEP = 8 };

static bool find_captured(const struct graph_nodes *nodes, uint64_t graph_node,
			  struct captured *ret_captured)
{
	const uint64_t *found = NULL, *original = &graph_node;

	for (int i = 0; i < COPIES_DEEP && original && *original && !found; i++) {
		graph_node = *original;
		found = hash_map_find(&nodes->captured, graph_node);
		original = hash_map_find(&nodes->copies, graph_node);
	}
	if (found)
		*ret_captured = (struct captured){(uint32_t)*found, (uint32_t)(*found >> 32)};
	return found != NULL;
}

bool graph_nodes_copy(struct graph_nodes *nodes, uint64_t graph_node, uint64_t original)
{
	struct captured captured;

	if (!find_captured(nodes, original, &captured))
		return hash_map_put(&nodes->copies, graph_node, original) == 0;
	return graph_nodes_capture(nodes, graph_node, &captured);
}

bool graph_nodes_is_captured(const struct graph_nodes *nodes, uint64_t graph_node)
{
	struct captured captured;

	return find_captured(nodes, graph_node, &captured);
}

enum { MAX_DEPTH = 2048 };

/* Reads the ids of a stack's nodes, innermost first. Returns 0 if the stack is deeper than
 * MAX_DEPTH or not known. */
static size_t read_stack(const struct recording *recording, uint32_t stack, uint32_t ids[MAX_DEPTH])
{
	struct event_stack row;
	size_t count = 0;

	for (; stack; stack = row.caller) {
		if (count == MAX_DEPTH || !trace_writer_find_stack(recording->writer, stack, &row))
			return 0;
		ids[count++] = stack;
	}
	return count;
}

/* Joins the launch's stack with the frames that are only in the capturing stack. Stacks share nodes
 * from the root on, so equal ids mean equal outer parts. */
static uint32_t join_stacks(struct recording *recording, uint32_t launch, uint32_t captured)
{
	const struct event_frame marker = {
		.type = FRAME_NATIVE,
		.name_string = recording_string(recording, "[graph launch]"),
	};
	uint32_t outer[MAX_DEPTH], inner[MAX_DEPTH];
	size_t outer_count = read_stack(recording, launch, outer);
	size_t left = read_stack(recording, captured, inner);
	uint32_t joined = recording_stack(recording, launch, recording_frame(recording, &marker));
	struct event_stack row;

	while (outer_count && left && outer[outer_count - 1] == inner[left - 1]) {
		outer_count--;
		left--;
	}
	for (; left && joined; left--) {
		if (!trace_writer_find_stack(recording->writer, inner[left - 1], &row))
			return launch;
		joined = recording_stack(recording, joined, row.frame);
	}
	return joined ? joined : launch;
}

static uint32_t joined(struct graph_nodes *nodes, struct recording *recording, uint32_t launch,
		       uint32_t captured)
{
	const uint64_t key = (uint64_t)launch << 32 | captured;
	const uint64_t *known = hash_map_find(&nodes->stacks, key);
	uint32_t both;

	if (known)
		return (uint32_t)*known;
	both = join_stacks(recording, launch, captured);
	hash_map_put(&nodes->stacks, key, both);
	return both;
}

void graph_nodes_complete(struct graph_nodes *nodes, struct recording *recording,
			  struct waiting_node *node, const struct node_call *call)
{
	struct event_launch *launch = &node->launch;
	struct captured captured;

	if (!call)
		return;
	launch->enter = call->enter;
	launch->exit = call->exit;
	launch->thread = call->thread;
	launch->function_string = call->function_string;
	launch->stack = call->stack;
	if (!call->stack || !find_captured(nodes, node->graph_node, &captured) || !captured.stack)
		return;
	launch->function_string = captured.function_string;
	launch->stack = joined(nodes, recording, call->stack, captured.stack);
}

void graph_nodes_fini(struct graph_nodes *nodes)
{
	free(nodes->calls);
	free(nodes->waiting);
	hash_map_fini(&nodes->captured);
	hash_map_fini(&nodes->copies);
	hash_map_fini(&nodes->stacks);
	*nodes = (struct graph_nodes){0};
}
