/* SPDX-License-Identifier: MIT
 *
 * cli/compare/turns.c - records base and new in turns, so that drift of the machine cancels
 *
 * Runs in:  our own process
 * Gets:     a program, and what distinguishes the two sides
 * Gives:    recordings of both sides: base new, new base, base new, …
 * Owns:     a temporary folder; the running `duet record`
 * Fails:    a status, with the last lines that a failed program printed
 * Why a group of processes of its own: a signal must end the recorder and the program before duet
 *           removes their folder. The terminal sends its signals to the group of duet only
 * Why the order changes: if the second run of a pair is always slower, both sides get it equally
 *           often
 */
#include "cli/compare/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file/unfinished.h"
#include "base/format.h"
#include "base/io.h"
#include "cli/command.h"
#include "report/terminal.h"

enum {
	SIDE_BASE,
	SIDE_NEW,
	SIDES,
	PATIENCE_SECONDS = 10, /* for a recorder that was asked to end */
	TAIL_BYTES = 2000      /* last bytes of the output of a failed program */
};

static const char *const side_names[SIDES] = {"base", "new"};

struct turn {
	const struct cli_command *command;
	const struct turns_request *request;
	struct turns *turns;
	uint64_t number, total; /* counts runs of both sides */
	char *log;              /* owned: path of the program's output */
};

/* ---- folder ---------------------------------------------------------------------------------- */

static char *temporary_folder(void)
{
	const char *above = getenv("TMPDIR");
	char *path;

	if (asprintf(&path, "%s/duet-gate.XXXXXX", above && *above ? above : "/tmp") < 0)
		return NULL;
	if (mkdtemp(path))
		return path;
	error_set(-errno, "make a folder '%s': %s; TMPDIR names another place", path,
		  strerror(errno));
	free(path);
	return NULL;
}

static int open_folder(struct turns *turns)
{
	sigset_t before;

	unfinished_block_signals(&before);
	turns->folder = temporary_folder();
	if (turns->folder)
		turns->folder_fd = open(turns->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (turns->folder_fd >= 0)
		unfinished_watch_folder(turns->folder_fd, AT_FDCWD, turns->folder);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!turns->folder)
		return -ENOMEM;
	if (turns->folder_fd < 0)
		return error_set(-errno, "open the folder '%s': %s", turns->folder,
				 strerror(errno));
	return 0;
}

/* number 0: a warm-up, which is removed. */
static char *name_path(const char *folder, int side, uint64_t number)
{
	char *path;

	if (asprintf(&path, "%s/%s-%03" PRIu64 ".duet", folder, side_names[side], number) < 0)
		return NULL;
	return path;
}

static int refuse_existing(const char *folder, int side, uint64_t number)
{
	auto_free char *path = name_path(folder, side, number);
	struct stat about;

	if (!path)
		return error_set(-ENOMEM, "out of memory");
	if (lstat(path, &about) == 0)
		return error_set(-EEXIST, "'%s' exists: --keep-runs needs another folder", path);
	return errno == ENOENT
		       ? 0
		       : error_set(-errno, "keep runs in '%s': %s", folder, strerror(errno));
}

/* The files of the user stay: each name must be free, so that whatever has one later is ours. */
static int prepare_kept(const struct turns_request *request)
{
	const uint64_t first = request->warm_up ? 0 : 1;
	int error = 0;

	if (!request->folder)
		return 0;
	if (mkdir(request->folder, 0777) < 0 && errno != EEXIST)
		return error_set(-errno, "make the folder '%s': %s", request->folder,
				 strerror(errno));
	for (int side = request->has_base ? SIDE_BASE : SIDE_NEW; side < SIDES; side++)
		for (uint64_t i = first; i <= request->runs && !error; i++)
			error = refuse_existing(request->folder, side, i);
	return error;
}

void turns_close(struct turns *turns)
{
	if (turns->folder_fd >= 0) {
		unfinished_remove_folder(turns->folder_fd, AT_FDCWD, turns->folder);
		unfinished_forget_folder(turns->folder_fd, AT_FDCWD, turns->folder);
		close(turns->folder_fd);
	}
	for (size_t side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < turns->count[side]; i++)
			free(turns->paths[side][i]);
		free(turns->paths[side]);
		turns->paths[side] = NULL;
		turns->count[side] = 0;
	}
	free(turns->folder);
	turns->folder = NULL;
	turns->folder_fd = -1;
}

/* ---- the child ------------------------------------------------------------------------------- */

static void set_environment(const struct option_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++) {
		char *name = strdup(texts->texts[i]), *equals = name ? strchr(name, '=') : NULL;

		if (!equals)
			_exit(RECORD_FAILED);
		*equals = '\0';
		setenv(name, equals + 1, 1);
	}
}

/* Both sides start through a shell if one of them needs it: it takes as long on both. */
static const char **make_words(const struct turns_request *request, int side, const char *output)
{
	const bool is_shell = request->base_cmd && side == SIDE_BASE;
	const char **words;
	size_t count = 0, at = 0;

	while (request->program && request->program[count])
		count++;
	words = calloc(count + 11, sizeof(*words));
	if (!words)
		return NULL;
	words[at++] = "duet";
	words[at++] = "record";
	if (request->config) {
		words[at++] = "-c";
		words[at++] = request->config;
	}
	words[at++] = "-o";
	words[at++] = output;
	words[at++] = "--";
	if (request->base_cmd) {
		words[at++] = "/bin/sh";
		words[at++] = "-c";
		words[at++] = is_shell ? request->base_cmd : "exec \"$0\" \"$@\"";
	}
	for (size_t i = 0; i < count && !is_shell; i++)
		words[at++] = request->program[i];
	return words;
}

/* Does not return. */
static void run_record(const struct turn *turn, int side, const char *output)
{
	const struct turns_request *request = turn->request;
	const int null = open("/dev/null", O_RDONLY);
	const int log = open(turn->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	const char **words = make_words(request, side, output);
	sigset_t none;

	if (null < 0 || log < 0 || !words || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
		_exit(RECORD_FAILED);
	close(null);
	close(log);
	set_environment(side == SIDE_BASE ? request->base_env : request->new_env);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv("/proc/self/exe", (char *const *)words);
	_exit(RECORD_FAILED);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static const int ending_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/* A signal that the caller ignores, as under nohup, is not waited for. */
static void block_signals(sigset_t *ret_set, sigset_t *ret_before)
{
	struct sigaction action;

	sigemptyset(ret_set);
	sigaddset(ret_set, SIGCHLD);
	for (size_t i = 0; i < ARRAY_COUNT(ending_signals); i++)
		if (sigaction(ending_signals[i], NULL, &action) == 0 &&
		    action.sa_handler != SIG_IGN)
			sigaddset(ret_set, ending_signals[i]);
	sigprocmask(SIG_BLOCK, ret_set, ret_before);
}

/* Waits until the child ends. *ret_signal: a signal that asked duet to end meanwhile; 0: none. */
static int wait_child(pid_t pid, const sigset_t *set, int *ret_signal)
{
	const struct timespec patience = {.tv_sec = PATIENCE_SECONDS};
	int status = 0;

	*ret_signal = 0;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		const int number = sigtimedwait(set, NULL, &patience);

		if (number > 0 && number != SIGCHLD) {
			*ret_signal = number;
			kill(-pid, SIGTERM);
		} else if (number < 0 && errno == EAGAIN && *ret_signal) {
			kill(-pid, SIGKILL);
		}
	}
	return status;
}

/* Returns the wait status of one recording. */
static int record_once(const struct turn *turn, int side, const char *output)
{
	sigset_t set, before;
	int status, number = 0;
	pid_t pid;

	block_signals(&set, &before);
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		run_record(turn, side, output);
	}
	if (pid > 0) {
		setpgid(pid, pid);
		status = wait_child(pid, &set, &number);
		if (number) {
			kill(-pid, SIGKILL);
			unlink(output); /* an interrupted run is not kept */
		}
	} else {
		status = RECORD_FAILED << 8;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (number)
		raise(number); /* removes the temporary folder and ends the process */
	return status;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void show_progress(const struct turn *turn, int side)
{
	if (!isatty(STDERR_FILENO))
		return;
	progress_stop();
	fprintf(stderr, "\r\033[Kduet gate: run %" PRIu64 " of %" PRIu64 " (%s)", turn->number,
		turn->total, side_names[side]);
	fflush(stderr);
}

static void hide_progress(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
}

static void print_tail(const char *log)
{
	auto_free char *bytes = NULL;
	size_t size, first;
	char *end;

	if (read_file(log, 0, &bytes, &size)) {
		error_clear();
		return;
	}
	first = size > TAIL_BYTES ? size - TAIL_BYTES : 0;
	for (char *line = bytes + first; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		fprintf(stderr, "  | %s\n", format_text(line).text);
	}
}

static int refuse_run(const struct turn *turn, int side, int status)
{
	char text[256];

	hide_progress();
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text),
			 "run %" PRIu64 " (%s): duet record was killed by "
			 "signal %s",
			 turn->number, side_names[side], format_signal(WTERMSIG(status)).text);
	else
		snprintf(text, sizeof(text),
			 "run %" PRIu64 " (%s) ended with status %d; a run that fails is not "
			 "measured. Its last output:",
			 turn->number, side_names[side], WEXITSTATUS(status));
	print_error(turn->command->name, text);
	print_tail(turn->log);
	return STATUS_USAGE;
}

/* ---- all turns ------------------------------------------------------------------------------- */

static int out_of_memory(const struct cli_command *command)
{
	print_error(command->name, "out of memory");
	return STATUS_USAGE;
}

static int take_turn(struct turn *turn, int side, bool is_warm_up)
{
	struct turns *turns = turn->turns;
	const char *kept = turn->request->folder;
	char *path = name_path(kept ? kept : turns->folder, side,
			       is_warm_up ? 0 : turns->count[side] + 1);
	int status;

	if (!path)
		return out_of_memory(turn->command);
	turn->number++;
	show_progress(turn, side);
	status = record_once(turn, side, path);
	if (is_warm_up || status)
		unlink(path);
	if (is_warm_up || status)
		free(path);
	else
		turns->paths[side][turns->count[side]++] = path;
	return status ? refuse_run(turn, side, status) : STATUS_DONE;
}

/* Base first in even pairs, new first in odd ones. */
static int take_pair(struct turn *turn, uint64_t pair, bool is_warm_up)
{
	const int first = turn->request->has_base && pair % 2 == 0 ? SIDE_BASE : SIDE_NEW;
	int status = take_turn(turn, first, is_warm_up);

	if (status == STATUS_DONE && turn->request->has_base)
		status = take_turn(turn, first == SIDE_BASE ? SIDE_NEW : SIDE_BASE, is_warm_up);
	return status;
}

static int record_all(struct turn *turn)
{
	const struct turns_request *request = turn->request;
	int status = STATUS_DONE;

	for (uint64_t i = 0; i < request->warm_up && status == STATUS_DONE; i++)
		status = take_pair(turn, i, true);
	for (uint64_t i = 0; i < request->runs && status == STATUS_DONE; i++)
		status = take_pair(turn, i, false);
	return status;
}

int turns_record(const struct cli_command *command, const struct turns_request *request,
		 struct turns *ret_turns)
{
	struct turn turn = {.command = command,
			    .request = request,
			    .turns = ret_turns,
			    .total = (request->warm_up + request->runs) * (request->has_base + 1u)};
	int status;

	*ret_turns = (struct turns){.folder_fd = -1};
	for (size_t side = 0; side < SIDES; side++) {
		ret_turns->paths[side] = calloc(request->runs + 1, sizeof(char *));
		if (!ret_turns->paths[side])
			return out_of_memory(command);
	}
	if (prepare_kept(request) || open_folder(ret_turns)) {
		print_error(command->name, NULL);
		return STATUS_USAGE;
	}
	if (asprintf(&turn.log, "%s/output.log", ret_turns->folder) < 0)
		return out_of_memory(command);
	status = record_all(&turn);
	free(turn.log);
	hide_progress();
	if (status == STATUS_DONE)
		progress_start(command->name);
	return status;
}
