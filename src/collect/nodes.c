/* SPDX-License-Identifier: MIT
 *
 * collect/nodes.c - which call launched a command that the device alone tells of
 *
 * Runs in:  the recorder
 * Gets:     calls and commands of one guest, from several rings   Gives: the thread, the times and the stack of a call
 * Owns:     the calls that were made last, the stacks in which nodes of graphs were made
 * Fails:    with NULL: the command stands without a thread and a stack
 * Why:      what is in a graph is known when the device has run it, up to 200 ms after its call and in a thread of the
 *           runtime's own. A table by correlation, which counts up, keeps the last 65536 calls without a search. A graph
 *           is launched from one place and made in another: who looks for a kernel's cause wants both.
 */
#include "collect/nodes.h"

#include <stdlib.h>

static struct node_call *place(const struct nodes *nodes, uint64_t correlation)
{
	return &nodes->calls[correlation & (NODE_CALLS - 1)];
}

bool nodes_remember(struct nodes *nodes, const struct node_call *call)
{
	if (!nodes->calls)
		nodes->calls = calloc(NODE_CALLS, sizeof(*nodes->calls));
	if (nodes->calls)
		*place(nodes, call->correlation) = *call;
	return nodes->calls != NULL;
}

const struct node_call *nodes_find(const struct nodes *nodes, uint64_t correlation)
{
	const struct node_call *call = nodes->calls ? place(nodes, correlation) : NULL;

	return call && correlation && call->correlation == correlation ? call : NULL;
}

/* ---- graphs ------------------------------------------------------------------------------------ */

bool nodes_capture(struct nodes *nodes, uint64_t graph_node, const struct captured *captured)
{
	return hash_map_put(&nodes->captured, graph_node,
			    (uint64_t)captured->stack << 32 | captured->function_string) == 0;
}

/* Copies of copies: a graph that is cloned and instantiated has two. */
enum { COPIES_DEEP = 8 };

static bool find_captured(const struct nodes *nodes, uint64_t graph_node,
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

bool nodes_copy(struct nodes *nodes, uint64_t graph_node, uint64_t original)
{
	struct captured captured;

	if (!find_captured(nodes, original, &captured))
		return hash_map_put(&nodes->copies, graph_node, original) == 0;
	return nodes_capture(nodes, graph_node, &captured);
}

bool nodes_is_captured(const struct nodes *nodes, uint64_t graph_node)
{
	struct captured captured;

	return find_captured(nodes, graph_node, &captured);
}

enum { DEPTH_MOST = 2048 };

/* The ids of a stack's nodes, innermost first; 0: it is deeper, or not known. */
static size_t read_stack(const struct recording *recording, uint32_t stack,
			 uint32_t ids[DEPTH_MOST])
{
	struct event_stack row;
	size_t count = 0;

	for (; stack; stack = row.caller) {
		if (count == DEPTH_MOST || !trace_writer_find_stack(recording->writer, stack, &row))
			return 0;
		ids[count++] = stack;
	}
	return count;
}

/* Stacks share their outer part: where two have the same id they are the same from there outwards. */
static uint32_t join(struct recording *recording, uint32_t launch, uint32_t captured)
{
	const struct event_frame marker = {
		.type = FRAME_NATIVE,
		.name_string = recording_string(recording, "[graph launch]"),
	};
	uint32_t outer[DEPTH_MOST], inner[DEPTH_MOST];
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

static uint32_t joined(struct nodes *nodes, struct recording *recording, uint32_t launch,
		       uint32_t captured)
{
	const uint64_t key = (uint64_t)launch << 32 | captured;
	const uint64_t *known = hash_map_find(&nodes->stacks, key);
	uint32_t both;

	if (known)
		return (uint32_t)*known;
	both = join(recording, launch, captured);
	hash_map_put(&nodes->stacks, key, both);
	return both;
}

void nodes_complete(struct nodes *nodes, struct recording *recording, struct waiting_node *node,
		    const struct node_call *call)
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

void nodes_fini(struct nodes *nodes)
{
	free(nodes->calls);
	free(nodes->waiting);
	hash_map_fini(&nodes->captured);
	hash_map_fini(&nodes->copies);
	hash_map_fini(&nodes->stacks);
	*nodes = (struct nodes){0};
}
