/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_dark.c - intervals against an array of moments, and more than are kept
 */
#include "analyze/dark.h"

#include <stdlib.h>

#include "harness.h"

#define MOMENTS 2000

TEST(agrees_with_an_array)
{
	for (unsigned int round = 0; round < 50; round++) {
		static uint8_t is_dark[MOMENTS];
		struct dark dark;
		size_t wrong = 0;

		srand(round);
		dark_init(&dark);
		memset(is_dark, 0, sizeof(is_dark));
		for (unsigned int i = 0; i < 5 * round; i++) {
			uint64_t begin = (uint64_t)rand() % MOMENTS;
			uint64_t end = begin + (uint64_t)rand() % 20;

			end = end > MOMENTS ? MOMENTS : end;
			CHECK_EQUAL(dark_add(&dark, begin, end), 0);
			for (uint64_t moment = begin; moment < end; moment++)
				is_dark[moment] = 1;
		}
		dark_close(&dark);
		for (int i = 0; i < 2000; i++) {
			uint64_t begin = (uint64_t)rand() % MOMENTS;
			uint64_t end = (uint64_t)rand() % MOMENTS, want = 0;

			for (uint64_t moment = begin; moment < end; moment++)
				want += is_dark[moment];
			wrong += dark_inside(&dark, begin, end) != want;
		}
		CHECK_EQUAL(wrong, 0);
		dark_fini(&dark);
	}
}

TEST(without_an_end)
{
	struct dark dark;

	dark_init(&dark);
	CHECK_EQUAL(dark_inside(&dark, 0, UINT64_MAX), 0);
	CHECK_EQUAL(dark_add(&dark, 100, UINT64_MAX), 0);
	CHECK_EQUAL(dark_add(&dark, 50, 50), 0);
	CHECK_EQUAL(dark_add(&dark, 70, 60), 0);
	CHECK_EQUAL(dark_add(&dark, 200, 300), 0);
	dark_close(&dark);
	CHECK_EQUAL(dark_inside(&dark, 0, 150), 50);
	CHECK_EQUAL(dark_inside(&dark, 0, UINT64_MAX), UINT64_MAX - 100);
	CHECK_EQUAL(dark_inside(&dark, 150, 150), 0);
	dark_fini(&dark);
}

/* Ten times as many as are kept, each 10 ns, one break of 40 long: the short ones are given up. */
TEST(bounded)
{
	struct dark dark;
	uint64_t at = 0, truth = 0;

	dark_init(&dark);
	for (unsigned int i = 0; i < 10 * DARK_KEPT; i++) {
		CHECK_EQUAL(dark_add(&dark, at, at + 10), 0);
		at += i % 40 ? 10 + 5 : 10 + 1000000;
		truth += 10;
	}
	CHECK(dark.capacity <= 2 * DARK_KEPT);
	dark_close(&dark);
	CHECK(dark.count <= DARK_KEPT);
	CHECK(dark_inside(&dark, 0, at) >= truth);
	CHECK(dark_inside(&dark, 0, at) < 2 * truth);
	dark_fini(&dark);
}

int main(void)
{
	RUN(agrees_with_an_array);
	RUN(without_an_end);
	RUN(bounded);
	return harness_end();
}
