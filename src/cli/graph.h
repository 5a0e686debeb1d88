/* SPDX-License-Identifier: MIT
 *
 * cli/graph.h - what the verbs that draw flame graphs share: a trace, the part of it and the view that were asked for
 *
 *	struct graph graph = {.request = &request};
 *	status = graph_open(command, &graph);
 *	if (status == STATUS_DONE)
 *		… graph.drawing …
 *	graph_close(&graph);
 */
#ifndef CLI_GRAPH_H
#define CLI_GRAPH_H

#include <stdint.h>

#include "base/string.h"
#include "export/flame_drawing.h"

struct analysis_observer;
struct command;

/* The words of --view in a message. */
#define GRAPH_VIEWS "total, gpu, idle, cpu, offcpu, launch or stall"

struct graph_request {
	const char *path, *output; /* of the trace; NULL: to stdout */
	const char *view, *device; /* NULL: chosen; all */
	uint64_t from_ns, to_ns;   /* from the begin of the recording; UINT64_MAX: to its end */
	const struct analysis_observer *observer; /* NULL: nobody is told */
};

struct graph {
	const struct graph_request *request; /* borrowed */
	struct model *model;
	struct analysis *analysis;
	struct drawing drawing;
	struct string_builder warning; /* what a reader must know first, lines */
};

/* Reads the trace and opens the drawing, of which nothing is drawn yet. A status; what is wrong was said. */
int graph_open(const struct command *command, struct graph *graph);
void graph_close(struct graph *graph); /* half-opened too */

/* Says on stderr what the picture says, and which view was chosen. */
void graph_print_notes(const struct command *command, const struct graph *graph);

#endif
