/* SPDX-License-Identifier: MIT
 *
 * cli/picture/graph.h - open a trace and prepare a flame graph of it, for flame and flamescope
 *
 *	struct graph graph = {.request = &request};
 *	status = graph_open(command, &graph);
 *	if (status == STATUS_DONE)
 *		… graph.drawing …
 *	graph_close(&graph);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"
#include "flame/drawing.h"

struct analysis_observer;
struct cli_command;

/* The values of --view, for messages. */
#define GRAPH_VIEWS "total, gpu, idle, cpu, offcpu, launch or stall"

struct graph_request {
	const char *path, *output; /* the trace; the output, NULL: stdout */
	const char *event;         /* only CPU samples of this event; NULL: chosen by the trace */
	const char *view, *device; /* NULL: chosen by the trace; NULL: all devices */
	uint64_t from_ns, to_ns;   /* since the start of the recording; UINT64_MAX: to its end */
	const struct analysis_observer *observer; /* called during the analysis; NULL: none */
	bool has_processes;                       /* the first frames are processes */
	bool is_compared;                         /* with another recording's graph */
};

struct graph {
	const struct graph_request *request; /* borrowed */
	struct model *model;
	struct analysis *analysis;
	struct drawing drawing;
	struct string_builder warning; /* lines to print above the graph */
};

/* Reads the trace and opens an empty drawing. Returns a status; errors are already printed. */
int graph_open(const struct cli_command *command, struct graph *graph);
void graph_close(struct graph *graph); /* safe after a failed open */

/* Prints the picture's warnings, `more` lines and the chosen view on stderr. */
void graph_print_notes(const struct cli_command *command, const struct graph *graph,
		       const char *more);

/* Appends each line of the text with a prefix in front. */
void graph_append_lines(const char *prefix, const char *text, struct string_builder *lines);
/* The same for the lines that graph_print_notes prints, except the chosen view. */
void graph_append_notes(const struct graph *graph, const char *prefix,
			struct string_builder *lines);
