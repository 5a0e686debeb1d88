/* SPDX-License-Identifier: MIT
 *
 * tests/unit/agent/test_policy.c - a part of each process's life
 */
#include "agent/policy.h"

#include "harness.h"

#define S UINT64_C(1000000000)

static const struct policy_options ten_of_hundred = {.sample_ns = 10 * S, .interval_ns = 100 * S};

/* Asks each second as the session does. Returns the seconds that were recorded. */
static unsigned run(struct policy *policy, uint32_t pid, uint64_t from_s, uint64_t to_s,
		    bool *inout_recorded)
{
	unsigned seconds = 0;

	for (uint64_t at = from_s; at < to_s; at++) {
		*inout_recorded = policy_wants(policy, pid, 7, *inout_recorded, at * S);
		seconds += *inout_recorded;
	}
	return seconds;
}

TEST(off_wants_everything)
{
	const struct policy_options off = {0};
	struct policy policy;
	struct policy_times times;

	policy_init(&policy, &off);
	CHECK(policy_wants(&policy, 1, 1, false, S));
	CHECK(!policy_find_times(&policy, 1, 1, S, &times));
	policy_fini(&policy);
}

TEST(records_a_part_of_each_interval)
{
	struct policy policy;
	struct policy_times times;
	bool recorded = false;

	policy_init(&policy, &ten_of_hundred);
	CHECK_EQUAL(run(&policy, 5, 1000, 1100, &recorded), 10);
	CHECK(!recorded);
	REQUIRE(policy_find_times(&policy, 5, 7, 1100 * S, &times));
	CHECK_EQUAL(times.observed_ns, 100 * S);
	CHECK_EQUAL(times.recorded_ns, 10 * S);
	CHECK_EQUAL(run(&policy, 5, 1100, 1300, &recorded), 20);
	REQUIRE(policy_find_times(&policy, 5, 7, 1300 * S, &times));
	CHECK_EQUAL(times.observed_ns, 300 * S);
	CHECK_EQUAL(times.recorded_ns, 30 * S);
	policy_fini(&policy);
}

TEST(interval_begins_with_the_process)
{
	struct policy policy;
	bool one = false, other = false;

	policy_init(&policy, &ten_of_hundred);
	run(&policy, 1, 1000, 1050, &one);
	CHECK(!one);
	CHECK_EQUAL(run(&policy, 2, 1050, 1060, &other), 10);
	policy_fini(&policy);
}

TEST(pid_that_is_used_again_is_new)
{
	struct policy policy;
	struct policy_times times;
	bool recorded = false;

	policy_init(&policy, &ten_of_hundred);
	run(&policy, 1, 1000, 1050, &recorded);
	CHECK(policy_wants(&policy, 1, 8, false, 1050 * S));
	CHECK(!policy_find_times(&policy, 1, 7, 1050 * S, &times));
	CHECK(policy_find_times(&policy, 1, 8, 1050 * S, &times));
	policy_fini(&policy);
}

TEST(time_without_a_recording_does_not_count)
{
	struct policy policy;
	struct policy_times times;

	policy_init(&policy, &ten_of_hundred);
	/* wanted, but the guest was never attached */
	CHECK(policy_wants(&policy, 1, 7, false, 1000 * S));
	CHECK(policy_wants(&policy, 1, 7, false, 1060 * S));
	REQUIRE(policy_find_times(&policy, 1, 7, 1060 * S, &times));
	CHECK_EQUAL(times.recorded_ns, 0);
	policy_fini(&policy);
}

static bool is_even(uint32_t pid, uint64_t start_ticks)
{
	return pid % 2 == 0;
}

TEST(list_is_bounded_and_forgets)
{
	struct policy policy;

	policy_init(&policy, &ten_of_hundred);
	for (uint32_t pid = 0; pid < 4096; pid++)
		CHECK(policy_wants(&policy, pid, 7, false, S));
	CHECK(!policy_wants(&policy, 5000, 7, false, S));
	CHECK_EQUAL(policy.refused, 1);
	CHECK(policy_is_full(&policy));
	policy_forget(&policy, is_even);
	CHECK(!policy_is_full(&policy));
	CHECK_EQUAL(policy.by_pid.count, 2048);
	CHECK(policy_wants(&policy, 5000, 7, false, S));
	policy_fini(&policy);
}

int main(void)
{
	RUN(off_wants_everything);
	RUN(records_a_part_of_each_interval);
	RUN(interval_begins_with_the_process);
	RUN(pid_that_is_used_again_is_new);
	RUN(time_without_a_recording_does_not_count);
	RUN(list_is_bounded_and_forgets);
	return harness_end();
}
