/* SPDX-License-Identifier: MIT
 *
 * cli/graph.c - open a trace and prepare a flame graph of it, for flame and flamescope
 *
 * Runs in:  our own process
 * Gets:     the trace, the time window and the view of the command line
 * Gives:    an analysis and a drawing, or a message and a status
 * Owns:     model, analysis, drawing and the text of its warnings
 * Fails:    with a message and the statuses of the other verbs
 */
#include "cli/graph.h"

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

void graph_print_notes(const struct cli_command *command, const struct graph *graph)
{
	const char *warning = string_builder_text(&graph->warning);
	const struct drawing *drawing = &graph->drawing;
	const char *const *notes;
	size_t count = frames_notes(drawing->frames, &notes);

	for (size_t i = 0; i < count; i++)
		print_error(command->name, notes[i]);
	if (device_code_why(drawing->code))
		print_error(command->name, device_code_why(drawing->code));
	for (size_t length; *warning; warning += length + (warning[length] == '\n')) {
		char line[1024];

		length = strcspn(warning, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)length, warning);
		print_error(command->name, line);
	}
	if (!graph->request->view)
		print_choice(command, drawing->view);
}

static int refuse_view(const struct cli_command *command, const char *reason)
{
	bool is_whole = strchr(reason, '(') != NULL; /* the reason contains a remedy */

	error_set(-ENODATA, "not measured: %s%s", reason,
		  is_whole ? "" : " (--view launch counts launches)");
	return print_failure(command);
}

static int open_drawing(const struct cli_command *command, struct graph *graph)
{
	const struct graph_request *request = graph->request;
	struct drawing *drawing = &graph->drawing;
	auto_free char *archive = archive_folder(request->path);
	const struct frames_options options = archive_names(archive);
	const struct analysis *analysis = graph->analysis;
	int status = selection_check_window(command, request->from_ns,
					    analysis->end_ns - analysis->begin_ns);

	if (status == STATUS_DONE)
		status = selection_find_device(command, analysis, request->device, request->path,
					       &drawing->device);
	if (status != STATUS_DONE)
		return status;
	if (drawing_refusal(drawing))
		return refuse_view(command, drawing_refusal(drawing));
	if (drawing_choose_event(drawing, request->event))
		return print_failure(command);
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
