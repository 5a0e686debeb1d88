/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_record.c - duet record: the output's name, what is said, the exit status
 *
 * Runs in:  our own process, as the recorder
 * Gets:     the command line   Gives: a trace file and the program's exit status
 * Owns:     nothing
 * Fails:    with 125 where duet itself fails, 126 and 127 where the program cannot be run; otherwise the
 *           status is the program's, so that `duet record --` can stand before any command of a script
 * Why:      silent where stderr is not a terminal: what the program prints must not change because it is
 *           recorded. What the user should know is in the trace, and `duet report` prints it.
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
#include "base/string.h"
#include "cli/archive.h"
#include "cli/command.h"
#include "cli/guest_path.h"
#include "cli/record_request.h"
#include "cli/table.h"
#include "collect/amd/ways.h"
#include "collect/collector.h"
#include "collect/level_zero/ways.h"
#include "collect/nvidia/cuda.h"
#include "collect/owner.h"
#include "collect/ranges/ways.h"

/* ---- names ------------------------------------------------------------------------------------- */

/* %q{NAME}; as expand_one. */
static int expand_variable(struct string_builder *name, const char *at)
{
	const char *end = at[2] == '{' ? strchr(at + 3, '}') : NULL, *value;
	char variable[256];

	if (!end || (size_t)(end - at - 3) >= sizeof(variable))
		return 0;
	snprintf(variable, sizeof(variable), "%.*s", (int)(end - at - 3), at + 3);
	value = getenv(variable);
	if (!value)
		return error_set(-EINVAL, "there is no variable '%s' in the environment", variable);
	string_builder_append(name, value);
	return (int)(end - at) + 1;
}

/* One % sequence; returns how many characters it is long, 0 where it is none of ours, -EINVAL for a variable that is
 * not set: runs of different ranks would else write into one file. */
static int expand_one(struct string_builder *name, const char *at)
{
	char host[256];

	if (at[1] == 'p') {
		string_builder_appendf(name, "%d", (int)getpid());
		return 2;
	}
	if (at[1] == 'h') {
		if (gethostname(host, sizeof(host)) < 0)
			snprintf(host, sizeof(host), "unknown");
		host[sizeof(host) - 1] = '\0';
		string_builder_append(name, host);
		return 2;
	}
	if (at[1] == '%') {
		string_builder_append_char(name, '%');
		return 2;
	}
	return at[1] == 'q' ? expand_variable(name, at) : 0;
}

/* Where a pattern gets the number of its turn: run.duet becomes run.2.duet. NULL: it gets none. */
static const char *find_turn_place(const char *pattern, uint64_t turn)
{
	static const char ending[] = ".duet";
	const char *end = pattern + strlen(pattern), *dot = end - strlen(ending);

	/* By a variable of the environment the program tells its files apart itself. */
	if (turn == OPTION_UNSAID || turn < 2 || strstr(pattern, "%q{"))
		return NULL;
	return dot > pattern && strcmp(dot, ending) == 0 ? dot : end;
}

/* NULL with the error chain. */
static char *expand_output(const char *pattern, uint64_t turn)
{
	const char *place = find_turn_place(pattern, turn);
	struct string_builder name;

	string_builder_init(&name);
	for (;;) {
		int length;

		if (pattern == place)
			string_builder_appendf(&name, ".%llu", (unsigned long long)turn);
		if (!*pattern)
			break;
		length = *pattern == '%' ? expand_one(&name, pattern) : 0;
		if (length < 0) {
			string_builder_fini(&name);
			return NULL;
		}
		if (!length) {
			string_builder_append_char(&name, *pattern);
			length = 1;
		}
		pattern += length;
	}
	if (name.error)
		error_set(-ENOMEM, "out of memory");
	return string_builder_take(&name);
}

/* ---- messages ---------------------------------------------------------------------------------- */

static void print_taken(const char *what, const char *variable, const char *path)
{
	if (path)
		fprintf(stderr,
			"duet: %s is set to %s, which is kept: ranges of %s are not recorded\n",
			variable, format_text(path).text, what);
}

static void print_ranges(const struct session_options *options)
{
	struct ranges_ways ways;
	const char *why;

	if (!ranges_ways_find(options, &ways, &why)) {
		if (why && options->ranges)
			fprintf(stderr, "duet: %s\n", why);
		return;
	}
	if (ways.nvtx || ways.itt || ways.preload)
		fprintf(stderr, "duet: guest %s, loaded by%s%s%s\n", options->ranges_guest,
			ways.nvtx ? " " RANGES_NVTX_VARIABLE : "",
			ways.itt ? " " RANGES_ITT_VARIABLE : "", ways.preload ? " LD_PRELOAD" : "");
	print_taken("NVTX", RANGES_NVTX_VARIABLE, ways.nvtx_taken);
	print_taken("ITT", RANGES_ITT_VARIABLE, ways.itt_taken);
	if (ways.why_no_preload)
		fprintf(stderr, "duet: ranges of roctx are not recorded: %s\n",
			ways.why_no_preload);
}

static void print_level_zero(const struct session_options *options)
{
	const char *why, *slot;

	if (!options->command || !options->level_zero)
		return;
	slot = level_zero_way(options, &why);
	if (slot)
		fprintf(stderr, "duet: guest %s, loaded by %s and LD_LIBRARY_PATH\n",
			options->level_zero_guest, slot);
	else
		fprintf(stderr, "duet: Level Zero is not recorded: %s\n", why);
}

/* Of OpenCL; the lines of the other runtimes follow. */
static void print_opencl(const struct session_options *options)
{
	const char *why, *way = session_way(options, &why);

	if (way)
		fprintf(stderr, "duet: guest %s, loaded by %s; existing values are kept\n",
			options->guest, way);
	else if (options->opencl)
		fprintf(stderr, "duet: OpenCL is not recorded: %s\n", why);
}

static void print_settings(const struct session_options *options)
{
	const char *why;

	if (options->pids_count)
		fprintf(stderr, "duet: recording %zu running process%s\n", options->pids_count,
			options->pids_count == 1 ? "" : "es");
	else if (options->command)
		print_opencl(options);
	else
		fprintf(stderr, "duet: recording the programs that have a guest loaded "
				"(duet install)\n");
	if (options->command && amd_can_load(options, &why))
		fprintf(stderr,
			"duet: guest %s, loaded by HSA_TOOLS_LIB%s; existing values are kept\n",
			options->rocm_guest,
			amd_can_preload(options, &why) ? " and LD_PRELOAD" : "");
	if (options->command && cuda_can_load(options, &why))
		fprintf(stderr, "duet: guest %s, loaded by CUDA_INJECTION64_PATH\n",
			options->cuda_guest);
	print_level_zero(options);
	print_ranges(options);
}

static void print_summary(const struct session_options *options,
			  const struct session_result *result)
{
	if (result->left[0] && strcmp(result->left, result->note) != 0)
		fprintf(stderr, "duet: %s\n", format_text(result->left).text);
	fprintf(stderr, "duet: %llu rows", (unsigned long long)result->rows);
	/* Of those that have a guest: who is only counted, or seen from outside, is none of them. */
	if (result->processes)
		fprintf(stderr, " of %u %s", result->processes,
			format_noun(result->processes, "process", "processes"));
	fprintf(stderr, ", %.1f KiB in %s", (double)result->bytes / 1024, options->output);
	if (result->survivors)
		fprintf(stderr, "; %u process%s left running", result->survivors,
			result->survivors == 1 ? "" : "es");
	fprintf(stderr, "\n");
	if (result->note[0] && result->processes)
		fprintf(stderr, "duet: %s\n", format_text(result->note).text);
}

static void say_warning(void *context, const char *text)
{
	(void)context;
	fprintf(stderr, "duet: %s\n", format_text(text).text);
}

static void print_write_error(const struct session_options *options,
			      const struct session_result *result)
{
	fprintf(stderr,
		"duet record: writing '%s' failed: %s; %llu rows are lost, what is in the file is "
		"readable\n",
		options->output, strerror(-result->write_error),
		(unsigned long long)result->rows_lost);
}

/* Of processes that ran already, that there is no call needs no saying, but for a reason. */
static bool lacks_calls(const struct session_options *options, const struct session_result *result)
{
	if (result->processes || result->write_error ||
	    (!options->opencl && !options->amd && !options->cuda && !options->level_zero))
		return false;
	return options->pids_count ? *result->note != '\0' : result->has_program;
}

static const char *missed_runtime(const struct session_options *options,
				  const struct session_result *result)
{
	if (result->missed)
		return result->missed;
	if (options->opencl)
		return "OpenCL";
	return options->amd ? "ROCm" : options->cuda ? "CUDA" : "Level Zero";
}

/* What the user must know, also where nobody looks at a terminal: a program that is killed says nothing itself, and
 * a trace without a call is no use. */
static void print_surprises(const struct session_options *options,
			    const struct session_result *result)
{
	if (result->has_program && !result->interrupted && WIFSIGNALED(result->program_status))
		fprintf(stderr, "duet: program killed by signal %s%s\n",
			format_signal(WTERMSIG(result->program_status)).text,
			WCOREDUMP(result->program_status) ? ", core dumped" : "");
	if (!lacks_calls(options, result))
		return;
	fprintf(stderr, "duet: no %s call was recorded%s%s%s\n", missed_runtime(options, result),
		result->has_others ? ", only what other collectors saw" : "",
		result->note[0] ? ": "
				: " (if the program uses it, duet doctor says what is missing)",
		result->note[0] ? format_text(result->note).text : "");
}

/* ---- the command ------------------------------------------------------------------------------- */

static int start_status(int exec_error)
{
	print_error("record", NULL);
	if (exec_error == -ENOENT)
		return RECORD_NOT_FOUND;
	return exec_error ? RECORD_NOT_EXECUTABLE : RECORD_FAILED;
}

static int exit_status(const struct session_result *result)
{
	/* the trace lacks rows: a script must not take it for whole because the program went well */
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

static void say_missing(void *context, const char *path)
{
	(void)context;
	fprintf(stderr, "duet: no symbol file of '%s' could be kept\n", format_text(path).text);
}

/* The program has run: that its symbols cannot be kept does not change its status. */
static void keep_symbols(const char *trace)
{
	struct archive_result result;

	if (archive_trace(trace, say_missing, NULL, &result))
		print_error("record", NULL);
}

static int record(struct session_options *options, bool is_verbose, bool *ret_recorded)
{
	char guest[PATH_MAX], rocm_guest[PATH_MAX], cuda_guest[PATH_MAX], ranges_guest[PATH_MAX],
		level_zero_guest[PATH_MAX];
	struct session_result result;
	int exec_error;

	options->on_warning = say_warning;
	if (is_verbose || isatty(STDERR_FILENO))
		options->on_hint = say_warning;
	options->guest = guest_path(GUEST_NAME, guest);
	options->rocm_guest = guest_path(GUEST_NAME_ROCM, rocm_guest);
	options->cuda_guest = guest_path(GUEST_NAME_CUDA, cuda_guest);
	options->ranges_guest = guest_path(RANGES_GUEST_NAME, ranges_guest);
	options->level_zero_guest = guest_path(GUEST_NAME_LEVEL_ZERO, level_zero_guest);
	if (is_verbose)
		print_settings(options);
	if (session_run(options, &result, &exec_error))
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
		owner_tell_end(options->owner_fd, exit_status(&result));
	return exit_status(&result);
}

/* One that is only printed is looked at all the same: which collectors there are, and which user. */
static int run_request(struct request *request, bool *ret_recorded)
{
	const struct record_values *values = &request->values;
	struct session_options options = {0};
	pid_t pids[REQUEST_PIDS_MOST];
	auto_free char *output = NULL, *archive = NULL;

	if (request_fill(request, pids, &options))
		return RECORD_FAILED;
	if (values->print_config)
		return session_check(&options) ? start_status(0) : request_print(request, &options);
	output = expand_output(values->output, values->turn);
	if (!output)
		return request_refuse(request, "output", "%s", error_text());
	archive = values->archive == SWITCH_ON ? archive_folder(output) : NULL;
	options.output = output;
	options.archive = archive;
	return record(&options, values->verbose == SWITCH_ON, ret_recorded);
}

int record_program(const struct command *command, int argc, char **argv, bool *ret_recorded)
{
	struct request request;
	int status;

	*ret_recorded = false;
	if (request_read(&request, command, argc, argv, &status))
		status = run_request(&request, ret_recorded);
	request_fini(&request);
	return status;
}

static int run_record(const struct command *command, int argc, char **argv)
{
	bool recorded;

	return record_program(command, argc, argv, &recorded);
}

const struct command command_record = {
	.name = "record",
	.arguments = "[options] [-p PID,... | -a | -- PROGRAM [ARGUMENT ...]]",
	.summary = "record a program, or all OpenCL programs, into a trace file",
	.run = run_record,
	.options = request_options,
};
