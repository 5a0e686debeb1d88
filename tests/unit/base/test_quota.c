/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_quota.c - a limit of bytes, and how many of them are in use
 */
#include "base/quota.h"

#include <stddef.h>

#include "harness.h"

TEST(takes_up_to_the_limit)
{
	struct quota quota = {.limit = 100};

	CHECK(quota_take(&quota, 60));
	CHECK(quota_has(&quota, 40) && !quota_has(&quota, 41));
	CHECK(!quota_take(&quota, 41));
	CHECK_EQUAL(quota.used, 60);
	CHECK(quota_take(&quota, 40));
	CHECK(!quota_admit(&quota));
	CHECK_EQUAL(quota.refused, 2);
	quota_give_back(&quota, 100);
	CHECK(quota_admit(&quota));
	CHECK_EQUAL(quota_left(&quota), 100);
}

/* What is there already counts, even above the limit. */
TEST(a_charge_is_never_refused)
{
	struct quota quota = {.limit = 100};

	quota_charge(&quota, 250);
	CHECK_EQUAL(quota_left(&quota), 0);
	CHECK(quota_has(&quota, 0) && !quota_has(&quota, 1));
	quota_give_back(&quota, 200);
	CHECK_EQUAL(quota_left(&quota), 50);
	CHECK_EQUAL(quota.refused, 0);
}

TEST(without_a_limit)
{
	struct quota quota = {.limit = QUOTA_UNLIMITED};

	CHECK(quota_take(&quota, UINT64_MAX / 2));
	CHECK_EQUAL(quota_left(&quota), QUOTA_UNLIMITED);
	CHECK(!quota_is_limited(&quota) && !quota_is_limited(NULL));
	CHECK(quota_take(NULL, 1) && quota_admit(NULL) && quota_has(NULL, UINT64_MAX));
	quota_charge(NULL, 1);
	quota_give_back(NULL, 1);
}

int main(void)
{
	RUN(takes_up_to_the_limit);
	RUN(a_charge_is_never_refused);
	RUN(without_a_limit);
	return harness_end();
}
