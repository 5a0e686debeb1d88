/* SPDX-License-Identifier: MIT
 *
 * cli/top/recorder.c - duet record as a child of duet top
 *
 * Runs in:  our own process, in duet top; the child is duet itself
 * Gets:     options of duet record
 * Gives:    a file in memory that grows, or a named one; messages
 * Owns:     the child, its stderr
 * Fails:    -errno with the error chain
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

/* Between fork and exec. The child gets a group of its own: Ctrl-C is for the viewer, which then
 * ends the child. */
static void become_recorder(const char *program, char *const *words, int messages, int kept_fd,
			    pid_t parent)
{
	const int nothing = open("/dev/null", O_RDWR);
	sigset_t none;

	/* An ignored signal stays ignored, and SIGINT is the way to end the recorder. */
	for (size_t i = 0; i < ARRAY_COUNT(ending_signals); i++)
		signal(ending_signals[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (nothing < 0 || getppid() != parent || dup2(nothing, STDIN_FILENO) < 0 ||
	    dup2(nothing, STDOUT_FILENO) < 0 || dup2(messages, STDERR_FILENO) < 0)
		_exit(125);
	if (kept_fd >= 0)
		fcntl(kept_fd, F_SETFD, 0);
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

static int start_child(char *const *words, int kept_fd, struct top_recorder **ret_recorder)
{
	struct top_recorder *recorder = calloc(1, sizeof(*recorder));
	const pid_t parent = getpid();
	char program[PATH_MAX];
	int ends[2];

	find_program(program);
	if (!recorder || pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
		free(recorder);
		return error_set(-ENOMEM, "start duet record: %s", strerror(ENOMEM));
	}
	recorder->messages = ends[0];
	recorder->pid = fork();
	if (!recorder->pid)
		become_recorder(program, words, ends[1], kept_fd, parent);
	close(ends[1]);
	if (recorder->pid < 0) {
		const int error = -errno;

		close(ends[0]);
		free(recorder);
		return error_set(error, "start duet record: %s", strerror(-error));
	}
	*ret_recorder = recorder;
	return 0;
}

/* Adds the words of the request behind those of the list, and the NULL. */
static void fill_words(char **words, size_t count, const struct top_request *request)
{
	for (size_t i = 0; i < request->count; i++)
		words[count++] = (char *)(uintptr_t)request->words[i];
	words[count] = NULL;
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
		       struct top_recorder **ret_recorder, int *ret_fd)
{
	auto_close int fd = memfd_create("duet-top", MFD_CLOEXEC);
	char path[NUMBER_BYTES], keep[NUMBER_BYTES];
	char *words[TOP_RECORDER_WORDS + 16] = {
		"duet",   "record", "--output",         path,  "--keep",   keep,
		"--ring", "0.25",   "--flush-interval", "0.2", "--verbose"};
	struct top_recorder *recorder;
	int error;

	if (fd < 0)
		return error_set(-errno, "memory for the newest seconds: %s", strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(keep, sizeof(keep), "%gs", (double)keep_ns / 1e9);
	fill_words(words, 11, request);
	error = start_child(words, fd, &recorder);
	if (error)
		return error;
	error = wait_for_start(recorder, fd);
	if (error) {
		top_recorder_stop(recorder);
		return error;
	}
	*ret_recorder = recorder;
	*ret_fd = take_fd(&fd);
	return 0;
}

int top_recorder_start_file(const struct top_request *request, const char *path,
			    struct top_recorder **ret_recorder)
{
	char *words[TOP_RECORDER_WORDS + 8] = {"duet", "record", "--output",
					       (char *)(uintptr_t)path};

	fill_words(words, 4, request);
	return start_child(words, -1, ret_recorder);
}

/* ---- end ------------------------------------------------------------------------------------- */

static int status_of(const struct top_recorder *recorder)
{
	return WIFEXITED(recorder->status) ? WEXITSTATUS(recorder->status)
					   : 128 + WTERMSIG(recorder->status);
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
	free(recorder);
	return status;
}
