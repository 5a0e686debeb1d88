/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_libraries.c - forks while threads look at what is loaded
 */
#include "harness.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject/libraries.h"

/* A fork that waits for a thread that does not come out takes 100 ms and more. */
enum { AT_ONCE_MS = 80, CHILD_S = 20 };

static _Atomic int stage;

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void wait_for(int wanted)
{
	while (atomic_load(&stage) < wanted)
		usleep(100);
}

static int stay(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info;
	(void)size;
	(void)data;
	if (atomic_load(&stage) == 0)
		atomic_store(&stage, 1);
	wait_for(2);
	return 1;
}

static void *look_long(void *context)
{
	(void)context;
	libraries_iterate(stay, NULL);
	return NULL;
}

static void *fork_long(void *context)
{
	(void)context;
	libraries_before_fork();
	atomic_store(&stage, 1);
	wait_for(2);
	libraries_after_fork();
	return NULL;
}

/* What the C library's fork() does not know of. */
static pid_t raw_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static bool forks_at_once(void)
{
	uint64_t begin_ms = now_ms();

	libraries_before_fork();
	libraries_after_fork();
	return now_ms() - begin_ms < AT_ONCE_MS;
}

static bool can_look(void)
{
	struct libraries_counts counts = {0};

	return libraries_count(&counts) && counts.loads;
}

/* Exit status 0 is good; a child that hangs is killed. */
static void expect_child(pid_t pid)
{
	int status = -1;

	REQUIRE(pid > 0);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_EQUAL(status, 0);
}

static void with_thread(void *(*run)(void *), pid_t (*make)(void), bool (*judge)(void))
{
	pthread_t thread;
	pid_t pid;

	atomic_store(&stage, 0);
	REQUIRE(pthread_create(&thread, NULL, run, NULL) == 0);
	wait_for(1);
	pid = make();
	if (pid == 0) {
		alarm(CHILD_S);
		_exit(!judge());
	}
	atomic_store(&stage, 2);
	pthread_join(thread, NULL);
	expect_child(pid);
}

/* The child has none of these threads, and is not to wait for them. */
TEST(clone_while_a_thread_is_inside)
{
	with_thread(look_long, raw_clone, forks_at_once);
}

TEST(fork_while_a_thread_stays_inside)
{
	with_thread(look_long, fork, forks_at_once);
}

TEST(clone_while_a_thread_forks)
{
	with_thread(fork_long, raw_clone, can_look);
}

TEST(fork_while_a_thread_forks)
{
	with_thread(fork_long, fork, can_look);
}

/* ---- a handler forks ------------------------------------------------------------------------- */

static pid_t (*handler_makes)(void);
static volatile pid_t made;

static void on_signal(int number)
{
	(void)number;
	made = handler_makes();
}

static int interrupt(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info;
	(void)size;
	(void)data;
	raise(SIGUSR1);
	return 1;
}

/* In the child the look that was interrupted goes on, and ends. After fork() the loader's lock is
 * the parent's thread's for ever, so that nobody can look again there. */
static void look_and_fork(pid_t (*make)(void), bool can_look_again)
{
	handler_makes = make;
	made = -1;
	CHECK(libraries_iterate(interrupt, NULL));
	if (made == 0) {
		alarm(CHILD_S);
		_exit(!(forks_at_once() && (!can_look_again || (can_look() && forks_at_once()))));
	}
	expect_child(made);
	CHECK(can_look() && forks_at_once());
}

TEST(a_handler_forks_inside)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &action, NULL);
	look_and_fork(fork, false);
	look_and_fork(raw_clone, true);
}

/* … and within a fork: the inner child goes on with the outer fork. */
TEST(a_handler_forks_within_a_fork)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 2; i++) {
		handler_makes = i ? raw_clone : fork;
		libraries_before_fork();
		raise(SIGUSR1);
		libraries_after_fork();
		if (made == 0) {
			alarm(CHILD_S);
			_exit(!(can_look() && forks_at_once()));
		}
		expect_child(made);
		CHECK(can_look());
	}
}

int main(void)
{
	libraries_prepare();
	pthread_atfork(libraries_before_fork, libraries_after_fork, libraries_after_fork_in_child);
	RUN(clone_while_a_thread_is_inside);
	RUN(fork_while_a_thread_stays_inside);
	RUN(clone_while_a_thread_forks);
	RUN(fork_while_a_thread_forks);
	RUN(a_handler_forks_inside);
	RUN(a_handler_forks_within_a_fork);
	return harness_end();
}
