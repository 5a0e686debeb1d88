/* SPDX-License-Identifier: MIT
 *
 * cli/record/watcher.c - the process that looks for triggers while the recorder records
 *
 * Runs in:  a child of the recorder, with a low priority; the last part in the recorder
 * Gets:     the growing trace file, and messages of the recorder
 * Gives:    firings, over a socket
 * Owns:     the newest seconds of the file in memory, at most WINDOW_BYTES
 * Fails:    quietly: the recording goes on without triggers, and the recorder warns the user. Time
 *           that the file has dropped before the watcher looked is reported
 * Why a process: the recorder reads rings every few ms, and a slow analysis in it would lose rows.
 * A crash or a lack of memory in the watcher costs only the triggers. It has no descriptor of the
 * recorder or of the program, and the kernel kills it if the recorder dies
 */
#include "cli/record/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyze/model.h"
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/error.h"
#include "base/number.h"
#include "trace/tail.h"

enum {
	TICK_MS = 200,
	NICE = 10,
	WINDOW_BYTES = 64 << 20,
	STOP_MS = 2000 /* for the watcher to end by itself */
};
#define BEFORE_NS                                                                       \
	UINT64_C(1000000000) /* rows before new ones that are read too, to align clocks \
			      */
#define MEMORY_BYTES (UINT64_C(2) << 30)
#define REPORTED_NS \
	UINT64_C(5000000000) /* the status of a command that ends later is not reported */

enum message_kind {
	MESSAGE_FIRED = WATCHER_FIRED,
	MESSAGE_PROBLEM = WATCHER_PROBLEM,
	MESSAGE_SKIPPED = WATCHER_SKIPPED,
	MESSAGE_DROPPED = WATCHER_DROPPED,
	MESSAGE_DONE = WATCHER_DONE,
	MESSAGE_FOLLOW, /* text: path of the trace */
	MESSAGE_RUN,    /* text: path of the new file; firing.reason */
	MESSAGE_FINISH
};

struct message {
	enum message_kind kind;
	struct trigger_firing firing;
	char text[PATH_MAX];
};

/* Messages end after their text. */
static size_t message_size(const struct message *message)
{
	return offsetof(struct message, text) + strlen(message->text) + 1;
}

static bool send_message(int fd, const struct message *message)
{
	return send(fd, message, message_size(message), MSG_NOSIGNAL) > 0;
}

/* 1: a message; 0: none has arrived; -1: the other side is gone. */
static int receive_message(int fd, struct message *ret_message)
{
	ssize_t size = recv(fd, ret_message, sizeof(*ret_message), MSG_DONTWAIT);

	if (size < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if ((size_t)size <= offsetof(struct message, text))
		return -1;
	((char *)ret_message)[(size_t)size - 1] = '\0';
	return 1;
}

/* ---- the watcher ----------------------------------------------------------------------------- */

struct watching {
	const struct watcher_options *options;
	int fd; /* the socket */
	struct trigger_set *set;
	int file_fd; /* the trace, to see its size; -1: not open */
	struct trace_tail *tail;
	off_t size;
	uint64_t newest_ns;   /* at the last update */
	uint64_t looked_ns;   /* time of the last look at the file, or of its opening */
	uint32_t seen;        /* number of the newest segment at the last look; 0: none */
	struct rlimit memory; /* limit before the watcher's own one */
};

static void report_firings(struct watching *watching)
{
	struct message message = {.kind = MESSAGE_FIRED};
	const char *problem;

	while (trigger_set_next(watching->set, &message.firing))
		send_message(watching->fd, &message);
	message = (struct message){.kind = MESSAGE_DROPPED};
	message.firing.end_ns = trigger_set_dropped(watching->set);
	if (message.firing.end_ns)
		send_message(watching->fd, &message);
	message = (struct message){.kind = MESSAGE_PROBLEM};
	while ((problem = trigger_set_problem(watching->set))) {
		snprintf(message.firing.reason, sizeof(message.firing.reason), "%s", problem);
		send_message(watching->fd, &message);
	}
}

/* Reports the time since the last look that cannot fire any more: its segments were dropped, or its
 * findings are too old. from_ns: as of trace_tail_read. */
static void report_skipped(struct watching *watching, uint64_t from_ns, uint64_t now_ns)
{
	const uint64_t age_ns = watching->options->max_age_ns, newest_ns = watching->newest_ns;
	struct message message = {.kind = MESSAGE_SKIPPED};
	uint64_t begin_ns;
	uint32_t first = trace_tail_first(watching->tail, from_ns, WINDOW_BYTES, &begin_ns);
	uint64_t until_ns = newest_ns - smaller(age_ns, newest_ns);

	/* Segments have the numbers from 1 on. */
	if (first > larger(watching->seen, 1))
		until_ns = larger(until_ns, begin_ns);
	message.firing.begin_ns = watching->looked_ns;
	message.firing.end_ns = until_ns;
	watching->seen = trace_tail_present(watching->tail, &begin_ns);
	if (until_ns > watching->looked_ns)
		send_message(watching->fd, &message);
	watching->looked_ns = now_ns;
}

/* Evaluates the rows since the last time. is_last: no rows follow. */
static int evaluate(struct watching *watching, bool is_last)
{
	const uint64_t from_ns =
		watching->newest_ns > BEFORE_NS ? watching->newest_ns - BEFORE_NS : 0;
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct model *model = NULL;
	uint8_t *bytes;
	size_t size;
	int error = trace_tail_update(watching->tail);

	if (error)
		return error;
	watching->newest_ns = trace_tail_newest_ns(watching->tail);
	error = trace_tail_read(watching->tail, from_ns, WINDOW_BYTES, &bytes, &size);
	if (error)
		return error;
	report_skipped(watching, from_ns, now_ns);
	error = model_open_memory(bytes, size, &model);
	if (!error)
		error = trigger_set_feed(watching->set, model,
					 is_last ? UINT64_MAX : watching->newest_ns);
	model_close(model);
	free(bytes);
	return error;
}

/* A file that cannot be read now is read again at the next tick. */
static void tick(struct watching *watching, bool is_last)
{
	struct stat about;
	int error;

	if (!watching->tail || fstat(watching->file_fd, &about) < 0)
		return;
	if (about.st_size == watching->size && !is_last) {
		watching->looked_ns = clock_ns(CLOCK_MONOTONIC);
		return;
	}
	watching->size = about.st_size;
	error = evaluate(watching, is_last);
	if (error == -ENOMEM)
		_exit(1);
	error_clear();
	report_firings(watching);
}

static void open_file(struct watching *watching, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (watching->tail || fd < 0)
		return;
	watching->file_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	watching->looked_ns = clock_ns(CLOCK_MONOTONIC);
	if (trace_tail_new(fd, &watching->tail))
		_exit(1);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* A terminal sends some of them to the watcher too. */
static const int sent_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

static void handle_signals(void (*handler)(int))
{
	const struct sigaction action = {.sa_handler = handler};

	for (size_t i = 0; i < ARRAY_COUNT(sent_signals); i++)
		sigaction(sent_signals[i], &action, NULL);
}

/* Starts the shell and waits for it. A command that fails soon was usually not found. */
static void run_shell(const struct watching *watching, const struct message *message)
{
	struct message problem = {.kind = MESSAGE_PROBLEM};
	const uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	int status;
	pid_t pid = fork();

	if (!pid) {
		handle_signals(SIG_DFL);
		signal(SIGPIPE, SIG_DFL);
		setrlimit(RLIMIT_DATA, &watching->memory);
		setenv("DUET_TRIGGER_FILE", message->text, 1);
		setenv("DUET_TRIGGER_REASON", message->firing.reason, 1);
		execl("/bin/sh", "sh", "-c", watching->options->command, (char *)NULL);
		_exit(127);
	}
	/* Not longer: with this copy of the socket open, the recorder does not see the watcher end.
	 */
	while (pid > 0 && clock_ns(CLOCK_MONOTONIC) - begin_ns < REPORTED_NS) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			snprintf(problem.firing.reason, sizeof(problem.firing.reason),
				 "command failed with status %d; its output is discarded",
				 WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
			if (status)
				send_message(watching->fd, &problem);
			return;
		}
		poll(NULL, 0, TICK_MS / 4);
	}
}

/* A process between the two ends at once, so the command is not the watcher's child and outlives
 * it. */
static void run_command(const struct watching *watching, const struct message *message)
{
	pid_t pid = fork();

	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (pid)
		return;
	setsid();
	pid = fork();
	if (pid)
		_exit(pid < 0);
	run_shell(watching, message);
	_exit(0);
}

/* ---- its loop -------------------------------------------------------------------------------- */

static void close_descriptors(int kept)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (kept > 3)
		close_range(3, (unsigned int)kept - 1, 0);
	close_range((unsigned int)kept + 1, UINT_MAX, 0);
}

/* The recorder may have died before the request took effect. */
static void die_with(pid_t recorder)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != recorder)
		_exit(0);
}

/* The hard limit stays, so that the command can get the limit before. */
static void limit_resources(struct rlimit *ret_before)
{
	struct rlimit limit;

	getrlimit(RLIMIT_DATA, &limit);
	*ret_before = limit;
#if !defined(__SANITIZE_ADDRESS__)
	if (limit.rlim_cur > MEMORY_BYTES)
		limit.rlim_cur = MEMORY_BYTES;
	setrlimit(RLIMIT_DATA, &limit);
#endif
	setpriority(PRIO_PROCESS, 0, NICE);
}

static void handle_message(struct watching *watching, const struct message *message)
{
	const struct message done = {.kind = MESSAGE_DONE};

	if (message->kind == MESSAGE_FOLLOW) {
		open_file(watching, message->text);
	} else if (message->kind == MESSAGE_RUN) {
		run_command(watching, message);
	} else if (message->kind == MESSAGE_FINISH) {
		tick(watching, true);
		send_message(watching->fd, &done);
	}
}

static _Noreturn void watch(const struct watcher_options *options, int fd, pid_t recorder)
{
	const struct trigger_set_options set_options = {.hold_ns = options->keep_ns / 4 * 3,
							.max_age_ns = options->max_age_ns};
	struct watching watching = {.options = options, .fd = fd, .file_fd = -1};
	struct pollfd waiting = {.fd = fd, .events = POLLIN};
	struct message message;
	int got;

	close_descriptors(fd);
	die_with(recorder);
	handle_signals(SIG_IGN);
	limit_resources(&watching.memory);
	prctl(PR_SET_NAME, "duet-watcher");
	if (trigger_set_new(options->exprs, options->count, &set_options, &watching.set))
		_exit(1);
	for (;;) {
		poll(&waiting, 1, TICK_MS);
		while ((got = receive_message(fd, &message)) > 0)
			handle_message(&watching, &message);
		if (got < 0)
			_exit(0);
		tick(&watching, false);
	}
}

/* ---- the recorder's side --------------------------------------------------------------------- */

int watcher_start(const struct watcher_options *options, struct watcher *ret_watcher)
{
	pid_t recorder = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set(-errno, "--trigger: socketpair: %s", strerror(errno));
	pid = fork();
	if (pid < 0) {
		int error = -errno;

		close(pair[0]);
		close(pair[1]);
		return error_set(error, "--trigger: fork: %s", strerror(-error));
	}
	if (!pid)
		watch(options, pair[1], recorder);
	close(pair[1]);
	/* the recorder never waits for the watcher */
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	*ret_watcher = (struct watcher){.pid = pid, .fd = pair[0]};
	return 0;
}

static bool send_text(struct watcher *watcher, enum message_kind kind, const char *text,
		      const char *reason)
{
	struct message message = {.kind = kind};

	if (!watcher->pid || watcher->has_ended)
		return false;
	snprintf(message.text, sizeof(message.text), "%s", text);
	snprintf(message.firing.reason, sizeof(message.firing.reason), "%s", reason);
	return send_message(watcher->fd, &message);
}

void watcher_follow(struct watcher *watcher, const char *path)
{
	send_text(watcher, MESSAGE_FOLLOW, path, "");
}

bool watcher_run(struct watcher *watcher, const char *file, const char *reason)
{
	return send_text(watcher, MESSAGE_RUN, file, reason);
}

void watcher_finish(struct watcher *watcher)
{
	send_text(watcher, MESSAGE_FINISH, "", "");
}

enum watcher_event watcher_next(struct watcher *watcher, int timeout_ms,
				struct trigger_firing *ret_firing)
{
	struct pollfd waiting = {.fd = watcher->fd, .events = POLLIN};
	struct message message;
	int got;

	if (!watcher->pid || watcher->has_ended)
		return WATCHER_NOTHING;
	if (timeout_ms)
		poll(&waiting, 1, timeout_ms);
	got = receive_message(watcher->fd, &message);
	if (got < 0) {
		watcher->has_ended = true;
		return WATCHER_ENDED;
	}
	if (!got)
		return WATCHER_NOTHING;
	*ret_firing = message.firing;
	return (enum watcher_event)message.kind;
}

/* Waits at most STOP_MS for the watcher's end. False: it still runs. */
static bool wait_for_end(const struct watcher *watcher, struct rusage *ret_usage)
{
	static const struct timespec pause = {0, 5000000};

	for (int i = 0; i < STOP_MS / 5; i++) {
		if (wait4(watcher->pid, NULL, WNOHANG, ret_usage))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

bool watcher_stop(struct watcher *watcher, struct watcher_cost *ret_cost)
{
	struct rusage usage = {0};

	if (!watcher->pid)
		return false;
	close(watcher->fd);
	if (!wait_for_end(watcher, &usage)) {
		kill(watcher->pid, SIGKILL);
		wait4(watcher->pid, NULL, 0, &usage);
	}
	*ret_cost = (struct watcher_cost){time_ns(&usage.ru_utime) + time_ns(&usage.ru_stime),
					  (uint64_t)usage.ru_maxrss * 1024};
	watcher->pid = 0;
	return true;
}
