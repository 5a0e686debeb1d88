/* SPDX-License-Identifier: MIT
 *
 * cli/picture/graph.c - open a trace and prepare a flame graph of it, for flame and flamescope
 *
 * Runs in:  our own process
 * Gets:     the trace, the time window and the view of the command line
 * Gives:    an analysis and a drawing, or a message and a status
 * Owns:     model, analysis, drawing and the text of its warnings
 * Fails:    with a message and the statuses of the other verbs
 */
#include "cli/picture/graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/sample/device_code.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/archive.h"
#include "cli/selection.h"

static void print_choice(const struct cli_command *command, const struct flame_view *view)
{
	if (view->cpu)
		print_error(command->name, "no device was used: this is time on processors (--view "
					   "cpu); --view offcpu draws the time off processors");
	if (view->stall)
		print_error(command->name,
			    "no command has device times: these are samples of device "
			    "instructions (--view stall)");
	if (view->offcpu)
		print_error(command->name,
			    "no device was used, and no samples were taken: this is time off "
			    "processors (--view offcpu)");
}

void graph_append_lines(const char *prefix, const char *text, struct string_builder *lines)
{
	for (size_t length; *text; text += length + (text[length] == '\n')) {
		length = strcspn(text, "\n");
		string_builder_appendf(lines, "%s%s%.*s", lines->length ? "\n" : "", prefix,
				       (int)length, text);
	}
}

void graph_append_notes(const struct graph *graph, const char *prefix, struct string_builder *lines)
{
	const char *why = device_code_why(graph->drawing.code);
	const char *const *notes;
	size_t count = frames_notes(graph->drawing.frames, &notes);

	for (size_t i = 0; i < count; i++)
		graph_append_lines(prefix, notes[i], lines);
	graph_append_lines(prefix, why ? why : "", lines);
	graph_append_lines(prefix, string_builder_text(&graph->warning), lines);
}

void graph_print_notes(const struct cli_command *command, const struct graph *graph,
		       const char *more)
{
	struct string_builder lines = {0};
	auto_free char *text = NULL;
	char *rest;

	graph_append_notes(graph, "", &lines);
	graph_append_lines("", more, &lines);
	rest = text = string_builder_take(&lines);
	for (char *line; rest && (line = strsep(&rest, "\n"));)
		if (*line)
			print_error(command->name, line);
	string_builder_fini(&lines);
	if (!graph->request->view)
		print_choice(command, graph->drawing.view);
}

/* Prints the error chain, which names one of two recordings if there are two. */
static int print_refusal(const struct cli_command *command, const struct graph_request *request,
			 int error)
{
	if (request->is_compared)
		error_note(error, "'%s'", request->path);
	return print_failure(command);
}

static int refuse_view(const struct cli_command *command, const struct graph_request *request,
		       const char *reason)
{
	bool is_whole = strchr(reason, '(') != NULL; /* the reason contains a remedy */

	error_set(-ENODATA, "not measured: %s%s", reason,
		  is_whole ? "" : " (--view launch counts launches)");
	return print_refusal(command, request, -ENODATA);
}

static int open_drawing(const struct cli_command *command, struct graph *graph)
{
	const struct graph_request *request = graph->request;
	struct drawing *drawing = &graph->drawing;
	auto_free char *archive = archive_folder(request->path);
	const struct frames_options options = archive_names(archive);
	const struct analysis *analysis = graph->analysis;
	int error, status = selection_check_window(command, request->from_ns,
						   analysis->end_ns - analysis->begin_ns);

	if (status == STATUS_DONE)
		status = selection_find_device(command, analysis, request->device, request->path,
					       &drawing->device);
	if (status != STATUS_DONE)
		return status;
	if (drawing_refusal(drawing))
		return refuse_view(command, request, drawing_refusal(drawing));
	error = drawing_choose_event(drawing, request->event);
	if (error)
		return print_refusal(command, request, error);
	if (drawing_open(drawing, &options))
		return print_failure(command);
	drawing_warn(drawing, &graph->warning);
	return STATUS_DONE;
}

static const char *view_of(const struct graph_request *request)
{
	return !request->view && request->event ? "cpu" : request->view;
}

int graph_open(const struct cli_command *command, struct graph *graph)
{
	const struct graph_request *request = graph->request;
	const struct analysis_options options = {
		.has_from = request->from_ns != 0,
		.has_to = request->to_ns != UINT64_MAX,
		.from_ns = request->from_ns,
		.to_ns = request->to_ns,
		.observer = request->observer,
		.by_thread = request->has_processes,
		.finds_iterations = true, /* the steady part is the report's, and so are stacks */
	};
	int error = selection_check_output(request->output, request->path);

	if (!error)
		error = selection_open(request->path, &graph->model);
	if (!error && (error = analysis_new(graph->model, &options, &graph->analysis)) &&
	    !*error_text())
		error_set(error, "read '%s': %s", request->path, strerror(-error));
	if (error)
		return print_failure(command);
	graph->drawing.view = drawing_view(view_of(request), graph->analysis);
	graph->drawing.analysis = graph->analysis;
	graph->drawing.model = graph->model;
	graph->drawing.is_compared = request->is_compared;
	graph->drawing.has_processes = request->has_processes && !graph->drawing.view->stall;
	return open_drawing(command, graph);
}

void graph_close(struct graph *graph)
{
	drawing_fini(&graph->drawing);
	string_builder_fini(&graph->warning);
	analysis_free(graph->analysis);
	model_close(graph->model);
}
