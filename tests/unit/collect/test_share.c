/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_share.c - what other users' programs may take of a recorder
 */
#include <unistd.h>

#include "harness.h"

#include "collect/share.h"

enum { OWNER = 4711, STRANGER = 4712, OTHER = 4713 };

TEST(processes_of_a_stranger)
{
	struct shares shares;

	shares_init(&shares, OWNER);
	for (int i = 0; i < SHARE_PROCESSES; i++) {
		CHECK_EQUAL(shares_state(&shares, STRANGER), SHARE_LEFT);
		shares_begin(&shares, STRANGER);
	}
	CHECK_EQUAL(shares_state(&shares, STRANGER), SHARE_PROCESSES_SPENT);
	CHECK_EQUAL(shares_state(&shares, OTHER), SHARE_LEFT);
	shares_end(&shares, STRANGER);
	CHECK_EQUAL(shares_state(&shares, STRANGER), SHARE_LEFT);
	shares_end(&shares, OTHER); /* never began */
	CHECK_EQUAL(shares_state(&shares, OTHER), SHARE_LEFT);
	shares_fini(&shares);
}

/* What was described stays in memory when its process ends: so does the count. */
TEST(bytes_of_a_stranger)
{
	struct shares shares;

	shares_init(&shares, OWNER);
	for (int i = 0; i < 8; i++) {
		CHECK_EQUAL(shares_state(&shares, STRANGER), SHARE_LEFT);
		shares_begin(&shares, STRANGER);
		shares_charge(&shares, STRANGER, SHARE_BYTES / 8);
		shares_end(&shares, STRANGER);
	}
	CHECK_EQUAL(shares_bytes_left(&shares, STRANGER), 0);
	CHECK_EQUAL(shares_state(&shares, STRANGER), SHARE_BYTES_SPENT);
	CHECK_EQUAL(shares_bytes_left(&shares, OTHER), SHARE_BYTES);
	CHECK_EQUAL(shares_state(&shares, OTHER), SHARE_LEFT);
	shares_fini(&shares);
}

/* What goes with a process comes back with its end. */
TEST(bytes_that_are_given_back)
{
	struct shares shares;

	shares_init(&shares, OWNER);
	shares_charge(&shares, STRANGER, 1000);
	shares_hold(&shares, STRANGER, SHARE_BYTES);
	CHECK_EQUAL(shares_bytes_left(&shares, STRANGER), 0);
	CHECK_EQUAL(shares_state(&shares, STRANGER), SHARE_BYTES_SPENT);
	shares_hold(&shares, STRANGER, -(int64_t)SHARE_BYTES);
	CHECK_EQUAL(shares_bytes_left(&shares, STRANGER), SHARE_BYTES - 1000);
	CHECK_EQUAL(shares_state(&shares, STRANGER), SHARE_LEFT);
	shares_fini(&shares);
}

TEST(hellos_and_time_of_a_stranger)
{
	struct shares shares;

	shares_init(&shares, OWNER);
	for (int i = 0; i < SHARE_HELLOS; i++)
		CHECK(shares_hello(&shares, STRANGER));
	CHECK(!shares_hello(&shares, STRANGER));
	CHECK(shares_hello(&shares, OTHER));
	shares_begin_second(&shares);
	CHECK(shares_hello(&shares, STRANGER));
	shares_spend(&shares, STRANGER, SHARE_ROUND_NS - 1);
	CHECK_EQUAL(shares_time_left(&shares, STRANGER), 1);
	shares_spend(&shares, STRANGER, 2);
	CHECK_EQUAL(shares_time_left(&shares, STRANGER), 0);
	CHECK(shares_time_left(&shares, OTHER) > 0);
	shares_begin_round(&shares);
	CHECK_EQUAL(shares_time_left(&shares, STRANGER), SHARE_ROUND_NS);
	shares_fini(&shares);
}

/* However many processes a user has: what one spends the others have not. */
TEST(time_for_files)
{
	const uint64_t now_ns = 1000 * LOOK_TIME_AHEAD, work_ns = 100000000;
	struct look_time looks, stale;
	struct shares shares;

	shares_init(&shares, OWNER);
	stale = looks = shares_looks(&shares, STRANGER);
	CHECK(looks.is_limited && look_time_is_due(&looks, now_ns));
	for (int process = 0; process < 3; process++) {
		looks = shares_looks(&shares, STRANGER);
		CHECK(look_time_is_left(&looks, now_ns));
		look_time_spend(&looks, now_ns - work_ns, now_ns);
		shares_put_looks(&shares, STRANGER, &looks);
		CHECK(!look_time_is_due(&looks, now_ns + LOOK_TIME_SHARE * work_ns - 1));
	}
	shares_put_looks(&shares, STRANGER, &stale);
	looks = shares_looks(&shares, STRANGER);
	CHECK(!look_time_is_left(&looks, now_ns));
	CHECK(look_time_is_left(&looks, now_ns + LOOK_TIME_SHARE * work_ns));
	looks = shares_looks(&shares, OTHER);
	CHECK(look_time_is_due(&looks, now_ns));
	/* root and the owner have one, and always time for what is now or never */
	looks = shares_looks(&shares, OWNER);
	look_time_spend(&looks, 0, now_ns);
	shares_put_looks(&shares, OWNER, &looks);
	looks = shares_looks(&shares, 0);
	CHECK(!look_time_is_due(&looks, now_ns) && look_time_is_left(&looks, now_ns));
	shares_fini(&shares);
}

TEST(root_and_owner_are_not_limited)
{
	const uid_t users[] = {0, OWNER, geteuid()};
	struct shares shares;

	shares_init(&shares, OWNER);
	for (size_t k = 0; k < sizeof(users) / sizeof(users[0]); k++) {
		for (int i = 0; i < 2 * SHARE_PROCESSES; i++)
			shares_begin(&shares, users[k]);
		for (int i = 0; i < 2 * SHARE_HELLOS; i++)
			CHECK(shares_hello(&shares, users[k]));
		shares_charge(&shares, users[k], UINT64_MAX / 2);
		shares_spend(&shares, users[k], UINT64_MAX / 2);
		CHECK(!shares_is_limited(&shares, users[k]));
		CHECK(shares_bytes_left(&shares, users[k]) == UINT64_MAX);
		CHECK(shares_time_left(&shares, users[k]) == UINT64_MAX);
		CHECK_EQUAL(shares_state(&shares, users[k]), SHARE_LEFT);
	}
	CHECK_EQUAL(shares.count, 0);
	shares_fini(&shares);
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
