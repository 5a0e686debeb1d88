/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_apportion.c - whole things, divided: sums are exact, and each has what it
 * is due
 */
#include "analyze/sample/apportion.h"

#include "harness.h"

enum { SHARES = 1000 };

static struct portion shares[SHARES];

TEST(parts_add_up_and_debts_are_made_good)
{
	uint64_t sums[3] = {0};

	shares[0] = (struct portion){.weight = 5};
	shares[1] = (struct portion){.weight = 3};
	shares[2] = (struct portion){.weight = 1};
	for (int i = 0; i < 9000; i++) {
		portions_divide(shares, 3, 1);
		CHECK_EQUAL(shares[0].part + shares[1].part + shares[2].part, 1);
		for (size_t j = 0; j < 3; j++)
			sums[j] += shares[j].part;
	}
	CHECK(sums[0] >= 4999 && sums[0] <= 5001);
	CHECK(sums[1] >= 2999 && sums[1] <= 3001);
	CHECK(sums[2] >= 999 && sums[2] <= 1001);
}

/* Of weights that do not fit into 32 bits the parts are those of the same ratios. */
TEST(large_and_small_weights_divide_alike)
{
	struct portion small[4], large[4];

	for (size_t i = 0; i < 4; i++) {
		small[i] = (struct portion){.weight = 3 * i + 1};
		large[i] = (struct portion){.weight = (3 * i + 1) << 40};
	}
	for (uint64_t amount = 1; amount < 200; amount++) {
		portions_divide(small, 4, amount);
		portions_divide(large, 4, amount);
		for (size_t i = 0; i < 4; i++)
			CHECK_EQUAL(small[i].part, large[i].part);
	}
	portions_divide(large, 4, UINT64_MAX / 3);
	CHECK_EQUAL(large[0].part + large[1].part + large[2].part + large[3].part, UINT64_MAX / 3);
}

TEST(turns_come_as_often_as_weights_say)
{
	static uint64_t counts[SHARES];
	const uint64_t turns = 200000;
	uint64_t all = 0;

	for (size_t i = 0; i < SHARES; i++) {
		shares[i] = (struct portion){.weight = i % 7 * (i % 3)};
		all += shares[i].weight;
	}
	portions_line_up(shares, SHARES);
	for (uint64_t turn = 0; turn < turns; turn++)
		counts[portions_turn(shares, SHARES, turn)]++;
	for (size_t i = 0; i < SHARES; i++) {
		const uint64_t due = turns * shares[i].weight / all;

		CHECK(counts[i] + 6 >= due);
		CHECK(counts[i] <= (shares[i].weight ? due + 6 : 0));
	}
}

TEST(what_is_left_is_less_than_the_shares)
{
	uint64_t sum = 0, left;

	for (size_t i = 0; i < SHARES; i++)
		shares[i] = (struct portion){.weight = i + 1};
	left = portions_round_down(shares, SHARES, 1234567);
	for (size_t i = 0; i < SHARES; i++)
		sum += shares[i].part;
	CHECK_EQUAL(sum + left, 1234567);
	CHECK(left < SHARES);
}

TEST(weights_beyond_64_bits_line_up)
{
	for (size_t i = 0; i < SHARES; i++)
		shares[i] = (struct portion){.weight = UINT64_MAX};
	portions_line_up(shares, SHARES);
	for (uint64_t turn = 0; turn < 1000; turn++)
		CHECK(portions_turn(shares, SHARES, turn) < SHARES);
	CHECK(shares[SHARES - 1].until > UINT64_MAX / 4);
}

int main(void)
{
	RUN(parts_add_up_and_debts_are_made_good);
	RUN(large_and_small_weights_divide_alike);
	RUN(turns_come_as_often_as_weights_say);
	RUN(what_is_left_is_less_than_the_shares);
	RUN(weights_beyond_64_bits_line_up);
	return harness_end();
}
