/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_report.c - duet report: choose the trace, the part of it, and the form of the output
 *
 * Runs in:  our own process
 * Gets:     the command line
 * Gives:    the report, printed by report/text.c or report/json.c
 * Owns:     the model and its analysis
 * Fails:    status 1 if the file is not a trace. The report of a damaged or incomplete trace starts
 *           with a warning. An unknown device or process is a usage error that lists those of the
 *           trace
 * Why:      the whole analysis runs before the first line is printed, so that an account that does
 *           not add up is reported first
 */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/archive.h"
#include "cli/selection.h"
#include "report/report.h"
#include "report/terminal.h"

#include "analyze/frames.h"
#include "analyze/text/layers.h"
#include "analyze/text/short_names.h"

#define DEFAULT_TOP 10

static const struct option_row report_options[] = {
	{"json", 0, OPTION_FLAG, NULL, "print one JSON document (schema duet.report/1)",
	 offsetof(struct report_values, json)},
	{"by", 0, OPTION_TEXT, "WHAT", "main table: one of the list below",
	 offsetof(struct report_values, by)},
	{"top", 0, OPTION_NUMBER, "N", "rows of each table; 0: all (default 10, with --json all)",
	 offsetof(struct report_values, top)},
	OPTION_WINDOW(struct report_values),
	{"device", 0, OPTION_TEXT, "D", "only this device: its UUID, PCI address, name or index",
	 offsetof(struct report_values, device)},
	{"pid", 0, OPTION_LIST, "PID,...", "only these processes",
	 offsetof(struct report_values, pids)},
	{"rank", 0, OPTION_LIST, "N,...", "only the processes of these ranks of a job",
	 offsetof(struct report_values, ranks)},
	{"layers", 0, OPTION_TEXT, "FILE",
	 "file of 'LAYER GLOB' rules that assign binaries to layers of host time",
	 offsetof(struct report_values, layers)},
	{"full-names", 0, OPTION_FLAG, NULL, "show kernels with their full C++ names",
	 offsetof(struct report_values, full_names)},
	{"color", 0, OPTION_TEXT, "WHEN", "colours: auto (default: on a terminal), always or never",
	 offsetof(struct report_values, color)},
	{NULL},
};

static int print_painted(const struct report *report)
{
	FILE *plain;
	int error = paint_start(&plain);

	if (error)
		return error;
	error = report_print_text(report);
	paint_stop(plain);
	return error;
}

static int print_document(struct report *report)
{
	const struct report_values *values = report->values;
	struct short_names *names = NULL;
	int error = 0;

	if (values->json)
		return report_print_json(report);
	progress_stop();
	report->columns = terminal_columns();
	if (!values->full_names)
		error = model_short_kernels(report->model, &names);
	report->short_names = names;
	if (!error)
		error = terminal_has_colours(values->color) ? print_painted(report)
							    : report_print_text(report);
	report->short_names = NULL;
	short_names_free(names);
	return error;
}

static bool is_when(const char *text)
{
	return !text || strcmp(text, "auto") == 0 || strcmp(text, "always") == 0 ||
	       strcmp(text, "never") == 0;
}

static int print_report(const struct cli_command *command, struct report *report)
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
	if (!error)
		error = print_document(report);
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

static int report_model(const struct cli_command *command, const struct report_values *values,
			struct model *model, const char *path)
{
	struct analysis_options options = {.has_from = values->from_ns > 0,
					   .from_ns = values->from_ns,
					   .has_to = values->to_ns != UINT64_MAX,
					   .to_ns = values->to_ns,
					   .finds_iterations = true};
	auto_free char *archive = archive_folder(path);
	const struct frames_options frames_options = archive_names(archive);
	struct analysis *analysis = NULL;
	struct frames *frames = NULL;
	struct layers *layers = NULL;
	struct report_state state = {0};
	int error = analysis_new(model, &options, &analysis), status = STATUS_FAILED;

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
	return status;
}

static int report_file(const struct cli_command *command, const struct report_values *values,
		       const char *path)
{
	struct process_choice *choice = NULL;
	struct model *model = NULL;
	int status = STATUS_FAILED;

	if (selection_open(path, &model)) {
		print_error(command->name, NULL);
		return status;
	}
	status = selection_choose_processes(command, model, values->pids, values->ranks, path,
					    &choice);
	if (status == STATUS_DONE)
		status = report_model(command, values, model, path);
	model_close(model);
	process_choice_free(choice);
	return status;
}

static int wrong_by(const struct cli_command *command, const char *by)
{
	char words[256];

	report_by_list(words, sizeof(words));
	return usage_error(command, "--by takes %s, not '%s'", words, by);
}

/* Printed after the options in --help. */
static void print_tables(void)
{
	printf("\ntables of --by:\n");
	for (size_t i = 0; i < report_bys_count; i++)
		printf("  %-22s %s\n", report_bys[i].name, report_bys[i].help);
}

static int run_report(const struct cli_command *command, int argc, char **argv)
{
	struct report_values values = {.top = UINT64_MAX, .to_ns = UINT64_MAX};
	int first = options_parse(command, argc, argv, false, &values);

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first > 1)
		return usage_error(command, "one FILE at a time");
	if (!report_by_find(values.by))
		return wrong_by(command, values.by);
	if (!is_when(values.color))
		return usage_error(command, "--color takes auto, always or never, not '%s'",
				   values.color);
	if (values.to_ns < values.from_ns)
		return usage_error(command, "--to is before --from");
	return report_file(command, &values, first < argc ? argv[first] : SELECTION_FILE);
}

const struct cli_command command_report = {
	.name = "report",
	.arguments = "[options] [FILE]",
	.summary = "print where the time went: devices, kernels, copies, calls, queues",
	.reads_trace = true,
	.run = run_report,
	.options = report_options,
	.print_more_help = print_tables,
	.remote = &(const struct remote_way){.kind = REMOTE_PRINT},
};
