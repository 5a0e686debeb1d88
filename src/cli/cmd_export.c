/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_export.c - write a trace in a foreign format
 *
 * Runs in:  our own process
 * Gets:     a trace file, a format and filters   Gives: the export in a file or on stdout
 * Owns:     the model and the output file
 * Fails:    an unknown format, kind or process is wrong usage with the list of those that exist; a
 *           reader of stdout that went away is a quiet end. Where nothing matched it says so on stderr
 *           and what there is: a query with an empty answer is done, status 0. So it does of samples that the format has not
 * Why:      `duet export | head` is how most people look at the text, and 10^7 lines that nobody
 *           reads any more must neither be computed nor end in an error
 */
#include "cli/command.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/model.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/unfinished.h"
#include "cli/archive.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "cli/table.h"
#include "export/exporter.h"
#include "export/incomplete.h"

#define PROCESSES_MOST 16 /* in a message */

struct export_values {
	const char *format, *output, *kinds;
	uint64_t from_ns, to_ns, pid;
	bool absolute;
};

static const struct option_row export_options[] = {
	{"format", 'f', OPTION_TEXT, "NAME", "which format ('duet list formats'); text by default",
	 offsetof(struct export_values, format)},
	{"output", 'o', OPTION_OUTPUT, "FILE", "write to FILE instead of stdout; ctf: a folder",
	 offsetof(struct export_values, output)},
	{"from", 0, OPTION_DURATION, "T", "only what is T or more after the begin of the recording",
	 offsetof(struct export_values, from_ns)},
	{"to", 0, OPTION_DURATION, "T", "only what is less than T after it",
	 offsetof(struct export_values, to_ns)},
	{"kind", 0, OPTION_TEXT, "LIST",
	 "only these kinds: api,launch,execution,… of the format (a wrong one lists them); of csv "
	 "the "
	 "table, of folded and svg the view, of iaprof which of its forms",
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

/* ---- what there is to match ---- */

static void print_processes(const struct model *model)
{
	const struct event_process *processes;
	const void *things = NULL;
	size_t count = model_things(model, EVENT_PROCESS, &things);

	processes = things;
	fprintf(stderr, "Processes:%s\n", count ? "" : " none");
	for (size_t i = 0; i < count && i < PROCESSES_MOST; i++)
		fprintf(stderr, "  %" PRIu32 "  %s\n", processes[i].pid,
			format_text(
				model_text(model, processes[i].name_string, "[unknown process]"))
				.text);
	if (count > PROCESSES_MOST)
		fprintf(stderr, "  … %zu more (duet info lists them)\n", count - PROCESSES_MOST);
}

/* How much of the recording is in the file; UINT64_MAX where only all rows could tell. */
static uint64_t length_ns(const struct model *model)
{
	uint64_t begin_ns = UINT64_MAX, end_ns = 0;
	const struct event_host *hosts;
	const void *things = NULL;
	size_t count = model_things(model, EVENT_HOST, &things);

	hosts = things;
	for (size_t i = 0; i < count; i++) {
		if (!hosts[i].end_ns)
			return UINT64_MAX;
		begin_ns = hosts[i].begin_ns < begin_ns ? hosts[i].begin_ns : begin_ns;
		end_ns = hosts[i].end_ns > end_ns ? hosts[i].end_ns : end_ns;
	}
	if (!count || end_ns < begin_ns + model_dropped_ns(model))
		return UINT64_MAX;
	return end_ns - begin_ns - model_dropped_ns(model);
}

static int check_process(const struct command *command, const struct model *model,
			 const struct export_options *options, const char *path)
{
	const struct event_process *processes;
	const void *things = NULL;
	size_t count = model_things(model, EVENT_PROCESS, &things);
	int status;

	processes = things;
	for (size_t i = 0; i < count; i++) {
		if (processes[i].pid == options->pid)
			return STATUS_DONE;
	}
	status = usage_error(command, "there is no process %" PRIu64 " in %s", options->pid, path);
	print_processes(model);
	return status;
}

static void say_nothing_matched(const struct command *command, const struct model *model,
				const struct export_values *values)
{
	uint64_t all_ns = length_ns(model);

	print_error(command->name, "nothing in the trace matches the filters");
	if (all_ns != UINT64_MAX)
		fprintf(stderr, "The recording is %s long.\n", format_duration(all_ns).text);
	if (values->kinds)
		fprintf(stderr, "'duet info' counts its kinds.\n");
	print_processes(model);
}

static void say_incomplete(const struct command *command, const struct model *model)
{
	char text[600];

	snprintf(text, sizeof(text), "INCOMPLETE: %s", incomplete_model(model).text);
	print_error(command->name, text);
}

/* Which may be all that was recorded. Who chose kinds knows what is not among them. */
static void say_left_out(const struct command *command, const struct exporter *exporter,
			 const struct export_options *options, const struct model *model)
{
	uint64_t rows = model_rows(model, EVENT_INSTRUCTION_SAMPLE);
	char text[400];

	if (!rows || !exporter->has_no_instructions || options->kinds)
		return;
	snprintf(text, sizeof(text),
		 "%s leaves out %" PRIu64 " %s of device instructions (pprof and sqlite have them)",
		 exporter->name, rows, table_noun(rows, "sample", "samples"));
	print_error(command->name, text);
}

/* ---- writing ---- */

static bool is_empty_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	bool is_empty = folder;

	while (is_empty && (entry = readdir(folder)))
		is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	if (folder)
		closedir(folder);
	return is_empty;
}

static int write_to_folder(const struct exporter *exporter, const struct model *model,
			   const struct export_options *options, const char *path,
			   uint64_t *ret_rows)
{
	const bool is_made = mkdir(path, 0777) == 0;
	int error;

	if (!is_made && !(errno == EEXIST && is_empty_folder(path)))
		return error_set(-errno, "make the folder '%s': %s", path,
				 errno == EEXIST ? "there is something of that name: remove it, or "
						   "name another"
						 : strerror(errno));
	error = output_folder_check(path);
	if (error)
		return error;
	unfinished_watch(path);
	error = exporter->write_folder(model, options, path, ret_rows);
	unfinished_forget(path);
	if (!error)
		return 0;
	unfinished_remove(path);
	return is_made || mkdir(path, 0777) == 0
		       ? error
		       : error_note(error, "the folder '%s' is gone", path);
}

static bool is_regular(FILE *file)
{
	struct stat status;

	return fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
}

static int write_to(const struct exporter *exporter, const struct model *model,
		    const struct export_options *options, const char *path, uint64_t *ret_rows)
{
	struct whole_file output;
	int error;

	if (exporter->write_folder)
		return write_to_folder(exporter, model, options, path, ret_rows);
	error = whole_file_open(&output, path);
	if (error)
		return error;
	if (exporter->needs_file && !is_regular(output.file))
		error = error_set(-ESPIPE, "'%s' is no regular file, and %s needs one", path,
				  exporter->name);
	if (!error)
		error = exporter->write(model, options, output.file, ret_rows);
	return whole_file_close(&output, error);
}

static bool is_filtered(const struct export_options *options)
{
	return options->has_from || options->has_to || options->kinds || options->pid;
}

static int finish_export(const struct command *command, const struct export_values *values,
			 const char *path, int error)
{
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
	return finish_output(command->name, STATUS_DONE);
}

static int export_model(const struct command *command, const struct exporter *exporter,
			const struct export_values *values, const struct export_options *options,
			const struct model *model, const char *path)
{
	int status = STATUS_DONE, error;
	uint64_t rows = 0;

	if (values->pid != UINT64_MAX)
		status = check_process(command, model, options, path);
	if (status == STATUS_DONE)
		status = selection_check_window(command, options->has_from ? options->from_ns : 0,
						length_ns(model));
	if (status != STATUS_DONE)
		return status;
	error = write_to(exporter, model, options, values->output, &rows);
	if (!error && *incomplete_model(model).text)
		say_incomplete(command, model);
	if (!error)
		say_left_out(command, exporter, options, model);
	if (!error && !rows && is_filtered(options))
		say_nothing_matched(command, model, values);
	return finish_export(command, values, path, error);
}

static int export_file(const struct command *command, const struct exporter *exporter,
		       const struct export_values *values, struct export_options *options,
		       const char *path)
{
	auto_free char *archive = archive_folder(path);
	struct model *model = NULL;
	int error, status;

	error = selection_check_output(values->output, path);
	if (!error)
		error = selection_open(path, &model);
	if (error)
		return finish_export(command, values, path, error);
	options->archive = archive;
	status = export_model(command, exporter, values, options, model, path);
	model_close(model);
	return status;
}

/* What of the options and this format does not go together; STATUS_DONE: nothing. */
static int check_usage(const struct command *command, const struct exporter *exporter,
		       const struct export_values *values, const struct export_options *options)
{
	if (values->to_ns < values->from_ns)
		return usage_error(command, "--to is before --from");
	if (export_check_kinds(exporter, values->kinds) ||
	    (exporter->check && exporter->check(options))) {
		int status = usage_error(command, "%s", error_text());

		error_clear();
		return status;
	}
	if (exporter->write_folder && !values->output)
		return usage_error(command, "%s is a folder: name it with -o", exporter->name);
	if (exporter->is_binary && !values->output && isatty(STDOUT_FILENO))
		return usage_error(command, "%s is not for a terminal: write to a file with -o",
				   exporter->name);
	if (exporter->needs_file && !values->output)
		return usage_error(command, "%s is no stream: write to a file with -o",
				   exporter->name);
	return STATUS_DONE;
}

static void print_note(const char *line)
{
	print_error(command_export.name, line);
}

static struct export_options options_of(const struct export_values *values)
{
	return (struct export_options){.has_from = values->from_ns > 0,
				       .from_ns = values->from_ns,
				       .has_to = values->to_ns != UINT64_MAX,
				       .to_ns = values->to_ns,
				       .kinds = values->kinds,
				       .pid = values->pid == UINT64_MAX ? 0 : values->pid,
				       .version = DUET_VERSION,
				       .may_download = getenv("DEBUGINFOD_URLS") != NULL,
				       .is_absolute = values->absolute,
				       .on_note = print_note};
}

static int run_export(const struct command *command, int argc, char **argv)
{
	struct export_values values = {.format = "text", .to_ns = UINT64_MAX, .pid = UINT64_MAX};
	int first = options_parse(command, argc, argv, false, &values), status;
	struct export_options options = options_of(&values);
	const struct exporter *exporter;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first > 1)
		return usage_error(command, "one FILE at a time");
	exporter = exporter_find(values.format);
	if (!exporter)
		return unknown_format(command, values.format);
	status = check_usage(command, exporter, &values, &options);
	if (status != STATUS_DONE)
		return status;
	return export_file(command, exporter, &values, &options,
			   first < argc ? argv[first] : SELECTION_FILE);
}

const struct command command_export = {
	.name = "export",
	.arguments = "[options] [FILE]",
	.summary = "write a trace in another format",
	.writes_files = true,
	.run = run_export,
	.options = export_options,
};
