/* SPDX-License-Identifier: MIT
 *
 * tests/unit/agent/test_watch.c - when a child of the agent is replaced
 */
#include "agent/watch.h"

#include "harness.h"

#define S   UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

static const struct agent_child child = {.name = "child", .pid = 1, .started_ns = 1000 * S};

TEST(a_child_that_does_not_answer_hangs)
{
	const struct agent_limits limits = {0};
	struct agent_vitals vitals = {0};
	struct agent_child asked = child, absent = child;
	uint64_t replaced_ns = 0;

	CHECK_EQUAL(agent_watch_judge(&child, &vitals, &limits, 1300 * S, &replaced_ns),
		    CHILD_IS_WELL);
	CHECK_EQUAL(agent_watch_judge(&child, &vitals, &limits, 1301 * S, &replaced_ns),
		    CHILD_HANGS);
	vitals = (struct agent_vitals){.beat_ns = 1100 * S, .is_ready = true};
	CHECK_EQUAL(agent_watch_judge(&child, &vitals, &limits, 1130 * S, &replaced_ns),
		    CHILD_IS_WELL);
	CHECK_EQUAL(agent_watch_judge(&child, &vitals, &limits, 1131 * S, &replaced_ns),
		    CHILD_HANGS);
	/* also one that was asked to end */
	asked.kill_ns = 2000 * S;
	CHECK_EQUAL(agent_watch_judge(&asked, &vitals, &limits, 1131 * S, &replaced_ns),
		    CHILD_HANGS);
	/* a beat of the child before it does not count */
	vitals.beat_ns = 900 * S;
	CHECK_EQUAL(agent_watch_judge(&child, &vitals, &limits, 1030 * S, &replaced_ns),
		    CHILD_IS_WELL);
	absent.pid = 0;
	CHECK_EQUAL(agent_watch_judge(&absent, &vitals, &limits, 9000 * S, &replaced_ns),
		    CHILD_IS_WELL);
	CHECK_EQUAL(replaced_ns, 0);
}

TEST(a_child_beyond_a_limit_is_replaced_once_per_minute)
{
	const struct agent_limits limits = {.memory_bytes = 128 * MIB, .file_end = 1000 * MIB};
	struct agent_vitals vitals = {.is_ready = true, .private_bytes = 128 * MIB};
	struct agent_child asked = child;
	uint64_t replaced_ns = 0;

	vitals.beat_ns = 1001 * S;
	CHECK_EQUAL(agent_watch_judge(&child, &vitals, &limits, 1001 * S, &replaced_ns),
		    CHILD_IS_WELL);
	vitals.private_bytes++;
	CHECK_EQUAL(agent_watch_judge(&child, &vitals, &limits, 1001 * S, &replaced_ns),
		    CHILD_IS_LARGE);
	CHECK_EQUAL(replaced_ns, 1001 * S);
	vitals.beat_ns = 1030 * S;
	CHECK_EQUAL(agent_watch_judge(&child, &vitals, &limits, 1030 * S, &replaced_ns),
		    CHILD_IS_WELL);
	vitals.private_bytes = 256 * MIB + 1;
	CHECK_EQUAL(agent_watch_judge(&child, &vitals, &limits, 1030 * S, &replaced_ns),
		    CHILD_IS_LARGE);
	vitals = (struct agent_vitals){
		.is_ready = true, .beat_ns = 2000 * S, .file_end = 1000 * MIB};
	CHECK_EQUAL(agent_watch_judge(&child, &vitals, &limits, 2000 * S, &replaced_ns),
		    CHILD_IS_WELL);
	vitals.file_end++;
	asked.kill_ns = 2020 * S;
	CHECK_EQUAL(agent_watch_judge(&asked, &vitals, &limits, 2000 * S, &replaced_ns),
		    CHILD_IS_WELL);
	CHECK_EQUAL(agent_watch_judge(&child, &vitals, &limits, 2000 * S, &replaced_ns),
		    CHILD_FILE_IS_LARGE);
	CHECK_EQUAL(agent_watch_judge(&child, &vitals, &limits, 2001 * S, &replaced_ns),
		    CHILD_IS_WELL);
}

int main(void)
{
	RUN(a_child_that_does_not_answer_hangs);
	RUN(a_child_beyond_a_limit_is_replaced_once_per_minute);
	return harness_end();
}
