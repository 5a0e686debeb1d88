/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_export.c - duet export: write a trace in a foreign format
 *
 * Runs in:  our own process
 * Gets:     a trace file, a format and filters
 * Gives:    the export in a file or on stdout
 * Owns:     the model and the output file
 * Fails:    an unknown format, kind or process is a usage error that lists the existing ones. If
 *           the reader of stdout closes the pipe, duet ends without a message. If no row matches
 *           the filters, a message on stderr describes the trace, and the status is 0. A message
 *           also reports samples that the format cannot hold
 * Why:      many users run `duet export | head`; the remaining lines of 10^7 must not be computed,
 *           and the closed pipe must not be an error
 */
#include "cli/command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/model.h"
#include "analyze/output_options.h"
#include "analyze/text/incomplete.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file/output_file.h"
#include "base/file/unfinished.h"
#include "cli/archive.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "export/exporter.h"
#include "report/table.h"

struct export_values {
	const char *format, *output, *kinds, *event;
	uint64_t from_ns, to_ns, pid;
	bool absolute, no_times;
};

static const struct option_row output_options[] = {
	{"format", 'f', OPTION_TEXT, "NAME", "output format (duet list formats; default text)",
	 offsetof(struct export_values, format)},
	{"output", 'o', OPTION_OUTPUT, "FILE", "output file, or folder for ctf (default stdout)",
	 offsetof(struct export_values, output)},
	OPTION_WINDOW(struct export_values),
	{"kind", 0, OPTION_TEXT, "LIST",
	 "only these kinds, such as api,launch,execution (a wrong name lists all); for csv the "
	 "table, for folded and svg the view, for iaprof the form",
	 offsetof(struct export_values, kinds)},
	{"pid", 0, OPTION_NUMBER, "PID", "only this process", offsetof(struct export_values, pid)},
	{"event", 0, OPTION_TEXT, "NAME",
	 "only samples of this event, such as cycles (perf-script, folded, svg)",
	 offsetof(struct export_values, event)},
	{"no-times", 0, OPTION_FLAG, NULL, "leave out times (perf-script)",
	 offsetof(struct export_values, no_times)},
	{"absolute", 0, OPTION_FLAG, NULL,
	 "write times of CLOCK_MONOTONIC instead of times since the start",
	 offsetof(struct export_values, absolute)},
	{NULL},
};

static int unknown_format(const struct cli_command *command, const char *name)
{
	char list[512] = "";
	size_t used = 0;

	for (size_t i = 0; exporters[i] && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 exporters[i]->name);
	return usage_error(command, "unknown format '%s'; formats are: %s", name, list);
}

/* ---- contents of the trace, for messages ---- */

/* Length of the recorded time in the file, without dropped parts. UINT64_MAX: unknown without
 * reading all rows, because the recorder did not write its end. */
static uint64_t length_ns(const struct model *model)
{
	uint64_t begin_ns = UINT64_MAX, end_ns = 0;
	const struct event_host *hosts;
	size_t count = model_entities(model, EVENT_HOST, &hosts);

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

static int check_process(const struct cli_command *command, const struct model *model,
			 const struct output_options *options, const char *path)
{
	const struct event_process *processes;
	size_t count = model_entities(model, EVENT_PROCESS, &processes);
	int status;

	for (size_t i = 0; i < count; i++) {
		if (processes[i].pid == options->pid)
			return STATUS_DONE;
	}
	status = usage_error(command, "no process %" PRIu64 " in %s", options->pid, path);
	selection_print_processes(model);
	return status;
}

static void print_nothing_matched(const struct cli_command *command, const struct model *model,
				  const struct export_values *values)
{
	uint64_t all_ns = length_ns(model);

	print_error(command->name, "nothing in the trace matches the filters");
	if (all_ns != UINT64_MAX)
		fprintf(stderr, "The recording is %s long.\n", format_duration(all_ns).text);
	if (values->kinds)
		fprintf(stderr, "'duet info' counts its kinds.\n");
	selection_print_processes(model);
}

static void print_incomplete(const struct cli_command *command, const struct model *model)
{
	char text[600];

	snprintf(text, sizeof(text), "INCOMPLETE: %s", incomplete_model(model).text);
	print_error(command->name, text);
}

/* Reports instruction samples that the format cannot hold, because they may be all that was
 * recorded. Not needed if the user chose the kinds. */
static void print_left_out(const struct cli_command *command, const struct exporter *exporter,
			   const struct output_options *options, const struct model *model)
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

/* Leaves fd open. */
static bool is_empty_folder(int fd)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = own < 0 ? NULL : fdopendir(own);
	struct dirent *entry;
	bool is_empty = folder;

	while (is_empty && (entry = readdir(folder)))
		is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	if (folder)
		closedir(folder);
	else if (own >= 0)
		close(own);
	return is_empty;
}

static int open_output_folder(struct output_folder *folder)
{
	int error = output_folder_open(folder, true);

	if (!error && !folder->is_new && !is_empty_folder(folder->fd))
		error = -EEXIST;
	if (!error || folder->is_refused)
		return error;
	return error_set(
		error, "cannot make the folder '%s': %s", folder->path,
		error == -EEXIST || error == -ENOTDIR
			? "a file or a folder that is not empty has that name: remove it, or name "
			  "another"
			: strerror(-error));
}

static int fill_folder(const struct exporter *exporter, const struct model *model,
		       const struct output_options *options, struct output_folder *folder,
		       uint64_t *ret_rows)
{
	const char *own = folder->is_new ? folder->name
					 : NULL; /* an existing folder is not removed on failure */
	int error;

	unfinished_watch_folder(folder->fd, folder->above, own);
	error = exporter->write_folder(model, options, folder, ret_rows);
	unfinished_forget_folder(folder->fd, folder->above, own);
	if (error)
		unfinished_remove_folder(folder->fd, folder->above, own);
	return error;
}

static int write_to_folder(const struct exporter *exporter, const struct model *model,
			   const struct output_options *options, const char *path,
			   uint64_t *ret_rows)
{
	struct output_folder folder;
	int error = output_folder_init(&folder, path);

	if (!error)
		error = open_output_folder(&folder);
	if (!error)
		error = fill_folder(exporter, model, options, &folder, ret_rows);
	output_folder_fini(&folder);
	return error;
}

static bool is_regular(FILE *file)
{
	struct stat status;

	return fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
}

static int write_to(const struct exporter *exporter, const struct model *model,
		    const struct output_options *options, const char *path, uint64_t *ret_rows)
{
	struct whole_file output;
	int error;

	if (exporter->write_folder)
		return write_to_folder(exporter, model, options, path, ret_rows);
	error = whole_file_open(&output, path);
	if (error)
		return error;
	if (exporter->needs_file && !is_regular(output.file))
		error = error_set(-ESPIPE, "'%s' is not a regular file, which %s needs", path,
				  exporter->name);
	if (!error)
		error = exporter->write(model, options, output.file, ret_rows);
	return whole_file_close(&output, error);
}

static bool is_filtered(const struct output_options *options)
{
	return options->has_from || options->has_to || options->kinds || options->pid ||
	       options->event;
}

static int finish_export(const struct cli_command *command, const struct export_values *values,
			 const char *path, int error)
{
	if (output_is_cut(values->output, error))
		return STATUS_DONE;
	if (error) {
		if (!*error_text())
			error_set(error, "export '%s': %s", path, strerror(-error));
		return print_failure(command);
	}
	return finish_output(command->name, STATUS_DONE);
}

static int export_model(const struct cli_command *command, const struct exporter *exporter,
			const struct export_values *values, const struct output_options *options,
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
		print_incomplete(command, model);
	if (!error)
		print_left_out(command, exporter, options, model);
	if (!error && !rows && is_filtered(options))
		print_nothing_matched(command, model, values);
	if (!error)
		output_announce(values->output, "%s, %" PRIu64 " %s", exporter->name, rows,
				format_noun(rows, "row", "rows"));
	return finish_export(command, values, path, error);
}

static int export_file(const struct cli_command *command, const struct exporter *exporter,
		       const struct export_values *values, struct output_options *options,
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

/* Refuses options that this format does not support. STATUS_DONE: all are supported. */
static int check_usage(const struct cli_command *command, const struct exporter *exporter,
		       const struct export_values *values, const struct output_options *options)
{
	if (values->to_ns < values->from_ns)
		return usage_error(command, "--to is before --from");
	if (exporter_check_kinds(exporter, values->kinds) ||
	    (exporter->check && exporter->check(options))) {
		int status = usage_error(command, "%s", error_text());

		error_clear();
		return status;
	}
	if (values->event && !exporter->can_choose_event)
		return usage_error(command,
				   "--event: %s has all events in one file; perf-script, "
				   "folded and svg choose one",
				   exporter->name);
	if (values->no_times && !exporter->can_omit_times)
		return usage_error(command, "--no-times is for perf-script, not for %s",
				   exporter->name);
	if (exporter->write_folder && !values->output)
		return usage_error(command, "%s writes a folder: name it with -o", exporter->name);
	if (exporter->is_binary && !values->output && isatty(STDOUT_FILENO))
		return usage_error(command, "%s is a binary format: write to a file with -o",
				   exporter->name);
	if (exporter->needs_file && !values->output)
		return usage_error(command,
				   "%s cannot be written to a pipe: write to a file with -o",
				   exporter->name);
	return STATUS_DONE;
}

static void print_note(const char *line)
{
	print_error(command_export.name, line);
}

static struct output_options options_of(const struct export_values *values)
{
	return (struct output_options){.has_from = values->from_ns > 0,
				       .from_ns = values->from_ns,
				       .has_to = values->to_ns != UINT64_MAX,
				       .to_ns = values->to_ns,
				       .kinds = values->kinds,
				       .event = values->event,
				       .has_no_times = values->no_times,
				       .pid = values->pid == UINT64_MAX ? 0 : values->pid,
				       .version = DUET_VERSION,
				       .may_download = getenv("DEBUGINFOD_URLS") != NULL,
				       .is_absolute = values->absolute,
				       .on_note = print_note};
}

static int run_export(const struct cli_command *command, int argc, char **argv)
{
	struct export_values values = {.format = "text", .to_ns = UINT64_MAX, .pid = UINT64_MAX};
	int first = options_parse(command, argc, argv, false, &values), status;
	struct output_options options = options_of(&values);
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

const struct cli_command command_export = {
	.name = "export",
	.arguments = "[options] [FILE]",
	.summary = "write a trace in another format",
	.writes_files = true,
	.reads_trace = true,
	.run = run_export,
	.options = output_options,
};
