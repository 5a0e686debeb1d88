/* SPDX-License-Identifier: MIT
 *
 * collect/start/owner.c - talks to the program that started this recorder to record itself
 * (libduet)
 *
 * Runs in:  the recorder
 * Gets:     an inherited socket (option --owner)
 * Gives:    to the program: recorder is ready, recording has ended; from it: the end of the
 *           recording
 * Owns:     nothing; the descriptor stays open until the process ends
 * Fails:    -EINVAL if the descriptor is not such a socket; -errno if the program has closed its
 *           end
 * Why:      the program is not the recorder's parent, so it cannot wait for the exit status (the
 *           reason is in lib/spawn.c). This socket is their only connection: each process notices
 *           the end of the other one by the closed socket
 */
#include "collect/start/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "ring/session.h"

int owner_take(int fd)
{
	int type = 0;
	socklen_t size = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET)
		return error_set(-EINVAL,
				 "--owner: descriptor %d is not a socket of a program that records "
				 "itself; only libduet uses this option",
				 fd);
	return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0
		       ? error_set(-errno, "--owner: descriptor %d: %s", fd, strerror(errno))
		       : 0;
}

static int send_message(int fd, const void *message, size_t size)
{
	return send(fd, message, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size ? 0 : -errno;
}

int owner_send_ready(int fd, const char *names)
{
	struct session_ready ready = {
		.magic = SESSION_MAGIC, .version = SESSION_VERSION, .pid = (uint32_t)getpid()};
	int error;

	snprintf(ready.names, sizeof(ready.names), "%s", names);
	error = send_message(fd, &ready, sizeof(ready));
	return error ? error_set(error, "the program that started this recorder has ended: %s",
				 strerror(-error))
		     : 0;
}

bool owner_has_left(int fd)
{
	char nothing;

	return recv(fd, &nothing, sizeof(nothing), MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

void owner_send_end(int fd, int status)
{
	const struct session_ended ended = {.magic = SESSION_MAGIC, .status = status};

	/* an error means that the program has ended, and is ignored */
	send_message(fd, &ended, sizeof(ended));
}
