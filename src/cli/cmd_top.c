/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_top.c - duet top: the present work of devices, processes and kernels
 *
 * Runs in:  our own process; with -p and -a a recorder runs as its child
 * Gets:     the command line
 * Gives:    a terminal view, lines, or JSON documents (schema duet.top/1)
 * Owns:     the recorder
 * Fails:    1 with a message; a terminal is given back before that
 * Why another lag for a file: its recorder writes each second by default, the one of -p and -a five
 *           times a second
 */
#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/model.h"
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/error.h"
#include "base/format.h"
#include "base/string.h"
#include "cli/command.h"
#include "cli/selection.h"
#include "cli/top/explain.h"
#include "cli/top/recorder.h"
#include "live/follow.h"
#include "live/watch.h"
#include "ui/top.h"
#include "ui/tty.h"

#define KEEP_NS         UINT64_C(15000000000)
#define INTERVAL_NS     UINT64_C(1000000000)
#define MIN_INTERVAL_NS UINT64_C(10000000) /* shorter ones leave no time for signals and keys */
#define LIVE_LAG_NS     UINT64_C(500000000)
#define FILE_LAG_NS     UINT64_C(1500000000)
enum { KEPT_BYTES = 64 << 20 };
#define EXPLAIN_NS  UINT64_C(5000000000)
#define FEED_LAG_NS UINT64_C(2000000000) /* calls come from another recorder's file */

struct top_values {
	const char *pids, *collect, *output;
	bool all, batch, json;
	uint64_t count, interval_ns, lag_ns;
};

/* One run of duet top. */
struct top_session {
	const struct top_values *values;
	struct live_watch *watch;
	char *const *program;               /* NULL: none is started */
	struct top_recorder *recorder;      /* its child; NULL: a file is watched */
	struct top_recorder *file_recorder; /* started by key r; NULL: none */
	char file[64];                      /* its file */
	char note[512];                     /* why no device is known */
	uint64_t explain_ns;                /* when the note is made anew */
	char message[1200];                 /* a message of the recorder */
	int status;                         /* the program's, if it has ended by itself */
};

static const struct option_row top_options[] = {
	{"pid", 'p', OPTION_LIST, "PID,...", "watch running processes, with all their threads",
	 offsetof(struct top_values, pids)},
	{"all", 'a', OPTION_FLAG, NULL,
	 "watch every OpenCL process of this user (as root: for all users)",
	 offsetof(struct top_values, all)},
	{"collect", 0, OPTION_LIST, "LIST",
	 "with -p, -a or PROGRAM: collectors, as for duet record",
	 offsetof(struct top_values, collect)},
	{"program-output", 0, OPTION_TEXT, "FILE",
	 "file for what PROGRAM prints (default: it is dropped)",
	 offsetof(struct top_values, output)},
	{"interval", 'd', OPTION_SPAN, "SEC", "length of an interval (default 1)",
	 offsetof(struct top_values, interval_ns)},
	{"count", 'n', OPTION_NUMBER, "COUNT",
	 "end after COUNT intervals; with --batch and a finished FILE: print its last COUNT",
	 offsetof(struct top_values, count)},
	{"batch", 0, OPTION_FLAG, NULL, "print lines instead of a screen",
	 offsetof(struct top_values, batch)},
	{"json", 0, OPTION_FLAG, NULL,
	 "with --batch: print one JSON document per interval (schema duet.top/1)",
	 offsetof(struct top_values, json)},
	{"lag", 0, OPTION_SPAN, "SEC",
	 "age of the shown interval's end (default 0.5; for FILE 1.5)",
	 offsetof(struct top_values, lag_ns)},
	{NULL},
};

/* ---- key r ----------------------------------------------------------------------------------- */

/* "top-140312.duet" in the working folder. */
static void format_file(char *ret_name, size_t size)
{
	const time_t now = time(NULL);
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(ret_name, size, "top-%H%M%S.duet", &local);
	else
		snprintf(ret_name, size, "top-%ld.duet", (long)now);
}

static int keep_newest(struct top_session *session, char *ret_text, size_t size)
{
	char name[64];
	int error;

	format_file(name, sizeof(name));
	error = live_watch_keep(session->watch, KEEP_NS, name);
	if (error)
		snprintf(ret_text, size, "%s", error_text());
	else
		snprintf(ret_text, size, "the last %g s are in %s; read them with: duet report %s",
			 (double)KEEP_NS / 1e9, name, name);
	return error;
}

static int stop_file(struct top_session *session, char *ret_text, size_t size)
{
	const char *message = top_recorder_message(session->file_recorder);
	char reason[512];
	int status;

	snprintf(reason, sizeof(reason), "%s", message ? message : "duet record failed");
	status = top_recorder_stop(session->file_recorder);
	session->file_recorder = NULL;
	if (status)
		snprintf(ret_text, size, "%s: %s", session->file, reason);
	else
		snprintf(ret_text, size, "recorded in %s; read it with: duet report %s",
			 session->file, session->file);
	return status ? -EIO : 0;
}

static int start_file(struct top_session *session, int32_t pid, bool *ret_is_recording,
		      char *ret_text, size_t size)
{
	struct top_request request = {.count = 0};
	char number[16];
	int error;

	if (pid <= 0) {
		snprintf(ret_text, size, "r records a process: choose one in the list first");
		return -EINVAL;
	}
	snprintf(number, sizeof(number), "%d", (int)pid);
	top_request_add(&request, "--pid");
	top_request_add(&request, number);
	format_file(session->file, sizeof(session->file));
	error = top_recorder_start_file(&request, session->file, &session->file_recorder);
	*ret_is_recording = !error;
	if (error)
		snprintf(ret_text, size, "%s", error_text());
	else
		snprintf(ret_text, size, "recording process %d into %s; r ends it", (int)pid,
			 session->file);
	return error;
}

/* The processes of -p and -a have a recorder already, whose newest seconds are written. Processes
 * of a file get a recorder of their own. */
static int on_record(void *context, int32_t pid, bool *ret_is_recording, char *ret_text,
		     size_t size)
{
	struct top_session *session = context;

	*ret_is_recording = false;
	if (session->recorder)
		return keep_newest(session, ret_text, size);
	if (session->file_recorder)
		return stop_file(session, ret_text, size);
	return start_file(session, pid, ret_is_recording, ret_text, size);
}

/* The next message of the recorder that is news: not what it records and how much. */
static const char *next_news(struct top_session *session)
{
	static const char *const known[] = {"recording ", " rows from ", " KiB in ",
					    ", loaded by "};
	const char *message;
	bool is_known;

	do {
		message = top_recorder_message(session->recorder);
		is_known = false;
		for (size_t i = 0; message && i < ARRAY_COUNT(known); i++)
			is_known |= strstr(message, known[i]) != NULL;
	} while (is_known);
	if (!message)
		return NULL;
	if (top_explain_message(message, session->message, sizeof(session->message)) &&
	    session->values->lag_ns == OPTION_UNSET)
		live_watch_set_lag(session->watch, FEED_LAG_NS);
	return session->message;
}

static const char *on_picture(void *context, bool *ret_is_over)
{
	struct top_session *session = context;
	const char *message = NULL;

	*ret_is_over = session->recorder && top_recorder_is_over(session->recorder);
	if (session->recorder)
		message = next_news(session);
	if (!message && session->file_recorder && top_recorder_is_over(session->file_recorder))
		message = top_recorder_message(session->file_recorder);
	return message;
}

/* The processes of the machine are looked at every few pictures only. */
static const char *explain_no_device(void *context)
{
	struct top_session *session = context;
	const struct top_values *values = session->values;
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const struct top_missing missing = {
		.pids = values->pids,
		.collect = values->collect,
		.own = session->recorder ? top_recorder_pid(session->recorder) : 0};

	if (!session->recorder || session->program)
		return NULL;
	if (now >= session->explain_ns) {
		top_explain_missing(&missing, session->note, sizeof(session->note));
		session->explain_ns = now + EXPLAIN_NS;
	}
	return session->note;
}

/* ---- sources --------------------------------------------------------------------------------- */

static int start_recorder(struct top_session *session, struct live_follow **ret_follow)
{
	const struct top_values *values = session->values;
	struct top_request request = {.program = session->program, .output = values->output};
	int fd, error;

	if (values->all || values->pids)
		top_request_add(&request, values->all ? "--all" : "--pid");
	if (values->pids)
		top_request_add(&request, values->pids);
	if (values->collect) {
		top_request_add(&request, "--collect");
		top_request_add(&request, values->collect);
	}
	error = top_recorder_start(&request, KEEP_NS, &session->recorder, &fd, &session->status);
	if (!session->program)
		session->status = 0;
	return error ? error : live_follow_new(fd, ret_follow);
}

/* A file without rows that no process writes is explained as in duet report. */
static int check_file(const char *path, struct live_follow *follow)
{
	struct model *model = NULL;
	int error = live_follow_update(follow, NULL);

	if (!error && (live_follow_start_ns(follow) || !live_follow_is_abandoned(follow)))
		return 0;
	error_clear();
	error = model_open(path, &model);
	model_close(model);
	return error;
}

static int open_file(const char *path, struct live_follow **ret_follow)
{
	struct live_follow *follow = NULL;
	int error = selection_explain(path, live_follow_open(path, &follow));

	if (!error)
		error = check_file(path, follow);
	if (error)
		live_follow_free(follow);
	else
		*ret_follow = follow;
	return error;
}

/* A program is started only if the screen can be shown. */
static int open_source(struct top_session *session, const char *path,
		       struct live_follow **ret_follow)
{
	const struct top_values *values = session->values;

	if (path)
		return open_file(path, ret_follow);
	if (!values->batch && !values->json && tty_check())
		return -ENOTTY;
	return start_recorder(session, ret_follow);
}

/* "processes 12,345", "all processes", or the name of the program or file. */
static void format_title(const struct top_session *session, const char *path, char *ret_title,
			 size_t size)
{
	const struct top_values *values = session->values;

	if (session->program)
		snprintf(ret_title, size, "%.120s",
			 format_text(path_base(session->program[0])).text);
	else if (path)
		snprintf(ret_title, size, "%.120s", format_text(path).text);
	else if (values->all)
		snprintf(ret_title, size, "all processes");
	else
		snprintf(ret_title, size, "process%s %.120s", strchr(values->pids, ',') ? "es" : "",
			 format_text(values->pids).text);
}

static int show(struct top_session *session, const char *path)
{
	const struct top_values *values = session->values;
	char title[160];
	struct ui_top_options options = {.watch = session->watch,
					 .title = title,
					 .interval_ns = values->interval_ns,
					 .count = values->count == OPTION_UNSET ? 0 : values->count,
					 .has_json = values->json,
					 .from_start = session->recorder != NULL,
					 .on_record = on_record,
					 .on_picture = on_picture,
					 .explain_no_device = explain_no_device,
					 .context = session};
	int number = 0;

	format_title(session, path, title, sizeof(title));
	return values->batch || values->json ? ui_top_print(&options, &number)
					     : ui_top_run(&options, &number);
}

/* A program that has ended by itself gives its status; one that still runs is left alone. */
static void end_recorder(struct top_session *session)
{
	const bool is_over = session->recorder && top_recorder_is_over(session->recorder);

	if (session->program && is_over)
		session->status = top_recorder_status(session->recorder);
	else if (session->program && session->recorder)
		fprintf(stderr, "duet top: '%s' continues\n",
			format_text(session->program[0]).text);
	top_recorder_stop(session->recorder);
}

/* Each picture needs about the same memory as the one before. Without these limits it is given back
 * and taken anew, which costs a tenth of the processor time. */
static void keep_memory(void)
{
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
}

static int watch_source(struct top_session *session, const char *path)
{
	const struct top_values *values = session->values;
	const uint64_t lag_ns = values->lag_ns != OPTION_UNSET ? values->lag_ns
				: path                         ? FILE_LAG_NS
							       : LIVE_LAG_NS;
	const struct live_watch_options options = {.lag_ns = lag_ns, .has_places = true};
	struct live_follow *follow;
	int error = open_source(session, path, &follow);

	keep_memory();
	if (!error)
		error = live_watch_new(follow, &options, &session->watch);
	if (!error)
		error = show(session, path);
	live_watch_free(session->watch);
	top_recorder_stop(session->file_recorder);
	end_recorder(session);
	return error;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int check_values(const struct cli_command *command, const struct top_values *values,
			int operands, bool has_program)
{
	const int sources = !!values->pids + values->all + has_program + operands;

	if (operands > 1)
		return usage_error(command, "one FILE at a time");
	if (sources > 1)
		return usage_error(command, "give one of --pid, --all, FILE and -- PROGRAM");
	if (values->collect && (operands || !sources))
		return usage_error(command, "--collect needs --pid, --all or -- PROGRAM: FILE has "
					    "its recorder");
	if (values->output && !has_program)
		return usage_error(command, "--program-output needs -- PROGRAM");
	if (values->interval_ns < MIN_INTERVAL_NS)
		return usage_error(command, "--interval: at least 0.01");
	if (values->count == 0)
		return usage_error(command, "--count: at least 1");
	return STATUS_DONE;
}

/* "--" is the last word that options_parse takes. */
static bool has_separator(char **argv, int first)
{
	return first > 1 && strcmp(argv[first - 1], "--") == 0;
}

static int run_top(const struct cli_command *command, int argc, char **argv)
{
	struct top_values values = {
		.count = OPTION_UNSET, .interval_ns = INTERVAL_NS, .lag_ns = OPTION_UNSET};
	struct top_session session = {.values = &values};
	const int first = options_parse(command, argc, argv, false, &values);
	const char *path = NULL;
	int status, operands;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	operands = argc - first;
	if (has_separator(argv, first)) {
		session.program = argv + first;
		operands = 0;
	}
	if (session.program && !*session.program)
		return usage_error(command, "give a program after --");
	status = check_values(command, &values, operands, session.program != NULL);
	if (status != STATUS_DONE)
		return status;
	setlocale(LC_CTYPE, "");
	if (!session.program && !values.pids && !values.all)
		path = operands ? argv[first] : SELECTION_FILE;
	if (watch_source(&session, path)) {
		print_failure(command);
		return session.status ? session.status : STATUS_FAILED;
	}
	return finish_output(command->name, session.status);
}

const struct cli_command command_top = {
	.name = "top",
	.arguments = "[options] [-p PID,... | -a | FILE | -- PROGRAM [ARGUMENT...]]",
	.summary = "show what devices, processes and kernels do now",
	.run = run_top,
	.options = top_options,
	.remote = &(const struct remote_way){.kind = REMOTE_PRINT},
};
