/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_attach.c - connections, whose they are, and too many of them
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "harness.h"

#include "collect/guest/attach.h"

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

/* The folder of a recorder that lives; the caller kills it. */
static pid_t start_recorder(char ret_folder[PATH_MAX], bool keeps_lock)
{
	struct attach attach;
	int ends[2];
	pid_t pid;

	CHECK(pipe(ends) == 0);
	pid = fork();
	if (pid == 0) {
		open_here(&attach);
		if (!keeps_lock)
			flock(attach.folder_fd, LOCK_UN);
		if (write(ends[1], attach.folder, sizeof(attach.folder)) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	CHECK(read(ends[0], ret_folder, sizeof(attach.folder)) == sizeof(attach.folder));
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void kill_recorder(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The next recorder removes only the folder of the one that was killed. */
TEST(folders_of_killed_recorders)
{
	char killed[PATH_MAX], alive[PATH_MAX], older[PATH_MAX], full[PATH_MAX], file[PATH_MAX + 8];
	const pid_t pids[] = {start_recorder(killed, true), start_recorder(alive, true),
			      start_recorder(older, false), start_recorder(full, true)};
	struct attach attach;
	int fd;

	snprintf(file, sizeof(file), "%s/mine", full);
	fd = open(file, O_CREAT | O_WRONLY, 0600);
	REQUIRE(fd >= 0);
	close(fd);
	kill_recorder(pids[0]);
	kill_recorder(pids[3]);
	CHECK(access(killed, F_OK) == 0);
	open_here(&attach);
	CHECK(access(killed, F_OK) < 0 && errno == ENOENT);
	CHECK(access(alive, F_OK) == 0);
	CHECK(access(older, F_OK) == 0);
	CHECK(access(file, F_OK) == 0);
	kill_recorder(pids[1]);
	kill_recorder(pids[2]);
	attach_close(&attach);
	unlink(file);
	rmdir(full);
	open_here(&attach);
	CHECK(access(alive, F_OK) < 0);
	CHECK(access(older, F_OK) < 0);
	attach_close(&attach);
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
	CHECK_EQUAL(attach.late, 1);
	CHECK(!is_woken(&attach));
	attach_close(&attach);
}

/* So does one that has given up waiting: what it did from then on is not recorded. */
TEST(a_hello_that_waited_too_long)
{
	struct attach_hello hello;
	struct attach attach;
	int fd;

	open_here(&attach);
	fd = connect_to(&attach);
	say_hello(fd);
	close(fd);
	CHECK(!attach_next(&attach, &hello));
	CHECK_EQUAL(attach.late, 1);
	attach_close(&attach);
}

/* 300 processes that start together say hello before the recorder has looked once. */
TEST(many_hellos_at_once)
{
	enum { GUESTS = 300 };
	struct attach_hello hello;
	struct attach attach;
	int gate[2], taken = 0;
	pid_t pids[GUESTS];
	char byte;

	open_here(&attach);
	REQUIRE(!pipe(gate));
	for (int i = 0; i < GUESTS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			close(gate[1]);
			say_hello(connect_to(&attach));
			_exit(read(gate[0], &byte, 1) < 0); /* alive until all were taken */
		}
	}
	usleep(300000);
	while (attach_next(&attach, &hello)) {
		close(hello.fd);
		close(hello.pid_fd);
		taken++;
	}
	CHECK_EQUAL(taken, GUESTS);
	CHECK_EQUAL(attach.evicted + attach.turned_away + attach.late, 0);
	close(gate[1]);
	for (int i = 0; i < GUESTS; i++)
		waitpid(pids[i], NULL, 0);
	close(gate[0]);
	attach_close(&attach);
}

/* Those that say nothing make room, the oldest first, and one that speaks in the last moment is
 * heard. */
TEST(only_the_silent_make_room)
{
	static int guests[ATTACH_PENDING + 8];
	struct attach_hello hello;
	struct attach attach;
	int last;

	open_here(&attach);
	for (int i = 0; i < ATTACH_PENDING + 5; i++)
		guests[i] = connect_to(&attach);
	while (is_woken(&attach))
		CHECK(!attach_next(&attach, &hello));
	CHECK_EQUAL(attach.evicted, 5);
	CHECK_EQUAL(attach.pending_count, ATTACH_PENDING);
	say_hello(guests[5]); /* the oldest now */
	last = connect_to(&attach);
	REQUIRE(attach_next(&attach, &hello));
	close(hello.fd);
	close(hello.pid_fd);
	CHECK(!attach_next(&attach, &hello));
	say_hello(last);
	REQUIRE(attach_next(&attach, &hello));
	close(hello.fd);
	close(hello.pid_fd);
	CHECK_EQUAL(attach.evicted, 5);
	for (int i = 0; i < ATTACH_PENDING + 5; i++)
		close(guests[i]);
	close(last);
	attach_close(&attach);
	CHECK_EQUAL(attach.late, 0);
}

/* Root's recorder for another user: the folder is root's, or the user could put a link in the
 * socket's place. */
TEST(the_folder_of_another_users_socket)
{
	char folder[] = "/tmp/duet-attach-XXXXXX", path[256], other[256];
	struct attach attach;
	struct stat about;
	pid_t pid;
	int status = 0;

	if (geteuid() != 0)
		SKIP("only root can give a file away");
	REQUIRE(mkdtemp(folder) && chown(folder, 4711, 4711) == 0);
	snprintf(other, sizeof(other), "%s/other", folder);
	setenv("TMPDIR", folder, 1);
	setenv("XDG_RUNTIME_DIR", folder, 1);
	REQUIRE(!attach_open(&attach, false, 4711, 4711));
	CHECK(strncmp(attach.folder, folder, strlen(folder)) != 0);
	REQUIRE(!stat(attach.folder, &about));
	CHECK_EQUAL(about.st_uid, 0);
	CHECK_EQUAL(about.st_mode & 07777, 0711);
	snprintf(path, sizeof(path), "%s/socket", attach.folder);
	REQUIRE(!lstat(path, &about));
	CHECK_EQUAL(about.st_uid, 4711);
	CHECK_EQUAL(about.st_mode & 07777, 0600);
	pid = fork();
	if (pid == 0) {
		/* may connect, and change nothing */
		if (setgid(4711) < 0 || setuid(4711) < 0 || connect_to(&attach) < 0 ||
		    unlink(path) == 0 || rename(attach.folder, other) == 0)
			_exit(1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQUAL(status, 0);
	snprintf(path, sizeof(path), "%s", attach.folder);
	attach_close(&attach);
	CHECK(stat(path, &about) < 0);
	unsetenv("TMPDIR");
	unsetenv("XDG_RUNTIME_DIR");
	rmdir(folder);
}

static pid_t take_name(const char *name, uid_t uid)
{
	struct sockaddr_un address;
	socklen_t size = session_address(name, strlen(name), &address);
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe(ends) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		if ((uid && setuid(uid) < 0) || bind(fd, (struct sockaddr *)&address, size) < 0 ||
		    listen(fd, 1) < 0 || write(ends[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		pid = -pid;
	close(ends[0]);
	return pid;
}

/* Any process can take a name: the kernel reports who has it. A recorder of our own user leaves the
 * further names to us; a process that guests do not trust stands in their way. */
TEST(the_machine_wide_name_is_taken)
{
	struct attach attach, further[SESSION_ANY_NAMES];
	char name[64], number[32];
	pid_t pid;

	snprintf(name, sizeof(name), SESSION_ANY, (unsigned)geteuid());
	pid = take_name(name, geteuid() ? 0 : 4711);
	if (pid < 0) {
		waitpid(-pid, NULL, 0);
		SKIP("a machine-wide recording is running");
	}
	snprintf(number, sizeof(number), "process %d", (int)pid);
	if (geteuid() == 0) {
		CHECK_EQUAL(attach_open(&attach, true, geteuid(), getegid()), -EADDRINUSE);
		CHECK(strstr(error_text(), number) != NULL);
		CHECK(strstr(error_text(), "of user 4711") != NULL);
		error_clear();
		attach_close(&attach);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (unsigned int i = 0; i < SESSION_ANY_NAMES; i++) {
		CHECK_EQUAL(attach_open(&further[i], true, geteuid(), getegid()), 0);
		CHECK_EQUAL(further[i].any_number, i + 1);
		attach_begin(&further[i]);
	}
	CHECK_EQUAL(attach_open(&attach, true, geteuid(), getegid()), -EADDRINUSE);
	CHECK(strstr(error_text(), "4 machine-wide recordings are running") != NULL);
	error_clear();
	attach_close(&attach);
	/* the others move up */
	attach_close(&further[0]);
	attach_move_up(&further[2]);
	CHECK_EQUAL(further[2].any_number, 1);
	attach_move_up(&further[1]);
	CHECK_EQUAL(further[1].any_number, 2);
	attach_move_up(&further[3]);
	CHECK_EQUAL(further[3].any_number, 3);
	for (unsigned int i = 1; i < SESSION_ANY_NAMES; i++)
		attach_close(&further[i]);
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
	/* As root: only one may record all programs, of a network. */
	if (geteuid() == 0 && unshare(CLONE_NEWNET) < 0)
		printf("#   no network of its own: %s\n", strerror(errno));
	RUN(folders_of_killed_recorders);
	RUN(a_hello);
	RUN(a_hello_of_a_process_that_is_gone);
	RUN(a_hello_that_waited_too_long);
	RUN(many_hellos_at_once);
	RUN(only_the_silent_make_room);
	RUN(the_folder_of_another_users_socket);
	RUN(the_machine_wide_name_is_taken);
	RUN(guests_beyond_the_limit_learn_it_at_once);
	RUN(no_descriptor_is_no_busy_loop);
	return harness_end();
}
