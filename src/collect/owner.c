/* SPDX-License-Identifier: MIT
 *
 * collect/owner.c - the program that started this recorder for itself (libduet)
 *
 * Runs in:  the recorder
 * Gets:     a descriptor that it inherits   Gives: when to begin and to end; to the program what became of it
 * Owns:     nothing; the descriptor is open until the process ends
 * Fails:    with -errno where there is nobody at the other end
 * Why:      the program is not our parent and has no status of ours to wait for (lib/spawn.c says why), so that this socket
 *           is all that the two have of each other: its end is the end of either
 */
#include "collect/owner.h"

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
				 "--owner: descriptor %d is no socket of a program that records "
				 "itself; libduet gives this option, people do not",
				 fd);
	return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0
		       ? error_set(-errno, "--owner: descriptor %d: %s", fd, strerror(errno))
		       : 0;
}

static int tell(int fd, const void *message, size_t size)
{
	return send(fd, message, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size ? 0 : -errno;
}

int owner_tell_ready(int fd, const char *names)
{
	struct session_ready ready = {
		.magic = SESSION_MAGIC, .version = SESSION_VERSION, .pid = (uint32_t)getpid()};
	int error;

	snprintf(ready.names, sizeof(ready.names), "%s", names);
	error = tell(fd, &ready, sizeof(ready));
	return error ? error_set(error, "the program that this recorder is for is gone: %s",
				 strerror(-error))
		     : 0;
}

bool owner_has_left(int fd)
{
	char nothing;

	return recv(fd, &nothing, sizeof(nothing), MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

void owner_tell_end(int fd, int status)
{
	const struct session_ended ended = {.magic = SESSION_MAGIC, .status = status};

	/* Where it is gone it need not know. */
	tell(fd, &ended, sizeof(ended));
}
