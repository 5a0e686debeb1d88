/* SPDX-License-Identifier: MIT
 *
 * lib/recorder.c - a recorder started by the program, from its start to its end
 *
 * Runs in:  the user's program, in duet_start and duet_stop
 * Gets:     the options of the recording
 * Gives:    the recorder's address
 * Owns:     one end of a socket pair, and the file that is the recorder's stderr
 * Fails:    with -errno and one line of text: the recorder's own message if it wrote one
 * Why the recorder's stderr is a file: its messages are for duet_error(), not for the program's
 *           terminal. A pipe that is not read would block the recorder in the middle of its work; a
 *           file in memory never does.
 */
#include "lib/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring/handshake.h"

#define PROGRAM_VARIABLE "DUET_PROGRAM"

/* Opening its file and scanning the program's threads takes 20 ms; completing a large file takes
 * seconds. */
enum { START_WAIT_MS = 10000, STOP_WAIT_MS = 30000 };

static int fail(struct recorder_text *text, int error, const char *what, const char *why)
{
	snprintf(text->text, sizeof(text->text), "%s%s", what, why);
	return error;
}

/* ---- the program ----------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
	return access(path, X_OK) == 0;
}

static bool find_in_path(char ret_path[PATH_MAX])
{
	const char *folders = getenv("PATH");

	while (folders && *folders) {
		size_t length = strcspn(folders, ":");

		if (snprintf(ret_path, PATH_MAX, "%.*s/duet", (int)length, folders) < PATH_MAX &&
		    length && is_program(ret_path))
			return true;
		folders += length + (folders[length] == ':');
	}
	return false;
}

static int find_program(char ret_path[PATH_MAX], struct recorder_text *ret_text)
{
	const char *named = getenv(PROGRAM_VARIABLE);

	if (named && *named) {
		if (snprintf(ret_path, PATH_MAX, "%s", named) < PATH_MAX && is_program(ret_path))
			return 0;
		return fail(ret_text, -ENOENT,
			    PROGRAM_VARIABLE " names no program that may be run: ", named);
	}
	snprintf(ret_path, PATH_MAX, "%s", LIB_DUET_PROGRAM);
	if (is_program(ret_path) || find_in_path(ret_path))
		return 0;
	return fail(ret_text, -ENOENT,
		    "recording is not possible: no program 'duet' found, neither " LIB_DUET_PROGRAM
		    " nor in PATH: "
		    "install it, or name it by $" PROGRAM_VARIABLE,
		    "");
}

/* ---- the recorder's messages ----------------------------------------------------------------- */

/* Returns the first line of the recorder's messages without its name in front; "" if there are
 * none. */
static void read_text(const struct recorder *recorder, char *text, size_t size)
{
	static const char name[] = "duet record: ";
	ssize_t length = pread(recorder->text_fd, text, size - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (strncmp(text, name, strlen(name)) == 0)
		memmove(text, text + strlen(name), strlen(text + strlen(name)) + 1);
}

static void close_all(struct recorder *recorder)
{
	close(recorder->control_fd);
	close(recorder->text_fd);
	spawn_end(&recorder->keeper);
	*recorder = (struct recorder){0};
}

/* The recorder's own message is more precise than ours. */
static int give_up(struct recorder *recorder, int error, const char *what,
		   struct recorder_text *ret_text)
{
	char said[sizeof(ret_text->text) - 32];

	read_text(recorder, said, sizeof(said));
	close_all(recorder);
	return said[0] ? fail(ret_text, error, "the recorder says: ", said)
		       : fail(ret_text, error, what, "");
}

/* ---- start and stop -------------------------------------------------------------------------- */

static int open_ends(struct recorder *recorder, int *ret_control_fd)
{
	int ends[2], text_fd = memfd_create("duet-says", MFD_CLOEXEC);

	if (text_fd < 0)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		close(text_fd);
		return -errno;
	}
	*recorder = (struct recorder){.control_fd = ends[0], .text_fd = text_fd};
	*ret_control_fd = ends[1];
	return 0;
}

static int spawn_recorder(const char *path, const struct recorder_options *options,
			  struct recorder *recorder, int control_fd)
{
	char pid[16], owner[16], turn[16];
	const char *arguments[14] = {"duet", "record", "--pid", pid, "--owner", owner};
	size_t count = 6;
	const struct spawn spawn = {.path = path,
				    .arguments = (char *const *)(uintptr_t)arguments,
				    .control_fd = control_fd,
				    .text_fd = recorder->text_fd};

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	snprintf(owner, sizeof(owner), "%d", SPAWN_CONTROL_FD);
	snprintf(turn, sizeof(turn), "%u", options->turn);
	if (options->config[0]) {
		arguments[count++] = "--config";
		arguments[count++] = options->config;
	}
	if (options->output[0]) {
		arguments[count++] = "--output";
		arguments[count++] = options->output;
	}
	if (options->turn > 1) {
		arguments[count++] = "--turn";
		arguments[count++] = turn;
	}
	return spawn_orphan(&spawn, &recorder->keeper);
}

static int wait_ready(struct recorder *recorder, char ret_names[SESSION_NAMES_BYTES],
		      struct recorder_text *ret_text)
{
	struct session_ready ready;

	if (!handshake_wait(recorder->control_fd, START_WAIT_MS))
		return give_up(recorder, -ETIMEDOUT, "the recorder was not ready within 10 s",
			       ret_text);
	if (recv(recorder->control_fd, &ready, sizeof(ready), MSG_DONTWAIT) !=
		    (ssize_t)sizeof(ready) ||
	    ready.magic != SESSION_MAGIC || ready.version != SESSION_VERSION)
		return give_up(recorder, -EIO,
			       "the recorder ended without a word; is that program duet, and of "
			       "this library's version?",
			       ret_text);
	ready.names[SESSION_NAMES_BYTES - 1] = '\0';
	memcpy(ret_names, ready.names, SESSION_NAMES_BYTES);
	recorder->pid = ready.pid;
	return 0;
}

int recorder_start(struct recorder *recorder, const struct recorder_options *options,
		   char ret_names[SESSION_NAMES_BYTES], struct recorder_text *ret_text)
{
	char path[PATH_MAX];
	int control_fd = -1, error = find_program(path, ret_text);

	if (error)
		return error;
	error = open_ends(recorder, &control_fd);
	if (error)
		return fail(ret_text, error, "no way to talk to a recorder: ", strerror(-error));
	error = spawn_recorder(path, options, recorder, control_fd);
	close(control_fd);
	if (error) {
		close_all(recorder);
		snprintf(ret_text->text, sizeof(ret_text->text), "cannot run '%.300s': %s", path,
			 strerror(-error));
		return error;
	}
	return wait_ready(recorder, ret_names, ret_text);
}

bool recorder_is_there(const struct recorder *recorder)
{
	char nothing;

	return recorder->pid &&
	       recv(recorder->control_fd, &nothing, sizeof(nothing), MSG_DONTWAIT | MSG_PEEK) < 0;
}

int recorder_stop(struct recorder *recorder, struct recorder_text *ret_text)
{
	struct session_ended ended;
	ssize_t got;

	/* Not closed: a child of ours may have the descriptor too. */
	shutdown(recorder->control_fd, SHUT_WR);
	if (!handshake_wait(recorder->control_fd, STOP_WAIT_MS))
		return give_up(recorder, -ETIMEDOUT,
			       "the recorder is still writing; the file is complete when it ends",
			       ret_text);
	got = recv(recorder->control_fd, &ended, sizeof(ended), MSG_DONTWAIT);
	if (got != (ssize_t)sizeof(ended) || ended.magic != SESSION_MAGIC)
		return give_up(recorder, -EPIPE,
			       "the recorder died: the file ends where it did, and is readable",
			       ret_text);
	if (ended.status)
		return give_up(recorder, -EIO, "the recorder failed", ret_text);
	close_all(recorder);
	return 0;
}
