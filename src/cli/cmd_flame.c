/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_flame.c - duet flame: draw the device account as a flame graph, from source lines to
 * kernels
 *
 * Runs in:  our own process
 * Gets:     a trace file and a view; with --diff, another trace file
 * Gives:    an SVG, or folded stacks
 * Owns:     the model, the analysis, the graphs
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

#include "analyze/compare/renames.h"
#include "analyze/compare/side.h"
#include "base/error.h"
#include "base/format.h"
#include "base/string.h"
#include "cli/picture/graph.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "flame/drawing.h"
#include "flame/diff/diff.h"
#include "flame/flame.h"
#include "flame/tree.h"

#define DEFAULT_OUTPUT "duet.svg"

struct flame_values {
	const char *output, *view, *event, *title, *device, *root;
	const char *diff, *width_of;
	uint64_t from_ns, to_ns, width;
	const char *min_width;
	bool folded, icicle, lines, full_names, normalize;
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
	{"diff", 0, OPTION_TEXT, "BASE",
	 "draw the change from the recording BASE to FILE: red grew, blue shrank",
	 offsetof(struct flame_values, diff)},
	{"width-of", 0, OPTION_TEXT, "SIDE",
	 "with --diff, the recording that gives the widths: new (default) or base",
	 offsetof(struct flame_values, width_of)},
	{"normalize", 0, OPTION_FLAG, NULL,
	 "with --diff, scale the values of BASE to the total of FILE",
	 offsetof(struct flame_values, normalize)},
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

/* ---- the recording to compare with ----------------------------------------------------------- */

struct base {
	struct flame *flame; /* NULL: there is none */
	const struct flame_view *view;
	char *unit;
	struct compare_side *kernels;
	struct string_builder about, warning, notes; /* texts of the picture; lines for stderr */
};

static void base_fini(struct base *base)
{
	flame_free(base->flame);
	side_free(base->kernels);
	free(base->unit);
	string_builder_fini(&base->about);
	string_builder_fini(&base->warning);
	string_builder_fini(&base->notes);
}

/* The kernels of a recording with their call paths, for the matching of their names. */
static int kernels_of(const struct graph *graph, struct compare_side **ret_kernels)
{
	const struct side_options options = {.device = SIDE_ALL_DEVICES, .is_busy_only = true};

	return side_new(graph->request->path, graph->analysis, graph->drawing.frames, &options,
			ret_kernels);
}

/* Keeps the graph and the texts of a recording that is then closed. */
static int base_take(struct base *base, struct graph *graph)
{
	struct drawing *drawing = &graph->drawing;
	struct string_builder about = {0};
	int error = drawing_draw(drawing);

	if (error)
		return error;
	drawing_describe(drawing, &about);
	graph_append_lines("BASE: ", string_builder_text(&about), &base->about);
	string_builder_fini(&about);
	graph_append_lines("BASE: ", string_builder_text(&graph->warning), &base->warning);
	graph_append_notes(graph, "BASE: ", &base->notes);
	base->view = drawing->view;
	base->unit = strdup(drawing_unit(drawing));
	base->flame = drawing->flame;
	drawing->flame = NULL;
	if (base->unit && kernels_of(graph, &base->kernels))
		return error_set(-ENOMEM, "flame graph: out of memory");
	return base->unit ? 0 : error_set(-ENOMEM, "flame graph: out of memory");
}

static int base_read(const struct cli_command *command, const struct graph_request *like,
		     const struct flame_values *values, struct base *base)
{
	struct graph_request request = *like;
	struct graph graph = {.request = &request, .drawing = {.has_lines = values->lines}};
	int status;

	request.path = values->diff;
	status = graph_open(command, &graph);
	if (status == STATUS_DONE && base_take(base, &graph))
		status = print_failure(command);
	graph_close(&graph);
	return status;
}

static const char *find_name(void *context, const char *name, enum flame_class frame_class)
{
	return frame_class == FLAME_DEVICE ? renames_get(context, name) : name;
}

/* Adds the stacks of BASE, with the names that its kernels have in NEW. */
static int base_add(struct base *base, const struct graph *graph, struct flame_diff *diff)
{
	struct compare_side *kernels = NULL;
	struct renames *renames = NULL;
	struct flame_rename rename = {.find = find_name};
	int error = kernels_of(graph, &kernels);

	if (!error)
		error = renames_find(base->kernels, kernels, &renames);
	rename.context = renames;
	error = error ? error_set(error, "flame graph: out of memory")
		      : flame_diff_add(diff, base->flame, &rename);
	renames_free(renames);
	side_free(kernels);
	return error;
}

/* Merges BASE into the graph of NEW and frees it. */
static int base_compare(struct base *base, struct graph *graph, const struct flame_values *values,
			struct flame_diff *diff)
{
	struct drawing *drawing = &graph->drawing;
	const char *unit = drawing_unit(drawing);
	int error;

	if (base->view != drawing->view)
		return error_set(
			-EINVAL,
			"different views: '%s' has %s, '%s' has %s; choose one with --view",
			values->diff, base->view->name, graph->request->path, drawing->view->name);
	if (strcmp(base->unit, unit) != 0)
		return error_set(
			-EINVAL,
			"different units: '%s' has %s, '%s' has %s; choose one with --event",
			values->diff, base->unit, graph->request->path, unit);
	error = flame_diff_init(diff, drawing->flame);
	if (!error)
		error = base_add(base, graph, diff);
	if (!error && values->normalize)
		error = flame_diff_scale(diff);
	if (!error && values->width_of && strcmp(values->width_of, "base") == 0)
		flame_diff_swap(diff);
	flame_free(base->flame);
	base->flame = NULL;
	return error;
}

/* ---- output ---------------------------------------------------------------------------------- */

struct output {
	struct drawing *drawing;
	const struct flame_values *values;
	const struct flame_diff *diff; /* NULL: one recording */
	const struct base *base;
	const char *path;
	double min_width_px;
	const char *warning; /* lines; "": the trace is complete */
};

/* The lines above the picture. */
static void append_subtitle(const struct output *output, struct string_builder *subtitle)
{
	struct string_builder about = {0};

	drawing_describe(output->drawing, &about);
	if (output->diff)
		flame_diff_describe(output->diff, output->path, output->values->diff,
				    drawing_unit(output->drawing), subtitle);
	graph_append_lines(output->diff ? "NEW: " : "", string_builder_text(&about), subtitle);
	graph_append_lines("", string_builder_text(&output->base->about), subtitle);
	string_builder_fini(&about);
}

static int write_folded(const struct output *output, FILE *out)
{
	return output->diff ? flame_diff_write_folded(output->diff, out)
			    : flame_write_folded(output->drawing->flame, out);
}

static int write_graph(void *context, FILE *out)
{
	const struct output *output = context;
	struct drawing *drawing = output->drawing;
	const struct flame_values *values = output->values;
	struct string_builder subtitle = {0}, title = {0};
	struct flame_options options = {
		.warning = *output->warning ? output->warning : NULL,
		.unit = drawing_unit(drawing),
		.width_px = (uint32_t)values->width,
		.min_width_px = output->min_width_px,
		.is_icicle = values->icicle,
		.has_lines = values->lines,
		.shorten = drawing_label,
		.shorten_context = drawing,
		.diff = output->diff,
	};
	int error;

	if (values->folded)
		return write_folded(output, out);
	append_subtitle(output, &subtitle);
	string_builder_appendf(&title, "%s%s", drawing->view->title,
			       output->diff ? ", changes from BASE to NEW" : "");
	options.title = values->title ? values->title : string_builder_text(&title);
	options.subtitle = string_builder_text(&subtitle);
	error = flame_write_svg(drawing->flame, &options, out);
	string_builder_fini(&subtitle);
	string_builder_fini(&title);
	return error;
}

/* NULL: stdout */
static const char *output_path(const struct flame_values *values)
{
	if (values->output)
		return strcmp(values->output, "-") == 0 ? NULL : values->output;
	return values->folded ? NULL : DEFAULT_OUTPUT;
}

/* Draws and writes the picture, and appends the warnings of BASE to those of NEW. */
static int write_picture(struct graph *graph, const struct flame_values *values, struct base *base,
			 double min_width_px)
{
	struct flame_diff diff = {0};
	struct string_builder warning = {0};
	struct output output = {.drawing = &graph->drawing,
				.values = values,
				.diff = values->diff ? &diff : NULL,
				.base = base,
				.path = graph->request->path,
				.min_width_px = min_width_px};
	int error = drawing_draw(&graph->drawing);

	graph_append_lines("", string_builder_text(&graph->warning), &warning);
	graph_append_lines("", string_builder_text(&base->warning), &warning);
	output.warning = string_builder_text(&warning);
	if (!error && values->diff)
		error = base_compare(base, graph, values, &diff);
	if (!error && !values->folded && !values->full_names)
		error = drawing_shorten(&graph->drawing);
	if (!error)
		error = output_write(output_path(values), write_graph, &output);
	string_builder_fini(&warning);
	flame_diff_fini(&diff);
	return error;
}

/* Prints the warnings on stderr too. */
static int make_picture(const struct cli_command *command, struct graph *graph,
			const struct flame_values *values, struct base *base, double min_width_px)
{
	if (write_picture(graph, values, base, min_width_px))
		return print_failure(command);
	graph_print_notes(command, graph, string_builder_text(&base->notes));
	output_announce(output_path(values), "%s, %" PRIu32 " %s", graph->drawing.view->title,
			graph->drawing.flame->frames_count,
			format_noun(graph->drawing.flame->frames_count, "frame", "frames"));
	return STATUS_DONE;
}

/* BASE is read, drawn and closed before FILE is opened, so that one trace is in memory. */
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
					      .has_processes = values->root != NULL,
					      .is_compared = values->diff != NULL};
	struct graph graph = {.request = &request, .drawing = {.has_lines = values->lines}};
	struct base base = {0};
	int status = values->diff ? base_read(command, &request, values, &base) : STATUS_DONE;

	if (status == STATUS_DONE)
		status = graph_open(command, &graph);
	if (status == STATUS_DONE)
		status = make_picture(command, &graph, values, &base, min_width_px);
	graph_close(&graph);
	base_fini(&base);
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

static int check_names(const struct cli_command *command, const struct flame_values *values)
{
	const char *side = values->width_of;

	if (values->output && !*values->output)
		return usage_error(command, "--output needs a file name");
	if (values->view && !drawing_find_view(values->view))
		return usage_error(command, "--view: " GRAPH_VIEWS ", not '%s'", values->view);
	if (values->root && strcmp(values->root, "process") != 0)
		return usage_error(command, "--root: process, not '%s'", values->root);
	if (values->diff && !*values->diff)
		return usage_error(command, "--diff needs a file name");
	if (side && strcmp(side, "new") != 0 && strcmp(side, "base") != 0)
		return usage_error(command, "--width-of: new or base, not '%s'", side);
	if (!values->diff && (side || values->normalize))
		return usage_error(command, "%s needs --diff", side ? "--width-of" : "--normalize");
	if (side && values->folded)
		return usage_error(command, "--width-of: folded stacks have no widths");
	return STATUS_DONE;
}

static int run_flame(const struct cli_command *command, int argc, char **argv)
{
	struct flame_values values = {.width = 1200, .to_ns = UINT64_MAX};
	int first = options_parse(command, argc, argv, false, &values);
	double min_width_px = 0.1;
	int status;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first > 1)
		return usage_error(command, "one FILE at a time");
	status = check_names(command, &values);
	if (status != STATUS_DONE)
		return status;
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
	.remote = &(const struct remote_way){.kind = REMOTE_WRITE,
					     .output = "duet.svg",
					     .printing_option = "folded"},
};
