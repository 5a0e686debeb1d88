/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_record.c - duet record: the output's name, messages, and the exit status
 *
 * Runs in:  our own process, as the recorder
 * Gets:     the command line
 * Gives:    a trace file and the program's exit status
 * Owns:     nothing
 * Fails:    with 125 if duet itself fails, 126 or 127 if the program cannot be run. Otherwise the
 *           status is the program's, so `duet record --` can precede any command of a script
 * Why:      duet record prints nothing if stderr is not a terminal, because a recording must not
 *           change the program's output. Warnings are in the trace, and `duet report` prints them.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/archive.h"
#include "cli/command.h"
#include "cli/record/output_name.h"
#include "cli/record/triggers.h"
#include "cli/record/request.h"
#include "collect/collector.h"
#include "collect/start/owner.h"
#include "report/table.h"

/* ---- messages -------------------------------------------------------------------------------- */

static void print_warning(void *context, const char *text)
{
	fprintf(stderr, "duet: %s\n", format_text(text).text);
}

static void print_settings(const struct session_options *options)
{
	if (options->pids_count)
		fprintf(stderr, "duet: recording %zu running process%s\n", options->pids_count,
			options->pids_count == 1 ? "" : "es");
	else if (!options->command)
		fprintf(stderr, "duet: recording the programs that have a guest loaded "
				"(duet install)\n");
	for (size_t i = 0; i < collectors_count; i++)
		if (collectors[i]->way && collectors[i]->way->describe)
			collectors[i]->way->describe(options, print_warning, NULL);
}

static void print_summary(const struct session_options *options,
			  const struct session_result *result)
{
	if (result->left[0] && strcmp(result->left, result->note) != 0)
		fprintf(stderr, "duet: %s\n", format_text(result->left).text);
	fprintf(stderr, "duet: %llu rows", (unsigned long long)result->rows);
	/* Processes with a guest; other recorded processes are not counted. */
	if (result->processes)
		fprintf(stderr, " from %u %s", result->processes,
			format_noun(result->processes, "process", "processes"));
	fprintf(stderr, ", %.1f KiB in %s", (double)result->bytes / 1024, options->output);
	if (result->survivors)
		fprintf(stderr, "; %u process%s left running", result->survivors,
			result->survivors == 1 ? "" : "es");
	fprintf(stderr, "\n");
	if (result->note[0] && result->processes)
		fprintf(stderr, "duet: %s\n", format_text(result->note).text);
}

static void print_write_error(const struct session_options *options,
			      const struct session_result *result)
{
	fprintf(stderr,
		"duet record: '%s': write failed: %s; %llu rows are lost, the rest of the file is "
		"readable\n",
		options->output, strerror(-result->write_error),
		(unsigned long long)result->rows_lost);
}

/* The first runtime whose calls were requested; NULL: none. */
static const char *first_runtime(const struct session_options *options)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (collector_slot_has_calls(&options->collected[i]))
			return collectors[i]->way->runtime;
	return NULL;
}

/* Whether to report that no call was recorded. For processes that already ran this is normal, so it
 * is reported only with a reason. */
static bool lacks_calls(const struct session_options *options, const struct session_result *result)
{
	if (result->processes || result->write_error || !first_runtime(options))
		return false;
	return options->pids_count ? *result->note != '\0' : result->has_program;
}

/* A collector of a runtime that was not requested although the machine has its device; NULL: none.
 */
static const struct collector *find_unasked(const struct session_options *options)
{
	for (size_t i = 0; i < collectors_count; i++) {
		const struct guest_way *way = collectors[i]->way;

		if (way && way->device_file && !access(way->device_file, F_OK) &&
		    !collector_slot_has_calls(&options->collected[i]))
			return collectors[i];
	}
	return NULL;
}

static void print_no_calls(const struct session_options *options,
			   const struct session_result *result)
{
	const struct collector *unasked = result->note[0] ? NULL : find_unasked(options);

	fprintf(stderr, "duet: no %s call was recorded%s",
		result->missed ? result->missed : first_runtime(options),
		result->has_others ? ", only events of other collectors" : "");
	if (unasked)
		fprintf(stderr, "; if the program uses %s, record it with --collect cpu,%s\n",
			unasked->way->runtime, unasked->name);
	else if (result->note[0])
		fprintf(stderr, ": %s\n", format_text(result->note).text);
	else
		fprintf(stderr, " (if the program uses it, run duet doctor)\n");
}

/* Messages that are printed even without a terminal: a killed program prints nothing itself, and a
 * trace without calls is useless. */
static void print_surprises(const struct session_options *options,
			    const struct session_result *result)
{
	if (result->has_program && !result->interrupted && WIFSIGNALED(result->program_status))
		fprintf(stderr, "duet: program killed by signal %s%s\n",
			format_signal(WTERMSIG(result->program_status)).text,
			WCOREDUMP(result->program_status) ? ", core dumped" : "");
	if (lacks_calls(options, result))
		print_no_calls(options, result);
	if (result->without_guest[0])
		fprintf(stderr, "duet: %s\n", format_text(result->without_guest).text);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int start_status(int exec_error)
{
	print_error("record", NULL);
	if (exec_error == -ENOENT)
		return RECORD_NOT_FOUND;
	return exec_error ? RECORD_NOT_EXECUTABLE : RECORD_FAILED;
}

static int exit_status(const struct session_result *result)
{
	/* the trace lacks rows: a script must not consider it complete because the program
	 * succeeded */
	if (result->write_error)
		return RECORD_FAILED;
	if (result->interrupted)
		return 128 + result->signal;
	if (!result->has_program)
		return 0;
	if (WIFSIGNALED(result->program_status))
		return 128 + WTERMSIG(result->program_status);
	return WEXITSTATUS(result->program_status);
}

static void print_missing(void *context, const char *path)
{
	fprintf(stderr, "duet: the symbol file of '%s' could not be copied\n",
		format_text(path).text);
}

/* The program has run: a failure to copy its symbols does not change the status. */
static void keep_symbols(const char *trace)
{
	struct archive_result result;

	if (archive_trace(trace, print_missing, NULL, &result))
		print_error("record", NULL);
}

static int run_recording(struct session_options *options, bool is_verbose, bool *ret_recorded,
			 struct triggers *triggers)
{
	struct session_result result;
	int exec_error, error;

	options->on_warning = print_warning;
	if (is_verbose || isatty(STDERR_FILENO))
		options->on_hint = print_warning;
	if (is_verbose)
		print_settings(options);
	error = session_run(options, &result, &exec_error);
	triggers_end(triggers);
	if (error)
		return start_status(exec_error);
	*ret_recorded = true;
	if (is_verbose || isatty(STDERR_FILENO))
		print_summary(options, &result);
	print_surprises(options, &result);
	if (result.write_error)
		print_write_error(options, &result);
	if (options->archive && !result.write_error)
		keep_symbols(options->output);
	if (options->owner_fd)
		owner_send_end(options->owner_fd, exit_status(&result));
	return exit_status(&result);
}

/* A configuration that is only printed is checked too: collectors and user must exist. */
static int run_request(struct request *request, bool *ret_recorded)
{
	const struct record_values *values = &request->values;
	struct session_options options = {0};
	pid_t pids[MAX_REQUEST_PIDS];
	auto_free char *output = NULL, *archive = NULL;
	struct triggers *triggers = NULL;
	char *guests[MAX_COLLECTORS];
	int status;

	if (request_fill(request, pids, &options))
		return RECORD_FAILED;
	if (values->print_config)
		return session_check(&options) ? start_status(0) : request_print(request, &options);
	output = record_output_name(values->output, NULL, values->turn);
	if (!output)
		return request_refuse(request, "output", "%s", error_text());
	archive = values->archive == SWITCH_ON ? archive_folder(output) : NULL;
	options.output = output;
	options.archive = archive;
	request_find_guests(&options, guests);
	request->triggers.options.is_verbose = values->verbose == SWITCH_ON;
	if (request->triggers.options.count &&
	    triggers_start(&request->triggers.options, &options, &triggers))
		status = start_status(0);
	else
		status = run_recording(&options, values->verbose == SWITCH_ON, ret_recorded,
				       triggers);
	for (size_t i = 0; i < collectors_count; i++)
		free(guests[i]);
	return status;
}

int record_program(const struct cli_command *command, int argc, char **argv, bool *ret_recorded)
{
	struct request request;
	int status;

	*ret_recorded = false;
	if (request_read(&request, command, argc, argv, &status))
		status = run_request(&request, ret_recorded);
	request_fini(&request);
	return status;
}

static int run_record(const struct cli_command *command, int argc, char **argv)
{
	bool recorded;

	return record_program(command, argc, argv, &recorded);
}

const struct cli_command command_record = {
	.name = "record",
	.arguments = "[options] [-p PID,... | -a | -- PROGRAM [ARGUMENT ...]]",
	.summary = "record a program, or all OpenCL programs, into a trace file",
	.run = run_record,
	.options = request_options,
	.remote = &(const struct remote_way){.kind = REMOTE_RECORD, .stops_at_operand = true},
};
