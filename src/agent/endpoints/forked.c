/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/forked.c - compute bytes in a child process, which gives back all of its memory
 *
 * Runs in:  our own process, and a child of it
 * Gets:     a function
 * Gives:    the bytes that it returns
 * Owns:     the child and the pipe, until the result is there
 * Fails:    -errno; a child that takes too long or too much memory costs its result only
 * Why a process: the debug information of the profiled programs took 56 MiB for one profile, and
 * the heap kept 36 of them. The endpoints without it take 14 MiB. Other threads may hold a lock of
 * the loader at the fork; the time limit ends a child that waits for it.
 */
#include "agent/endpoints/forked.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"

enum { PIECE = 65536, NICE = 10 };

struct forked {
	pid_t pid; /* 0: it was waited for */
	int fd;
	uint64_t end_ns; /* the child is killed then */
	size_t max_bytes;
	char *bytes; /* owned; the first ones are the result of `make` */
	size_t size, capacity;
};

/* ---- the child ---- */

__attribute__((noreturn)) static void run_child(const struct forked_options *options, int fd)
{
	const struct rlimit memory = {options->max_memory, options->max_memory};
	void *bytes = NULL;
	size_t size = 0;
	int result;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpriority(PRIO_PROCESS, 0, NICE);
	if (options->max_memory)
		setrlimit(RLIMIT_DATA, &memory);
	result = options->make(options->context, &bytes, &size);
	if (!write_all(fd, &result, sizeof(result)) && !result)
		write_all(fd, bytes, size);
	_exit(0);
}

/* ---- the parent ---- */

int forked_start(const struct forked_options *options, uint64_t now_ns, struct forked **ret_forked)
{
	struct forked *forked = calloc(1, sizeof(*forked));
	int fds[2], error = 0;

	if (!forked || pipe2(fds, O_CLOEXEC)) {
		error = forked ? -errno : -ENOMEM;
		free(forked);
		return error;
	}
	*forked = (struct forked){.fd = fds[0],
				  .end_ns = now_ns + options->time_limit_ns,
				  .max_bytes = options->max_bytes};
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	forked->pid = fork();
	if (forked->pid == 0)
		run_child(options, fds[1]);
	if (forked->pid < 0) {
		error = -errno;
		forked->pid = 0;
	}
	close(fds[1]);
	if (error)
		forked_free(forked);
	else
		*ret_forked = forked;
	return error;
}

/* Whether the child ended by itself. */
static bool wait_child(struct forked *forked)
{
	int status = 0;

	while (waitpid(forked->pid, &status, 0) < 0 && errno == EINTR)
		;
	forked->pid = 0;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

void forked_free(struct forked *forked)
{
	if (!forked)
		return;
	if (forked->pid) {
		kill(forked->pid, SIGKILL);
		wait_child(forked);
	}
	close(forked->fd);
	free(forked->bytes);
	free(forked);
}

int forked_fd(const struct forked *forked)
{
	return forked->fd;
}

/* 0: the child has closed the pipe; -EAGAIN: there may be more later. */
static int read_pieces(struct forked *forked)
{
	for (;;) {
		ssize_t got;

		if (array_grow(forked->bytes, forked->capacity, forked->size + PIECE))
			return -ENOMEM;
		got = read(forked->fd, forked->bytes + forked->size, PIECE);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			return 0;
		forked->size += got > 0 ? (size_t)got : 0;
		if (forked->size > forked->max_bytes + sizeof(int))
			return -EFBIG;
	}
}

static int take_result(struct forked *forked, void **ret_bytes, size_t *ret_size)
{
	int result;

	/* A child that died in the middle has written a part of its bytes. */
	if (!wait_child(forked) || forked->size < sizeof(result))
		return -ECHILD;
	memcpy(&result, forked->bytes, sizeof(result));
	if (result)
		return result;
	forked->size -= sizeof(result);
	memmove(forked->bytes, forked->bytes + sizeof(result), forked->size);
	*ret_bytes = take_ptr(forked->bytes);
	*ret_size = forked->size;
	return 0;
}

int forked_take(struct forked *forked, uint64_t now_ns, void **ret_bytes, size_t *ret_size)
{
	int error = read_pieces(forked);

	if (error == -EAGAIN)
		return now_ns >= forked->end_ns ? -ETIMEDOUT : -EAGAIN;
	return error ? error : take_result(forked, ret_bytes, ret_size);
}
