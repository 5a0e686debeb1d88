/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_user_quotas.c - what other users' programs may take of a recorder
 */
#include <unistd.h>

#include "harness.h"

#include "collect/start/quotas.h"

enum { OWNER = 4711, STRANGER = 4712, OTHER = 4713 };

TEST(processes_of_a_stranger)
{
	struct user_quotas shares;

	user_quotas_init(&shares, OWNER);
	for (int i = 0; i < SHARE_PROCESSES; i++) {
		CHECK_EQUAL(user_quotas_state(&shares, STRANGER), SHARE_LEFT);
		user_quotas_begin(&shares, STRANGER);
	}
	CHECK_EQUAL(user_quotas_state(&shares, STRANGER), SHARE_PROCESSES_SPENT);
	CHECK_EQUAL(user_quotas_state(&shares, OTHER), SHARE_LEFT);
	user_quotas_end(&shares, STRANGER);
	CHECK_EQUAL(user_quotas_state(&shares, STRANGER), SHARE_LEFT);
	user_quotas_end(&shares, OTHER); /* never began */
	CHECK_EQUAL(user_quotas_state(&shares, OTHER), SHARE_LEFT);
	user_quotas_fini(&shares);
}

/* What was described stays in memory when its process ends: so does the count. */
TEST(bytes_of_a_stranger)
{
	struct user_quotas shares;

	user_quotas_init(&shares, OWNER);
	for (int i = 0; i < 8; i++) {
		CHECK_EQUAL(user_quotas_state(&shares, STRANGER), SHARE_LEFT);
		user_quotas_begin(&shares, STRANGER);
		quota_charge(user_quotas_memory(&shares, STRANGER), SHARE_BYTES / 8);
		user_quotas_end(&shares, STRANGER);
	}
	CHECK_EQUAL(quota_left(user_quotas_memory(&shares, STRANGER)), 0);
	CHECK_EQUAL(user_quotas_state(&shares, STRANGER), SHARE_BYTES_SPENT);
	CHECK_EQUAL(quota_left(user_quotas_memory(&shares, OTHER)), SHARE_BYTES);
	CHECK_EQUAL(user_quotas_state(&shares, OTHER), SHARE_LEFT);
	user_quotas_fini(&shares);
}

/* What goes with a process comes back with its end. */
TEST(bytes_that_are_given_back)
{
	struct user_quotas shares;

	user_quotas_init(&shares, OWNER);
	quota_charge(user_quotas_memory(&shares, STRANGER), 1000);
	quota_charge(user_quotas_memory(&shares, STRANGER), SHARE_BYTES);
	CHECK_EQUAL(quota_left(user_quotas_memory(&shares, STRANGER)), 0);
	CHECK_EQUAL(user_quotas_state(&shares, STRANGER), SHARE_BYTES_SPENT);
	quota_give_back(user_quotas_memory(&shares, STRANGER), SHARE_BYTES);
	CHECK_EQUAL(quota_left(user_quotas_memory(&shares, STRANGER)), SHARE_BYTES - 1000);
	CHECK_EQUAL(user_quotas_state(&shares, STRANGER), SHARE_LEFT);
	user_quotas_fini(&shares);
}

TEST(hellos_and_time_of_a_stranger)
{
	struct user_quotas shares;

	user_quotas_init(&shares, OWNER);
	for (int i = 0; i < SHARE_HELLOS; i++)
		CHECK(user_quotas_hello(&shares, STRANGER));
	CHECK(!user_quotas_hello(&shares, STRANGER));
	CHECK(user_quotas_hello(&shares, OTHER));
	user_quotas_begin_second(&shares);
	CHECK(user_quotas_hello(&shares, STRANGER));
	user_quotas_spend(&shares, STRANGER, SHARE_ROUND_NS - 1);
	CHECK_EQUAL(user_quotas_time_left(&shares, STRANGER), 1);
	user_quotas_spend(&shares, STRANGER, 2);
	CHECK_EQUAL(user_quotas_time_left(&shares, STRANGER), 0);
	CHECK(user_quotas_time_left(&shares, OTHER) > 0);
	user_quotas_begin_round(&shares);
	CHECK_EQUAL(user_quotas_time_left(&shares, STRANGER), SHARE_ROUND_NS);
	user_quotas_fini(&shares);
}

/* However many processes a user has: what one spends the others have not. */
TEST(time_for_files)
{
	const uint64_t now_ns = 1000 * LOOKUP_BUDGET_AHEAD, work_ns = 100000000;
	struct lookup_budget looks, stale;
	struct user_quotas shares;

	user_quotas_init(&shares, OWNER);
	stale = looks = user_quotas_looks(&shares, STRANGER);
	CHECK(looks.is_limited && lookup_budget_is_due(&looks, now_ns));
	for (int process = 0; process < 3; process++) {
		looks = user_quotas_looks(&shares, STRANGER);
		CHECK(lookup_budget_is_left(&looks, now_ns));
		lookup_budget_spend(&looks, now_ns - work_ns, now_ns);
		user_quotas_put_looks(&shares, STRANGER, &looks);
		CHECK(!lookup_budget_is_due(&looks, now_ns + LOOKUP_BUDGET_SHARE * work_ns - 1));
	}
	user_quotas_put_looks(&shares, STRANGER, &stale);
	looks = user_quotas_looks(&shares, STRANGER);
	CHECK(!lookup_budget_is_left(&looks, now_ns));
	CHECK(lookup_budget_is_left(&looks, now_ns + LOOKUP_BUDGET_SHARE * work_ns));
	looks = user_quotas_looks(&shares, OTHER);
	CHECK(lookup_budget_is_due(&looks, now_ns));
	/* root and the owner have one, and always time for what is now or never */
	looks = user_quotas_looks(&shares, OWNER);
	lookup_budget_spend(&looks, 0, now_ns);
	user_quotas_put_looks(&shares, OWNER, &looks);
	looks = user_quotas_looks(&shares, 0);
	CHECK(!lookup_budget_is_due(&looks, now_ns) && lookup_budget_is_left(&looks, now_ns));
	user_quotas_fini(&shares);
}

TEST(root_and_owner_are_not_limited)
{
	const uid_t users[] = {0, OWNER, geteuid()};
	struct user_quotas shares;

	user_quotas_init(&shares, OWNER);
	for (size_t k = 0; k < sizeof(users) / sizeof(users[0]); k++) {
		for (int i = 0; i < 2 * SHARE_PROCESSES; i++)
			user_quotas_begin(&shares, users[k]);
		for (int i = 0; i < 2 * SHARE_HELLOS; i++)
			CHECK(user_quotas_hello(&shares, users[k]));
		quota_charge(user_quotas_memory(&shares, users[k]), UINT64_MAX / 2);
		user_quotas_spend(&shares, users[k], UINT64_MAX / 2);
		CHECK(!user_quotas_is_limited(&shares, users[k]));
		CHECK(quota_left(user_quotas_memory(&shares, users[k])) == UINT64_MAX);
		CHECK(user_quotas_time_left(&shares, users[k]) == UINT64_MAX);
		CHECK_EQUAL(user_quotas_state(&shares, users[k]), SHARE_LEFT);
	}
	CHECK_EQUAL(shares.count, 0);
	user_quotas_fini(&shares);
}

int main(void)
{
	RUN(processes_of_a_stranger);
	RUN(bytes_of_a_stranger);
	RUN(bytes_that_are_given_back);
	RUN(hellos_and_time_of_a_stranger);
	RUN(time_for_files);
	RUN(root_and_owner_are_not_limited);
	return harness_end();
}
