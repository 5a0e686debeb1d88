/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_untimed_intervals.c - intervals against an array of moments, and more
 * than are kept
 */
#include "analyze/account/untimed_intervals.h"

#include <stdlib.h>

#include "harness.h"

#define MOMENTS 2000

TEST(agrees_with_an_array)
{
	for (unsigned int round = 0; round < 50; round++) {
		static uint8_t is_dark[MOMENTS];
		struct untimed_intervals untimed = {0};
		size_t wrong = 0;

		srand(round);
		memset(is_dark, 0, sizeof(is_dark));
		for (unsigned int i = 0; i < 5 * round; i++) {
			uint64_t begin = (uint64_t)rand() % MOMENTS;
			uint64_t end = begin + (uint64_t)rand() % 20;

			end = end > MOMENTS ? MOMENTS : end;
			CHECK_EQUAL(untimed_intervals_add(&untimed, begin, end), 0);
			for (uint64_t moment = begin; moment < end; moment++)
				is_dark[moment] = 1;
		}
		untimed_intervals_close(&untimed);
		for (int i = 0; i < 2000; i++) {
			uint64_t begin = (uint64_t)rand() % MOMENTS;
			uint64_t end = (uint64_t)rand() % MOMENTS, want = 0;

			for (uint64_t moment = begin; moment < end; moment++)
				want += is_dark[moment];
			wrong += untimed_intervals_inside(&untimed, begin, end) != want;
		}
		CHECK_EQUAL(wrong, 0);
		untimed_intervals_fini(&untimed);
	}
}

TEST(without_an_end)
{
	struct untimed_intervals untimed = {0};

	CHECK_EQUAL(untimed_intervals_inside(&untimed, 0, UINT64_MAX), 0);
	CHECK_EQUAL(untimed_intervals_add(&untimed, 100, UINT64_MAX), 0);
	CHECK_EQUAL(untimed_intervals_add(&untimed, 50, 50), 0);
	CHECK_EQUAL(untimed_intervals_add(&untimed, 70, 60), 0);
	CHECK_EQUAL(untimed_intervals_add(&untimed, 200, 300), 0);
	untimed_intervals_close(&untimed);
	CHECK_EQUAL(untimed_intervals_inside(&untimed, 0, 150), 50);
	CHECK_EQUAL(untimed_intervals_inside(&untimed, 0, UINT64_MAX), UINT64_MAX - 100);
	CHECK_EQUAL(untimed_intervals_inside(&untimed, 150, 150), 0);
	untimed_intervals_fini(&untimed);
}

/* Ten times as many as are kept, each 10 ns, one break of 40 long: the short ones are given up. */
TEST(bounded)
{
	struct untimed_intervals untimed = {0};
	uint64_t at = 0, truth = 0;

	for (unsigned int i = 0; i < 10 * MAX_UNTIMED_INTERVALS; i++) {
		CHECK_EQUAL(untimed_intervals_add(&untimed, at, at + 10), 0);
		at += i % 40 ? 10 + 5 : 10 + 1000000;
		truth += 10;
	}
	CHECK(untimed.capacity <= 2 * MAX_UNTIMED_INTERVALS);
	untimed_intervals_close(&untimed);
	CHECK(untimed.count <= MAX_UNTIMED_INTERVALS);
	CHECK(untimed_intervals_inside(&untimed, 0, at) >= truth);
	CHECK(untimed_intervals_inside(&untimed, 0, at) < 2 * truth);
	untimed_intervals_fini(&untimed);
}

int main(void)
{
	RUN(agrees_with_an_array);
	RUN(without_an_end);
	RUN(bounded);
	return harness_end();
}
