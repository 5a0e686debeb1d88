/* SPDX-License-Identifier: MIT
 *
 * isa/apart.c - decode instructions in a child process, because the decoder may crash
 *
 * Runs in:  our own process, in all commands that read a trace, and a child that they fork at the
 *           first instruction
 * Gets:     bytes
 * Gives:    text
 * Owns:     the child and the socket to it
 * Fails:    returns 0, as for bytes that are not an instruction
 * Why:      LLVM crashes (SIGSEGV) on some bytes for AMDGPU: on about one of 3,000 (LLVM 22) to
 *           40,000 (LLVM 14) random instructions, and the bytes come from a trace. For x86-64 and
 *           arm64 it never crashed on 10,000,000 random instructions, so these need no child.
 */
#include "isa/decoders.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Limits of the child's CPU time (HANG_S) and of the elapsed time (SLEEP_S), which is longer
 * because a busy machine takes long for 2 s of CPU time. */
enum { HANG_S = 2, SLEEP_S = 30, HANG_DEATHS = APART_DEATHS_MAX / 4, SERVED_FD = 3 };

struct apart {
	struct llvm *llvm;
	pid_t pid; /* 0: none */
	int fd;    /* -1: none */
	int deaths;
};

struct request {
	uint64_t address;
	uint32_t size;
	uint8_t bytes[APART_BYTES_MAX];
};

struct reply {
	uint32_t length;
	char text[RAW_BYTES];
};

/* The child is a fork of the reader. It must not keep the reader's files open, write anything, or
 * leave a core file as large as a trace. */
static void shut_child_off(int fd)
{
	int kept = fcntl(fd, F_DUPFD, SERVED_FD + 1), nothing = open("/dev/null", O_RDWR);

	for (int i = 0; i < SERVED_FD; i++)
		dup2(nothing, i);
	dup2(kept, SERVED_FD);
	close_range(SERVED_FD + 1, ~0U, 0);
	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
	signal(SIGVTALRM, SIG_DFL);
}

__attribute__((noreturn)) static void serve(struct llvm *llvm, int fd)
{
	const struct itimerval hang = {.it_value = {.tv_sec = HANG_S}};
	struct request request;
	struct reply reply;

	shut_child_off(fd);
	while (recv(SERVED_FD, &request, sizeof(request), 0) == sizeof(request)) {
		setitimer(ITIMER_VIRTUAL, &hang, NULL);
		memset(&reply, 0, sizeof(reply));
		reply.length =
			(uint32_t)llvm_decode(llvm, request.bytes, request.size, request.address,
					      reply.text, sizeof(reply.text));
		if (send(SERVED_FD, &reply, sizeof(reply), MSG_NOSIGNAL) != sizeof(reply))
			break;
	}
	_exit(0);
}

static int start(struct apart *apart)
{
	struct timeval sleep = {.tv_sec = SLEEP_S};
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &sleep, sizeof(sleep));
	apart->pid = fork();
	if (apart->pid == 0)
		serve(apart->llvm, fds[1]);
	close(fds[1]);
	if (apart->pid < 0) {
		apart->pid = 0;
		close(fds[0]);
		return -EAGAIN;
	}
	apart->fd = fds[0];
	return 0;
}

/* Stops the child. Returns the number of deaths to count; a hang counts more, because it delays the
 * report. */
static int stop(struct apart *apart)
{
	int status = 0;

	if (!apart->pid)
		return 0;
	close(apart->fd);
	kill(apart->pid, SIGKILL);
	while (waitpid(apart->pid, &status, 0) < 0 && errno == EINTR)
		;
	apart->pid = 0;
	apart->fd = -1;
	/* killed by its timer, or by us just now: a hang */
	return WTERMSIG(status) == SIGVTALRM || WTERMSIG(status) == SIGKILL ? HANG_DEATHS : 1;
}

int apart_new(struct llvm *llvm, struct apart **ret_apart)
{
	struct apart *apart = calloc(1, sizeof(*apart));

	if (!apart)
		return -ENOMEM;
	apart->llvm = llvm;
	apart->fd = -1;
	*ret_apart = apart;
	return 0;
}

void apart_free(struct apart *apart)
{
	if (!apart)
		return;
	stop(apart);
	free(apart);
}

/* False: the child died or hangs. */
static bool ask_child(struct apart *apart, const struct request *request, struct reply *ret_reply)
{
	ssize_t size;

	if (send(apart->fd, request, sizeof(*request), MSG_NOSIGNAL) != sizeof(*request))
		return false;
	do
		size = recv(apart->fd, ret_reply, sizeof(*ret_reply), 0);
	while (size < 0 && errno == EINTR);
	return size == sizeof(*ret_reply);
}

size_t apart_decode(struct apart *apart, const uint8_t *bytes, size_t size, uint64_t address,
		    char *text)
{
	struct request request = {.address = address};
	struct reply reply;

	if (apart_is_over(apart) || (!apart->pid && start(apart)))
		return 0;
	request.size = size < APART_BYTES_MAX ? (uint32_t)size : APART_BYTES_MAX;
	memcpy(request.bytes, bytes, request.size);
	if (!ask_child(apart, &request, &reply)) {
		apart->deaths += stop(apart);
		return 0;
	}
	memcpy(text, reply.text, RAW_BYTES);
	text[RAW_BYTES - 1] = '\0'; /* the child's memory may be corrupted */
	return reply.length <= request.size ? reply.length : 0;
}

bool apart_is_over(const struct apart *apart)
{
	return apart->deaths >= APART_DEATHS_MAX;
}
