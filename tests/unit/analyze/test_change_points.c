/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_change_points.c - changes of level in simulated series
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/compare/stats/change_points.h"
#include "compare_checks.h"
#include "compare_noise.h"

struct found {
	size_t count;
	struct change_point points[8];
};

static struct found find_changes(const double *values, size_t count, double alpha)
{
	struct change_point *points = NULL;
	struct found found = {0};

	CHECK_EQUAL(change_points_find(values, count, alpha, &points, &found.count), 0);
	for (size_t i = 0; i < found.count && i < ARRAY_COUNT(found.points); i++)
		found.points[i] = points[i];
	free(points);
	return found;
}

TEST(noise_has_no_changes)
{
	static const size_t counts[] = {12, 40, 150};
	size_t rounds = 400;

	for (size_t i = 0; i < ARRAY_COUNT(counts); i++) {
		size_t false_changes = 0;
		uint64_t state = 9;
		double values[150];

		for (size_t round = 0; round < rounds; round++) {
			noise_fill(NOISE_OUTLIERS, &state, 100, counts[i], values);
			false_changes += find_changes(values, counts[i], 0.05).count > 0;
		}
		printf("# %zu values: false changes in %zu of %zu series\n", counts[i],
		       false_changes, rounds);
		CHECK((double)false_changes <= 0.05 * (double)rounds + 9);
	}
}

TEST(steps_are_found_at_their_place)
{
	size_t exact = 0, near = 0;
	uint64_t state = 10;

	for (int round = 0; round < 100; round++) {
		struct found found;
		double values[50];

		noise_fill(NOISE_NORMAL, &state, 0, 30, values);
		noise_fill(NOISE_NORMAL, &state, 3, 20, values + 30);
		found = find_changes(values, 50, 0.01);
		if (found.count != 1)
			continue;
		exact += found.points[0].index == 30;
		near += found.points[0].index >= 29 && found.points[0].index <= 31;
		CHECK_NEAR(found.points[0].before, 0, 1);
		CHECK_NEAR(found.points[0].after, 3, 1);
		CHECK(found.points[0].p <= 0.01);
	}
	printf("# one step of 3 sigma: %zu of 100 exact, %zu within one\n", exact, near);
	CHECK(near >= 92);
	CHECK(exact >= 70);
}

TEST(two_steps_are_found)
{
	size_t found_both = 0;
	uint64_t state = 11;

	for (int round = 0; round < 50; round++) {
		struct found found;
		double values[90];

		noise_fill(NOISE_STUDENT, &state, 0, 30, values);
		noise_fill(NOISE_STUDENT, &state, 4, 30, values + 30);
		noise_fill(NOISE_STUDENT, &state, 0, 30, values + 60);
		found = find_changes(values, 90, 0.01);
		found_both += found.count == 2 &&
			      llabs((long long)found.points[0].index - 30) <= 1 &&
			      llabs((long long)found.points[1].index - 60) <= 1;
	}
	printf("# two steps: %zu of 50\n", found_both);
	CHECK(found_both >= 45);
}

TEST(a_step_in_the_newest_values_is_found)
{
	size_t found_steps = 0;
	uint64_t state = 12;

	for (int round = 0; round < 50; round++) {
		double values[50];

		noise_fill(NOISE_NORMAL, &state, 0, 45, values);
		noise_fill(NOISE_NORMAL, &state, 4, 5, values + 45);
		found_steps += find_changes(values, 50, 0.05).count == 1;
	}
	printf("# step in the last 5 of 50: %zu of 50\n", found_steps);
	CHECK(found_steps >= 40);
}

TEST(a_level_that_returns_is_found)
{
	size_t found_both = 0;
	uint64_t state = 15;

	for (int round = 0; round < 50; round++) {
		struct found found;
		double values[60];

		noise_fill(NOISE_NORMAL, &state, 0, 60, values);
		for (size_t i = 25; i < 35; i++)
			values[i] += 5;
		found = find_changes(values, 60, 0.01);
		found_both += found.count == 2 &&
			      llabs((long long)found.points[0].index - 25) <= 1 &&
			      llabs((long long)found.points[1].index - 35) <= 1;
	}
	printf("# 10 higher values in the middle of 60: %zu of 50\n", found_both);
	CHECK(found_both >= 40);
}

TEST(one_or_two_outliers_are_not_a_change)
{
	double values[40];
	uint64_t state = 13;

	for (size_t place = 0; place < 40; place++) {
		noise_fill(NOISE_NORMAL, &state, 0, 40, values);
		values[place] = 1000;
		CHECK_EQUAL(find_changes(values, 40, 0.001).count, 0);
		values[(place + 1) % 40] = 1000;
		CHECK_EQUAL(find_changes(values, 40, 0.001).count, 0);
	}
}

TEST(one_outlier_of_a_constant_series_is_not_a_change)
{
	for (size_t place = 0; place < 200; place++) {
		double values[200] = {0};

		values[place] = 1;
		CHECK_EQUAL(find_changes(values, 200, 0.05).count, 0);
	}
}

/* Both halves of a series with a step are noise: they share the level of the whole series. */
TEST(parts_of_a_split_share_the_level)
{
	size_t false_changes = 0;
	uint64_t state = 16;

	for (int round = 0; round < 400; round++) {
		double values[60];

		noise_fill(NOISE_NORMAL, &state, 0, 30, values);
		noise_fill(NOISE_NORMAL, &state, 100, 30, values + 30);
		false_changes += find_changes(values, 60, 0.05).count > 1;
	}
	printf("# false changes beside a step: %zu of 400\n", false_changes);
	CHECK(false_changes <= 26);
}

/* 6 against 6 different values are separated with a probability of 2/924. */
TEST(probability_of_a_separated_step)
{
	static const double values[] = {3, 1, 2, 6, 5, 4, 12, 11, 15, 13, 16, 14};
	struct found found = find_changes(values, ARRAY_COUNT(values), 0.05);

	REQUIRE(found.count == 1);
	CHECK_EQUAL(found.points[0].index, 6);
	CHECK(found.points[0].p > 2.0 / 924 && found.points[0].p < 0.01);
}

TEST(constant_and_short_series)
{
	static const double constant[30] = {0};
	static const double short_series[] = {1, 1, 1, 9, 9};
	static const double bad[] = {1, 2, NAN, 3, 4, 5};
	double steps[24];
	struct found found;
	struct change_point *points = NULL;
	size_t count = 0;

	CHECK_EQUAL(find_changes(constant, 30, 0.05).count, 0);
	CHECK_EQUAL(find_changes(short_series, 5, 0.05).count, 0);
	CHECK_EQUAL(find_changes(constant, 0, 0.05).count, 0);
	CHECK_EQUAL(change_points_find(bad, 6, 0.05, &points, &count), -EINVAL);
	for (size_t i = 0; i < 24; i++)
		steps[i] = i < 12 ? 100 : 101;
	found = find_changes(steps, 24, 0.01);
	CHECK_EQUAL(found.count, 1);
	CHECK_EQUAL(found.points[0].index, 12);
	CHECK_NEAR(found.points[0].before, 100, 0);
	CHECK_NEAR(found.points[0].after, 101, 0);
}

TEST(long_series)
{
	size_t count = 100000;
	double *values = calloc(count, sizeof(*values));
	struct found found;
	uint64_t state = 14;

	REQUIRE(values);
	for (size_t i = 0; i < count; i++)
		values[i] = noise_normal(&state) + (i >= 20000 ? 1 : 0) + (i >= 70000 ? 1 : 0);
	found = find_changes(values, count, 0.01);
	CHECK_EQUAL(found.count, 2);
	CHECK_NEAR((double)found.points[0].index, 20000, 30);
	CHECK_NEAR((double)found.points[1].index, 70000, 30);
	free(values);
}

int main(void)
{
	RUN(noise_has_no_changes);
	RUN(steps_are_found_at_their_place);
	RUN(two_steps_are_found);
	RUN(a_step_in_the_newest_values_is_found);
	RUN(a_level_that_returns_is_found);
	RUN(one_or_two_outliers_are_not_a_change);
	RUN(one_outlier_of_a_constant_series_is_not_a_change);
	RUN(parts_of_a_split_share_the_level);
	RUN(probability_of_a_separated_step);
	RUN(constant_and_short_series);
	RUN(long_series);
	return harness_end();
}
