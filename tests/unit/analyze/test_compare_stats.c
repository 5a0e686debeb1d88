/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_compare_stats.c - estimates, intervals and p values of comparisons,
 * beside examples of textbooks and simulated runs
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/compare/stats/ranks.h"
#include "analyze/compare/stats/sample.h"
#include "compare_checks.h"
#include "compare_noise.h"

static int compare_values(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_values);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

TEST(estimates_and_intervals_match_sorted_pairs)
{
	double base[9], changed[7], pairs[63], averages[45], zeros[9] = {0};
	uint64_t state = 3;

	for (int round = 0; round < 50; round++) {
		struct stats_result result;
		size_t count = 0, k;

		noise_fill(NOISE_STUDENT, &state, 0, 9, base);
		noise_fill(NOISE_STUDENT, &state, 1, 7, changed);
		result = compare(SAMPLE(base), SAMPLE(changed), 0.95, false);
		for (size_t i = 0; i < 9; i++) {
			for (size_t j = 0; j < 7; j++)
				pairs[count++] = changed[j] - base[i];
		}
		CHECK_NEAR(result.estimate, median_of(pairs, count), 1e-15);
		CHECK_EQUAL(rank_sum_find_limit(9, 7, 0.025, &k), 0);
		CHECK(result.has_interval);
		CHECK_NEAR(result.low, pairs[k - 1], 0);
		CHECK_NEAR(result.high, pairs[63 - k], 0);
		count = 0;
		for (size_t i = 0; i < 9; i++) {
			for (size_t j = i; j < 9; j++)
				averages[count++] = base[i] / 2 + base[j] / 2;
		}
		CHECK_NEAR(result.base, median_of(averages, count), 1e-15);
		result = compare(SAMPLE(zeros), SAMPLE(base), 0.95, true);
		CHECK_EQUAL(signed_rank_find_limit(9, 0.025, &k), 0);
		CHECK_NEAR(result.estimate, median_of(averages, count), 1e-15);
		CHECK_NEAR(result.low, averages[k - 1], 0);
		CHECK_NEAR(result.high, averages[45 - k], 0);
	}
}

/* ---- tables and examples of textbooks -------------------------------------------------------- */

/* Hollander and Wolfe (1973), pages 69 and 29. */
TEST(examples_of_hollander_and_wolfe)
{
	static const double term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
	static const double early[] = {1.15, 0.88, 0.90, 0.74, 1.21};
	static const double first[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
	static const double second[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
	struct stats_result result = compare(SAMPLE(early), SAMPLE(term), 0.95, false);

	CHECK_NEAR(result.superiority * 50, 35, 1e-9);
	CHECK_NEAR(result.p_greater, 0.1272, 5e-5);
	CHECK_NEAR(result.estimate, 0.305, 1e-9);
	result = compare(SAMPLE(first), SAMPLE(second), 0.95, true);
	CHECK_NEAR(result.p_less, 0.01953, 5e-6);
	CHECK_NEAR(result.estimate, -0.46, 1e-9);
}

/* Benjamini and Hochberg (1995), section 4.1: at q = 0.05 four of 15 hypotheses are rejected. */
TEST(adjustment_of_benjamini_and_hochberg)
{
	static const double sorted[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201,
					0.0278, 0.0298, 0.0344, 0.0459, 0.3240,
					0.4262, 0.5719, 0.6528, 0.7590, 1.000};
	static const double wanted[] = {0.0015, 0.003, 0.0095, 0.035625, 0.0603};
	double p[16];

	for (size_t i = 0; i < 15; i++)
		p[14 - i] = sorted[i];
	p[15] = NAN;
	CHECK_EQUAL(stats_adjust(p, 16), 0);
	for (size_t i = 0; i < 5; i++)
		CHECK_NEAR(p[14 - i], wanted[i], 1e-12);
	CHECK_NEAR(p[14 - 5], 0.0298 * 15 / 7, 1e-12); /* 0.0278 * 15 / 6 is larger */
	CHECK_NEAR(p[14 - 8], 0.0459 * 15 / 9, 1e-12);
	CHECK_NEAR(p[0], 1, 0);
	CHECK(isnan(p[15]));
	CHECK_EQUAL(stats_adjust(p, 0), 0);
}

/* ---- few and equal values -------------------------------------------------------------------- */

TEST(equal_values_within_a_side)
{
	static const double base[] = {100, 100, 100, 100, 100};
	static const double changed[] = {101, 101, 101, 101, 101};
	struct stats_result result = compare(SAMPLE(base), SAMPLE(changed), 0.99, false);

	CHECK(result.has_interval);
	CHECK_NEAR(result.low, 1, 0);
	CHECK_NEAR(result.high, 1, 0);
	CHECK_NEAR(result.p_two_sided, 2.0 / 252, 1e-12);
	CHECK_NEAR(result.superiority, 1, 0);
	CHECK_NEAR(result.detectable, 0, 0);
	result = compare(SAMPLE(base), SAMPLE(base), 0.99, false);
	CHECK_NEAR(result.estimate, 0, 0);
	CHECK_NEAR(result.low, 0, 0);
	CHECK_NEAR(result.high, 0, 0);
	CHECK(!signbit(result.low) && !signbit(result.estimate));
	CHECK_NEAR(result.p_two_sided, 1, 0);
	CHECK_NEAR(result.superiority, 0.5, 0);
	result = compare(SAMPLE(base), SAMPLE(base), 0.9, true);
	CHECK_NEAR(result.p_two_sided, 1, 0);
	CHECK_NEAR(result.superiority, 0.5, 0);
}

TEST(few_values)
{
	static const double base[] = {1, 2, 3, 4}, changed[] = {11, 12, 13, 14};
	struct stats_sample none = {base, 0};
	struct stats_result result = compare(SAMPLE(base), SAMPLE(changed), 0.99, false);
	struct stats_options options = {.confidence = 0.95, .is_paired = true};

	CHECK(!result.has_interval);
	CHECK(isnan(result.low));
	CHECK(isnan(result.detectable));
	CHECK_NEAR(result.estimate, 10, 0);
	CHECK_NEAR(result.p_two_sided, 2.0 / 70, 1e-12);
	CHECK(compare(SAMPLE(base), SAMPLE(changed), 0.97, false).has_interval);
	result = compare(none, SAMPLE(changed), 0.99, false);
	CHECK(isnan(result.base) && isnan(result.estimate) && isnan(result.p_two_sided));
	CHECK_NEAR(result.changed, 12.5, 0);
	CHECK(!result.has_interval);
	CHECK_EQUAL(stats_compare(none, SAMPLE(changed), &options, &result), -EINVAL);
	options = (struct stats_options){.confidence = 1};
	CHECK_EQUAL(stats_compare(none, SAMPLE(changed), &options, &result), -EINVAL);
}

TEST(values_that_are_not_finite)
{
	static const double base[] = {1, INFINITY}, changed[] = {NAN, 2}, good[] = {1, 2};
	struct stats_options options = {.confidence = 0.95};
	struct stats_result result;

	CHECK_EQUAL(stats_compare(SAMPLE(base), SAMPLE(good), &options, &result), -EINVAL);
	CHECK_EQUAL(stats_compare(SAMPLE(good), SAMPLE(changed), &options, &result), -EINVAL);
}

static const struct {
	double confidence;
	bool is_paired;
	size_t count;
} min_counts[] = {
	{0.99, false, 5}, {0.98, false, 5}, {0.95, false, 4},  {0.99, true, 8},
	{0.98, true, 7},  {0.95, true, 6},  {0.999, false, 7},
};

TEST(min_counts_follow_from_the_exact_test)
{
	for (size_t i = 0; i < ARRAY_COUNT(min_counts); i++) {
		struct stats_options options = {.confidence = min_counts[i].confidence,
						.is_paired = min_counts[i].is_paired};
		double base[10], changed[10];
		size_t count = min_counts[i].count;

		for (size_t j = 0; j < count; j++) {
			base[j] = (double)j;
			changed[j] = 100 + 2 * (double)j;
		}
		CHECK_EQUAL(stats_values_min(&options), count);
		CHECK(compare((struct stats_sample){base, count},
			      (struct stats_sample){changed, count}, options.confidence,
			      options.is_paired)
			      .has_interval);
		CHECK(!compare((struct stats_sample){base, count - 1},
			       (struct stats_sample){changed, count - 1}, options.confidence,
			       options.is_paired)
			       .has_interval);
	}
}

/* The distances within the sides are 1, 1, 1, 2, 2, 2, 3, 3, 4, 5 and 1, 1, 2, 2, 3, 4, 4, 6, 7, 8.
 * Their median is 2.5. */
TEST(detectable_shift_follows_its_formula)
{
	static const double base[] = {0, 1, 2, 3, 5}, changed[] = {2, 3, 4, 6, 10};
	struct stats_result result = compare(SAMPLE(base), SAMPLE(changed), 0.99, false);
	double quantiles = 3.355387 + 0.888890; /* Student, 8 degrees of freedom */

	CHECK_NEAR(result.detectable,
		   quantiles * 2.5 / 0.9539 * sqrt(0.4 * M_PI / 3) * (1 + 0.75 * 0.4), 0.02);
}

TEST(needed_counts)
{
	double base[20], changed[20];
	struct stats_options options = {.confidence = 0.99};
	uint64_t state = 4;

	noise_fill(NOISE_NORMAL, &state, 0, 20, base);
	noise_fill(NOISE_NORMAL, &state, 0, 20, changed);
	for (int paired = 0; paired < 2; paired++) {
		double detectable;
		size_t needed;

		options.is_paired = paired;
		detectable =
			compare(SAMPLE(base), SAMPLE(changed), 0.99, options.is_paired).detectable;
		/* These counts prove the detectable shift, and half of it needs three to four times
		 * as many. */
		CHECK_EQUAL(stats_values_needed(SAMPLE(base), SAMPLE(changed), &options,
						detectable * (1 + 1e-9)),
			    20);
		needed = stats_values_needed(SAMPLE(base), SAMPLE(changed), &options,
					     -detectable / 2);
		CHECK(needed > 60 && needed <= 80);
		CHECK_EQUAL(stats_values_needed(SAMPLE(base), SAMPLE(changed), &options, 1000),
			    paired ? 8 : 5);
		CHECK_EQUAL(stats_values_needed(SAMPLE(base), SAMPLE(changed), &options, 0), 0);
	}
	options.is_paired = false;
	CHECK_EQUAL(stats_values_needed((struct stats_sample){base, 1},
					(struct stats_sample){changed, 1}, &options, 1),
		    0);
}

/* ---- symmetry and size -------------------------------------------------------------------------
 */

TEST(exchanged_sides_change_the_sign)
{
	double base[11], changed[6];
	struct stats_result one, other;
	uint64_t state = 5;

	noise_fill(NOISE_OUTLIERS, &state, 0, 11, base);
	noise_fill(NOISE_OUTLIERS, &state, 1, 6, changed);
	one = compare(SAMPLE(base), SAMPLE(changed), 0.95, false);
	other = compare(SAMPLE(changed), SAMPLE(base), 0.95, false);
	CHECK_NEAR(one.estimate, -other.estimate, 1e-15);
	CHECK_NEAR(one.low, -other.high, 1e-15);
	CHECK_NEAR(one.p_greater, other.p_less, 1e-12);
	CHECK_NEAR(one.p_two_sided, other.p_two_sided, 1e-12);
	CHECK_NEAR(one.superiority, 1 - other.superiority, 1e-12);
	CHECK_NEAR(one.detectable, other.detectable, 1e-12);
}

TEST(many_values)
{
	size_t count = 5000;
	double *base = calloc(count, sizeof(*base)), *changed = calloc(count, sizeof(*changed));
	uint64_t state = 7;

	REQUIRE(base && changed);
	noise_fill(NOISE_STUDENT, &state, 5, count, base);
	noise_fill(NOISE_STUDENT, &state, 5.3, count, changed);
	for (int paired = 0; paired < 2; paired++) {
		struct stats_result result =
			compare((struct stats_sample){base, count},
				(struct stats_sample){changed, count}, 0.99, paired);

		CHECK_NEAR(result.estimate, 0.3, 0.04);
		CHECK(result.low > 0.2 && result.high < 0.4);
		CHECK(result.p_greater < 1e-20);
	}
	free(base);
	free(changed);
}

/* ---- simulated runs -------------------------------------------------------------------------- */

struct rates {
	double covered, significant, greater;
};

/* Runs base, changed, base, changed, ... on a machine that becomes slower by `drift`. */
static struct rates simulate(enum noise_kind kind, double shift, double drift, size_t count,
			     bool is_paired, size_t rounds)
{
	struct rates rates = {0};
	uint64_t state = 8;

	for (size_t round = 0; round < rounds; round++) {
		double base[20], changed[20];
		struct stats_result result;

		for (size_t i = 0; i < count; i++) {
			double slower = drift * (double)i / (double)count;

			base[i] = 100 + slower + noise_value(kind, &state);
			changed[i] = 100 + shift + slower + noise_value(kind, &state);
		}
		result = compare((struct stats_sample){base, count},
				 (struct stats_sample){changed, count}, 0.99, is_paired);
		rates.covered += result.low <= shift && shift <= result.high;
		rates.significant += result.p_two_sided <= 0.01;
		rates.greater += result.low > 0;
	}
	rates.covered /= (double)rounds;
	rates.significant /= (double)rounds;
	rates.greater /= (double)rounds;
	return rates;
}

TEST(intervals_cover_the_shift)
{
	size_t rounds = 2000;

	for (int kind = 0; kind < NOISE_KINDS; kind++) {
		for (int paired = 0; paired < 2; paired++) {
			double drift = paired ? 5 : 0;
			struct rates same = simulate(kind, 0, drift, 10, paired, rounds);
			struct rates other = simulate(kind, 1.5, drift, 10, paired, rounds / 4);

			printf("# %s, %s: coverage %.4f %.4f, false %.4f, power %.3f\n",
			       noise_names[kind], paired ? "paired" : "independent", same.covered,
			       other.covered, same.significant, other.significant);
			CHECK(same.covered >= 0.985);
			CHECK(other.covered >= 0.98);
			CHECK(same.significant <= 0.015);
		}
	}
}

TEST(pairs_remove_drift)
{
	struct rates paired = simulate(NOISE_STUDENT, 1.5, 10, 10, true, 300);
	struct rates independent = simulate(NOISE_STUDENT, 1.5, 10, 10, false, 300);

	CHECK(paired.greater > 0.6);
	CHECK(independent.greater < 0.1);
}

int main(void)
{
	RUN(estimates_and_intervals_match_sorted_pairs);
	RUN(examples_of_hollander_and_wolfe);
	RUN(adjustment_of_benjamini_and_hochberg);
	RUN(equal_values_within_a_side);
	RUN(few_values);
	RUN(values_that_are_not_finite);
	RUN(min_counts_follow_from_the_exact_test);
	RUN(detectable_shift_follows_its_formula);
	RUN(needed_counts);
	RUN(exchanged_sides_change_the_sign);
	RUN(many_values);
	RUN(intervals_cover_the_shift);
	RUN(pairs_remove_drift);
	return harness_end();
}
