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
#include "analyze/frames.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/archive.h"
#include "cli/selection.h"
#include "cli/table.h"
#include "export/flame.h"

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
	 "total (default): the devices' whole time; gpu: their busy time; idle: their idle time; "
	 "launch: "
	 "how often",
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

static const struct view {
	const char *name, *unit, *title;
	bool busy, idle, count;
} views[] = {
	{"total", "ns", "device time", true, true, false},
	{"gpu", "ns", "busy device time", true, false, false},
	{"idle", "ns", "idle device time", false, true, false},
	{"launch", "launches", "launches", false, false, true},
};

static const struct view *find_view(const char *name)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (strcmp(views[i].name, name) == 0)
			return &views[i];
	return NULL;
}

/* ---- the graph --------------------------------------------------------------------------------- */

struct drawing {
	const struct flame_values *values;
	const struct view *view;
	const struct analysis *analysis;
	struct frames *frames;
	struct flame *flame;
	size_t device;   /* SELECTION_ALL_DEVICES, or the index of one */
	uint32_t *stack; /* frames of the graph, root first */
	size_t capacity, count;
};

static int out_of_memory(void)
{
	return error_set(-ENOMEM, "flame graph: out of memory");
}

static int push(struct drawing *drawing, const char *name, enum flame_class class)
{
	uint32_t frame = flame_frame(drawing->flame, name, class);

	if (frame == UINT32_MAX ||
	    array_grow(drawing->stack, drawing->capacity, drawing->count + 1))
		return out_of_memory();
	drawing->stack[drawing->count++] = frame;
	return 0;
}

static enum flame_class class_of(const struct frame_name *name)
{
	static const enum flame_class classes[] = {
		[FRAME_CLASS_HOST] = FLAME_HOST,
		[FRAME_CLASS_PYTHON] = FLAME_PYTHON,
		[FRAME_CLASS_JIT] = FLAME_JIT,
		[FRAME_CLASS_INLINED] = FLAME_INLINED,
		[FRAME_CLASS_TRUNCATED] = FLAME_TRUNCATED,
	};

	return classes[name->class];
}

/* A Python function always has its place, as its name alone says little; others where lines are asked for. */
static int push_host(struct drawing *drawing, const struct frame_name *name)
{
	const char *slash = name->file ? strrchr(name->file, '/') : NULL;
	bool has_place = name->file && name->line &&
			 (drawing->values->lines || name->class == FRAME_CLASS_PYTHON);
	char text[4096];

	if (!has_place)
		return push(drawing, name->function, class_of(name));
	snprintf(text, sizeof(text), "%s (%s:%u)", name->function, slash ? slash + 1 : name->file,
		 name->line);
	return push(drawing, text, class_of(name));
}

static int push_stack(struct drawing *drawing, uint32_t stack)
{
	const struct frame_name *names;
	size_t count;
	int error = frames_of_stack(drawing->frames, stack, &names, &count);

	if (error)
		return out_of_memory();
	for (size_t i = 0; !error && i < count; i++)
		error = push_host(drawing, &names[i]);
	if (!error && !count)
		error = push(drawing, "[unknown stack]", FLAME_HOST);
	return error;
}

static int add(struct drawing *drawing, uint64_t value)
{
	return value ? flame_add(drawing->flame, drawing->stack, drawing->count, value) : 0;
}

static int add_busy(struct drawing *drawing, const struct analysis_path *path)
{
	uint64_t value = drawing->view->count ? path->count : path->share_ns;
	size_t below = drawing->count;
	int error = 0;

	if (!value)
		return 0;
	error = push(drawing, "-", FLAME_SEPARATOR);
	if (!error)
		error = push(drawing,
			     path->name && path->name[0] ? path->name : "[unknown command]",
			     FLAME_DEVICE);
	if (!error)
		error = add(drawing, value);
	drawing->count = below;
	return error;
}

static int add_idle(struct drawing *drawing, const struct analysis_path *path)
{
	size_t below = drawing->count;
	int error = 0;

	for (unsigned int cause = 0; !error && cause < CAUSE_COUNT; cause++) {
		char text[64];

		if (!path->causes[cause])
			continue;
		snprintf(text, sizeof(text), "[idle: %s]",
			 account_cause_name((enum account_cause)cause));
		error = push(drawing, "-", FLAME_SEPARATOR);
		if (!error)
			error = push(drawing, text, FLAME_IDLE);
		if (!error)
			error = add(drawing, path->causes[cause]);
		drawing->count = below;
	}
	return error;
}

static uint64_t idle_of(const struct analysis_path *path)
{
	uint64_t sum = 0;

	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++)
		sum += path->causes[cause];
	return sum;
}

static int draw_path(struct drawing *drawing, const struct analysis_path *path)
{
	const struct view *view = drawing->view;
	uint64_t busy = view->count ? path->count : view->busy ? path->share_ns : 0;
	int error = 0;

	drawing->count = 0;
	if (!busy && !(view->idle && idle_of(path)))
		return 0;
	/* What no command comes after hangs at the root. */
	if (path->name)
		error = push_stack(drawing, path->stack);
	if (!error && (view->busy || view->count))
		error = add_busy(drawing, path);
	if (!error && view->idle)
		error = add_idle(drawing, path);
	return error;
}

/* ---- devices ----------------------------------------------------------------------------------- */

static bool is_shown(const struct drawing *drawing, size_t device)
{
	return drawing->device == SELECTION_ALL_DEVICES || drawing->device == device;
}

static int draw(struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	int error = 0;

	for (size_t i = 0; !error && i < analysis->paths_count; i++)
		if (is_shown(drawing, analysis->paths[i].device))
			error = draw_path(drawing, &analysis->paths[i]);
	return error;
}

/* ---- output ------------------------------------------------------------------------------------ */

static int write_graph(const struct drawing *drawing, FILE *out, double min_width_px)
{
	const struct flame_values *values = drawing->values;
	const struct analysis_ledger *ledger = &drawing->analysis->ledger;
	char title[512], subtitle[512], warning[256] = "";
	const struct flame_options options = {
		.title = title,
		.subtitle = subtitle,
		.warning = warning[0] ? warning : NULL,
		.unit = drawing->view->unit,
		.width_px = (uint32_t)values->width,
		.min_width_px = min_width_px,
		.is_icicle = values->icicle,
	};

	if (values->folded)
		return flame_write_folded(drawing->flame, out);
	snprintf(title, sizeof(title), "%s", values->title ? values->title : drawing->view->title);
	snprintf(subtitle, sizeof(subtitle), "%zu device%s, %llu launches",
		 analysis_devices_shown(drawing->analysis),
		 analysis_devices_shown(drawing->analysis) == 1 ? "" : "s",
		 (unsigned long long)ledger->launched);
	return flame_write_svg(drawing->flame, &options, out);
}

/* NULL: stdout */
static const char *output_path(const struct flame_values *values)
{
	return values->output ? values->output : values->folded ? NULL : DEFAULT_OUTPUT;
}

static int write_output(const struct drawing *drawing, double min_width_px)
{
	const struct flame_values *values = drawing->values;
	const char *path = output_path(values);
	FILE *out = path ? fopen(path, "we") : stdout;
	int error;

	if (!out)
		return error_set(-errno, "open '%s': %s", path, strerror(errno));
	error = write_graph(drawing, out, min_width_px);
	if (path && fclose(out) && !error)
		error = error_set(-errno, "write '%s': %s", path, strerror(errno));
	if (path && !error && isatty(STDERR_FILENO))
		fprintf(stderr, "duet: wrote %s\n", format_text(path).text);
	return error;
}

static void print_notes(const struct command *command, const struct drawing *drawing)
{
	const char *const *notes;
	size_t count = frames_notes(drawing->frames, &notes);

	for (size_t i = 0; i < count; i++)
		print_error(command->name, notes[i]);
	if (!analysis_is_complete(drawing->analysis))
		print_error(command->name,
			    "the trace is not complete: duet report says what is missing");
}

static int fail(const struct command *command)
{
	print_error(command->name, NULL);
	return STATUS_FAILED;
}

static int run_drawing(const struct command *command, struct drawing *drawing,
		       const struct model *model, const char *path, double min_width_px)
{
	auto_free char *archive = archive_folder(path);
	const struct frames_options options = {
		.has_lines = true,
		.may_download = getenv("DEBUGINFOD_URLS") != NULL,
		.archive = archive,
	};
	const struct analysis *analysis = drawing->analysis;
	int status = selection_check_window(command, drawing->values->from_ns,
					    analysis->end_ns - analysis->begin_ns);

	if (status == STATUS_DONE)
		status = selection_find_device(command, analysis, drawing->values->device, path,
					       &drawing->device);
	if (status != STATUS_DONE)
		return status;
	drawing->flame = flame_new();
	if (!drawing->flame || frames_new(model, &options, &drawing->frames)) {
		out_of_memory();
		return fail(command);
	}
	if (draw(drawing) || write_output(drawing, min_width_px))
		return fail(command);
	print_notes(command, drawing);
	return STATUS_DONE;
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
	struct drawing drawing = {.values = values, .view = find_view(values->view)};
	struct analysis *analysis = NULL;
	struct model *model = NULL;
	int status;

	int error = selection_check_output(output_path(values), path);

	if (!error)
		error = selection_open(path, &model);
	if (!error && (error = analysis_new(model, &options, &analysis)) && !*error_text())
		error_set(error, "read '%s': %s", path, strerror(-error));
	drawing.analysis = analysis;
	status = error ? fail(command) : run_drawing(command, &drawing, model, path, min_width_px);
	flame_free(drawing.flame);
	frames_free(drawing.frames);
	free(drawing.stack);
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
	struct flame_values values = {.view = "total", .width = 1200, .to_ns = UINT64_MAX};
	int first = options_parse(command, argc, argv, false, &values);
	double min_width_px = 0.1;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first > 1)
		return usage_error(command, "one FILE at a time");
	if (!find_view(values.view))
		return usage_error(command, "--view: total, gpu, idle or launch, not '%s'",
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
