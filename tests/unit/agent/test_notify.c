/* SPDX-License-Identifier: MIT
 *
 * tests/unit/agent/test_notify.c - messages to systemd arrive as datagrams
 */
#include "agent/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness.h"

static int listen_at(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, name, strlen(name));
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address,
			    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name)))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void check_arrival(const char *name)
{
	char text[64] = "";
	int fd = listen_at(name);

	REQUIRE(fd >= 0);
	setenv("NOTIFY_SOCKET", name, 1);
	notify_send("READY=1");
	CHECK(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) == 7);
	CHECK_TEXT(text, "READY=1");
	close(fd);
	unsetenv("NOTIFY_SOCKET");
}

TEST(arrives_at_a_path)
{
	char folder[] = "/tmp/notify.XXXXXX", path[64];

	REQUIRE(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/socket", folder);
	check_arrival(path);
	unlink(path);
	rmdir(folder);
}

TEST(arrives_at_an_abstract_name)
{
	char name[64];

	snprintf(name, sizeof(name), "@duet-notify-test-%d", (int)getpid());
	check_arrival(name);
}

TEST(nothing_without_a_socket)
{
	notify_send("READY=1");
	setenv("NOTIFY_SOCKET", "/no/such/socket", 1);
	notify_send("READY=1");
	unsetenv("NOTIFY_SOCKET");
	CHECK(true);
}

TEST(watchdog)
{
	char pid[16];

	CHECK_EQUAL(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "30000000", 1);
	CHECK_EQUAL(notify_watchdog_ns(), 30000000000);
	setenv("WATCHDOG_PID", "1", 1);
	CHECK_EQUAL(notify_watchdog_ns(), 0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	CHECK_EQUAL(notify_watchdog_ns(), 30000000000);
}

int main(void)
{
	RUN(arrives_at_a_path);
	RUN(arrives_at_an_abstract_name);
	RUN(nothing_without_a_socket);
	RUN(watchdog);
	return harness_end();
}
