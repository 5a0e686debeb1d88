/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_view.c - duet view: one HTML page with timeline, flame graphs, tables and findings
 *
 * Runs in:  our own process
 * Gets:     a trace file
 * Gives:    an HTML file that needs no network and no server
 * Owns:     the model, the analysis, the view
 * Fails:    with a message and the statuses of the other verbs; the page of a damaged trace shows
 *           a warning
 * Why one pass: the page is filled while the account is computed, so both agree, and a trace of
 *           10^8 events is read only once.
 */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/frames.h"
#include "analyze/observer.h"
#include "analyze/text/incomplete.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/string.h"
#include "cli/archive.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "flame/drawing.h"
#include "page/view/view.h"
#include "report/report.h"
#include "report/table.h"

#define MAX_BYTES                                                                        \
	((uint64_t)240                                                                   \
	 << 20) /* bytes of events; the page with its head and names stays below 256 MiB \
		 */

struct view_values {
	const char *output, *title;
	uint64_t from_ns, to_ns;
	bool full_names;
};

static const struct option_row view_rows[] = {
	{"output", 'o', OPTION_TEXT, "FILE",
	 "output file, - for stdout (default: the trace's name with .html)",
	 offsetof(struct view_values, output)},
	OPTION_WINDOW(struct view_values),
	{"title", 0, OPTION_TEXT, "TEXT", "title of the page", offsetof(struct view_values, title)},
	{"full-names", 0, OPTION_FLAG, NULL, "show kernels with their full C++ names",
	 offsetof(struct view_values, full_names)},
	{NULL},
};

/* The parts of one page. */
struct page {
	const struct view_values *values;
	const char *path;   /* the trace */
	const char *output; /* NULL: stdout */
	struct model *model;
	struct analysis *analysis;
	struct drawing drawing; /* has the names of frames and the runtimes' layers */
	struct view *view;
};

static int write_report(void *context, struct json_writer *json)
{
	const struct page *page = context;
	const struct report_values values = {.json = true};
	struct report_state state = {0};
	struct report report = {.values = &values,
				.model = page->model,
				.analysis = page->analysis,
				.frames = page->drawing.frames,
				.layers = page->drawing.layers,
				.state = &state,
				.path = page->path,
				.device = ALL_DEVICES};
	int error = report_sort_paths(&report, &report.paths);

	if (!error)
		error = report_write_json(&report, json);
	report_paths_fini(&report.paths);
	return error ? error : state.error;
}

static int write_page(void *context, FILE *out)
{
	struct page *page = context;
	const char *title = page->values->title, *command = model_command(page->model);
	const struct incomplete incomplete = incomplete_analysis(page->analysis);
	const struct view_about about = {
		.title = title      ? title
			 : *command ? command
				    : path_base(page->path),
		.version = DUET_VERSION,
		.incomplete = incomplete.text,
		.max_bytes = MAX_BYTES,
		.short_names = page->drawing.short_kernels,
		.write_report = write_report,
		.context = page,
	};

	return view_write(page->view, page->analysis, &about, out);
}

/* The path beside which further files can be written; NULL for a pipe or a terminal. */
static const char *beside(const char *output)
{
	struct stat status;

	return output && stat(output, &status) == 0 && !S_ISREG(status.st_mode) ? NULL : output;
}

static int analyze(struct page *page)
{
	auto_free char *archive = archive_folder(page->path);
	const struct frames_options frames = archive_names(archive);
	struct analysis_observer observer;
	const struct analysis_options options = {
		.has_from = page->values->from_ns != 0,
		.has_to = page->values->to_ns != UINT64_MAX,
		.from_ns = page->values->from_ns,
		.to_ns = page->values->to_ns,
		.observer = &observer,
		.finds_iterations = true,
	};
	int error = selection_open(page->path, &page->model);

	page->drawing.model = page->model;
	if (!error)
		error = drawing_open(&page->drawing, &frames);
	if (!error)
		error = view_new(&page->drawing, beside(page->output), &page->view);
	if (!error && !page->values->full_names)
		error = model_short_kernels(page->model, &page->drawing.short_kernels);
	if (error)
		return error;
	view_observe(page->view, &observer);
	return analysis_new(page->model, &options, &page->analysis);
}

static void page_fini(struct page *page)
{
	view_free(page->view);
	drawing_fini(&page->drawing);
	analysis_free(page->analysis);
	model_close(page->model);
}

static void print_notes(const struct cli_command *command, const struct page *page)
{
	const struct incomplete incomplete = incomplete_analysis(page->analysis);
	const char *const *notes;
	size_t count = frames_notes(page->drawing.frames, &notes);

	for (size_t i = 0; i < count; i++)
		print_error(command->name, notes[i]);
	if (*incomplete.text)
		print_error(command->name, incomplete.text);
}

static int make_page(const struct cli_command *command, struct page *page)
{
	int error = selection_check_output(page->output, page->path), status;

	if (!error)
		error = analyze(page);
	if (!error) {
		status = selection_check_window(command, page->values->from_ns,
						page->analysis->end_ns - page->analysis->begin_ns);
		if (status != STATUS_DONE)
			return status;
		error = output_write(page->output, write_page, page);
	}
	if (output_is_cut(page->output, error))
		return STATUS_DONE;
	if (error) {
		if (!*error_text())
			error_set(error, "view '%s': %s", page->path, strerror(-error));
		return print_failure(command);
	}
	print_notes(command, page);
	output_announce(page->output, "timeline of %s",
			format_duration(page->analysis->to_ns - page->analysis->from_ns).text);
	return STATUS_DONE;
}

static int run_view(const struct cli_command *command, int argc, char **argv)
{
	struct view_values values = {.to_ns = UINT64_MAX};
	int first = options_parse(command, argc, argv, false, &values), status;
	struct page page = {.values = &values};
	auto_free char *made = NULL;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first > 1)
		return usage_error(command, "one FILE at a time");
	if (values.output && !*values.output)
		return usage_error(command, "--output needs a file name");
	if (values.to_ns < values.from_ns)
		return usage_error(command, "--to is before --from");
	page.path = first < argc ? argv[first] : SELECTION_FILE;
	made = output_beside(page.path, ".html");
	if (!made)
		return print_failure(command);
	page.output = values.output ? values.output : made;
	if (strcmp(page.output, "-") == 0)
		page.output = NULL;
	status = make_page(command, &page);
	page_fini(&page);
	return finish_output(command->name, status);
}

const struct cli_command command_view = {
	.name = "view",
	.arguments = "[options] [FILE]",
	.summary = "write one HTML page with timeline, flame graphs, tables and findings",
	.writes_files = true,
	.reads_trace = true,
	.run = run_view,
	.options = view_rows,
};
