/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_export.c - write a trace in a foreign format
 *
 * Runs in:  our own process
 * Gets:     a trace file, a format and filters   Gives: the export in a file or on stdout
 * Owns:     the model and the output file
 * Fails:    an unknown format or kind is wrong usage with the list of those that exist; a reader of
 *           stdout that went away is a quiet end
 * Why:      `duet export | head` is how most people look at the text, and 10^7 lines that nobody
 *           reads any more must neither be computed nor end in an error
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/model.h"
#include "base/error.h"
#include "export/exporter.h"

#define DEFAULT_FILE "duet.duet"

struct export_values {
	const char *format, *output, *kinds;
	uint64_t from_ns, to_ns, pid;
	bool absolute;
};

static const struct option_row export_options[] = {
	{"format", 'f', OPTION_TEXT, "NAME", "which format ('duet list formats'); text by default",
	 offsetof(struct export_values, format)},
	{"output", 'o', OPTION_TEXT, "FILE", "write to FILE instead of stdout",
	 offsetof(struct export_values, output)},
	{"from", 0, OPTION_DURATION, "T", "only what is T or more after the begin of the recording",
	 offsetof(struct export_values, from_ns)},
	{"to", 0, OPTION_DURATION, "T", "only what is less than T after it",
	 offsetof(struct export_values, to_ns)},
	{"kind", 0, OPTION_TEXT, "LIST", "only these kinds: api,launch,execution,dependency,loss",
	 offsetof(struct export_values, kinds)},
	{"pid", 0, OPTION_NUMBER, "PID", "only this process", offsetof(struct export_values, pid)},
	{"absolute", 0, OPTION_FLAG, NULL, "times in CLOCK_MONOTONIC, not from the begin",
	 offsetof(struct export_values, absolute)},
	{NULL},
};

static int unknown_format(const struct command *command, const char *name)
{
	char list[512] = "";
	size_t used = 0;

	for (size_t i = 0; exporters[i] && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 exporters[i]->name);
	return usage_error(command, "there is no format '%s'; there are: %s", name, list);
}

/* Opening the trace itself for writing would destroy it. */
static bool is_same_file(const char *left, const char *right)
{
	struct stat first, second;

	return left && stat(left, &first) == 0 && stat(right, &second) == 0 &&
	       first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static int write_to(const struct exporter *exporter, const struct model *model,
		    const struct export_options *options, const char *path)
{
	FILE *file = stdout;
	int error;

	if (path && !(file = fopen(path, "we")))
		return error_set(-errno, "write '%s': %s", path, strerror(errno));
	error = exporter->write(model, options, file);
	if (path && fclose(file) != 0 && !error)
		error = error_set(-errno, "write '%s': %s", path, strerror(errno));
	return error;
}

static int export_file(const struct command *command, const struct exporter *exporter,
		       const struct export_values *values, const char *path)
{
	struct export_options options = {.has_from = values->from_ns > 0,
					 .from_ns = values->from_ns,
					 .has_to = values->to_ns != UINT64_MAX,
					 .to_ns = values->to_ns,
					 .kinds = values->kinds,
					 .pid = values->pid,
					 .is_absolute = values->absolute};
	struct model *model = NULL;
	int error = 0;

	if (is_same_file(values->output, path))
		error = error_set(-EINVAL, "'%s' is the trace itself: write to another file", path);
	else
		error = model_open(path, &model);
	if (!error) {
		error = write_to(exporter, model, &options, values->output);
		model_close(model);
	}
	if (error == -EPIPE && !values->output) {
		clearerr(stdout);
		error_clear();
		return STATUS_DONE;
	}
	if (error) {
		if (!*error_text())
			error_set(error, "export '%s': %s", path, strerror(-error));
		print_error(command->name, NULL);
		return STATUS_FAILED;
	}
	return values->output ? STATUS_DONE : finish_output(command->name, STATUS_DONE);
}

static int run_export(const struct command *command, int argc, char **argv)
{
	struct export_values values = {.format = "text", .to_ns = UINT64_MAX};
	int first = options_parse(command, argc, argv, false, &values);
	const struct exporter *exporter;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first > 1)
		return usage_error(command, "one FILE at a time");
	exporter = exporter_find(values.format);
	if (!exporter)
		return unknown_format(command, values.format);
	if (export_check_kinds(values.kinds)) {
		int status = usage_error(command, "%s", error_text());

		error_clear();
		return status;
	}
	return export_file(command, exporter, &values, first < argc ? argv[first] : DEFAULT_FILE);
}

const struct command command_export = {
	.name = "export",
	.arguments = "[options] [FILE]",
	.summary = "write a trace in another format",
	.run = run_export,
	.options = export_options,
};
