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
#include <strings.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/archive.h"
#include "cli/report.h"

#include "analyze/frames.h"
#include "cli/table.h"

#define DEFAULT_FILE "duet.duet"
#define DEFAULT_TOP  10

static const struct option_row report_options[] = {
	{"json", 0, OPTION_FLAG, NULL, "print one JSON document (schema duet.report/1)",
	 offsetof(struct report_values, json)},
	{"by", 0, OPTION_TEXT, "WHAT",
	 "busy time by kernel, stack, line, queue or process; kernel by default",
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
	{NULL},
};
static bool is_device(const struct analysis_device *device, size_t index, const char *wanted)
{
	char *end;
	unsigned long long number;

	if (strcmp(device->key, wanted) == 0 || strcasecmp(device->name, wanted) == 0)
		return true;
	number = strtoull(wanted, &end, 10);
	return *wanted >= '0' && *wanted <= '9' && !*end && number == index;
}

static int find_device(const struct command *command, struct report *report)
{
	const struct analysis *analysis = report->analysis;
	const char *wanted = report->values->device;
	int status;

	report->device = ALL_DEVICES;
	if (!wanted)
		return STATUS_DONE;
	for (size_t i = 0; i < analysis->devices_count; i++) {
		if (is_device(&analysis->devices[i], i, wanted)) {
			report->device = i;
			return STATUS_DONE;
		}
	}
	status = usage_error(command, "there is no device '%s' in %s", wanted, report->path);
	fprintf(stderr, "Devices:\n");
	for (size_t i = 0; i < analysis->devices_count; i++)
		fprintf(stderr, "  %zu  %s  %s\n", i, analysis->devices[i].name,
			analysis->devices[i].key);
	return status;
}

/* --from behind the end: an account of no time at all is no answer. */
static int check_window(const struct command *command, const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	uint64_t length = analysis->end_ns - analysis->begin_ns;
	uint64_t from = report->values->from_ns;
	char text[128];

	if (!from || from < length)
		return STATUS_DONE;
	snprintf(text, sizeof(text), "--from %s is not inside the recording, which is %s long",
		 format_duration(from).text, format_duration(length).text);
	print_error(command->name, text);
	return STATUS_FAILED;
}

static int print_report(const struct command *command, struct report *report)
{
	int status = check_window(command, report);
	int error = 0;

	if (status == STATUS_DONE)
		status = find_device(command, report);
	if (status != STATUS_DONE)
		return status;
	if (report->values->json)
		error = report_print_json(report);
	else
		report_print_text(report);
	if (error || !report->analysis->is_exact) {
		print_error(command->name,
			    error ? "out of memory"
				  : "the account does not add up: please report this");
		status = STATUS_FAILED;
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
	struct model *model = NULL;
	int error = model_open(path, &model), status = STATUS_FAILED;

	if (!error)
		error = analysis_new(model, &options, &analysis);
	if (!error)
		error = frames_new(model, &frames_options, &frames);
	if (error) {
		if (!*error_text())
			error_set(error, "report '%s': %s", path, strerror(-error));
		print_error(command->name, NULL);
	} else {
		struct report report = {.values = values,
					.model = model,
					.analysis = analysis,
					.frames = frames,
					.path = path,
					.top = values->top};

		if (report.top == UINT64_MAX)
			report.top = values->json ? 0 : DEFAULT_TOP;
		status = print_report(command, &report);
	}
	frames_free(frames);
	analysis_free(analysis);
	model_close(model);
	return status;
}

static bool is_known(const char *by)
{
	return !by || strcmp(by, "kernel") == 0 || strcmp(by, "queue") == 0 ||
	       strcmp(by, "process") == 0 || strcmp(by, "stack") == 0 || strcmp(by, "line") == 0;
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
		return usage_error(command,
				   "--by takes kernel, stack, line, queue or process, not '%s'",
				   values.by);
	if (values.to_ns < values.from_ns)
		return usage_error(command, "--to is before --from");
	return report_file(command, &values, first < argc ? argv[first] : DEFAULT_FILE);
}

const struct command command_report = {
	.name = "report",
	.arguments = "[options] [FILE]",
	.summary = "where the time went: devices, kernels, copies, calls, queues",
	.run = run_report,
	.options = report_options,
};
