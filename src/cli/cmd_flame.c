/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_flame.c - duet flame: draw the device account as a flame graph, from source lines to
 * kernels
 *
 * Runs in:  our own process
 * Gets:     a trace file and a view
 * Gives:    an SVG, or folded stacks
 * Owns:     the model, the analysis, the graph
 * Fails:    with a message and the statuses of the other verbs
 * Why:      busy and idle time are above the code that caused them (below it with --icicle): a
 *           kernel above the stack that launched it, and the idle time before the kernel above the
 *           same stack. In the view total, the sum is exactly the devices' wall time.
 */
#include "cli/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/string.h"
#include "cli/graph.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "flame/drawing.h"
#include "flame/flame.h"
#include "flame/tree.h"

#define DEFAULT_OUTPUT "duet.svg"

struct flame_values {
	const char *output, *view, *event, *title, *device, *root;
	uint64_t from_ns, to_ns, width;
	const char *min_width;
	bool folded, icicle, lines, full_names;
};

static const struct option_row flame_rows[] = {
	{"output", 'o', OPTION_TEXT, "FILE",
	 "output file, - for stdout (default: duet.svg; with --folded stdout)",
	 offsetof(struct flame_values, output)},
	{"view", 0, OPTION_TEXT, "NAME",
	 "view: total (default with a device), gpu, idle, cpu (default without a device), "
	 "offcpu, launch or stall (man duet-flame)",
	 offsetof(struct flame_values, view)},
	{"event", 0, OPTION_TEXT, "NAME", "draw the CPU samples of this event, such as cycles",
	 offsetof(struct flame_values, event)},
	{"folded", 0, OPTION_FLAG, NULL, "write folded stacks, one per line, instead of an SVG",
	 offsetof(struct flame_values, folded)},
	{"lines", 0, OPTION_FLAG, NULL, "one frame per source line instead of one per function",
	 offsetof(struct flame_values, lines)},
	{"root", 0, OPTION_TEXT, "process", "begin each stack with its process: name, pid and rank",
	 offsetof(struct flame_values, root)},
	{"device", 0, OPTION_TEXT, "D", "only this device: its key, name or number",
	 offsetof(struct flame_values, device)},
	OPTION_WINDOW(struct flame_values),
	{"title", 0, OPTION_TEXT, "TEXT", "title of the picture",
	 offsetof(struct flame_values, title)},
	{"width", 0, OPTION_NUMBER, "PX", "width of the picture in pixels (default 1200)",
	 offsetof(struct flame_values, width)},
	{"min-width", 0, OPTION_TEXT, "PX", "minimum width of a frame in pixels (default 0.1)",
	 offsetof(struct flame_values, min_width)},
	{"icicle", 0, OPTION_FLAG, NULL, "put the root at the top",
	 offsetof(struct flame_values, icicle)},
	{"full-names", 0, OPTION_FLAG, NULL, "label frames with their full C++ names",
	 offsetof(struct flame_values, full_names)},
	{NULL},
};

/* ---- output ---------------------------------------------------------------------------------- */

struct output {
	struct drawing *drawing;
	const struct flame_values *values;
	double min_width_px;
	const char *warning; /* lines; "": the trace is complete */
};

static int write_graph(void *context, FILE *out)
{
	const struct output *output = context;
	struct drawing *drawing = output->drawing;
	const struct flame_values *values = output->values;
	struct string_builder subtitle = {0};
	struct flame_options options = {
		.title = values->title ? values->title : drawing->view->title,
		.warning = *output->warning ? output->warning : NULL,
		.unit = drawing_unit(drawing),
		.width_px = (uint32_t)values->width,
		.min_width_px = output->min_width_px,
		.is_icicle = values->icicle,
		.has_lines = values->lines,
		.shorten = drawing_label,
		.shorten_context = drawing,
	};
	int error;

	if (values->folded)
		return flame_write_folded(drawing->flame, out);
	drawing_describe(drawing, &subtitle);
	options.subtitle = string_builder_text(&subtitle);
	error = flame_write_svg(drawing->flame, &options, out);
	string_builder_fini(&subtitle);
	return error;
}

/* NULL: stdout */
static const char *output_path(const struct flame_values *values)
{
	if (values->output)
		return strcmp(values->output, "-") == 0 ? NULL : values->output;
	return values->folded ? NULL : DEFAULT_OUTPUT;
}

/* Draws and writes the picture; prints its warnings on stderr too. */
static int make_picture(const struct cli_command *command, struct graph *graph,
			const struct flame_values *values, double min_width_px)
{
	struct output output = {.drawing = &graph->drawing,
				.values = values,
				.min_width_px = min_width_px,
				.warning = string_builder_text(&graph->warning)};
	int error = drawing_draw(&graph->drawing);

	if (!error && !values->folded && !values->full_names)
		error = drawing_shorten(&graph->drawing);
	if (!error)
		error = output_write(output_path(values), write_graph, &output);
	if (error)
		return print_failure(command);
	graph_print_notes(command, graph);
	output_announce(output_path(values), "%s, %" PRIu32 " %s", graph->drawing.view->title,
			graph->drawing.flame->frames_count,
			format_noun(graph->drawing.flame->frames_count, "frame", "frames"));
	return STATUS_DONE;
}

static int run_file(const struct cli_command *command, const char *path,
		    const struct flame_values *values, double min_width_px)
{
	const struct graph_request request = {.path = path,
					      .output = output_path(values),
					      .view = values->view,
					      .event = values->event,
					      .device = values->device,
					      .from_ns = values->from_ns,
					      .to_ns = values->to_ns,
					      .has_processes = values->root != NULL};
	struct graph graph = {.request = &request, .drawing = {.has_lines = values->lines}};
	int status = graph_open(command, &graph);

	if (status == STATUS_DONE)
		status = make_picture(command, &graph, values, min_width_px);
	graph_close(&graph);
	return status;
}

static int parse_min_width(const char *text, double *ret_px)
{
	char *end;

	if (!text)
		return 0;
	*ret_px = strtod(text, &end);
	return *end || end == text || !(*ret_px > 0) || *ret_px > 1000 ? -EINVAL : 0;
}

static int run_flame(const struct cli_command *command, int argc, char **argv)
{
	struct flame_values values = {.width = 1200, .to_ns = UINT64_MAX};
	int first = options_parse(command, argc, argv, false, &values);
	double min_width_px = 0.1;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first > 1)
		return usage_error(command, "one FILE at a time");
	if (values.output && !*values.output)
		return usage_error(command, "--output needs a file name");
	if (values.view && !drawing_find_view(values.view))
		return usage_error(command, "--view: " GRAPH_VIEWS ", not '%s'", values.view);
	if (values.root && strcmp(values.root, "process") != 0)
		return usage_error(command, "--root: process, not '%s'", values.root);
	if (values.to_ns < values.from_ns)
		return usage_error(command, "--to is before --from");
	if (values.width < 320 || values.width > 100000)
		return usage_error(command, "--width: from 320 to 100000 pixels");
	if (parse_min_width(values.min_width, &min_width_px))
		return usage_error(command, "--min-width: pixels above 0, such as 0.5");
	return finish_output(command->name,
			     run_file(command, first < argc ? argv[first] : SELECTION_FILE, &values,
				      min_width_px));
}

const struct cli_command command_flame = {
	.name = "flame",
	.arguments = "[options] [FILE]",
	.summary = "draw where the device time went: a flame graph from the code to the kernels",
	.writes_files = true,
	.reads_trace = true,
	.run = run_flame,
	.options = flame_rows,
};
