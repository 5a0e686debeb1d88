/* SPDX-License-Identifier: MIT
 *
 * tests/unit/agent/test_child.c - a process that is started again, at a bounded rate
 */
#include "agent/child.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define S UINT64_C(1000000000)

static int return_seven(void *context)
{
	return 7;
}

static int wait_for_ever(void *context)
{
	signal(SIGTERM, SIG_IGN);
	while (!context)
		pause();
	return 0;
}

static bool reap(struct agent_child *child, uint64_t now_ns, int *ret_status)
{
	static const struct timespec pause = {0, 1000000};

	for (int i = 0; i < 10000; i++) {
		if (agent_child_reap(child, now_ns, ret_status))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

TEST(delay_grows_and_is_bounded)
{
	struct agent_child child = {.name = "test", .run = return_seven};
	sigset_t mask;
	uint64_t now_ns = 100 * S, before_ns = 0;
	int status = 0;

	sigemptyset(&mask);
	for (int i = 0; i < 14; i++) {
		uint64_t delay_ns;

		REQUIRE(agent_child_start(&child, &mask, now_ns) == 0);
		REQUIRE(reap(&child, now_ns, &status));
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
		delay_ns = child.next_start_ns - now_ns;
		CHECK(delay_ns >= before_ns && delay_ns <= 30 * S);
		before_ns = delay_ns;
		now_ns = child.next_start_ns;
	}
	CHECK_EQUAL(before_ns, 30 * S);
	REQUIRE(agent_child_start(&child, &mask, now_ns) == 0);
	REQUIRE(reap(&child, now_ns + 61 * S, &status));
	CHECK_EQUAL(child.next_start_ns, now_ns + 61 * S);
}

TEST(child_that_does_not_end_is_killed)
{
	struct agent_child child = {.name = "test", .run = wait_for_ever};
	const struct timespec pause = {0, 100000000};
	sigset_t mask;
	int status = 0;

	sigemptyset(&mask);
	REQUIRE(agent_child_start(&child, &mask, 100 * S) == 0);
	nanosleep(&pause, NULL);
	agent_child_end(&child, 101 * S, 5 * S);
	agent_child_look(&child, 105 * S);
	CHECK(!agent_child_reap(&child, 105 * S, &status));
	agent_child_look(&child, 106 * S);
	REQUIRE(reap(&child, 106 * S, &status));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	/* it was asked to end, so the next one starts at once */
	CHECK_EQUAL(child.next_start_ns, 106 * S);
}

TEST(memory_and_time)
{
	struct agent_child child = {.name = "test", .run = wait_for_ever};
	uint64_t resident, private;

	agent_memory(getpid(), &resident, &private);
	CHECK(resident > 0 && private > 0 && private <= resident);
	agent_memory(0x7fffffff, &resident, &private);
	CHECK(resident == 0 && private == 0);
	child.cpu_ns = 5;
	CHECK_EQUAL(agent_child_cpu_ns(&child), 5);
}

int main(void)
{
	RUN(delay_grows_and_is_bounded);
	RUN(child_that_does_not_end_is_killed);
	RUN(memory_and_time);
	return harness_end();
}
