/* SPDX-License-Identifier: MIT
 *
 * tests/unit/ring/test_handshake.c - the order in which a guest tries the recorders of the machine
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "ring/handshake.h"

enum { USER = 4711, BACKLOG = 8 };

/* For the calling thread alone: glibc changes all threads, and ThreadSanitizer has one of its own.
 */
static bool become(uid_t uid)
{
	return syscall(SYS_setresuid, -1, uid, -1) == 0;
}

static void listen_as(const char *name, uid_t uid, int ready)
{
	struct sockaddr_un address;
	socklen_t size = session_address(name, strlen(name), &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	if (!become(uid) || bind(fd, (struct sockaddr *)&address, size) < 0 ||
	    listen(fd, BACKLOG) < 0 || write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* A process of the user that listens at the name; 0: the name is taken. */
static pid_t start_recorder(const char *name, uid_t uid)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe(ends) < 0)
		return 0;
	pid = fork();
	if (!pid)
		listen_as(name, uid, ends[1]);
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(ends[0]);
	return pid;
}

static void stop_recorder(pid_t pid)
{
	if (!pid)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The recorders that a process of this user finds, a digit for each: 1: all[0], 2: all[1] … */
static int found_by(uid_t uid, const pid_t *all)
{
	pid_t child = fork();
	struct ucred peer;
	socklen_t size = sizeof(peer);
	uint32_t place = 0;
	int status, fd, found = 0;

	if (child)
		return waitpid(child, &status, 0) == child && WIFEXITED(status)
			       ? WEXITSTATUS(status)
			       : -1;
	if (!become(uid))
		_exit(255);
	while ((fd = handshake_connect_any(&place)) >= 0 && found < 100) {
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
		for (int i = 0; i < 3; i++)
			if (peer.pid == all[i])
				found = found * 10 + i + 1;
		close(fd);
	}
	_exit(found);
}

/* A user's own recorder that refuses a process does not hide root's. */
TEST(own_names_come_before_those_of_root)
{
	pid_t all[3];
	char name[64];

	if (geteuid())
		SKIP("needs root");
	snprintf(name, sizeof(name), SESSION_ANY, (unsigned)USER);
	all[0] = start_recorder(name, USER);
	snprintf(name, sizeof(name), SESSION_ANY_FURTHER, (unsigned)USER, 2u);
	all[1] = start_recorder(name, USER);
	snprintf(name, sizeof(name), SESSION_ANY, 0u);
	all[2] = start_recorder(name, 0);
	if (all[0] && all[1] && all[2]) {
		CHECK_EQUAL(found_by(USER, all), 123);
		CHECK_EQUAL(found_by(0, all), 3);
		stop_recorder(all[0]);
		all[0] = 0;
		CHECK_EQUAL(found_by(USER, all), 3);
	}
	for (int i = 0; i < 3; i++)
		stop_recorder(all[i]);
	if (!all[1] || !all[2])
		SKIP("a machine-wide recording is running");
}

int main(void)
{
	RUN(own_names_come_before_those_of_root);
	return harness_end();
}
