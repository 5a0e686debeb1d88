/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_flamescope.c - duet flamescope: a heat map of the time, with the flame graph of any
 * selected range
 *
 * Runs in:  our own process
 * Gets:     a trace file and a view
 * Gives:    an HTML file that needs no network and no server
 * Owns:     the heat map
 * Fails:    with a message and the statuses of the other verbs
 * Why 50 cells a column: patterns that repeat up to 50 times in it become visible. With one column
 *           per second, ten minutes fill the width of a screen. Shorter recordings get finer cells,
 *           longer ones coarser cells (page/scope/scope.h).
 */
#include "cli/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "analyze/observer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "cli/picture/graph.h"
#include "analyze/analysis.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "page/scope/scope.h"
#include "report/table.h"

#define NS_PER_MS    UINT64_C(1000000)
#define MAX_ROWS     1000
#define COLUMN_MAX_S 3600

struct scope_values {
	const char *output, *view, *device, *title;
	uint64_t from_ns, to_ns, row_ms, column_s;
	bool is_automatic; /* the length of the recording chooses row and column */
};

static const struct option_row scope_rows[] = {
	{"output", 'o', OPTION_TEXT, "FILE",
	 "output file, - for stdout (default: the trace's name with .flamescope.html)",
	 offsetof(struct scope_values, output)},
	{"view", 0, OPTION_TEXT, "NAME",
	 "view of duet flame: total, gpu, idle, cpu, offcpu, launch or stall (default: idle if the "
	 "devices idle more than half of the time, gpu if not; without a device as duet flame)",
	 offsetof(struct scope_values, view)},
	{"row", 0, OPTION_NUMBER, "MS",
	 "duration of a cell in ms (default 20, shorter for a recording below 30 s)",
	 offsetof(struct scope_values, row_ms)},
	{"column", 0, OPTION_NUMBER, "SEC",
	 "duration of a column in s (default 50 cells), a multiple of --row",
	 offsetof(struct scope_values, column_s)},
	{"device", 0, OPTION_TEXT, "D", "only this device: its key, name or number",
	 offsetof(struct scope_values, device)},
	OPTION_WINDOW(struct scope_values),
	{"title", 0, OPTION_TEXT, "TEXT", "title of the page",
	 offsetof(struct scope_values, title)},
	{NULL},
};

struct heat_map {
	const struct scope_values *values;
	struct graph graph;
	struct scope *scope;
};

static int write_page(void *context, FILE *out)
{
	struct heat_map *map = context;
	const char *title = map->values->title, *command = model_command(map->graph.model);
	const struct scope_about about = {
		.title = title      ? title
			 : *command ? command
				    : path_base(map->graph.request->path),
		.version = DUET_VERSION,
		.warning = string_builder_text(&map->graph.warning),
	};

	return scope_write(map->scope, &map->graph.drawing, &about, out);
}

/* Reports cells that are coarser than the options ask for. */
static void print_coarser(const struct cli_command *command, const struct heat_map *map)
{
	const struct scope_grid grid = scope_grid(map->scope);
	const uint64_t asked_ns = scope_asked_row_ns(map->scope);
	char text[256];

	if (grid.row_ns == asked_ns)
		return;
	snprintf(text, sizeof(text),
		 "cells have %s, columns %s: with cells of %s the page would be too large (--from "
		 "and --to show a part in detail)",
		 format_duration(grid.row_ns).text, format_duration(grid.row_ns * grid.rows).text,
		 format_duration(asked_ns).text);
	print_error(command->name, text);
}

/* Without --view, shows the idle time of devices that idle more than half of the time, otherwise
 * their busy time: in the view total every cell would be equally full. */
static void choose_view(struct heat_map *map)
{
	const struct analysis *analysis = map->graph.analysis;
	struct drawing *drawing = &map->graph.drawing;
	uint64_t busy_ns = 0, idle_ns = 0;

	if (map->values->view || drawing->view != drawing_find_view("total"))
		return;
	for (size_t i = 0; i < analysis_devices_shown(analysis); i++) {
		if (!analysis->devices[i].is_measured || !drawing_shows(drawing, i))
			continue;
		busy_ns = add_saturated(busy_ns, analysis->devices[i].account.busy_ns);
		idle_ns = add_saturated(idle_ns, analysis->devices[i].account.idle_ns);
	}
	if (busy_ns || idle_ns)
		drawing->view = drawing_find_view(idle_ns > busy_ns ? "idle" : "gpu");
}

static int make_page(const struct cli_command *command, struct heat_map *map)
{
	int error, status = graph_open(command, &map->graph);

	if (status != STATUS_DONE)
		return status;
	choose_view(map);
	error = output_write(map->graph.request->output, write_page, map);
	if (output_is_cut(map->graph.request->output, error))
		return STATUS_DONE;
	if (error)
		return print_failure(command);
	graph_print_notes(command, &map->graph, "");
	print_coarser(command, map);
	output_announce(
		map->graph.request->output, "%s of %s", map->graph.drawing.view->title,
		format_duration(map->graph.analysis->to_ns - map->graph.analysis->from_ns).text);
	return STATUS_DONE;
}

static int run_file(const struct cli_command *command, const struct scope_values *values,
		    const char *path, const char *output)
{
	const struct scope_grid grid = {
		.row_ns = values->is_automatic ? 0 : values->row_ms * NS_PER_MS,
		.rows = (uint32_t)(values->column_s * 1000 / values->row_ms)};
	struct analysis_observer observer;
	const struct graph_request request = {.path = path,
					      .output = output,
					      .view = values->view,
					      .device = values->device,
					      .from_ns = values->from_ns,
					      .to_ns = values->to_ns,
					      .observer = &observer};
	struct heat_map map = {.values = values, .graph = {.request = &request}};
	int status;

	if (scope_new(&grid, values->view ? drawing_find_view(values->view) : NULL, &map.scope))
		return print_failure(command);
	scope_observe(map.scope, &observer);
	status = make_page(command, &map);
	graph_close(&map.graph);
	scope_free(map.scope);
	return status;
}

static void set_defaults(struct scope_values *values)
{
	values->is_automatic = values->row_ms == UINT64_MAX && values->column_s == UINT64_MAX;
	if (values->row_ms == UINT64_MAX)
		values->row_ms = 20;
	if (values->column_s == UINT64_MAX)
		values->column_s = 1;
}

static int check_values(const struct cli_command *command, const struct scope_values *values)
{
	if (values->output && !*values->output)
		return usage_error(command, "--output needs a file name");
	if (values->view && !drawing_find_view(values->view))
		return usage_error(command, "--view: " GRAPH_VIEWS ", not '%s'", values->view);
	if (values->to_ns < values->from_ns)
		return usage_error(command, "--to is before --from");
	if (!values->column_s || values->column_s > COLUMN_MAX_S)
		return usage_error(command, "--column: from 1 to %d seconds", COLUMN_MAX_S);
	if (!values->row_ms || values->column_s * 1000 % values->row_ms)
		return usage_error(
			command,
			"--row: a number of milliseconds that divides the column of %" PRIu64
			" s, such as 20",
			values->column_s);
	if (values->column_s * 1000 / values->row_ms > MAX_ROWS)
		return usage_error(command, "--row: a column has at most %d cells", MAX_ROWS);
	return STATUS_DONE;
}

static int run_flamescope(const struct cli_command *command, int argc, char **argv)
{
	struct scope_values values = {
		.to_ns = UINT64_MAX, .row_ms = UINT64_MAX, .column_s = UINT64_MAX};
	int first = options_parse(command, argc, argv, false, &values), status;
	auto_free char *made = NULL;
	const char *path, *output;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first > 1)
		return usage_error(command, "one FILE at a time");
	set_defaults(&values);
	status = check_values(command, &values);
	if (status != STATUS_DONE)
		return status;
	path = first < argc ? argv[first] : SELECTION_FILE;
	made = output_beside(path, ".flamescope.html");
	if (!made)
		return print_failure(command);
	output = values.output ? values.output : made;
	status = run_file(command, &values, path, strcmp(output, "-") == 0 ? NULL : output);
	return finish_output(command->name, status);
}

const struct cli_command command_flamescope = {
	.name = "flamescope",
	.arguments = "[options] [FILE]",
	.summary = "write one HTML page with a heat map and the flame graph of any selected range",
	.writes_files = true,
	.reads_trace = true,
	.run = run_flamescope,
	.options = scope_rows,
	.remote = &(const struct remote_way){.kind = REMOTE_WRITE, .output = ".flamescope.html"},
};
