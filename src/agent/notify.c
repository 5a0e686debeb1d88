/* SPDX-License-Identifier: MIT
 *
 * agent/notify.c - messages to systemd, as sd_notify(3) sends them
 *
 * Runs in:  the agent
 * Gets:     NOTIFY_SOCKET and WATCHDOG_USEC of the environment
 * Gives:    datagrams
 * Owns:     nothing
 * Fails:    never; a message that is not delivered makes systemd restart the agent
 * Why:      the protocol is one datagram, so a library would bring more than it saves
 */
#include "agent/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

void notify_send(const char *message)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const size_t length = path ? strlen(path) : 0;
	auto_close int fd = -1;

	if (!length || length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, length);
	if (address.sun_path[0] == '@')
		address.sun_path[0] = '\0'; /* an abstract name */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		(void)!sendto(fd, message, strlen(message), MSG_NOSIGNAL,
			      (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}

uint64_t notify_watchdog_ns(void)
{
	const char *text = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!text || (pid && strtoul(pid, NULL, 10) != (unsigned long)getpid()))
		return 0;
	return strtoull(text, NULL, 10) * 1000;
}
