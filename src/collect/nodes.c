/* SPDX-License-Identifier: MIT
 *
 * collect/nodes.c - which call launched a command that the device alone tells of
 *
 * Runs in:  the recorder
 * Gets:     calls and commands of one guest, from several rings   Gives: the thread, the times and the stack of a call
 * Owns:     the calls that were made last
 * Fails:    with NULL: the command stands without a thread and a stack
 * Why:      what is in a graph is known when the device has run it, up to 200 ms after its call and in a thread of the
 *           runtime's own. A table by correlation, which counts up, keeps the last 65536 calls without a search.
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

void nodes_complete(struct event_launch *launch, const struct node_call *call)
{
	if (!call)
		return;
	launch->enter = call->enter;
	launch->exit = call->exit;
	launch->thread = call->thread;
	launch->function_string = call->function_string;
	launch->stack = call->stack;
}

void nodes_fini(struct nodes *nodes)
{
	free(nodes->calls);
	free(nodes->waiting);
	*nodes = (struct nodes){0};
}
