/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_attach.c - connections, whose they are, and too many of them
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "collect/attach.h"

/* Connects to the recorder's path, whose name comes first. */
static int connect_to(const struct attach *attach)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	size_t length = strcspn(attach->addresses, ",");

	if (length >= sizeof(address.sun_path))
		abort();
	memcpy(address.sun_path, attach->addresses, length);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void say_hello(int fd)
{
	struct session_hello hello = {SESSION_MAGIC, SESSION_VERSION, 5, "opencl"};

	CHECK(send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello));
}

static void open_here(struct attach *attach)
{
	REQUIRE(!attach_open(attach, false, geteuid(), getegid()));
	REQUIRE(attach->addresses[0] == '/');
}

/* True: something waits, so that the recorder does not sleep. */
static bool is_woken(const struct attach *attach)
{
	struct pollfd entries[ATTACH_LISTENERS + ATTACH_PENDING];
	size_t count = attach_poll(attach, entries);

	return poll(entries, count, 0) > 0;
}

TEST(a_hello)
{
	struct attach_hello hello;
	struct attach attach;
	int fd;

	open_here(&attach);
	fd = connect_to(&attach);
	CHECK(!attach_next(&attach, &hello));
	say_hello(fd);
	REQUIRE(attach_next(&attach, &hello));
	CHECK_EQUAL(hello.pid, getpid());
	CHECK_EQUAL(hello.uid, geteuid());
	CHECK_EQUAL(hello.hello.pid, 5);
	CHECK(hello.pid_fd >= 0);
	CHECK(fcntl(hello.pid_fd, F_GETFD) & FD_CLOEXEC);
	CHECK(poll(&(struct pollfd){.fd = hello.pid_fd, .events = POLLIN}, 1, 0) == 0);
	CHECK(!is_woken(&attach));
	close(hello.fd);
	close(hello.pid_fd);
	close(fd);
	attach_close(&attach);
}

/* It waits for no answer any more, and its number may be another's. */
TEST(a_hello_of_a_process_that_is_gone)
{
	struct attach_hello hello;
	struct attach attach;
	pid_t pid;

	open_here(&attach);
	pid = fork();
	if (pid == 0) {
		say_hello(connect_to(&attach));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	CHECK(!attach_next(&attach, &hello));
	CHECK(!is_woken(&attach));
	attach_close(&attach);
}

static void set_descriptors(rlim_t count, struct rlimit *ret_old)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, ret_old);
	limit = *ret_old;
	limit.rlim_cur = count;
	setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(guests_beyond_the_limit_learn_it_at_once)
{
	struct attach_hello hello;
	struct attach attach;
	struct rlimit old;
	int first = dup(0), guests[64], taken = 0;
	char byte;

	close(first);
	set_descriptors((rlim_t)first + 20 + 64, &old);
	open_here(&attach);
	for (int i = 0; i < 64; i++) {
		guests[i] = connect_to(&attach);
		say_hello(guests[i]);
	}
	while (attach_next(&attach, &hello)) {
		close(hello.pid_fd); /* what is tested is the connections' share */
		taken++;
	}
	printf("# %d of 64 taken, %llu turned away\n", taken,
	       (unsigned long long)attach.turned_away);
	CHECK(taken > 0);
	CHECK_EQUAL(taken + attach.turned_away, 64);
	CHECK(!attach.is_resting);
	CHECK(!is_woken(&attach));
	CHECK(recv(guests[63], &byte, 1, MSG_DONTWAIT) <= 0 && errno != EAGAIN); /* no wait */
	setrlimit(RLIMIT_NOFILE, &old);
	attach_close(&attach);
}

/* The system's table may be full where our own limit is not reached. */
TEST(no_descriptor_is_no_busy_loop)
{
	struct attach_hello hello;
	struct attach attach;
	struct rlimit old;
	int fd;

	open_here(&attach);
	fd = connect_to(&attach);
	REQUIRE(fd >= 0);
	say_hello(fd);
	CHECK(is_woken(&attach));
	set_descriptors(3, &old);
	CHECK(!attach_next(&attach, &hello));
	CHECK_EQUAL(attach.turned_away, 1);
	CHECK(!is_woken(&attach));
	CHECK(!attach_next(&attach, &hello));
	CHECK_EQUAL(attach.turned_away, 1);
	attach_resume(&attach);
	CHECK(is_woken(&attach));
	setrlimit(RLIMIT_NOFILE, &old);
	CHECK(attach_next(&attach, &hello));
	close(hello.fd);
	close(hello.pid_fd);
	close(fd);
	attach_close(&attach);
}

int main(void)
{
	RUN(a_hello);
	RUN(a_hello_of_a_process_that_is_gone);
	RUN(guests_beyond_the_limit_learn_it_at_once);
	RUN(no_descriptor_is_no_busy_loop);
	return harness_end();
}
