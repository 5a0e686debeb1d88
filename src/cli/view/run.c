/* SPDX-License-Identifier: MIT
 *
 * cli/view/run.c - one run of a page: its trace, analysis and tracks
 *
 * Runs in:  our own process
 * Gets:     a trace file
 * Gives:    a view that can be written
 * Owns:     the model, the analysis, the view
 * Fails:    -errno with the error chain
 * Why one pass: the tracks are filled while the account is computed, so both agree, and a trace of
 *           10^8 events is read only once.
 */
#include "cli/view/run.h"

#include <sys/stat.h>

#include "analyze/frames.h"
#include "analyze/observer.h"
#include "analyze/text/incomplete.h"
#include "base/cleanup.h"
#include "base/string.h"
#include "cli/archive.h"
#include "cli/command.h"
#include "cli/selection.h"
#include "page/view/view.h"
#include "report/report.h"
#include "report/table.h"

static int write_report(void *context, struct json_writer *json)
{
	const struct view_run *run = context;
	const struct report_values values = {.json = true};
	struct report_state state = {0};
	struct report report = {.values = &values,
				.model = run->model,
				.analysis = run->analysis,
				.frames = run->drawing.frames,
				.layers = run->drawing.layers,
				.state = &state,
				.path = run->path,
				.device = ALL_DEVICES};
	int error = report_sort_paths(&report, &report.paths);

	if (!error)
		error = report_write_json(&report, json);
	report_paths_fini(&report.paths);
	return error ? error : state.error;
}

void view_run_describe(struct view_run *run, const char *title, uint64_t max_bytes,
		       struct view_about *ret_about)
{
	const char *command = model_command(run->model);

	run->incomplete = incomplete_analysis(run->analysis);
	*ret_about = (struct view_about){
		.title = title      ? title
			 : *command ? command
				    : path_base(run->path),
		.version = DUET_VERSION,
		.incomplete = run->incomplete.text,
		.max_bytes = max_bytes,
		.short_names = run->drawing.short_kernels,
		.write_report = write_report,
		.context = run,
	};
}

/* The path beside which further files can be written; NULL for a pipe or a terminal. */
static const char *beside(const char *output)
{
	struct stat status;

	return output && stat(output, &status) == 0 && !S_ISREG(status.st_mode) ? NULL : output;
}

int view_run_analyze(struct view_run *run)
{
	auto_free char *archive = archive_folder(run->path);
	const struct frames_options frames = archive_names(archive);
	struct analysis_observer observer;
	const struct analysis_options options = {
		.has_from = run->from_ns != 0,
		.has_to = run->to_ns != UINT64_MAX,
		.from_ns = run->from_ns,
		.to_ns = run->to_ns,
		.observer = &observer,
		.finds_iterations = true,
	};
	int error = selection_open(run->path, &run->model);

	run->drawing.model = run->model;
	if (!error)
		error = drawing_open(&run->drawing, &frames);
	if (!error)
		error = view_new(&run->drawing, beside(run->output), &run->view);
	if (!error && !run->full_names)
		error = model_short_kernels(run->model, &run->drawing.short_kernels);
	if (error)
		return error;
	view_observe(run->view, &observer);
	return analysis_new(run->model, &options, &run->analysis);
}

void view_run_fini(struct view_run *run)
{
	view_free(run->view);
	drawing_fini(&run->drawing);
	analysis_free(run->analysis);
	model_close(run->model);
}

void view_run_print_notes(const struct cli_command *command, const struct view_run *run)
{
	const struct incomplete incomplete = incomplete_analysis(run->analysis);
	const char *const *notes;
	size_t count = frames_notes(run->drawing.frames, &notes);

	for (size_t i = 0; i < count; i++)
		print_error(command->name, notes[i]);
	if (*incomplete.text)
		print_error(command->name, incomplete.text);
}
