/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_report.c - duet report: which trace, which part of it, in which form
 *
 * Runs in:  our own process
 * Gets:     the command line   Gives: the report, printed by report_text.c or report_json.c
 * Owns:     the model and its analysis
 * Fails:    a file that is no trace is status 1; a damaged or incomplete one is reported and says so
 *           first; a device that is not there is wrong usage with the list of those that are
 * Why:      the whole analysis is made before the first line is printed: an account that does not
 *           add up must be known by then
 */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/archive.h"
#include "cli/report.h"
#include "cli/selection.h"

#include "analyze/frames.h"
#include "analyze/layers.h"

#define DEFAULT_TOP 10

static const struct option_row report_options[] = {
	{"json", 0, OPTION_FLAG, NULL, "print one JSON document (schema duet.report/1)",
	 offsetof(struct report_values, json)},
	{"by", 0, OPTION_TEXT, "WHAT",
	 "busy time by kernel (the default), stack, line, instruction or queue; what sampled "
	 "instructions waited for (stall); the calls that "
	 "wait "
	 "(wait); CPU samples by function (cpu); processor time by thread or process; the "
	 "program's "
	 "own ranges (range)",
	 offsetof(struct report_values, by)},
	{"top", 0, OPTION_NUMBER, "N",
	 "lines of each table, text or JSON; 0: all; default 10, JSON all",
	 offsetof(struct report_values, top)},
	{"from", 0, OPTION_DURATION, "T", "from T after the begin of the recording",
	 offsetof(struct report_values, from_ns)},
	{"to", 0, OPTION_DURATION, "T", "up to T after the begin of the recording",
	 offsetof(struct report_values, to_ns)},
	{"device", 0, OPTION_TEXT, "D", "one device: its UUID, PCI address, name or index",
	 offsetof(struct report_values, device)},
	{"layers", 0, OPTION_TEXT, "FILE",
	 "lines LAYER GLOB: to which layer of the host time code in these files belongs",
	 offsetof(struct report_values, layers)},
	{NULL},
};

static int print_report(const struct command *command, struct report *report)
{
	const struct analysis *analysis = report->analysis;
	int status = selection_check_window(command, report->values->from_ns,
					    analysis->end_ns - analysis->begin_ns);
	int error = 0;

	if (status == STATUS_DONE)
		status = selection_find_device(command, analysis, report->values->device,
					       report->path, &report->device);
	if (status != STATUS_DONE)
		return status;
	error = report_sort_paths(report, &report->paths);
	if (!error && report->values->json)
		error = report_print_json(report);
	else if (!error)
		error = report_print_text(report);
	if (!error)
		error = report->state->error;
	report_paths_fini(&report->paths);
	if (error) {
		print_error(command->name, "out of memory");
		status = STATUS_FAILED;
	} else if (ledger_is_incomplete(&analysis->ledger)) {
		status = STATUS_INCOMPLETE;
	}
	return finish_output(command->name, status);
}

static int report_file(const struct command *command, const struct report_values *values,
		       const char *path)
{
	struct analysis_options options = {.has_from = values->from_ns > 0,
					   .from_ns = values->from_ns,
					   .has_to = values->to_ns != UINT64_MAX,
					   .to_ns = values->to_ns};
	auto_free char *archive = archive_folder(path);
	const struct frames_options frames_options = {
		.has_lines = true,
		.may_download = getenv("DEBUGINFOD_URLS") != NULL,
		.archive = archive,
	};
	struct analysis *analysis = NULL;
	struct frames *frames = NULL;
	struct layers *layers = NULL;
	struct model *model = NULL;
	struct report_state state = {0};
	int error = selection_open(path, &model), status = STATUS_FAILED;

	if (!error)
		error = analysis_new(model, &options, &analysis);
	if (!error)
		error = frames_new(model, &frames_options, &frames);
	if (!error)
		error = layers_new(model, &layers);
	if (!error && values->layers)
		error = layers_read(layers, values->layers);
	if (error) {
		if (!*error_text())
			error_set(error, "report '%s': %s", path, strerror(-error));
		print_error(command->name, NULL);
	} else {
		struct report report = {.values = values,
					.model = model,
					.analysis = analysis,
					.frames = frames,
					.layers = layers,
					.state = &state,
					.path = path,
					.top = values->top};

		if (report.top == UINT64_MAX)
			report.top = values->json ? 0 : DEFAULT_TOP;
		status = print_report(command, &report);
	}
	layers_free(layers);
	frames_free(frames);
	analysis_free(analysis);
	model_close(model);
	return status;
}

static bool is_known(const char *by)
{
	return !by || strcmp(by, "kernel") == 0 || strcmp(by, "queue") == 0 ||
	       strcmp(by, "process") == 0 || strcmp(by, "wait") == 0 || strcmp(by, "stack") == 0 ||
	       strcmp(by, "line") == 0 || strcmp(by, "instruction") == 0 ||
	       strcmp(by, "stall") == 0 || strcmp(by, "cpu") == 0 || strcmp(by, "thread") == 0 ||
	       strcmp(by, "range") == 0;
}

static int run_report(const struct command *command, int argc, char **argv)
{
	struct report_values values = {.top = UINT64_MAX, .to_ns = UINT64_MAX};
	int first = options_parse(command, argc, argv, false, &values);

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first > 1)
		return usage_error(command, "one FILE at a time");
	if (!is_known(values.by))
		return usage_error(
			command,
			"--by takes kernel, stack, line, instruction, stall, queue, process, "
			"thread, range, wait or cpu, not '%s'",
			values.by);
	if (values.to_ns < values.from_ns)
		return usage_error(command, "--to is before --from");
	return report_file(command, &values, first < argc ? argv[first] : SELECTION_FILE);
}

const struct command command_report = {
	.name = "report",
	.arguments = "[options] [FILE]",
	.summary = "where the time went: devices, kernels, copies, calls, queues",
	.run = run_report,
	.options = report_options,
};
