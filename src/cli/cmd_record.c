/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_record.c - duet record: options, the output's name, the exit status
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

#include "base/error.h"
#include "base/string.h"
#include "cli/archive.h"
#include "cli/command.h"
#include "cli/guest_path.h"
#include "cli/table.h"
#include "collect/collector.h"

enum { MAX_SIZE_LEAST = 1 << 20, FREQUENCY_MOST = 20000, PIDS_MOST = 1024 };
#define NO_LIMIT UINT64_MAX

struct record_values {
	const char *output, *collect, *user, *stacks, *event, *pids;
	uint64_t duration_ns, max_size_bytes, keep_ns, frequency_hz;
	bool all, preload, verbose, archive;
};

static const struct option_row record_options[] = {
	{"output", 'o', OPTION_PATTERN, "FILE",
	 "write to FILE (default duet.duet); %p is duet's pid, %h the host, %q{VAR} a variable, %% "
	 "a percent sign",
	 offsetof(struct record_values, output)},
	{"duration", 'd', OPTION_SPAN, "SEC",
	 "end the recording after SEC seconds; PROGRAM runs on",
	 offsetof(struct record_values, duration_ns)},
	{"collect", 0, OPTION_TEXT, "LIST",
	 "what to collect: names, name:option, -name leaves one out (duet list collectors)",
	 offsetof(struct record_values, collect)},
	{"frequency", 'F', OPTION_NUMBER, "HZ",
	 "samples a second of a running thread, with --collect cpu (default 199; 0: switches "
	 "alone)",
	 offsetof(struct record_values, frequency_hz)},
	{"event", 'e', OPTION_TEXT, "EVENT",
	 "take them by this perf event (default cycles, else cpu-clock)",
	 offsetof(struct record_values, event)},
	{"stacks", 0, OPTION_TEXT, "MODE",
	 "call stacks of launches and waits: native, python, all (default) or none",
	 offsetof(struct record_values, stacks)},
	{"pid", 'p', OPTION_TEXT, "PID,...",
	 "record processes that run already, until they end: all their threads, and what they "
	 "start from now on",
	 offsetof(struct record_values, pids)},
	{"all", 'a', OPTION_FLAG, NULL,
	 "record every OpenCL process of this user (as root: of the machine)",
	 offsetof(struct record_values, all)},
	{"user", 0, OPTION_TEXT, "NAME", "run PROGRAM as this user (as root)",
	 offsetof(struct record_values, user)},
	{"preload", 0, OPTION_FLAG, NULL,
	 "load the guest by LD_PRELOAD, for OpenCL loaders without layers",
	 offsetof(struct record_values, preload)},
	{"keep", 0, OPTION_SPAN, "SEC", "keep the last SEC seconds only",
	 offsetof(struct record_values, keep_ns)},
	{"max-size", 0, OPTION_SIZE, "N",
	 "drop the oldest parts so that the file stays below N bytes",
	 offsetof(struct record_values, max_size_bytes)},
	{"archive", 0, OPTION_FLAG, NULL,
	 "keep the symbol files of this machine with the trace, as duet archive does",
	 offsetof(struct record_values, archive)},
	{"verbose", 'v', OPTION_FLAG, NULL,
	 "say on stderr what is set for PROGRAM and what was recorded",
	 offsetof(struct record_values, verbose)},
	{NULL},
};

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
		return error_set(-EINVAL, "-o: there is no variable '%s' in the environment",
				 variable);
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

/* NULL with the error chain. */
static char *expand_output(const char *pattern)
{
	struct string_builder name;

	string_builder_init(&name);
	while (*pattern) {
		int length = *pattern == '%' ? expand_one(&name, pattern) : 0;

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
		error_set(-ENOMEM, "-o: out of memory");
	return string_builder_take(&name);
}

/* ---- messages ---------------------------------------------------------------------------------- */

static void print_settings(const struct session_options *options)
{
	const char *why, *way = options->command ? session_way(options, &why) : NULL;

	if (options->pids_count)
		fprintf(stderr, "duet: recording %zu running process%s\n", options->pids_count,
			options->pids_count == 1 ? "" : "es");
	else if (way)
		fprintf(stderr, "duet: guest %s, loaded by %s; existing values are kept\n",
			options->guest, way);
	else if (options->command)
		fprintf(stderr, "duet: no guest is loaded: %s\n", why);
	else
		fprintf(stderr, "duet: recording the programs that have a guest loaded "
				"(duet install)\n");
}

static void print_summary(const struct session_options *options,
			  const struct session_result *result)
{
	fprintf(stderr, "duet: %llu rows of %u process%s, %.1f KiB in %s",
		(unsigned long long)result->rows, result->processes,
		result->processes == 1 ? "" : "es", (double)result->bytes / 1024, options->output);
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

/* Where something else was recorded as well, that there is no call needs no saying, but for a reason. */
static bool lacks_calls(const struct session_options *options, const struct session_result *result)
{
	if (result->processes || result->write_error || !options->opencl)
		return false;
	return result->has_others || options->pids_count ? *result->note != '\0'
							 : result->has_program;
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
	if (lacks_calls(options, result))
		fprintf(stderr, "duet: no OpenCL call was recorded%s%s\n",
			result->note[0] ? ": " : " (duet doctor says what is missing)",
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
	if (result->interrupted)
		return 128 + result->signal;
	if (!result->has_program)
		return result->write_error ? RECORD_FAILED : 0;
	if (WIFSIGNALED(result->program_status))
		return 128 + WTERMSIG(result->program_status);
	return WEXITSTATUS(result->program_status);
}

static const struct stacks_mode {
	const char *name;
	bool native, python;
} stacks_modes[] = {{"all", true, true},
		    {"native", true, false},
		    {"python", false, true},
		    {"none", false, false}};

static const struct stacks_mode *find_stacks_mode(const char *name)
{
	for (size_t i = 0; i < sizeof(stacks_modes) / sizeof(stacks_modes[0]); i++)
		if (strcmp(stacks_modes[i].name, name) == 0)
			return &stacks_modes[i];
	return NULL;
}

static int check_values(const struct record_values *values, int operands,
			const struct command *command)
{
	if (operands == 0 && !values->all && !values->pids)
		return usage_error(command, "no program to record: give one after --, processes "
					    "with -p, or record all with -a");
	if (operands && values->all)
		return usage_error(command,
				   "-a records every program: give either -a or a program");
	if (values->pids && (operands || values->all))
		return usage_error(command, "-p records processes that run already: give either "
					    "-p, -a or a program");
	if (values->pids && (values->user || values->preload))
		return usage_error(command, "--user and --preload are for a program that is "
					    "started, not for -p");
	if (values->max_size_bytes < MAX_SIZE_LEAST)
		return usage_error(command, "--max-size: at least 1M, so that a segment fits in");
	if (!find_stacks_mode(values->stacks))
		return usage_error(command, "--stacks: native, python, all or none, not '%s'",
				   values->stacks);
	if (values->frequency_hz != NO_LIMIT && values->frequency_hz > FREQUENCY_MOST)
		return usage_error(command, "-F: at most %d samples a second", FREQUENCY_MOST);
	if (values->user && geteuid() != 0)
		return usage_error(command,
				   "--user needs root (sudo duet record --user NAME -- PROGRAM)");
	return 0;
}

/* "12,345"; each once. */
static int parse_pids(const char *text, pid_t *pids, size_t *ret_count)
{
	size_t count = 0;

	for (const char *at = text; *at; at += *at == ',') {
		char *end;
		long pid = strtol(at, &end, 10);
		bool is_there = false;

		if (*at < '0' || *at > '9' || (*end && *end != ',') || (*end && !end[1]) ||
		    pid < 1 || pid > INT_MAX)
			return error_set(-EINVAL, "-p: '%s' is no list of pids, such as 12,345",
					 text);
		at = end;
		for (size_t i = 0; i < count; i++)
			is_there |= pids[i] == pid;
		if (count == PIDS_MOST)
			return error_set(-EINVAL, "-p: at most %d processes", PIDS_MOST);
		if (!is_there)
			pids[count++] = (pid_t)pid;
	}
	if (!count)
		return error_set(-EINVAL, "-p: no pid is given");
	*ret_count = count;
	return 0;
}

static int fill_options(const struct record_values *values, pid_t *pids,
			struct session_options *options)
{
	int error = collectors_choose(values->collect, options);

	if (!error && values->pids)
		error = parse_pids(values->pids, pids, &options->pids_count);
	options->pids = pids;

	options->writer.max_bytes = values->max_size_bytes == NO_LIMIT ? 0 : values->max_size_bytes;
	options->writer.keep_ns = values->keep_ns;
	options->duration_ns = values->duration_ns;
	options->event = values->event;
	if (values->frequency_hz != NO_LIMIT)
		options->frequency_hz = (uint32_t)values->frequency_hz;
	options->any = values->all;
	options->preload = values->preload;
	options->native_stacks = find_stacks_mode(values->stacks)->native;
	options->python_stacks = find_stacks_mode(values->stacks)->python;
	if (!error && !options->cpu && (values->event || values->frequency_hz != NO_LIMIT))
		error = error_set(-EINVAL, "-F and -e are of the samples of --collect opencl,cpu");
	if (!error && values->user)
		error = program_find_user(values->user, &options->user);
	return error;
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

int record_program(const struct command *command, int argc, char **argv, bool *ret_recorded)
{
	struct record_values values = {.output = "duet.duet",
				       .stacks = "all",
				       .max_size_bytes = NO_LIMIT,
				       .frequency_hz = NO_LIMIT};
	struct session_options options = {0};
	struct session_result result;
	pid_t pids[PIDS_MOST];
	char guest[PATH_MAX], *output, *archive;
	int first = options_parse(command, argc, argv, true, &values), error, exec_error;

	*ret_recorded = false;
	if (first < 0)
		return first == -1 ? 0 : RECORD_FAILED;
	if (check_values(&values, argc - first, command))
		return RECORD_FAILED;
	if (fill_options(&values, pids, &options)) {
		print_error("record", NULL);
		return RECORD_FAILED;
	}
	output = expand_output(values.output);
	if (!output) {
		print_error("record", NULL);
		return RECORD_FAILED;
	}
	options.output = output;
	archive = values.archive ? archive_folder(options.output) : NULL;
	options.archive = archive;
	options.on_warning = say_warning;
	if (values.verbose || isatty(STDERR_FILENO))
		options.on_hint = say_warning;
	options.command = argc > first ? argv + first : NULL;
	options.guest = guest_path(guest);
	if (values.verbose)
		print_settings(&options);
	error = session_run(&options, &result, &exec_error);
	free(archive);
	if (error) {
		free(output);
		return start_status(exec_error);
	}
	*ret_recorded = true;
	if (values.verbose || isatty(STDERR_FILENO))
		print_summary(&options, &result);
	print_surprises(&options, &result);
	if (result.write_error)
		print_write_error(&options, &result);
	if (values.archive && !result.write_error)
		keep_symbols(options.output);
	free(output);
	return exit_status(&result);
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
	.options = record_options,
};
