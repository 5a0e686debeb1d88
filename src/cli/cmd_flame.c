/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_flame.c - the device account as a flame graph: from the line of code to the kernel
 *
 * Runs in:  our own process
 * Gets:     a trace file and a view   Gives: an SVG, or folded stacks
 * Owns:     the model, the analysis, the graph
 * Fails:    with a message and the statuses of the other verbs
 * Why:      both halves of the account hang below the code that is behind them: a kernel below the stack that
 *           launched it, the idle time before it below the same stack. The graph's total is the devices' wall
 *           to the nanosecond.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "analyze/device_code.h"
#include "analyze/frames.h"
#include "analyze/layers.h"
#include "analyze/model.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "base/string.h"
#include "cli/archive.h"
#include "cli/selection.h"
#include "cli/table.h"
#include "export/flame.h"
#include "export/flame_drawing.h"

#define DEFAULT_OUTPUT "duet.svg"

struct flame_values {
	const char *output, *view, *title, *device;
	uint64_t from_ns, to_ns, width;
	const char *min_width;
	bool folded, icicle, lines;
};

static const struct option_row flame_rows[] = {
	{"output", 'o', OPTION_OUTPUT, "FILE",
	 "write to FILE (an SVG by default to duet.svg, folded stacks to stdout)",
	 offsetof(struct flame_values, output)},
	{"view", 0, OPTION_TEXT, "NAME",
	 "total (default where a device was used): the devices' whole time; gpu: their busy time; "
	 "idle: their idle time; "
	 "cpu: the threads' time on processors (default elsewhere); offcpu: their time off them, "
	 "and "
	 "what they waited for; launch: how often",
	 offsetof(struct flame_values, view)},
	{"folded", 0, OPTION_FLAG, NULL, "folded stacks, a line each, instead of an SVG",
	 offsetof(struct flame_values, folded)},
	{"lines", 0, OPTION_FLAG, NULL, "a frame for each line, not for each function",
	 offsetof(struct flame_values, lines)},
	{"device", 0, OPTION_TEXT, "D", "only this device: its key, name or number",
	 offsetof(struct flame_values, device)},
	{"from", 0, OPTION_DURATION, "T", "only what is T or more after the begin of the recording",
	 offsetof(struct flame_values, from_ns)},
	{"to", 0, OPTION_DURATION, "T", "only what is less than T after it",
	 offsetof(struct flame_values, to_ns)},
	{"title", 0, OPTION_TEXT, "TEXT", "title of the picture",
	 offsetof(struct flame_values, title)},
	{"width", 0, OPTION_NUMBER, "PX", "width of the picture (default 1200)",
	 offsetof(struct flame_values, width)},
	{"min-width", 0, OPTION_TEXT, "PX", "leave out what is narrower (default 0.1)",
	 offsetof(struct flame_values, min_width)},
	{"icicle", 0, OPTION_FLAG, NULL, "the root at the top",
	 offsetof(struct flame_values, icicle)},
	{NULL},
};

static void say_choice(const struct command *command, const struct flame_view *view)
{
	if (view->cpu)
		print_error(command->name, "no device was used: this is time on processors (--view "
					   "cpu); --view offcpu draws what threads waited for");
	if (view->offcpu)
		print_error(command->name,
			    "no device was used, and no samples were taken: this is time off "
			    "processors (--view offcpu)");
}

/* ---- output ------------------------------------------------------------------------------------ */

struct output {
	const struct flame_values *values;
	double min_width_px;
	const char *warning; /* lines; "" where nothing is missing */
};

static int write_graph(const struct drawing *drawing, const struct output *output, FILE *out)
{
	const struct flame_values *values = output->values;
	struct string_builder subtitle;
	struct flame_options options = {
		.title = values->title ? values->title : drawing->view->title,
		.warning = *output->warning ? output->warning : NULL,
		.unit = drawing_unit(drawing),
		.width_px = (uint32_t)values->width,
		.min_width_px = output->min_width_px,
		.is_icicle = values->icicle,
	};
	int error;

	if (values->folded)
		return flame_write_folded(drawing->flame, out);
	string_builder_init(&subtitle);
	drawing_describe(drawing, &subtitle);
	options.subtitle = string_builder_text(&subtitle);
	error = flame_write_svg(drawing->flame, &options, out);
	string_builder_fini(&subtitle);
	return error;
}

/* NULL: stdout */
static const char *output_path(const struct flame_values *values)
{
	return values->output ? values->output : values->folded ? NULL : DEFAULT_OUTPUT;
}

static int write_output(const struct drawing *drawing, const struct output *output)
{
	const char *path = output_path(output->values);
	FILE *out = path ? fopen(path, "we") : stdout;
	int error;

	if (!out)
		return create_refused(path);
	error = write_graph(drawing, output, out);
	if (path && fclose(out) && !error)
		error = error_set(-errno, "write '%s': %s", path, strerror(errno));
	if (path && !error && isatty(STDERR_FILENO))
		fprintf(stderr, "duet: wrote %s\n", format_text(path).text);
	return error;
}

static void print_notes(const struct command *command, const struct drawing *drawing,
			const char *warning)
{
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
}

static int fail(const struct command *command)
{
	print_error(command->name, NULL);
	return STATUS_FAILED;
}

/* Draws, writes, and says on stderr what the picture says. */
static int make_picture(const struct command *command, struct drawing *drawing,
			const struct flame_values *values, double min_width_px)
{
	struct output output = {.values = values, .min_width_px = min_width_px};
	struct string_builder warning;
	int error;

	string_builder_init(&warning);
	drawing_warn(drawing, &warning);
	output.warning = string_builder_text(&warning);
	error = drawing_draw(drawing);
	if (!error)
		error = write_output(drawing, &output);
	if (!error)
		print_notes(command, drawing, output.warning);
	string_builder_fini(&warning);
	return error ? fail(command) : STATUS_DONE;
}

static int refuse(const struct command *command, const char *reason)
{
	bool is_whole = strchr(reason, '(') != NULL; /* it says what to do */

	error_set(-ENODATA, "not measured: %s%s", reason,
		  is_whole ? "" : " (--view launch counts what was launched)");
	return fail(command);
}

static int run_drawing(const struct command *command, struct drawing *drawing,
		       const struct flame_values *values, const char *path, double min_width_px)
{
	auto_free char *archive = archive_folder(path);
	const struct frames_options options = {
		.has_lines = true,
		.may_download = getenv("DEBUGINFOD_URLS") != NULL,
		.archive = archive,
	};
	const struct analysis *analysis = drawing->analysis;
	int status = selection_check_window(command, values->from_ns,
					    analysis->end_ns - analysis->begin_ns);

	if (status == STATUS_DONE)
		status = selection_find_device(command, analysis, values->device, path,
					       &drawing->device);
	if (status != STATUS_DONE)
		return status;
	if (drawing_refusal(drawing))
		return refuse(command, drawing_refusal(drawing));
	if (drawing_open(drawing, &options))
		return fail(command);
	return make_picture(command, drawing, values, min_width_px);
}

static int run_file(const struct command *command, const char *path,
		    const struct flame_values *values, double min_width_px)
{
	const struct analysis_options options = {
		.has_from = values->from_ns != 0,
		.has_to = values->to_ns != UINT64_MAX,
		.from_ns = values->from_ns,
		.to_ns = values->to_ns,
	};
	struct drawing drawing = {.has_lines = values->lines};
	struct analysis *analysis = NULL;
	struct model *model = NULL;
	int status, error = selection_check_output(output_path(values), path);

	if (!error)
		error = selection_open(path, &model);
	if (!error && (error = analysis_new(model, &options, &analysis)) && !*error_text())
		error_set(error, "read '%s': %s", path, strerror(-error));
	drawing.view = error ? NULL : drawing_view(values->view, analysis);
	drawing.analysis = analysis;
	drawing.model = model;
	status = error ? fail(command) : run_drawing(command, &drawing, values, path, min_width_px);
	if (status == STATUS_DONE && !values->view)
		say_choice(command, drawing.view);
	drawing_fini(&drawing);
	analysis_free(analysis);
	model_close(model);
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

static int run_flame(const struct command *command, int argc, char **argv)
{
	struct flame_values values = {.width = 1200, .to_ns = UINT64_MAX};
	int first = options_parse(command, argc, argv, false, &values);
	double min_width_px = 0.1;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first > 1)
		return usage_error(command, "one FILE at a time");
	if (values.view && !drawing_is_view(values.view))
		return usage_error(command,
				   "--view: total, gpu, idle, cpu, offcpu or launch, not '%s'",
				   values.view);
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

const struct command command_flame = {
	.name = "flame",
	.arguments = "[options] [FILE]",
	.summary = "draw where the device time went: a flame graph from the code to the kernels",
	.run = run_flame,
	.options = flame_rows,
};
