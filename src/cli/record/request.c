/* SPDX-License-Identifier: MIT
 *
 * cli/record/request.c - read the command line and configuration file of `duet record`
 *
 * Runs in:  our own process
 * Gets:     argv, and the file that -c names
 * Gives:    the options of a session, or the same options as a configuration file
 * Owns:     the contents of the configuration file
 * Fails:    RECORD_FAILED after printing the mistake, with the option as written on the command
 *           line or with its place in the file
 * Why:      the command line is read first, so the file never overrides it. The checks run after
 *           both, because most mistakes are combinations of two options
 */
#include "cli/record/request.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "cli/guest_path.h"
#include "collect/collector.h"
#include "collect/drm/cards.h"
#include "collect/start/owner.h"

enum {
	MIN_MAX_SIZE = 1 << 20,
	MIN_MEMORY = 1 << 26,
	MAX_FREQUENCY = 20000,
	FLUSH_LEAST_NS = 100000000,
	WORD_SIZE = 192
};

/* All rows but config, print-config, owner, turn and ring are also fields of
 * proto/duet_config.proto, with _ instead of -. */
const struct option_row request_options[] = {
	{"output", 'o', OPTION_PATTERN, "FILE",
	 "trace file (default duet.duet); %p is duet's pid, %h the host name, %q{VAR} an "
	 "environment variable, %% a percent sign",
	 offsetof(struct record_values, output)},
	{"config", 'c', OPTION_TEXT, "FILE",
	 "read options from FILE (man duet-config); the command line wins; --no-OPTION overrides a "
	 "switch set in FILE",
	 offsetof(struct record_values, config)},
	{"print-config", 0, OPTION_FLAG, NULL,
	 "print the options as a configuration FILE, and record nothing",
	 offsetof(struct record_values, print_config)},
	{"duration", 'd', OPTION_SPAN, "SEC",
	 "end the recording after SEC seconds; PROGRAM continues",
	 offsetof(struct record_values, duration_ns)},
	{"collect", 0, OPTION_LIST, "LIST",
	 "collectors: NAME, NAME:OPTION, or -NAME to leave one out (duet list collectors)",
	 offsetof(struct record_values, collect)},
	{"frequency", 'F', OPTION_NUMBER, "HZ",
	 "CPU sampling frequency per running thread (default 199; 0: only context switches)",
	 offsetof(struct record_values, frequency_hz)},
	{"event", 'e', OPTION_TEXT, "EVENT",
	 "perf event to sample on (default cycles, otherwise cpu-clock)",
	 offsetof(struct record_values, event)},
	{"stacks", 0, OPTION_TEXT, "MODE",
	 "call stacks of launches and waits: native, python, all (default) or none",
	 offsetof(struct record_values, stacks)},
	{"pid", 'p', OPTION_LIST, "PID,...",
	 "record running processes until they end, with all threads and new children",
	 offsetof(struct record_values, pids)},
	{"all", 'a', OPTION_SWITCH, NULL,
	 "record every OpenCL process of this user (as root: of all users)",
	 offsetof(struct record_values, all)},
	{"user", 0, OPTION_TEXT, "NAME", "run PROGRAM as this user (as root)",
	 offsetof(struct record_values, user)},
	{"preload", 0, OPTION_SWITCH, NULL,
	 "load duet's library by LD_PRELOAD, for OpenCL loaders without layers",
	 offsetof(struct record_values, preload)},
	{"device", 0, OPTION_LIST, "D,...",
	 "record only commands and counters of these devices: UUID, PCI address, render node or "
	 "name",
	 offsetof(struct record_values, devices)},
	{"keep", 0, OPTION_SPAN, "SEC", "keep only the last SEC seconds",
	 offsetof(struct record_values, keep_ns)},
	TRIGGER_OPTIONS,
	{"max-size", 0, OPTION_SIZE, "N", "maximum file size in bytes; drops the oldest parts",
	 offsetof(struct record_values, max_size_bytes)},
	{"max-memory", 0, OPTION_SIZE, "N",
	 "memory budget of the recorder with the collector intel (default 256M)",
	 offsetof(struct record_values, max_memory_bytes)},
	{"max-overhead", 0, OPTION_TEXT, "PERCENT",
	 "limit of what recording costs the program, such as 2%; records less where it costs more",
	 offsetof(struct record_values, max_overhead)},
	{"overhead-range", 0, OPTION_TEXT, "NAME",
	 "with --max-overhead: completed ranges of this name are the yardstick, not launches",
	 offsetof(struct record_values, overhead_range)},
	{"flush-interval", 0, OPTION_SPAN, "SEC",
	 "maximum age of unwritten data (default 1); a killed recorder loses no more",
	 offsetof(struct record_values, flush_ns)},
	{"archive", 0, OPTION_SWITCH, NULL,
	 "copy this machine's symbol files next to the trace, as duet archive does",
	 offsetof(struct record_values, archive)},
	/* Used by libduet only, not in --help. owner: socket whose other end the process of -p has.
	 * turn: number of this recording of the process; from 2 on it goes to NAME.N.duet */
	{"owner", 0, OPTION_NUMBER, "FD", NULL, offsetof(struct record_values, owner_fd)},
	{"turn", 0, OPTION_NUMBER, "N", NULL, offsetof(struct record_values, turn)},
	/* Used by duet top only. ring: the file is a ring of segments of this length. viewer: a
	 * pipe; its end of file ends the recording. PROGRAM then has stdout as its stderr, because
	 * stderr is the viewer's, and is not waited for. */
	{"viewer", 0, OPTION_NUMBER, "FD", NULL, offsetof(struct record_values, viewer_fd)},
	{"ring", 0, OPTION_SPAN, "SEC", NULL, offsetof(struct record_values, ring_ns)},
	{"verbose", 'v', OPTION_SWITCH, NULL,
	 "print to stderr the environment set for PROGRAM and a summary of the recording",
	 offsetof(struct record_values, verbose)},
	{NULL},
};

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

int request_refuse(const struct request *request, const char *option, const char *format, ...)
{
	struct shown name = option_file_name(&request->file, option);
	char text[1024], line[sizeof(name.text) + sizeof(text) + 2];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(line, sizeof(line), "%s: %s", name.text, text);
	if (option_file_sets(&request->file, option))
		print_error(request->command->name, line);
	else
		usage_error(request->command, "%s", line);
	return RECORD_FAILED;
}

static int refuse_no_program(const struct request *request)
{
	const char *file = request->file.path;

	usage_error(
		request->command,
		"no program to record: give one after --, processes with -p, or record all with "
		"-a%s%s%s",
		file ? " ('" : "", file ? file : "", file ? "' has no command, pid or all)" : "");
	return RECORD_FAILED;
}

/* Exactly one of a program, running processes (-p) and all (-a) must be given. */
static int check_recorded(const struct request *request)
{
	const struct record_values *values = &request->values;
	bool all = values->all == SWITCH_ON;

	if (!request->program && !all && !values->pids && !values->print_config)
		return refuse_no_program(request);
	if (request->program && all)
		return request_refuse(
			request, "all",
			"records every program: give either this option or a program");
	if (values->pids && (request->program || all))
		return request_refuse(
			request, "pid",
			"records running processes: give either this option, a program, or "
			"--all");
	if (values->pids && values->user)
		return request_refuse(
			request, "user",
			"applies to a program that duet starts, not to running processes");
	if (values->pids && values->preload == SWITCH_ON)
		return request_refuse(
			request, "preload",
			"applies to a program that duet starts, not to running processes");
	return 0;
}

/* "2%", "2 %" or "2". False: not a percentage between 0.1 and 100. */
static bool parse_overhead(const char *text, double *ret_share)
{
	char *end;
	const double percent = strtod(text, &end);

	if (end == text || strchr("+-xXnNiI", *text))
		return false;
	end += strspn(end, " ");
	end += *end == '%';
	if (*end || !(percent >= 0.1 && percent <= 100))
		return false;
	*ret_share = percent / 100;
	return true;
}

static bool is_pipe(uint64_t fd)
{
	struct stat status;

	return fd > STDERR_FILENO && fd <= INT_MAX && fstat((int)fd, &status) == 0 &&
	       S_ISFIFO(status.st_mode);
}

static int check_values(const struct request *request)
{
	const struct record_values *values = &request->values;

	if (values->collect && !values->collect[strspn(values->collect, ",")])
		return request_refuse(
			request, "collect",
			"the list is empty; give one or more collectors, such as opencl,cpu "
			"(duet list collectors)");
	if (values->max_size_bytes < MIN_MAX_SIZE)
		return request_refuse(request, "max-size",
				      "at least 1M, because a trace is written in segments");
	if (values->max_memory_bytes < MIN_MEMORY)
		return request_refuse(request, "max-memory",
				      "at least 64M, which the recorder itself needs");
	if (values->flush_ns < FLUSH_LEAST_NS)
		return request_refuse(request, "flush-interval",
				      "at least 100ms, the interval of the recorder");
	if (values->max_overhead && !parse_overhead(values->max_overhead, &(double){0}))
		return request_refuse(request, "max-overhead",
				      "a percentage from 0.1%% to 100%%, such as 2%%, not '%s'",
				      values->max_overhead);
	if (values->overhead_range && (!values->max_overhead || !*values->overhead_range))
		return request_refuse(request, "overhead-range",
				      "takes the name of a range, and needs --max-overhead");
	if (!find_stacks_mode(values->stacks))
		return request_refuse(request, "stacks", "native, python, all or none, not '%s'",
				      values->stacks);
	if (values->frequency_hz != OPTION_UNSET && values->frequency_hz > MAX_FREQUENCY)
		return request_refuse(request, "frequency", "at most %d samples a second",
				      MAX_FREQUENCY);
	if (values->owner_fd != OPTION_UNSET && (!values->pids || values->owner_fd > INT_MAX))
		return request_refuse(request, "owner",
				      "is for libduet, which records its own process with -p");
	if (values->viewer_fd != OPTION_UNSET && !is_pipe(values->viewer_fd))
		return request_refuse(request, "viewer", "is for duet top");
	if (values->user && geteuid() != 0)
		return request_refuse(request, "user",
				      "needs root (sudo duet record --user NAME -- PROGRAM)");
	return 0;
}

static int check_triggers(struct request *request)
{
	const char *option;

	if (trigger_request_read(&request->values.trigger, request->values.keep_ns,
				 &request->triggers, &option))
		return request_refuse(request, option, "%s", error_text());
	return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int refuse_value(const struct request *request, const struct config_value *value,
			const char *text)
{
	char line[sizeof(struct shown) + 1024 + 2];

	snprintf(line, sizeof(line), "%s: %s", option_file_place(&request->file, value).text, text);
	print_error(request->command->name, line);
	return RECORD_FAILED;
}

/* Pid 0 in the file means the program that duet starts, or the process that started duet (libduet).
 * It is redundant if a program is given. */
static int check_pid_zero(struct request *request)
{
	const struct record_values *values = &request->values;
	const struct config_value *zero = NULL, *value = NULL;
	size_t count = 0;

	while ((value = option_file_next(&request->file, "pid", value))) {
		count++;
		if (strcmp(value->text, "0") == 0)
			zero = value;
	}
	if (!zero || values->owner_fd != OPTION_UNSET)
		return 0;
	value = option_file_next(&request->file, "all", NULL);
	if (count > 1 || values->pids || values->all == SWITCH_ON ||
	    (value && strcmp(value->text, "true") == 0 && !request->program))
		return refuse_value(
			request, zero,
			"pid 0 is the program that duet record starts: it excludes other "
			"pids and all");
	if (!request->program && !option_file_next(&request->file, "command", NULL) &&
	    !values->print_config)
		return refuse_value(
			request, zero,
			"pid 0 is the program that duet record starts, but none is given: "
			"give one after --, or as command");
	request->has_pid_zero = true;
	option_file_forget(&request->file, "pid");
	return 0;
}

static int take_program(struct request *request)
{
	const struct config_value *value = NULL;
	size_t count = 0, capacity = 0;

	while ((value = option_file_next(&request->file, "command", value))) {
		/* with room for the NULL at the end */
		if (array_grow(request->file_program, capacity, count + 2))
			return error_set(-ENOMEM, "out of memory");
		request->file_program[count++] = (char *)(uintptr_t)value->text;
	}
	request->program = request->file_program;
	return 0;
}

/* If the command line gives a program, pids or all, the file's command, pid and all are ignored
 * together. */
static int choose_recorded(struct request *request)
{
	const struct record_values *values = &request->values;

	if (!request->program && !values->pids && values->all != SWITCH_ON)
		return take_program(request);
	option_file_forget(&request->file, "command");
	option_file_forget(&request->file, "pid");
	option_file_forget(&request->file, "all");
	return 0;
}

static int read_file_below(struct request *request)
{
	struct record_values *values = &request->values;

	if (values->config &&
	    option_file_open(&request->file, request->command->name, values->config))
		return RECORD_FAILED;
	if (check_pid_zero(request))
		return RECORD_FAILED;
	if (choose_recorded(request)) {
		print_error(request->command->name, NULL);
		return RECORD_FAILED;
	}
	if (option_file_apply(&request->file, request->command->name, values))
		return RECORD_FAILED;
	if (!values->output)
		values->output = "duet.duet";
	if (!values->stacks)
		values->stacks = "all";
	return 0;
}

/* Options that are not written as a field by the loop over all rows. */
static bool is_no_field(const struct option_row *row)
{
	return strcmp(row->name, "config") == 0 || strcmp(row->name, "print-config") == 0 ||
	       strcmp(row->name, "pid") == 0 || strcmp(row->name, "owner") == 0 ||
	       strcmp(row->name, "turn") == 0 || strcmp(row->name, "ring") == 0;
}

/* Writes pids as plain decimal numbers: 012 means 12 on a command line but 10 in a file. Pid 0 is
 * written only if no program is given. */
static int set_pids(const struct request *request, const struct session_options *options,
		    struct config *config)
{
	const bool is_zero = request->has_pid_zero && !request->program;
	int error = is_zero ? config_set(config, "pid", "0") : 0;
	char number[16];

	for (size_t i = 0; i < options->pids_count && !error; i++) {
		snprintf(number, sizeof(number), "%d", (int)options->pids[i]);
		error = config_set(config, "pid", number);
	}
	return error;
}

static int set_groups(const struct request *request, struct config *config)
{
	int error = 0;

	for (size_t i = 0; i < collectors_count; i++) {
		const struct config_value *value = NULL;

		while (!error &&
		       (value = option_file_next(&request->file, collectors[i]->name, value)))
			error = config_set(config, value->path, value->text);
	}
	return error;
}

static int fill_config(const struct request *request, const struct session_options *options,
		       struct config *config)
{
	int error = set_pids(request, options, config);

	for (const struct option_row *row = request_options; row->name && !error; row++)
		if (!is_no_field(row) && option_is_set(row, &request->values))
			error = option_to_config(row, &request->values, config);
	for (char *const *word = options->command; word && *word && !error; word++)
		error = config_set(config, "command", *word);
	return error ? error : set_groups(request, config);
}

int request_print(const struct request *request, const struct session_options *options)
{
	struct config *config = NULL;
	struct string_builder text = {0};
	int error = config_new(NULL, &config);

	if (!error)
		error = fill_config(request, options, config);
	if (!error)
		config_format(config, &text);
	config_close(config);
	if (error)
		print_error(request->command->name, NULL);
	else
		printf("# proto-file: duet_config.proto\n# proto-message: duet.DuetConfig\n\n%s",
		       string_builder_text(&text));
	string_builder_fini(&text);
	return error || finish_output("record", 0) ? RECORD_FAILED : 0;
}

/* ---- the options of a session ---------------------------------------------------------------- */

static uint64_t said_or_0(uint64_t value)
{
	return value == OPTION_UNSET ? 0 : value;
}

/* "12,345"; each once. */
static int parse_pids(const char *text, pid_t *pids, size_t *ret_count)
{
	size_t count = 0;

	for (const char *at = text; *at;) {
		uint64_t pid = 0;
		bool is_there = false;

		if (!number_list_next(&at, &pid) || pid < 1 || pid > INT_MAX)
			return error_set(-EINVAL, "'%s' is not a list of pids, such as 12,345",
					 text);
		for (size_t i = 0; i < count; i++)
			is_there |= pids[i] == (pid_t)pid;
		if (count == MAX_REQUEST_PIDS)
			return error_set(-EINVAL, "at most %d processes", MAX_REQUEST_PIDS);
		if (!is_there)
			pids[count++] = (pid_t)pid;
	}
	if (!count)
		return error_set(-EINVAL, "the list of pids is empty");
	*ret_count = count;
	return 0;
}

/* Whether the collector's option of this name is followed by a value only: "disk=GLOB". */
static bool takes_value(const struct collector *collector, const char *name)
{
	const size_t length = strlen(name);
	bool has_value = false;

	for (const struct collector_option *row = collector->options; row && row->name; row++) {
		if (strcmp(row->name, name) == 0)
			return false;
		has_value |= strncmp(row->name, name, length) == 0 && row->name[length] == '=';
	}
	return has_value;
}

/* Formats a collector's field as a word of --collect: "system:50" for rate_hz, "nvidia:pm=50" for
 * pm: 50, "system:disk=sda" for a text, "system:smaps" for a switch, "system:-smaps" for a switch
 * that is off, "system" for the collector alone. Errors: -EINVAL with the error chain. */
static int format_word(const struct collector *collector, const struct config_value *value,
		       char word[WORD_SIZE])
{
	const char *field = strchr(value->path, '.');
	char name[WORD_SIZE];
	int length;

	snprintf(name, sizeof(name), "%s", field ? field + 1 : "");
	for (char *at = name; *at; at++)
		if (*at == '_')
			*at = '-';
	if (!field)
		length = snprintf(word, WORD_SIZE, "%s", collector->name);
	else if (strcmp(name, "rate-hz") == 0)
		length = snprintf(word, WORD_SIZE, "%s:%s", collector->name, value->text);
	else if (takes_value(collector, name) || strspn(value->text, "0123456789"))
		length = snprintf(word, WORD_SIZE, "%s:%s=%s", collector->name, name, value->text);
	else
		length = snprintf(word, WORD_SIZE, "%s:%s%s", collector->name,
				  strcmp(value->text, "true") == 0 ? "" : "-", name);
	if (strchr(word, ',') || length >= WORD_SIZE)
		return error_set(-EINVAL,
				 "'%s' takes a name or glob without a comma, of at most "
				 "%d bytes; write each in its own quotes",
				 value->path, WORD_SIZE / 2);
	return 0;
}

/* Prints a mistake in a collector's field; for a rate, with the collector's description of its
 * rates. */
static int refuse_group(const struct request *request, const struct collector *collector,
			const struct config_value *value)
{
	char text[1024];

	for (const struct collector_option *row = collector->options; row && row->name; row++) {
		if (strcmp(row->name, COLLECTOR_RATE_NAME) != 0 || !strstr(value->path, ".rate_hz"))
			continue;
		snprintf(text, sizeof(text), "'%s' is %s, not %s", value->path, row->help,
			 value->text);
		return refuse_value(request, value, text);
	}
	return refuse_value(request, value, error_text());
}

/* Lists the file's collectors as words of --collect. They are ignored if the command line has
 * --collect. */
static int read_groups(struct request *request, struct string_builder *words)
{
	bool is_on_line = request->values.collect && !option_file_sets(&request->file, "collect");

	for (size_t i = 0; i < collectors_count; i++) {
		const struct config_value *value = NULL;
		char word[WORD_SIZE];

		if (is_on_line)
			option_file_forget(&request->file, collectors[i]->name);
		while ((value = option_file_next(&request->file, collectors[i]->name, value))) {
			if (format_word(collectors[i], value, word))
				return refuse_value(request, value, error_text());
			if (collectors_check(word))
				return refuse_group(request, collectors[i], value);
			string_builder_appendf(words, "%s,", word);
		}
	}
	return 0;
}

/* Prints the mistake; for a wrong word in the file, with its place. */
static int refuse_collectors(const struct request *request)
{
	const struct config_value *value = NULL;

	while (option_file_sets(&request->file, "collect") &&
	       (value = option_file_next(&request->file, "collect", value)))
		if (collectors_check(value->text))
			return refuse_value(request, value, error_text());
	print_error(request->command->name, NULL);
	return RECORD_FAILED;
}

/* Refuses options that leave out every collector, because the trace would be empty. */
static int check_any(const struct session_options *options)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (collector_is_chosen(collectors[i], options))
			return 0;
	return error_set(-EINVAL,
			 "--collect: every collector is left out; name one or more, such as "
			 "opencl,cpu (duet list collectors)");
}

static int choose_collectors(struct request *request, struct session_options *options)
{
	struct string_builder groups = {0};
	int status, error;

	status = read_groups(request, &groups);
	error = groups.error ? error_set(groups.error, "out of memory") : 0;
	if (!status && !error)
		error = collectors_choose(request->values.collect, string_builder_text(&groups),
					  options);
	if (!status && !error)
		error = check_any(options);
	if (error)
		status = refuse_collectors(request);
	string_builder_fini(&groups);
	return status;
}

/* Whether --collect or --all is given on the command line and not only in the file. */
static bool is_chosen_beside(const struct request *request)
{
	const struct record_values *values = &request->values;

	return (values->collect && !option_file_sets(&request->file, "collect")) ||
	       (values->all == SWITCH_ON && !option_file_sets(&request->file, "all"));
}

/* Refuses an option of the collector cpu if cpu is left out. If the file has the option and the
 * command line leaves out cpu, the option is ignored. */
static int refuse_without_cpu(struct request *request, const char *name)
{
	const struct option_row *row = option_find(request_options, name);

	if (!option_is_set(row, &request->values))
		return 0;
	if (!option_file_sets(&request->file, name) || !is_chosen_beside(request))
		return request_refuse(request, name,
				      "applies to the collector cpu, which --collect or --all "
				      "does not include");
	option_clear(row, &request->values);
	return 0;
}

static int check_cpu(struct request *request, const struct session_options *options)
{
	if (session_collects(options, "cpu"))
		return 0;
	return refuse_without_cpu(request, "event") || refuse_without_cpu(request, "frequency")
		       ? RECORD_FAILED
		       : 0;
}

/* Prints the mistake, and the machine's GPUs. */
static int refuse_devices(const struct request *request)
{
	struct string_builder list = {0};
	struct cards cards = {0};
	int status;

	cards_find("", &cards);
	for (size_t i = 0; i < cards.count; i++)
		string_builder_appendf(&list, "%s%s (%s, %s)", i ? ", " : "", cards.all[i].address,
				       cards.all[i].name, cards.all[i].driver);
	status = request_refuse(request, "device", "%s; GPUs of this machine: %s", error_text(),
				list.length ? string_builder_text(&list) : "none");
	string_builder_fini(&list);
	return status;
}

int request_fill(struct request *request, pid_t *pids, struct session_options *options)
{
	const struct record_values *values = &request->values;
	const struct stacks_mode *stacks = find_stacks_mode(values->stacks);

	options->any = values->all == SWITCH_ON;
	if (choose_collectors(request, options) || check_cpu(request, options))
		return RECORD_FAILED;
	options->pids = pids;
	if (values->pids && parse_pids(values->pids, pids, &options->pids_count))
		return request_refuse(request, "pid", "%s", error_text());
	if (values->user && program_find_user(values->user, &options->user))
		return request_refuse(request, "user", "%s", error_text());

	if (values->devices) {
		if (device_choice_parse(&request->devices, values->devices, "/sys"))
			return refuse_devices(request);
		options->devices = &request->devices;
	}
	options->writer.max_bytes = said_or_0(values->max_size_bytes);
	options->memory_bytes = said_or_0(values->max_memory_bytes);
	options->writer.flush_ns = said_or_0(values->flush_ns);
	options->writer.keep_ns = said_or_0(values->keep_ns);
	options->writer.is_ring = values->ring_ns != OPTION_UNSET;
	options->writer.segment_ns = said_or_0(values->ring_ns);
	options->duration_ns = said_or_0(values->duration_ns);
	options->event = values->event;
	options->has_frequency = values->frequency_hz != OPTION_UNSET;
	options->frequency_hz = (uint32_t)said_or_0(values->frequency_hz);
	options->preload = values->preload == SWITCH_ON;
	if (values->max_overhead)
		parse_overhead(values->max_overhead, &options->max_overhead);
	options->overhead_range = values->overhead_range;
	options->native_stacks = stacks->native;
	options->python_stacks = stacks->python;
	options->command = request->program;
	options->viewer_fd = (int)said_or_0(values->viewer_fd);
	if (options->viewer_fd)
		fcntl(options->viewer_fd, F_SETFD, FD_CLOEXEC);
	if (values->owner_fd == OPTION_UNSET)
		return 0;
	options->owner_fd = (int)values->owner_fd;
	return owner_take(options->owner_fd) ? request_refuse(request, "owner", "%s", error_text())
					     : 0;
}

void request_find_guests(struct session_options *options, char *ret_paths[MAX_COLLECTORS])
{
	char path[PATH_MAX];

	for (size_t i = 0; i < collectors_count; i++) {
		const struct guest_way *way = collectors[i]->way;

		ret_paths[i] = way && guest_path(way->file, path) ? strdup(path) : NULL;
		options->collected[i].guest = ret_paths[i];
	}
}

bool request_read(struct request *request, const struct cli_command *command, int argc, char **argv,
		  int *ret_status)
{
	int first, status;

	*request = (struct request){.command = command};
	options_clear(request_options, &request->values);
	option_file_init(&request->file, request_options);
	first = options_parse(command, argc, argv, true, &request->values);
	if (first < 0) {
		*ret_status = first == -1 ? 0 : RECORD_FAILED;
		return false;
	}
	request->program = argc > first ? argv + first : NULL;
	status = read_file_below(request);
	if (!status)
		status = check_recorded(request);
	if (!status)
		status = check_values(request);
	if (!status)
		status = check_triggers(request);
	if (status)
		*ret_status = status;
	return !status;
}

void request_fini(struct request *request)
{
	option_file_fini(&request->file);
	device_choice_fini(&request->devices);
	trigger_request_fini(&request->triggers);
	free(request->file_program);
	request->file_program = NULL;
}
