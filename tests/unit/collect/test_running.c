/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_running.c - processes that were there before their recording, and others
 * with their numbers
 */
#include "harness.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/start/process_tree.h"
#include "collect/cpu/perf_rings.h"
#include "collect/start/running.h"

/* wanted: its number; 0: any. Negative: -errno. */
static pid_t start(pid_t wanted)
{
	struct clone_args arguments = {.exit_signal = SIGCHLD};
	pid_t pid;

	if (wanted) {
		arguments.set_tid = (uintptr_t)&wanted;
		arguments.set_tid_size = 1;
	}
	pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
	if (pid < 0)
		return -errno;
	if (pid)
		return pid;
	for (;;)
		pause();
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A process that is held ends, and another one gets its number. False: nobody may choose numbers
 * here. */
static bool exchange(pid_t pid)
{
	stop(pid);
	return start(pid) == pid;
}

TEST(a_child_and_a_stranger)
{
	pid_t child = start(0), stranger = start(0);
	struct running running;

	REQUIRE(child > 0 && stranger > 0);
	REQUIRE(running_open(&running, &child, 1) == 0);
	CHECK(running_has(&running, child));
	CHECK(!running_has(&running, stranger));
	CHECK(!running_has(&running, getpid()));
	CHECK(!running_have_ended(&running));
	stop(stranger);
	CHECK(!running_has(&running, stranger)); /* there is none */
	CHECK_TEXT(error_text(), "");
	stop(child);
	CHECK(running_have_ended(&running));
	running_close(&running);
	CHECK_EQUAL(running_open(&running, &child, 1), -ESRCH);
	CHECK(strstr(error_text(), "not found"));
	error_clear();
	running_close(NULL);
}

TEST(none_were_asked_for)
{
	struct running running = {0};

	CHECK(running_has(&running, getpid()));
	CHECK(!running_have_ended(&running));
}

TEST(another_one_with_the_number)
{
	pid_t child = start(0);
	struct running running;

	REQUIRE(child > 0 && running_open(&running, &child, 1) == 0);
	if (!exchange(child)) {
		running_close(&running);
		SKIP("no right to choose a process's number");
	}
	CHECK(!running_has(&running, child));
	CHECK(running_have_ended(&running));
	running_close(&running);
	stop(child);
}

TEST(another_one_is_not_attached)
{
	const struct perf_rings_options options = {.frequency_hz = 199, .stack_bytes = 4096};
	struct perf_rings *rings = NULL;
	struct process_tree process_tree = {0};
	struct running running;
	pid_t child = start(0);
	int fd;

	REQUIRE(child > 0 && running_open(&running, &child, 1) == 0);
	fd = running.processes[0].fd;
	REQUIRE(process_tree_init(&process_tree) == 0);
	CHECK_EQUAL(process_tree_add(&process_tree, (uint32_t)child, fd, true), 0);
	process_tree_fini(&process_tree);
	REQUIRE(process_tree_init(&process_tree) == 0);
	if (perf_rings_open(&options, &rings))
		error_clear(); /* refused here: looks at threads are left to be tested */
	if (rings)
		CHECK_EQUAL(perf_rings_attach(rings, child, fd, false), 0);
	if (exchange(child)) {
		CHECK_EQUAL(process_tree_add(&process_tree, (uint32_t)child, fd, true), -ESRCH);
		if (rings)
			CHECK_EQUAL(perf_rings_attach(rings, child, fd, false), -ESRCH);
		stop(child);
	} else {
		harness_skip_reason = "no right to choose a process's number";
	}
	perf_rings_close(rings);
	process_tree_fini(&process_tree);
	running_close(&running);
}

/* A child's child belongs to who has been asked for, a stranger does not. */
TEST(those_that_they_have_started)
{
	int ends[2];
	pid_t parent, child = 0, stranger = start(0), found[4] = {0};
	struct running running;

	REQUIRE(pipe(ends) == 0);
	parent = fork();
	if (parent == 0) {
		child = start(0);
		if (write(ends[1], &child, sizeof(child)) != sizeof(child))
			_exit(1);
		for (;;)
			pause();
	}
	REQUIRE(read(ends[0], &child, sizeof(child)) == sizeof(child) && child > 0);
	REQUIRE(running_open(&running, &parent, 1) == 0);
	CHECK_EQUAL(running_find_started(&running, found, 4), 1);
	CHECK_EQUAL(found[0], child);
	CHECK_EQUAL(running_find_started(&running, found, 0), 0);
	running_close(&running);
	running = (struct running){0};
	CHECK_EQUAL(running_find_started(&running, found, 4), 0);
	kill(child, SIGKILL);
	stop(parent);
	stop(stranger);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	RUN(a_child_and_a_stranger);
	RUN(those_that_they_have_started);
	RUN(none_were_asked_for);
	RUN(another_one_with_the_number);
	RUN(another_one_is_not_attached);
	return harness_end();
}
