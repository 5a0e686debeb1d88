/* SPDX-License-Identifier: MIT
 *
 * cli/top/recorder.c - duet record as a child of duet top
 *
 * Runs in:  our own process, in duet top; the child is duet itself
 * Gets:     options of duet record
 * Gives:    a file in memory that grows, or a named one; messages
 * Owns:     the child, its stderr
 * Fails:    -errno with the error chain
 * Why a pipe: PR_SET_PDEATHSIG is lost if the program's file has capabilities, set by setcap(8).
 * The recorder also ends when the pipe's other end is closed, which a process that dies does always
 * Why a child: a viewer that stops, is frozen by Ctrl-Z or waits for a slow terminal must not keep
 *           the recorder from reading the rings. The kernel ends the child when the viewer dies
 * Why memory without a name: a file in a folder would be left behind by kill -9
 */
#include "cli/top/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

/* START: until the recorder's file has its first bytes. END: to read the rings and leave the
 * processes; then it is killed. */
enum { START_MS = 20000, END_MS = 10000, STEP_MS = 20, MESSAGE_BYTES = 1024, NUMBER_BYTES = 32 };

static const int ending_signals[] = {SIGHUP, SIGINT, SIGTERM};

struct top_recorder {
	pid_t pid;
	int messages; /* its stderr */
	int hold;     /* pipe whose end it takes for the viewer's */
	int status;   /* wait status; valid with is_over */
	bool is_over;
	char text[MESSAGE_BYTES]; /* not returned so far */
	size_t length;
	char message[MESSAGE_BYTES]; /* returned last */
};

void top_request_add(struct top_request *request, const char *word)
{
	if (request->count + 1 < TOP_RECORDER_WORDS)
		request->words[request->count++] = word;
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Descriptors of the child. */
struct child_files {
	int output;   /* stdout */
	int messages; /* stderr */
	int kept;     /* stays open: the trace; -1: none */
	int viewer;   /* stays open: the end of the viewer shows here */
};

/* Between fork and exec. The child gets a group of its own: Ctrl-C is for the viewer, which then
 * ends the child. */
static void become_recorder(const char *program, char *const *words,
			    const struct child_files *files, pid_t parent)
{
	const int nothing = open("/dev/null", O_RDONLY);
	sigset_t none;

	/* An ignored signal stays ignored, and SIGINT is the way to end the recorder. */
	for (size_t i = 0; i < ARRAY_COUNT(ending_signals); i++)
		signal(ending_signals[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (nothing < 0 || getppid() != parent || dup2(nothing, STDIN_FILENO) < 0 ||
	    dup2(files->output, STDOUT_FILENO) < 0 || dup2(files->messages, STDERR_FILENO) < 0)
		_exit(125);
	if (files->kept >= 0)
		fcntl(files->kept, F_SETFD, 0);
	fcntl(files->viewer, F_SETFD, 0);
	execv(program, words);
	_exit(125);
}

/* The name rather than /proc/self/exe, after which the child would be called "exe". */
static void find_program(char ret_path[PATH_MAX])
{
	const ssize_t length = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);

	ret_path[length > 0 ? length : 0] = '\0';
	if (access(ret_path, X_OK))
		snprintf(ret_path, PATH_MAX, "/proc/self/exe");
}

/* Forks with both pipes open; closes the child's ends. */
static int fork_recorder(struct top_recorder *recorder, char *const *words,
			 const struct child_files *files)
{
	const pid_t parent = getpid();
	char program[PATH_MAX];

	find_program(program);
	recorder->pid = fork();
	if (!recorder->pid)
		become_recorder(program, words, files, parent);
	return recorder->pid < 0 ? error_set(-errno, "start duet record: %s", strerror(errno)) : 0;
}

/* The output of the program, so that it does not reach the screen. */
static int open_output(const struct top_request *request, int *ret_fd)
{
	const char *path = request->output ? request->output : "/dev/null";
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0)
		return error_set(-errno, "'%s': %s", path, strerror(errno));
	*ret_fd = fd;
	return 0;
}

static int open_pipes(int messages[2], int hold[2])
{
	if (pipe2(messages, O_CLOEXEC | O_NONBLOCK))
		return error_set(-errno, "start duet record: %s", strerror(errno));
	if (!pipe2(hold, O_CLOEXEC))
		return 0;
	close(messages[0]);
	close(messages[1]);
	return error_set(-errno, "start duet record: %s", strerror(errno));
}

/* The words of the list, the viewer's pipe, the request's options and its program. NULL: out of
 * memory. */
static char **make_words(char *const *first, char *viewer, const struct top_request *request)
{
	size_t count = 0, program = 0, at = 0;
	char **words;

	while (first[count])
		count++;
	while (request->program && request->program[program])
		program++;
	words = calloc(count + request->count + program + 5, sizeof(*words));
	if (!words)
		return NULL;
	for (size_t i = 0; i < count; i++)
		words[at++] = first[i];
	words[at++] = (char *)(uintptr_t) "--viewer";
	words[at++] = viewer;
	for (size_t i = 0; i < request->count; i++)
		words[at++] = (char *)(uintptr_t)request->words[i];
	if (program)
		words[at++] = (char *)(uintptr_t) "--";
	for (size_t i = 0; i < program; i++)
		words[at++] = request->program[i];
	return words;
}

/* kept_fd: stays open in the child; -1: none. */
static int start_child(char *const *first, const struct top_request *request, int kept_fd,
		       struct top_recorder **ret_recorder)
{
	auto_free struct top_recorder *recorder = calloc(1, sizeof(*recorder));
	auto_free char **words = NULL;
	auto_close int output = -1;
	char viewer[NUMBER_BYTES];
	int messages[2], hold[2];
	int error = open_output(request, &output);

	if (!error)
		error = open_pipes(messages, hold);
	if (error)
		return error;
	snprintf(viewer, sizeof(viewer), "%d", hold[0]);
	words = make_words(first, viewer, request);
	error = recorder && words ? fork_recorder(recorder, words,
						  &(struct child_files){output, messages[1],
									kept_fd, hold[0]})
				  : error_set(-ENOMEM, "start duet record: out of memory");
	close(messages[1]);
	close(hold[0]);
	if (error) {
		close(messages[0]);
		close(hold[1]);
		return error;
	}
	recorder->messages = messages[0];
	recorder->hold = hold[1];
	*ret_recorder = take_ptr(recorder);
	return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void read_messages(struct top_recorder *recorder)
{
	const size_t room = sizeof(recorder->text) - 1 - recorder->length;
	const ssize_t count = read(recorder->messages, recorder->text + recorder->length, room);

	recorder->length += count > 0 ? (size_t)count : 0;
	if (recorder->length == sizeof(recorder->text) - 1)
		recorder->text[recorder->length - 1] = '\n';
	recorder->text[recorder->length] = '\0';
}

static const char *without_prefix(const char *line)
{
	static const char *const prefixes[] = {"duet record: ", "duet: "};

	for (size_t i = 0; i < 2; i++)
		if (strncmp(line, prefixes[i], strlen(prefixes[i])) == 0)
			return line + strlen(prefixes[i]);
	return line;
}

const char *top_recorder_message(struct top_recorder *recorder)
{
	char *end;

	read_messages(recorder);
	end = strchr(recorder->text, '\n');
	if (!end)
		return NULL;
	*end = '\0';
	snprintf(recorder->message, sizeof(recorder->message), "%s",
		 without_prefix(recorder->text));
	recorder->length -= (size_t)(end + 1 - recorder->text);
	memmove(recorder->text, end + 1, recorder->length + 1);
	return recorder->message;
}

bool top_recorder_is_over(struct top_recorder *recorder)
{
	if (!recorder->is_over &&
	    waitpid(recorder->pid, &recorder->status, WNOHANG) == recorder->pid)
		recorder->is_over = true;
	return recorder->is_over;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void sleep_ms(int ms)
{
	const struct timespec time = {.tv_nsec = (long)ms * 1000000};

	nanosleep(&time, NULL);
}

static bool has_bytes(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_size > 0;
}

/* The recorder's last line becomes the error. */
static int explain_end(struct top_recorder *recorder)
{
	const char *message = "duet record ended before it recorded anything", *next;

	while ((next = top_recorder_message(recorder)))
		message = next;
	return error_set(-EIO, "%s", message);
}

static int wait_for_start(struct top_recorder *recorder, int fd)
{
	for (int ms = 0; ms < START_MS; ms += STEP_MS) {
		if (has_bytes(fd))
			return 0;
		if (top_recorder_is_over(recorder))
			return explain_end(recorder);
		sleep_ms(STEP_MS);
	}
	return error_set(-ETIMEDOUT, "duet record has not started after %d s", START_MS / 1000);
}

int top_recorder_start(const struct top_request *request, uint64_t keep_ns,
		       struct top_recorder **ret_recorder, int *ret_fd, int *ret_status)
{
	auto_close int fd = memfd_create("duet-top", MFD_CLOEXEC);
	char path[NUMBER_BYTES], keep[NUMBER_BYTES];
	char *words[] = {"duet",   "record", "--output",         path,  "--keep",    keep,
			 "--ring", "0.25",   "--flush-interval", "0.2", "--verbose", NULL};
	struct top_recorder *recorder;
	int error;

	if (fd < 0)
		return error_set(-errno, "memory for the newest seconds: %s", strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(keep, sizeof(keep), "%gs", (double)keep_ns / 1e9);
	error = start_child(words, request, fd, &recorder);
	if (error)
		return error;
	error = wait_for_start(recorder, fd);
	if (error) {
		const bool is_over = top_recorder_is_over(recorder);
		const int status = top_recorder_stop(recorder);

		*ret_status = is_over ? status : 0;
		return error;
	}
	*ret_recorder = recorder;
	*ret_fd = take_fd(&fd);
	return 0;
}

int top_recorder_start_file(const struct top_request *request, const char *path,
			    struct top_recorder **ret_recorder)
{
	char *words[] = {"duet", "record", "--output", (char *)(uintptr_t)path, NULL};

	return start_child(words, request, -1, ret_recorder);
}

/* ---- end ------------------------------------------------------------------------------------- */

static int status_of(const struct top_recorder *recorder)
{
	return WIFEXITED(recorder->status) ? WEXITSTATUS(recorder->status)
					   : 128 + WTERMSIG(recorder->status);
}

pid_t top_recorder_pid(const struct top_recorder *recorder)
{
	return recorder->pid;
}

int top_recorder_status(const struct top_recorder *recorder)
{
	return status_of(recorder);
}

int top_recorder_stop(struct top_recorder *recorder)
{
	int status;

	if (!recorder)
		return 0;
	if (!top_recorder_is_over(recorder))
		kill(recorder->pid, SIGINT);
	for (int ms = 0; ms < END_MS && !top_recorder_is_over(recorder); ms += STEP_MS) {
		read_messages(recorder); /* a full pipe would block its last message */
		sleep_ms(STEP_MS);
	}
	if (!top_recorder_is_over(recorder)) {
		kill(recorder->pid, SIGKILL);
		waitpid(recorder->pid, &recorder->status, 0);
	}
	status = status_of(recorder);
	close(recorder->messages);
	close(recorder->hold);
	free(recorder);
	return status;
}
