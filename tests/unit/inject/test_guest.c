/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_guest.c - a guest attaches, forks, loses its recorder and finds another
 *
 * The guest is linked in. Its state is one per process, so each test forks a "program" that runs
 * it, while the test itself plays the recorder at the other end of the socket. Where we may, all of
 * it happens in a network namespace of its own, so that no real recorder of this machine is found.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "inject/guest.h"
#include "ring/session.h"

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif

enum { RING_BYTES = 65536, WAIT_MS = 10000 };

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_ms(uint32_t ms)
{
	uint64_t until = now_ms() + ms;

	while (now_ms() < until)
		usleep(1000);
}

/* ---- the recorder's side --------------------------------------------------------------------- */

static char folder[64], path[100], abstract[64];

static int listen_at(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, name, length);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	else
		unlink(name);
	if (fd >= 0 &&
	    bind(fd, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] != '@'))) ==
		    0 &&
	    listen(fd, 16) == 0)
		return fd;
	printf("#   cannot listen at %s: %s\n", name, strerror(errno));
	close(fd);
	return -1;
}

struct region {
	struct ring_region *at;
	size_t bytes;
	int fd;
	uint32_t count;
};

static struct region region_new(uint32_t count, bool sealed)
{
	struct region region = {.bytes = ring_region_bytes(count, RING_BYTES), .count = count};

	region.fd = memfd_create("rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (region.fd < 0 || ftruncate(region.fd, (off_t)region.bytes) < 0)
		abort();
	if (sealed && fcntl(region.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		abort();
	region.at = mmap(NULL, region.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd, 0);
	if (region.at == MAP_FAILED)
		abort();
	region.at->magic = RING_MAGIC;
	region.at->version = RING_VERSION;
	region.at->ring_count = count;
	region.at->ring_bytes = RING_BYTES;
	region.at->enabled = 1;
	region.at->beat_ns = now_ns();
	return region;
}

static void region_free(struct region *region)
{
	munmap(region->at, region->bytes);
	close(region->fd);
}

static struct ring_control *control_of(const struct region *region, uint32_t index)
{
	return (struct ring_control *)((uint8_t *)region->at + RING_PAGE +
				       index * ring_slot_bytes(RING_BYTES));
}

static uint32_t state_of(const struct region *region, uint32_t index)
{
	return atomic_load(&control_of(region, index)->state);
}

static void count_record(void *context, const struct record *record)
{
	uint32_t *count = context;

	/* numbered from 0 by say() */
	if (record->kind == EVENT_API && record->size == 40 && record->detail == *count)
		++*count;
}

/* How many records a ring holds in all, from its beginning. */
static uint32_t records_in(const struct region *region, uint32_t index)
{
	static uint64_t scratch[8192];
	struct ring_reader reader;
	uint32_t count = 0;

	ring_reader_init(&reader, region->at, RING_BYTES, index);
	ring_drain(&reader, RING_BYTES, scratch, count_record, &count);
	atomic_store(&control_of(region, index)->tail, 0);
	return reader.broken_times ? UINT32_MAX : count;
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd waiting = {.fd = fd, .events = POLLIN};

	return poll(&waiting, 1, timeout_ms) == 1;
}

/* The next guest and its hello; -1 where none comes. */
static int accept_guest(int listener, struct session_hello *ret_hello)
{
	int fd = is_readable(listener, WAIT_MS) ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;

	if (fd >= 0 && is_readable(fd, WAIT_MS) &&
	    recv(fd, ret_hello, sizeof(*ret_hello), 0) == (ssize_t)sizeof(*ret_hello))
		return fd;
	close(fd);
	return -1;
}

static void answer(int fd, const void *bytes, size_t size, const int *fds, size_t fds_count)
{
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(4 * sizeof(int))] = {0};
	struct iovec part = {(void *)(uintptr_t)bytes, size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (fds_count) {
		struct cmsghdr *head;

		message.msg_control = space;
		message.msg_controllen = CMSG_SPACE(fds_count * sizeof(int));
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(fds_count * sizeof(int));
		memcpy(CMSG_DATA(head), fds, fds_count * sizeof(int));
	}
	if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
		printf("#   answer: %s\n", strerror(errno));
}

static void welcome(int fd, const struct region *region)
{
	struct session_welcome text = {SESSION_MAGIC, SESSION_VERSION, region->count, RING_BYTES};

	answer(fd, &text, sizeof(text), &region->fd, 1);
}

/* Takes one guest in. Returns its connection. */
static int take_in(int listener, const struct region *region, struct session_hello *ret_hello)
{
	int fd = accept_guest(listener, ret_hello);

	if (fd >= 0)
		welcome(fd, region);
	return fd;
}

static struct session_attached farewell_of(int fd)
{
	struct session_attached farewell = {.error = -1};

	if (!is_readable(fd, WAIT_MS) ||
	    recv(fd, &farewell, sizeof(farewell), 0) != (ssize_t)sizeof(farewell))
		farewell.magic = 0;
	close(fd);
	return farewell;
}

/* ---- the program's side ---------------------------------------------------------------------- */

static int program_failures;

#define EXPECT(condition)                                                                   \
	do {                                                                                \
		if (!(condition)) {                                                         \
			program_failures++;                                                 \
			printf("#   program, %s:%d: %s\n", __FILE__, __LINE__, #condition); \
			fflush(stdout);                                                     \
		}                                                                           \
	} while (0)

/* What the back end was told; shared with the recorder's side. */
static struct shared {
	_Atomic uint32_t forks, exits, stage, number[4];
} * shared;

static void on_fork(void)
{
	shared->forks++;
}

static void at_exit(void)
{
	shared->exits++;
}

static void wait_for_stage(uint32_t stage)
{
	uint64_t until = now_ms() + WAIT_MS;

	while (atomic_load(&shared->stage) < stage && now_ms() < until)
		usleep(500);
}

static const struct guest_backend backend = {"opencl", on_fork, at_exit};

/* Runs `program` with DUET_SESSION=names in a child; its exit status is its number of failures. */
static pid_t start(void (*program)(void), const char *names)
{
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	alarm(60);
	if (names)
		setenv(SESSION_VARIABLE, names, 1);
	else
		unsetenv(SESSION_VARIABLE);
	guest_init(&backend);
	guest_hook_exit();
	guest_hook_exit(); /* once is enough */
	program();
	exit(program_failures > 100 ? 100 : program_failures);
}

static void finish(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status));
	if (WIFEXITED(status))
		CHECK_EQUAL(WEXITSTATUS(status), 0);
}

/* One record, numbered within its ring. True when it was written; errno must survive. */
static bool say(void)
{
	static _Thread_local uint32_t number;
	static _Thread_local struct ring_control *ring;
	static _Thread_local uint32_t mode; /* a child's ring may lie where its parent's did */
	struct guest_thread *thread;
	struct record_api *record;

	errno = 4711;
	thread = guest_enter();
	EXPECT(errno == 4711);
	if (!thread) {
		guest_missed(RING_TROUBLE_NO_RING);
		return false;
	}
	if (thread->writer.control != ring || thread->mode != mode)
		number = 0;
	ring = thread->writer.control;
	mode = thread->mode;
	record = guest_reserve(thread, EVENT_API, RECORD_API_ARGUMENT_BYTES, number);
	EXPECT(errno == 4711);
	if (!record)
		return false;
	record->begin = record->end = guest_now(thread);
	number++;
	ring_commit(&thread->writer);
	return true;
}

static int open_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* ---- attaching ------------------------------------------------------------------------------- */

static void program_says_ten(void)
{
	int descriptors = open_descriptors();

	for (int i = 0; i < 10; i++)
		EXPECT(say());
	EXPECT(open_descriptors() == descriptors);
	EXPECT(!guest_is_idle());
}

static void attach_by(const char *listener_name, const char *names)
{
	struct region region = region_new(4, true);
	struct session_hello hello = {0};
	struct session_attached farewell;
	int listener = listen_at(listener_name), fd;
	pid_t pid;

	REQUIRE(listener >= 0);
	region.at->clock = RING_CLOCK_MONOTONIC;
	pid = start(program_says_ten, names);
	fd = take_in(listener, &region, &hello);
	CHECK(fd >= 0);
	farewell = farewell_of(fd);
	finish(pid);
	CHECK_EQUAL(hello.magic, SESSION_MAGIC);
	CHECK_EQUAL(hello.version, SESSION_VERSION);
	CHECK_EQUAL(hello.pid, pid);
	CHECK_TEXT(hello.guest, "opencl");
	CHECK_EQUAL(farewell.magic, SESSION_MAGIC);
	CHECK_EQUAL(farewell.ring_count, 4);
	CHECK_EQUAL(farewell.error, 0);
	CHECK_EQUAL(records_in(&region, 0), 10);
	CHECK_EQUAL(control_of(&region, 0)->tid, pid);
	CHECK_EQUAL(state_of(&region, 1), RING_FREE);
	CHECK_EQUAL(shared->forks, 0);
	CHECK_EQUAL(shared->exits, 1);
	close(listener);
	region_free(&region);
}

TEST(attaches_by_path)
{
	attach_by(path, path);
}

TEST(attaches_by_abstract_name)
{
	attach_by(abstract, abstract);
}

TEST(attaches_by_the_second_address)
{
	char names[400];

	snprintf(names, sizeof(names), "/nowhere/at/all,%s", abstract);
	attach_by(abstract, names);
	/* one that is too long for a socket, and empty ones */
	snprintf(names, sizeof(names), ",,/%0150d,,%s", 0, path);
	attach_by(path, names);
}

TEST(attaches_to_the_machine_wide_recorder)
{
	char any[64];
	int listener;

	snprintf(any, sizeof(any), SESSION_ANY, (unsigned)geteuid());
	listener = listen_at(any);
	if (listener < 0)
		SKIP("a machine-wide recorder is running");
	close(listener);
	attach_by(any, NULL);
	attach_by(any, "/nowhere");
}

static void program_is_idle(void)
{
	int descriptors = open_descriptors();

	for (int i = 0; i < 100; i++)
		EXPECT(!say());
	EXPECT(guest_is_idle());
	EXPECT(open_descriptors() == descriptors);
	errno = 4711;
	for (int i = 0; i < 100; i++)
		guest_look_for_recorder();
	EXPECT(errno == 4711);
	EXPECT(guest_is_idle());
}

TEST(no_recorder)
{
	finish(start(program_is_idle, NULL));
	finish(start(program_is_idle, ""));
	finish(start(program_is_idle, "@duet-nobody-listens-here"));
	finish(start(program_is_idle, ",,,"));
	CHECK_EQUAL(shared->exits, 0);
}

TEST(refused)
{
	struct session_welcome no = {SESSION_MAGIC, SESSION_VERSION, 0, 0};
	struct session_hello hello;
	int listener = listen_at(path), fd;
	pid_t pid = start(program_is_idle, path);

	fd = accept_guest(listener, &hello);
	REQUIRE(fd >= 0);
	answer(fd, &no, sizeof(no), NULL, 0);
	close(fd);
	finish(pid);
	pid = start(program_is_idle, path);
	fd = accept_guest(listener, &hello);
	CHECK(fd >= 0);
	close(fd); /* without a word */
	finish(pid);
	close(listener);
}

/* The kernel says who listens: an abstract name is anybody's to take. */
TEST(recorder_of_another_user)
{
	struct session_hello hello;
	int listener;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("only root can listen as somebody else");
	REQUIRE(!seteuid(12345));
	listener = listen_at(abstract);
	REQUIRE(!seteuid(0));
	REQUIRE(listener >= 0);
	pid = start(program_is_idle, abstract);
	finish(pid);
	/* It hangs up without a hello. */
	if (is_readable(listener, 0)) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		CHECK_EQUAL(recv(fd, &hello, sizeof(hello), 0), 0);
		close(fd);
	}
	close(listener);
}

/* ---- answers that no recorder of ours gives -------------------------------------------------- */

static void try_answer(int listener, const void *bytes, size_t size, const int *fds,
		       size_t fds_count)
{
	struct session_hello hello;
	pid_t pid = start(program_is_idle, path);
	int fd = accept_guest(listener, &hello);

	CHECK(fd >= 0);
	answer(fd, bytes, size, fds, fds_count);
	finish(pid);
	close(fd);
}

TEST(absurd_welcomes)
{
	static const struct session_welcome welcomes[] = {
		{0, SESSION_VERSION, 4, RING_BYTES},
		{SESSION_MAGIC, SESSION_VERSION + 1, 4, RING_BYTES},
		{SESSION_MAGIC, SESSION_VERSION, 0, RING_BYTES},
		{SESSION_MAGIC, SESSION_VERSION, 65537, RING_BYTES},
		{SESSION_MAGIC, SESSION_VERSION, UINT32_MAX, RING_BYTES},
		{SESSION_MAGIC, SESSION_VERSION, 4, 0},
		{SESSION_MAGIC, SESSION_VERSION, 4, 4096},
		{SESSION_MAGIC, SESSION_VERSION, 4, 65537},
		{SESSION_MAGIC, SESSION_VERSION, 4, 98304},
		{SESSION_MAGIC, SESSION_VERSION, 4, 1u << 31},
		{SESSION_MAGIC, SESSION_VERSION, 4, UINT32_MAX},
		/* plausible, but the file is not so large: touching its end would be SIGBUS */
		{SESSION_MAGIC, SESSION_VERSION, 5, RING_BYTES},
		{SESSION_MAGIC, SESSION_VERSION, 65536, 1u << 30},
	};
	struct region region = region_new(4, true);
	int listener = listen_at(path);

	for (size_t i = 0; i < sizeof(welcomes) / sizeof(welcomes[0]); i++)
		try_answer(listener, &welcomes[i], sizeof(welcomes[i]), &region.fd, 1);
	close(listener);
	region_free(&region);
}

TEST(malformed_welcomes)
{
	struct session_welcome good[2] = {{SESSION_MAGIC, SESSION_VERSION, 4, RING_BYTES}};
	struct region region = region_new(4, true), open = region_new(4, false);
	int listener = listen_at(path), pipes[2], input = 0;

	REQUIRE(!pipe2(pipes, O_CLOEXEC));
	try_answer(listener, good, sizeof(good[0]) - 4, &region.fd, 1); /* short */
	try_answer(listener, good, 1, &region.fd, 1);
	try_answer(listener, good, sizeof(good[0]), NULL, 0); /* without a descriptor */
	try_answer(listener, good, sizeof(good[0]), pipes, 1);
	try_answer(listener, good, sizeof(good[0]), &input, 1);
	try_answer(listener, good, sizeof(good[0]), &open.fd, 1); /* could be shrunk later */
	region.at->magic = 0;
	try_answer(listener, good, sizeof(good[0]), &region.fd, 1);
	close(pipes[0]);
	close(pipes[1]);
	close(listener);
	region_free(&region);
	region_free(&open);
}

/* More descriptors than one: the guest takes the first and keeps none of the others. */
TEST(too_many_descriptors)
{
	struct session_welcome good = {SESSION_MAGIC, SESSION_VERSION, 4, RING_BYTES};
	struct region region = region_new(4, true);
	struct session_hello hello;
	int listener = listen_at(path), fd, fds[3] = {region.fd, 1, 2};
	pid_t pid = start(program_says_ten, path);

	fd = accept_guest(listener, &hello);
	CHECK(fd >= 0);
	answer(fd, &good, sizeof(good), fds, 3);
	finish(pid);
	close(fd);
	CHECK_EQUAL(records_in(&region, 0), 10);
	close(listener);
	region_free(&region);
}

static void wait_for_number(uint32_t number)
{
	uint64_t until = now_ms() + WAIT_MS;

	while (atomic_load(&shared->number[0]) < number && now_ms() < until)
		usleep(500);
}

/* ---- recorders that do not answer ------------------------------------------------------------ */

static void program_waits_not_long(void)
{
	uint64_t begin = now_ms(), spent;

	EXPECT(!say());
	spent = now_ms() - begin;
	/* two seconds once, not twice, and what a busy machine makes of them */
	EXPECT(spent >= 1950 && spent < 3900);
	if (spent < 1950 || spent >= 3900)
		printf("#   %llu ms\n", (unsigned long long)spent);
	begin = now_ms();
	for (int i = 0; i < 1000; i++)
		EXPECT(!say());
	EXPECT(now_ms() - begin < 1000);
}

TEST(stopped_recorder)
{
	int listener = listen_at(path); /* a full stop: nobody accepts */

	finish(start(program_waits_not_long, path));
	close(listener);
}

/* The same guest in a call that is its only chance. */
static void program_gives_it_time(void)
{
	atomic_store(&shared->number[0], 1);
	EXPECT(guest_enter_first());
	EXPECT(say());
}

static void program_expects_nobody(void)
{
	uint64_t begin = now_ms();

	EXPECT(!guest_enter_first());
	EXPECT(now_ms() - begin < 2000);
}

TEST(slow_recorder)
{
	struct region region = region_new(2, true);
	struct session_hello hello;
	int listener = listen_at(path), fd;
	pid_t pid = start(program_gives_it_time, path);

	wait_for_number(1);
	sleep_ms(2400); /* more than another first call lasts */
	fd = take_in(listener, &region, &hello);
	finish(pid);
	close(fd);
	close(listener);
	CHECK_EQUAL(records_in(&region, 0), 1);
	/* One that has gone, or was never there. */
	finish(start(program_expects_nobody, path));
	finish(start(program_expects_nobody, ""));
	region_free(&region);
}

static void on_alarm(int number)
{
	(void)number;
}

static void storm(uint32_t interval_us)
{
	struct itimerval timer = {{0, interval_us}, {0, interval_us}};
	struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART */

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void program_in_storm_without_answer(void)
{
	storm(700);
	program_waits_not_long();
}

static void program_in_slow_storm(void)
{
	storm(190000); /* late enough to double a wait that began anew */
	program_waits_not_long();
}

static void program_in_storm(void)
{
	storm(700);
	program_says_ten();
}

TEST(signals_while_waiting)
{
	struct region region = region_new(4, true);
	struct session_hello hello;
	int listener = listen_at(path), fd;
	pid_t pid;

	finish(start(program_in_storm_without_answer, path));
	close(listener);
	listener = listen_at(path);
	finish(start(program_in_slow_storm, path));
	close(listener);
	listener = listen_at(path);
	pid = start(program_in_storm, path);
	fd = accept_guest(listener, &hello);
	sleep_ms(100);
	welcome(fd, &region);
	finish(pid);
	close(fd);
	CHECK_EQUAL(records_in(&region, 0), 10);
	close(listener);
	region_free(&region);
}

/* ---- children -------------------------------------------------------------------------------- */

static pid_t make_child(bool raw)
{
	return raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
}

static void expect_child(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void fork_and_say(bool raw)
{
	pid_t pid;

	for (int i = 0; i < 5; i++)
		EXPECT(say());
	/* A child that does nothing attaches nothing, and is fresh. */
	pid = make_child(raw);
	if (pid == 0) {
		EXPECT(atomic_load(&guest_page.mode) == GUEST_FRESH);
		_exit(program_failures);
	}
	expect_child(pid);
	pid = make_child(raw);
	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			EXPECT(say());
		_exit(program_failures);
	}
	expect_child(pid);
	for (int i = 0; i < 2; i++)
		EXPECT(say());
}

static void program_forks(void)
{
	fork_and_say(false);
}

static void program_clones(void)
{
	fork_and_say(true);
}

static void take_family(void (*program)(void))
{
	struct region parents = region_new(2, true), childs = region_new(2, true);
	struct session_hello hello, child_hello = {0};
	int listener = listen_at(path);
	pid_t pid = start(program, path);

	close(take_in(listener, &parents, &hello));
	close(take_in(listener, &childs, &child_hello));
	finish(pid);
	CHECK(!is_readable(listener, 0));
	CHECK_EQUAL(hello.pid, pid);
	CHECK(child_hello.pid && child_hello.pid != (uint32_t)pid);
	CHECK_EQUAL(records_in(&parents, 0), 7);
	CHECK_EQUAL(records_in(&childs, 0), 3);
	CHECK_EQUAL(state_of(&parents, 1), RING_FREE);
	CHECK_EQUAL(state_of(&parents, 0), RING_BUSY);
	CHECK_EQUAL(shared->forks, 1); /* the child that never called is not told */
	close(listener);
	region_free(&parents);
	region_free(&childs);
}

TEST(fork_starts_fresh)
{
	take_family(program_forks);
}

TEST(raw_clone_starts_fresh)
{
	take_family(program_clones);
}

static void *say_once(void *context)
{
	EXPECT(say());
	return NULL;
}

/* One thread is attaching, and holds the lock, when another forks. */
static void program_forks_while_attaching(void)
{
	pthread_t thread;
	pid_t pid;

	EXPECT(!pthread_create(&thread, NULL, say_once, NULL));
	wait_for_stage(1);
	pid = fork();
	if (pid == 0) {
		EXPECT(say());
		_exit(program_failures);
	}
	expect_child(pid);
	pthread_join(thread, NULL);
}

TEST(fork_while_attaching)
{
	struct region parents = region_new(2, true), childs = region_new(2, true);
	struct session_hello hello, child_hello = {0};
	int listener = listen_at(path), fd, child_fd;
	pid_t pid = start(program_forks_while_attaching, path);

	fd = accept_guest(listener, &hello);
	atomic_store(&shared->stage, 1);
	child_fd = take_in(listener, &childs, &child_hello);
	CHECK(child_fd >= 0);
	welcome(fd, &parents);
	finish(pid);
	CHECK_EQUAL(records_in(&parents, 0), 1);
	CHECK_EQUAL(records_in(&childs, 0), 1);
	close(fd);
	close(child_fd);
	close(listener);
	region_free(&parents);
	region_free(&childs);
}

static void program_vforks(void)
{
	pid_t pid;

	EXPECT(say());
	pid = vfork(); /* NOLINT: what programs do */
	if (pid == 0)
		_exit(0);
	expect_child(pid);
	EXPECT(say());
}

TEST(vfork_child_is_not_its_parent)
{
	struct region region = region_new(2, true);
	struct session_hello hello;
	int listener = listen_at(path);
	pid_t pid = start(program_vforks, path);

	close(take_in(listener, &region, &hello));
	finish(pid);
	CHECK_EQUAL(records_in(&region, 0), 2);
	close(listener);
	region_free(&region);
}

/* Another handler of a fork, which comes before the guest's, takes memory where the parent has its
 * rings. */
enum { TAKEN_BYTES = 4096, TAKEN_BYTE = 0x5a };
static uint8_t *taken_at, *taken;

static void take_place_of_rings(void)
{
	taken = mmap(taken_at, TAKEN_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (taken != MAP_FAILED)
		memset(taken, TAKEN_BYTE, TAKEN_BYTES);
}

static void program_has_a_fork_handler(void)
{
	pid_t pid;

	EXPECT(!pthread_atfork(NULL, NULL, take_place_of_rings));
	EXPECT(say());
	taken_at = (uint8_t *)guest_self->writer.data;
	pid = fork();
	if (pid == 0) {
		EXPECT(taken == taken_at);
		EXPECT(taken[0] == TAKEN_BYTE && taken[TAKEN_BYTES - 1] == TAKEN_BYTE);
		EXPECT(say());
		_exit(program_failures);
	}
	expect_child(pid);
	EXPECT(say());
}

TEST(fork_leaves_memory_of_other_handlers_alone)
{
	struct region parents = region_new(2, true), childs = region_new(2, true);
	struct session_hello hello, child_hello = {0};
	int listener = listen_at(path);
	pid_t pid = start(program_has_a_fork_handler, path);

	close(take_in(listener, &parents, &hello));
	close(take_in(listener, &childs, &child_hello));
	finish(pid);
	CHECK_EQUAL(records_in(&parents, 0), 2);
	CHECK_EQUAL(records_in(&childs, 0), 1);
	close(listener);
	region_free(&parents);
	region_free(&childs);
}

/* As a signal handler does that interrupts the writing. */
static void program_forks_inside_of_a_record(void)
{
	struct guest_thread *thread;
	struct record_api *record;
	pid_t pid;

	EXPECT(!pthread_atfork(NULL, NULL, take_place_of_rings));
	EXPECT(say());
	thread = guest_self;
	taken_at = thread->writer.data;
	record = guest_reserve(thread, EVENT_API, RECORD_API_ARGUMENT_BYTES, 1);
	pid = fork();
	record->begin = record->end = pid ? 1 : 2;
	ring_commit(&thread->writer);
	if (pid == 0) {
		EXPECT(taken == MAP_FAILED);
		EXPECT(!guest_reserve(thread, EVENT_API, RECORD_API_ARGUMENT_BYTES, 2));
		_exit(program_failures);
	}
	expect_child(pid);
	EXPECT(record->begin == 1);
	/* Those of a child that is made later are not inherited again. */
	pid = fork();
	if (pid == 0)
		_exit(taken != taken_at);
	expect_child(pid);
}

TEST(fork_inside_of_a_record)
{
	struct region region = region_new(2, true);
	struct session_hello hello;
	int listener = listen_at(path);
	pid_t pid = start(program_forks_inside_of_a_record, path);

	close(take_in(listener, &region, &hello));
	finish(pid);
	CHECK_EQUAL(records_in(&region, 0), 2);
	close(listener);
	region_free(&region);
}

/* The status of exit is given before its handlers run. */
static void end_exit_handler(void)
{
	if (program_failures)
		_exit(program_failures);
}

static void fork_where_exit_has_begun(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		EXPECT(say());
		EXPECT(guest_exit_has_begun());
		_exit(program_failures);
	}
	expect_child(pid);
	end_exit_handler();
}

static void *fork_beside_exit(void *raw)
{
	pid_t pid;

	wait_for_stage(1);
	pid = make_child(raw != NULL);
	if (pid == 0) {
		EXPECT(say());
		EXPECT(!guest_exit_has_begun());
		guest_hook_exit();
		EXPECT(!guest_exit_has_begun());
		if (!raw)
			exit(program_failures);
		_exit(program_failures);
	}
	expect_child(pid);
	return NULL;
}

static pthread_t beside_exit;

static void wait_where_exit_has_begun(void)
{
	EXPECT(guest_exit_has_begun());
	atomic_store(&shared->stage, 1);
	pthread_join(beside_exit, NULL);
	end_exit_handler();
}

static void exit_and_fork(void (*handler)(void))
{
	EXPECT(say());
	EXPECT(!atexit(handler));
	guest_hook_exit();
}

static void program_forks_in_exit(void)
{
	exit_and_fork(fork_where_exit_has_begun);
}

static void program_forks_beside_exit(void)
{
	EXPECT(!pthread_create(&beside_exit, NULL, fork_beside_exit, NULL));
	exit_and_fork(wait_where_exit_has_begun);
}

static void program_clones_beside_exit(void)
{
	EXPECT(!pthread_create(&beside_exit, NULL, fork_beside_exit, shared));
	exit_and_fork(wait_where_exit_has_begun);
}

static void take_family_at_exit(void (*program)(void), uint32_t exits)
{
	struct region parents = region_new(2, true), childs = region_new(2, true);
	struct session_hello hello, child_hello = {0};
	int listener = listen_at(path);
	pid_t pid = start(program, path);

	close(take_in(listener, &parents, &hello));
	close(take_in(listener, &childs, &child_hello));
	finish(pid);
	CHECK_EQUAL(records_in(&parents, 0), 1);
	CHECK_EQUAL(records_in(&childs, 0), 1);
	CHECK_EQUAL(shared->exits, exits);
	close(listener);
	region_free(&parents);
	region_free(&childs);
}

TEST(fork_where_exit_has_begun)
{
	take_family_at_exit(program_forks_in_exit, 1);
	take_family_at_exit(program_forks_beside_exit, 2);
	take_family_at_exit(program_clones_beside_exit, 1);
}

static void exit_has_begun_for_the_guest(void)
{
	EXPECT(guest_exit_has_begun());
	end_exit_handler();
}

/* What a library that is loaded late does at exit comes after the guest's handler, however many
 * there are. */
static void program_loads_late(void)
{
	for (int i = 0; i < 100; i++)
		guest_hook_exit();
	EXPECT(dlopen("libresolv.so.2", RTLD_NOW) || dlopen("libutil.so.1", RTLD_NOW));
	EXPECT(!atexit(exit_has_begun_for_the_guest));
	guest_hook_exit();
}

TEST(library_that_is_loaded_late)
{
	finish(start(program_loads_late, NULL));
}

/* ---- threads --------------------------------------------------------------------------------- */

static void program_ends_threads(void)
{
	pthread_t thread;

	EXPECT(say());
	for (uint32_t i = 1; i <= 3; i++) {
		EXPECT(!pthread_create(&thread, NULL, say_once, NULL));
		pthread_join(thread, NULL);
		atomic_store(&shared->number[0], i);
		wait_for_stage(i);
	}
	EXPECT(say());
}

TEST(thread_exit_closes_its_ring)
{
	struct region region = region_new(2, true);
	struct ring_reader reader;
	struct session_hello hello;
	int listener = listen_at(path);
	pid_t pid = start(program_ends_threads, path);

	close(take_in(listener, &region, &hello));
	ring_reader_init(&reader, region.at, RING_BYTES, 1);
	for (uint32_t i = 1; i <= 3; i++) {
		uint64_t until = now_ms() + WAIT_MS;

		while (atomic_load(&shared->number[0]) < i && now_ms() < until)
			usleep(500);
		CHECK_EQUAL(state_of(&region, 0), RING_BUSY);
		CHECK_EQUAL(state_of(&region, 1), RING_CLOSED);
		/* a call each, and 32 bytes for each section of the guest above 16 us */
		CHECK(control_of(&region, 1)->head >= 40 * i);
		CHECK_EQUAL((control_of(&region, 1)->head - 40 * i) % 32, 0);
		ring_recycle(&reader);
		atomic_store(&shared->stage, i);
	}
	finish(pid);
	CHECK_EQUAL(records_in(&region, 0), 2);
	CHECK_EQUAL(region.at->trouble[RING_TROUBLE_NO_RING], 0);
	close(listener);
	region_free(&region);
}

static pthread_barrier_t barrier;

static void *say_together(void *context)
{
	for (int i = 0; i < 5; i++)
		shared->number[0] += say();
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void program_has_ten_threads(void)
{
	pthread_t threads[10];

	EXPECT(say());
	pthread_barrier_init(&barrier, NULL, 10);
	for (int i = 0; i < 10; i++)
		EXPECT(!pthread_create(&threads[i], NULL, say_together, NULL));
	for (int i = 0; i < 10; i++)
		pthread_join(threads[i], NULL);
}

TEST(more_threads_than_rings)
{
	struct region region = region_new(4, true);
	struct session_hello hello;
	int listener = listen_at(path);
	pid_t pid = start(program_has_ten_threads, path);

	close(take_in(listener, &region, &hello));
	finish(pid);
	CHECK_EQUAL(shared->number[0], 15);
	CHECK_EQUAL(region.at->trouble[RING_TROUBLE_NO_RING], 35);
	CHECK_EQUAL(records_in(&region, 0), 1);
	for (uint32_t i = 1; i < 4; i++) {
		CHECK_EQUAL(records_in(&region, i), 5);
		CHECK_EQUAL(state_of(&region, i), RING_CLOSED);
	}
	close(listener);
	region_free(&region);
}

static void *say_at_once(void *context)
{
	pthread_barrier_wait(&barrier);
	say(); /* may be lost while another thread attaches */
	return NULL;
}

static void program_begins_in_ten_threads(void)
{
	pthread_t threads[10];

	pthread_barrier_init(&barrier, NULL, 10);
	for (int i = 0; i < 10; i++)
		EXPECT(!pthread_create(&threads[i], NULL, say_at_once, NULL));
	for (int i = 0; i < 10; i++)
		pthread_join(threads[i], NULL);
	EXPECT(say());
}

TEST(first_calls_at_once_attach_once)
{
	struct region region = region_new(16, true);
	struct session_hello hello;
	int listener = listen_at(path);
	pid_t pid = start(program_begins_in_ten_threads, path);

	close(take_in(listener, &region, &hello));
	finish(pid);
	CHECK(!is_readable(listener, 0));
	close(listener);
	region_free(&region);
}

/* ---- a recorder that has gone ---------------------------------------------------------------- */

static bool fill_ring(void)
{
	for (int i = 0; i < RING_BYTES / 40 + 2; i++)
		if (!say())
			return true;
	return false;
}

static void program_outlives_recorder(void)
{
	EXPECT(fill_ring());
	EXPECT(!guest_is_idle()); /* full, but there */
	atomic_store(&shared->number[0], 1);
	wait_for_stage(1);
	EXPECT(!say());
	EXPECT(guest_is_idle());
	atomic_store(&shared->number[0], 2);
	wait_for_stage(2);
	sleep_ms(1100); /* longer than the pause between two looks */
	errno = 4711;
	guest_look_for_recorder();
	EXPECT(errno == 4711);
	for (int i = 0; i < 4; i++)
		EXPECT(say());
}

static void change_recorders(void (*program)(void), bool stopped)
{
	struct region first = region_new(2, true), second = region_new(2, true);
	struct session_hello hello, second_hello;
	int listener = listen_at(path);
	pid_t pid = start(program, path);

	close(take_in(listener, &first, &hello));
	wait_for_number(1);
	CHECK(atomic_load(&control_of(&first, 0)->lost[EVENT_API]) <= 1);
	if (stopped)
		atomic_store(&first.at->enabled, 0);
	else
		atomic_store(&first.at->beat_ns, now_ns() - UINT64_C(11000000000));
	atomic_store(&shared->stage, 1);
	wait_for_number(2);
	atomic_store(&shared->stage, 2);
	close(take_in(listener, &second, &second_hello));
	finish(pid);
	CHECK_EQUAL(second_hello.pid, pid);
	CHECK_EQUAL(records_in(&second, 0), 4);
	CHECK_EQUAL(shared->forks, 0);
	close(listener);
	region_free(&first);
	region_free(&second);
}

TEST(recorder_gone_silent)
{
	change_recorders(program_outlives_recorder, false);
}

TEST(recorder_stopped)
{
	change_recorders(program_outlives_recorder, true);
}

/* The next call sees an end, with room left in the ring. Only a slow one sees that a recorder is
 * silent. */
static void program_with_room_left(bool is_ended)
{
	EXPECT(say());
	atomic_store(&shared->number[0], 1);
	wait_for_stage(1);
	EXPECT(say() == !is_ended); /* into the void */
	EXPECT(guest_is_idle() == is_ended);
	atomic_store(&shared->number[0], 2);
	wait_for_stage(2);
	sleep_ms(1100);
	guest_look_for_recorder();
	for (int i = 0; i < 4; i++)
		EXPECT(say());
}

static void program_of_silent_recorder(void)
{
	program_with_room_left(false);
}

static void program_of_ended_recorder(void)
{
	program_with_room_left(true);
}

TEST(recorder_gone_with_room_left)
{
	change_recorders(program_of_silent_recorder, false);
	change_recorders(program_of_ended_recorder, true);
}

/* The first recorder has no ring for it, and it looks for one in every thousandth call only. The
 * second has one. */
static void *call_without_a_ring(void *unused)
{
	EXPECT(!say());
	atomic_store(&shared->number[0], 1);
	wait_for_stage(2);
	EXPECT(say());
	return unused;
}

static void program_with_too_many_threads(void)
{
	pthread_t thread;

	EXPECT(say());
	EXPECT(pthread_create(&thread, NULL, call_without_a_ring, NULL) == 0);
	wait_for_stage(1);
	sleep_ms(1100);
	EXPECT(!say());
	guest_look_for_recorder();
	EXPECT(say());
	atomic_store(&shared->number[0], 2);
	pthread_join(thread, NULL);
}

/* The word is what the kernel leaves when it ends a recorder that was killed. */
TEST(recorder_killed)
{
	struct region first = region_new(1, true), second = region_new(2, true);
	struct session_hello hello;
	int listener = listen_at(path);
	const uint8_t *data = (uint8_t *)control_of(&first, 0) + RING_PAGE;
	pid_t pid = start(program_with_too_many_threads, path);

	close(take_in(listener, &first, &hello));
	wait_for_number(1);
	CHECK_EQUAL(records_in(&first, 0), 1);
	CHECK(((const struct record *)data)->kind);
	atomic_store(&first.at->enabled, RING_OWNER_DIED);
	atomic_store(&shared->stage, 1);
	close(take_in(listener, &second, &hello));
	wait_for_number(2);
	/* No recorder gives the memory back. */
	CHECK(!((const struct record *)data)->kind);
	CHECK_EQUAL(records_in(&second, 0), 1);
	atomic_store(&shared->stage, 2);
	finish(pid);
	close(listener);
	region_free(&first);
	region_free(&second);
}

static void program_late_looker(void)
{
	EXPECT(!say());
	EXPECT(guest_is_idle());
	atomic_store(&shared->number[0], 1);
	wait_for_stage(1);
	sleep_ms(100); /* longer than the pause between two looks */
	guest_look_for_recorder();
	EXPECT(say());
}

TEST(recorder_comes_later)
{
	struct region region = region_new(2, true);
	struct session_hello hello;
	int listener;
	pid_t pid;

	unlink(path);
	pid = start(program_late_looker, path);
	wait_for_number(1);
	listener = listen_at(path);
	atomic_store(&shared->stage, 1);
	close(take_in(listener, &region, &hello));
	finish(pid);
	CHECK_EQUAL(records_in(&region, 0), 1);
	close(listener);
	region_free(&region);
}

static void program_looks_all_the_time(void)
{
	uint64_t until = now_ms() + 2500;

	EXPECT(!say());
	while (now_ms() < until)
		guest_look_for_recorder();
}

/* Returns how often the program looks in 2.5 s. no: the answer; NULL: the recorder hangs up. */
static int count_looks(const struct session_welcome *no)
{
	struct session_hello hello;
	int listener = listen_at(path), looks = 0, fd;
	pid_t pid = start(program_looks_all_the_time, path);

	while (is_readable(listener, 1500)) {
		fd = accept_guest(listener, &hello);
		if (no)
			answer(fd, no, sizeof(*no), NULL, 0);
		close(fd);
		looks++;
	}
	finish(pid);
	close(listener);
	return looks;
}

TEST(looks_at_most_once_a_second_after_a_refusal)
{
	const struct session_welcome no = {SESSION_MAGIC, SESSION_VERSION, 0, 0};
	int looks = count_looks(&no);

	CHECK(looks >= 2 && looks <= 3);
}

TEST(looks_at_most_once_a_second_after_a_hang_up)
{
	int looks = count_looks(NULL);

	CHECK(looks >= 2 && looks <= 3);
}

static void program_is_killed(void)
{
	for (int i = 0; i < 7; i++)
		EXPECT(say());
	atomic_store(&shared->number[0], 1);
	wait_for_stage(1);
}

TEST(killed_program_loses_nothing_written)
{
	struct region region = region_new(2, true);
	struct session_hello hello;
	int listener = listen_at(path), status;
	pid_t pid = start(program_is_killed, path);

	close(take_in(listener, &region, &hello));
	wait_for_number(1);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	CHECK(WIFSIGNALED(status));
	CHECK_EQUAL(records_in(&region, 0), 7);
	close(listener);
	region_free(&region);
}

/* ---- clocks that must not be read ------------------------------------------------------------ */

#if defined(__x86_64__)
static void program_without_counter(void)
{
	EXPECT(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
	program_is_idle();
}

static void program_without_counter_is_off(void)
{
	EXPECT(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
	EXPECT(!say());
	EXPECT(!say());
	EXPECT(atomic_load(&guest_page.mode) == GUEST_OFF);
}

/* The C library reads both clocks by it. */
static void take_without_counter(uint32_t clock)
{
	struct region region = region_new(2, true);
	struct session_attached farewell;
	struct session_hello hello;
	int listener = listen_at(path), fd;
	pid_t pid;

	region.at->clock = clock;
	pid = start(program_without_counter_is_off, path);
	fd = take_in(listener, &region, &hello);
	farewell = farewell_of(fd);
	finish(pid);
	CHECK_EQUAL(farewell.error, EOPNOTSUPP);
	CHECK_EQUAL(farewell.ring_count, 0);
	CHECK_EQUAL(state_of(&region, 0), RING_FREE);
	close(listener);
	region_free(&region);
}

TEST(counter_that_must_not_be_read)
{
	finish(start(program_without_counter, NULL));
	take_without_counter(RING_CLOCK_MONOTONIC);
	take_without_counter(RING_CLOCK_TSC);
}
#endif

/* ---- the guest's own time -------------------------------------------------------------------- */

enum { OWN_TICKS = 6000, SECTION_TICKS = 5000 };

static void time_a_call(struct guest_thread *thread)
{
	struct guest_timing timing = {.began = 1, .sections = thread->sections};
	uint64_t exit;

	thread->sections += SECTION_TICKS;
	exit = guest_now(thread);
	guest_timing_end(thread, &timing, timing.began + OWN_TICKS, exit);
	shared->number[1] = (uint32_t)(guest_now(thread) - exit);
}

/* A call that takes long, as where another program has the processor, is not counted. */
static void program_times_a_call(void)
{
	EXPECT(say());
	for (int i = 0; i < 1000 && !guest_self->region->trouble[RING_TROUBLE_TIMED_CALLS]; i++)
		time_a_call(guest_self);
}

/* What a section took is counted there, not in the call again. */
TEST(sections_in_a_timed_call)
{
	struct region region = region_new(2, true);
	struct session_hello hello;
	int listener = listen_at(path);
	pid_t pid = start(program_times_a_call, path);

	close(take_in(listener, &region, &hello));
	finish(pid);
	CHECK_EQUAL(region.at->trouble[RING_TROUBLE_TIMED_CALLS], 1);
	CHECK(region.at->trouble[RING_TROUBLE_TIMED_TICKS] >= OWN_TICKS - SECTION_TICKS);
	CHECK(region.at->trouble[RING_TROUBLE_TIMED_TICKS] <=
	      OWN_TICKS - SECTION_TICKS + shared->number[1]);
	close(listener);
	region_free(&region);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void filter_everything_through(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {1, &allow};

	EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void program_filters_itself(void)
{
	setenv(SESSION_SECCOMP_VARIABLE, "0", 1);
	guest_init(&backend); /* it reads the environment once */
	filter_everything_through();
	program_is_idle();
}

static void program_without_word_of_seccomp(void)
{
	unsetenv(SESSION_SECCOMP_VARIABLE);
	guest_init(&backend);
	filter_everything_through();
	program_is_idle();
}

static void program_born_with_filter(void)
{
	setenv(SESSION_SECCOMP_VARIABLE, "2", 1);
	guest_init(&backend);
	filter_everything_through();
	program_says_ten();
}

TEST(seccomp)
{
	struct region region = region_new(2, true);
	struct session_hello hello;
	int listener = listen_at(path);
	pid_t pid;

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0) {
		finish(start(program_filters_itself, path));
		finish(start(program_without_word_of_seccomp, path));
		CHECK(!is_readable(listener, 0));
	}
	pid = start(program_born_with_filter, path);
	close(take_in(listener, &region, &hello));
	finish(pid);
	CHECK_EQUAL(records_in(&region, 0), 10);
	close(listener);
	region_free(&region);
}

#if !UNDER_ASAN /* which itself needs terabytes of address space */
static void program_with_little_space(void)
{
	struct rlimit limit = {160 << 20, 160 << 20};

	EXPECT(!setrlimit(RLIMIT_AS, &limit));
	program_says_ten();
}

TEST(limit_of_address_space)
{
	struct session_attached farewell;
	struct session_hello hello;
	int listener = listen_at(path), fd;
	pid_t pid = start(program_with_little_space, path);
	struct region region = region_new(4096, true); /* 272 MiB, after the fork: not inherited */

	fd = take_in(listener, &region, &hello);
	farewell = farewell_of(fd);
	finish(pid);
	/* an eighth of its limit, in steps of four */
	CHECK_EQUAL(farewell.ring_count, 256);
	CHECK_EQUAL(farewell.error, ENOMEM);
	CHECK_EQUAL(records_in(&region, 0), 10);
	close(listener);
	region_free(&region);
}
#endif

TEST(lock_gives_up)
{
	struct guest_lock lock = {0};
	uint64_t begin;

	CHECK(guest_lock(&lock));
	begin = now_ms();
	CHECK(!guest_lock(&lock));
	CHECK(now_ms() - begin < 2000);
	guest_unlock(&lock);
	CHECK(guest_lock(&lock));
}

int main(void)
{
	/* Only root may; without it a machine-wide recorder of this user would be found as well. */
	if (geteuid() == 0 && unshare(CLONE_NEWNET) < 0)
		printf("#   no network namespace: %s\n", strerror(errno));
	snprintf(folder, sizeof(folder), "/tmp/duet-guest-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/socket", folder);
	snprintf(abstract, sizeof(abstract), "@duet-test-%d", (int)getpid());
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	RUN(attaches_by_path);
	RUN(attaches_by_abstract_name);
	RUN(attaches_by_the_second_address);
	RUN(attaches_to_the_machine_wide_recorder);
	RUN(no_recorder);
	RUN(refused);
	RUN(recorder_of_another_user);
	RUN(absurd_welcomes);
	RUN(malformed_welcomes);
	RUN(too_many_descriptors);
	RUN(stopped_recorder);
	RUN(slow_recorder);
	RUN(signals_while_waiting);
	RUN(fork_starts_fresh);
	RUN(raw_clone_starts_fresh);
	RUN(fork_while_attaching);
	RUN(vfork_child_is_not_its_parent);
	RUN(fork_leaves_memory_of_other_handlers_alone);
	RUN(fork_inside_of_a_record);
	RUN(fork_where_exit_has_begun);
	RUN(library_that_is_loaded_late);
	RUN(thread_exit_closes_its_ring);
	RUN(more_threads_than_rings);
	RUN(first_calls_at_once_attach_once);
	RUN(recorder_gone_silent);
	RUN(recorder_stopped);
	RUN(recorder_gone_with_room_left);
	RUN(recorder_killed);
	RUN(recorder_comes_later);
	RUN(looks_at_most_once_a_second_after_a_refusal);
	RUN(looks_at_most_once_a_second_after_a_hang_up);
	RUN(killed_program_loses_nothing_written);
#if defined(__x86_64__)
	RUN(counter_that_must_not_be_read);
#endif
	RUN(sections_in_a_timed_call);
	RUN(seccomp);
#if !UNDER_ASAN
	RUN(limit_of_address_space);
#endif
	RUN(lock_gives_up);
	unlink(path);
	rmdir(folder);
	return harness_end();
}
