/* SPDX-License-Identifier: MIT
 *
 * cli/remote/remote.c - run a verb on another machine, with --host
 *
 * Runs in:  our own process
 * Gets:     the command line
 * Gives:    the exit status, output and files of the verb, here
 * Owns:     the connection
 * Fails:    with a message and the verb's status for failures: 125 for record, otherwise 1
 * Why:      duet there is the same duet, so it reads the verb's options, and this side needs to
 *           know only those that name files of this side
 */
#include "cli/remote/remote.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file/unfinished.h"
#include "base/format.h"
#include "base/string.h"
#include "cli/output.h"
#include "cli/record/output_name.h"
#include "cli/remote/arguments.h"
#include "cli/remote/fetch.h"
#include "cli/remote/job.h"

struct remote_run {
	const struct cli_command *command;
	const struct remote_arguments *arguments;
	struct ssh ssh;
	struct machine machine;
};

static bool is_record(const struct cli_command *command)
{
	return command->remote->kind == REMOTE_RECORD;
}

static int failure_of(const struct cli_command *command)
{
	return is_record(command) ? RECORD_FAILED : STATUS_FAILED;
}

static int print_remote_failure(const struct cli_command *command)
{
	print_error(command->name, NULL);
	return failure_of(command);
}

/* ---- verbs that read recordings -------------------------------------------------------------- */

/* NULL: no memory, with the error chain. */
static char *choose_output(const struct remote_arguments *arguments, const char *standard)
{
	const char *trace = arguments->trace ? path_base(arguments->trace) : "duet.duet";
	char *output;

	if (!arguments->output && standard[0] == '.')
		return output_beside(trace, standard);
	output = strdup(arguments->output ? arguments->output : standard);
	if (!output)
		error_set(-ENOMEM, "out of memory");
	return output;
}

/* Whether the verb has written its output. */
static bool has_written(int status)
{
	return status == STATUS_DONE || status == STATUS_INCOMPLETE;
}

/* A verb that fails leaves no file here. */
static int write_here(struct remote_job *job, int *ret_status)
{
	auto_free char *path = choose_output(job->arguments, job->command->remote->output);
	struct whole_file output;
	int error, status = STATUS_FAILED;

	if (!path)
		return -ENOMEM;
	error = whole_file_open(&output, path);
	if (error)
		return error;
	error = remote_job_run(job, output.file, &status);
	error = whole_file_close(&output, !error && !has_written(status) ? -ECANCELED : error);
	if (error && error != -ECANCELED)
		return error;
	*ret_status = status;
	if (!error)
		output_announce(path, "written on %s", job->ssh->host);
	return 0;
}

static int read_there(struct remote_run *run, struct remote_job *job, int *ret_status)
{
	int error = remote_job_writes_here(job) ? write_here(job, ret_status)
						: remote_job_run(job, NULL, ret_status);

	if (error != -ECONNRESET)
		remote_job_remove(job);
	return error;
}

/* ---- record ---------------------------------------------------------------------------------- */

static void print_left(const struct remote_job *job, const char *output)
{
	struct shown folder = format_text(job->folder);

	fprintf(stderr,
		"duet record: the recording is on %s in %s/recording.duet; copy it with: scp %s:%s/"
		"recording.duet %s\n",
		job->ssh->host, folder.text, job->ssh->host, folder.text, format_text(output).text);
}

/* -errno after the failure was printed; -ENODATA: only symbol files are missing. */
static int fetch_here(const struct remote_job *job, const char *output, int *ret_found)
{
	int error = fetch_trace(job, output, ret_found);

	if (error) {
		print_error("record", NULL);
		print_left(job, output);
		return error;
	}
	if (*ret_found)
		output_announce(output, "recorded on %s", job->ssh->host);
	/* The program has run: as with record --archive, this does not change the status. */
	if (*ret_found == FETCH_SYMBOLS && fetch_symbols(job, output)) {
		print_error("record", NULL);
		print_left(job, output);
		return -ENODATA;
	}
	return 0;
}

static int record_there(struct remote_job *job, const char *output, int *ret_status)
{
	int found = FETCH_NOTHING, error = remote_job_run(job, NULL, ret_status);

	if (error == -ECONNRESET) {
		print_error("record", NULL);
		print_left(job, output);
		*ret_status = RECORD_FAILED;
		return 0;
	}
	if (error)
		return error;
	error = fetch_here(job, output, &found);
	if (error && error != -ENODATA)
		*ret_status = RECORD_FAILED;
	if (found && !error && job->arguments->values.keep_remote)
		fprintf(stderr, "duet: kept %s:%s/recording.duet\n", job->ssh->host,
			format_text(job->folder).text);
	else if (!error)
		remote_job_remove(job);
	return 0;
}

/* ---- all verbs ------------------------------------------------------------------------------- */

static int run_job(struct remote_run *run, int *ret_status)
{
	struct remote_job job = {.ssh = &run->ssh,
				 .machine = &run->machine,
				 .command = run->command,
				 .arguments = run->arguments};
	const char *pattern = run->arguments->output ? run->arguments->output : "duet.duet";
	auto_free char *output = NULL;
	int error;

	if (is_record(run->command)) {
		output = record_output_name(pattern, run->machine.name, OPTION_UNSET);
		error = output ? fetch_check_output(output) : -EINVAL;
		if (error)
			return error;
	}
	error = remote_job_prepare(&job);
	if (error)
		return error;
	return output ? record_there(&job, output, ret_status) : read_there(run, &job, ret_status);
}

static void forget_bundles(struct remote_run *run)
{
	struct machine_forgotten forgotten;

	if (machine_forget(&run->ssh, &run->machine, &forgotten)) {
		print_error(run->command->name, NULL);
		return;
	}
	fprintf(stderr, "duet: %s: %u %s of duet removed from %s\n", run->ssh.host, forgotten.count,
		format_noun(forgotten.count, "copy", "copies"),
		format_text(run->machine.cache).text);
	if (forgotten.used_count)
		fprintf(stderr,
			"duet: %s: %u %s not removed, because a recording or a program there uses "
			"it: %s%s; try again later\n",
			run->ssh.host, forgotten.used_count,
			format_noun(forgotten.used_count, "copy was", "copies were"),
			format_text(forgotten.used).text,
			forgotten.used_count > 1 ? " and others" : "");
}

static int run_connected(struct remote_run *run)
{
	const struct remote_values *values = &run->arguments->values;
	bool only_forgets =
		values->forget_bundle && is_record(run->command) && !run->arguments->has_target;
	int status = STATUS_DONE, error = 0;

	error = machine_open(&run->ssh, DUET_VERSION, !only_forgets, &run->machine);
	if (!error && !only_forgets)
		error = run_job(run, &status);
	if (error)
		status = print_remote_failure(run->command);
	if (values->forget_bundle && *run->machine.cache)
		forget_bundles(run);
	return status;
}

static int run_there(const struct cli_command *command, const struct remote_arguments *arguments)
{
	struct remote_run run = {.command = command, .arguments = arguments};
	int status;

	if (ssh_init(&run.ssh, arguments->values.ssh, arguments->values.host))
		status = print_remote_failure(command);
	else
		status = run_connected(&run);
	ssh_fini(&run.ssh);
	return status;
}

static int check_arguments(const struct cli_command *command,
			   const struct remote_arguments *arguments)
{
	const struct remote_values *values = &arguments->values;
	int status = 0;

	if (!values->host)
		status = usage_error(command, "--ssh, --remote-dir, --keep-remote and "
					      "--forget-bundle need --host");
	else if (!*values->host || *values->host == '-')
		status = usage_error(command, "--host needs the name of a machine, not '%s'",
				     values->host);
	else if (values->keep_remote && !is_record(command))
		status = usage_error(command, "--keep-remote is an option of record");
	return status && is_record(command) ? RECORD_FAILED : status;
}

/* Avoids the walk, and its messages, for all other command lines. */
static bool may_be_remote(char **argv)
{
	for (; *argv; argv++)
		for (const struct option_row *row = remote_rows; row->name; row++)
			if (strncmp(*argv, "--", 2) == 0 &&
			    strncmp(*argv + 2, row->name, strlen(row->name)) == 0)
				return true;
	return false;
}

static bool is_remote(const struct remote_arguments *arguments)
{
	for (const struct option_row *row = remote_rows; row->name; row++)
		if (option_is_set(row, &arguments->values))
			return true;
	return false;
}

bool remote_run(const struct cli_command *command, int argc, char **argv, int *ret_status)
{
	struct remote_arguments arguments;
	char *refused, *words[] = {argv[0], NULL, NULL};

	if (!command->remote || !may_be_remote(argv + 1))
		return false;
	if (!remote_arguments_read(&arguments, command, argc, argv, &refused, ret_status)) {
		words[1] = refused;
		if (refused)
			*ret_status = command->run(command, 2, words);
		return true;
	}
	if (!is_remote(&arguments)) {
		remote_arguments_fini(&arguments);
		return false;
	}
	*ret_status = check_arguments(command, &arguments);
	if (!*ret_status)
		*ret_status = run_there(command, &arguments);
	remote_arguments_fini(&arguments);
	return true;
}
