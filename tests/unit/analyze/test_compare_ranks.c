/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_compare_ranks.c - distributions of rank sums, beside all orders of small
 * samples, tables of textbooks and slow recursions
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/compare/stats/normal.h"
#include "analyze/compare/stats/ranks.h"
#include "compare_checks.h"
#include "compare_noise.h"

/* ---- all orders of small samples ------------------------------------------------------------- */

/* Pairs with left < right, and half of the equal ones. */
static double count_wins(const double *left, size_t left_count, const double *right,
			 size_t right_count)
{
	double wins = 0;

	for (size_t i = 0; i < left_count; i++) {
		for (size_t j = 0; j < right_count; j++)
			wins += left[i] < right[j] ? 1 : left[i] > right[j] ? 0 : 0.5;
	}
	return wins;
}

static void enumerate_choices(const double *values, size_t count, size_t chosen, double observed,
			      double *ret_greater, double *ret_less)
{
	double all = 0, greater = 0, less = 0;

	for (unsigned int choice = 0; choice < 1u << count; choice++) {
		double left[12], right[12], wins;
		size_t lefts = 0, rights = 0;

		if ((size_t)__builtin_popcount(choice) != chosen)
			continue;
		for (size_t i = 0; i < count; i++) {
			if (choice >> i & 1)
				right[rights++] = values[i];
			else
				left[lefts++] = values[i];
		}
		wins = count_wins(left, lefts, right, rights);
		all++;
		greater += wins >= observed;
		less += wins <= observed;
	}
	*ret_greater = greater / all;
	*ret_less = less / all;
}

static void check_choices(const double *values, size_t base_count, size_t changed_count)
{
	double observed = count_wins(values, base_count, values + base_count, changed_count);
	double greater, less;
	struct stats_result result =
		compare((struct stats_sample){values, base_count},
			(struct stats_sample){values + base_count, changed_count}, 0.95, false);

	enumerate_choices(values, base_count + changed_count, changed_count, observed, &greater,
			  &less);
	CHECK_NEAR(result.p_greater, greater, 1e-12);
	CHECK_NEAR(result.p_less, less, 1e-12);
	CHECK_NEAR(result.p_two_sided, fmin(2 * fmin(greater, less), 1), 1e-12);
	CHECK_NEAR(result.superiority, observed / (double)(base_count * changed_count), 1e-12);
}

TEST(rank_sums_match_all_choices)
{
	uint64_t state = 1;

	for (size_t base = 1; base <= 6; base++) {
		for (size_t changed = 1; changed <= 6; changed++) {
			/* Few different values have ties, many have none. */
			for (uint64_t different = 1; different <= 1000; different *= 10) {
				double values[12];

				for (size_t i = 0; i < base + changed; i++)
					values[i] = (double)(noise_next(&state) % different);
				check_choices(values, base, changed);
			}
			{
				double ties[12];

				for (size_t i = 0; i < base + changed; i++)
					ties[i] = (double)(noise_next(&state) % 3);
				check_choices(ties, base, changed);
			}
		}
	}
}

/* The sum of the ranks of the positive differences; ranks of all differences (Pratt). */
static double sum_positive(const double *differences, size_t count, unsigned int flipped)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		double size = fabs(differences[i]), rank = 0.5;

		for (size_t j = 0; j < count; j++)
			rank += fabs(differences[j]) < size   ? 1
				: fabs(differences[j]) > size ? 0
							      : 0.5;
		if ((flipped >> i & 1 ? -differences[i] : differences[i]) > 0)
			sum += rank;
	}
	return sum;
}

static void check_signs(const double *differences, size_t count)
{
	double zeros[10] = {0}, all = (double)(1u << count), greater = 0, less = 0;
	double observed = sum_positive(differences, count, 0);
	struct stats_result result = compare((struct stats_sample){zeros, count},
					     (struct stats_sample){differences, count}, 0.9, true);

	for (unsigned int flipped = 0; flipped < 1u << count; flipped++) {
		greater += sum_positive(differences, count, flipped) >= observed;
		less += sum_positive(differences, count, flipped) <= observed;
	}
	CHECK_NEAR(result.p_greater, greater / all, 1e-12);
	CHECK_NEAR(result.p_less, less / all, 1e-12);
}

TEST(signed_ranks_match_all_signs)
{
	uint64_t state = 2;

	for (size_t count = 1; count <= 8; count++) {
		for (int different = 1; different <= 1001; different += 4) {
			double differences[10];

			if (different > 9 && different < 997)
				continue;
			for (size_t i = 0; i < count; i++)
				differences[i] =
					(double)(noise_next(&state) % (uint64_t)different) -
					different / 2;
			check_signs(differences, count);
		}
	}
}

/* ---- tables of textbooks -------------------------------------------------------------------- */

/* Largest rank sum statistics that are significant: the tables of Mann and Whitney, and Wilcoxon.
 */
static const struct {
	size_t count, other_count; /* other_count 0: signed ranks */
	double level;
	size_t critical;
} criticals[] = {
	{5, 5, 0.05, 2},   {8, 8, 0.05, 13}, {10, 10, 0.05, 23}, {20, 20, 0.05, 127},
	{5, 5, 0.01, 0},   {8, 8, 0.01, 7},  {10, 10, 0.01, 16}, {20, 20, 0.01, 105},
	{3, 20, 0.05, 8},  {20, 3, 0.05, 8}, {10, 0, 0.05, 8},   {20, 0, 0.05, 52},
	{25, 0, 0.05, 89}, {8, 0, 0.01, 0},  {10, 0, 0.01, 3},   {20, 0, 0.01, 37},
};

TEST(limits_match_tables)
{
	for (size_t i = 0; i < ARRAY_COUNT(criticals); i++) {
		size_t k = 0;

		if (criticals[i].other_count)
			rank_sum_find_limit(criticals[i].count, criticals[i].other_count,
					    criticals[i].level / 2, &k);
		else
			signed_rank_find_limit(criticals[i].count, criticals[i].level / 2, &k);
		CHECK_EQUAL(k, criticals[i].critical + 1);
	}
}

TEST(normal_quantiles_match_tables)
{
	CHECK_NEAR(normal_quantile_upper(0.025), 1.959964, 1e-6);
	CHECK_NEAR(normal_quantile_upper(0.8), -0.841621, 1e-6);
	CHECK_NEAR(student_quantile_upper(0.025, 10), 2.228139, 2e-3);
	CHECK_NEAR(student_quantile_upper(0.005, 8), 3.355387, 5e-3);
	CHECK_NEAR(student_quantile_upper(0.2, 18), 0.862049, 1e-4);
}

/* ---- the normal approximation --------------------------------------------------------------- */

/* 45 against 35 values use the normal distribution. Random choices of the same ranks are the
 * reference. */
TEST(normal_approximation_of_rank_sums)
{
	uint32_t ranks[80];
	double values[80];
	struct rank_tails tails;
	size_t greater = 0, rounds = 20000, observed = 0;
	uint64_t state = 6;

	for (size_t i = 0; i < 80; i++)
		values[i] = floor(4 * noise_normal(&state) + (i < 45 ? 1.5 : 0));
	CHECK_EQUAL(ranks_find(values, 80, ranks), 0);
	CHECK_EQUAL(rank_sum_find_tails(ranks, 80, 45, &tails), 0);
	for (size_t i = 0; i < 45; i++)
		observed += ranks[i];
	for (size_t round = 0; round < rounds; round++) {
		size_t sum = 0;

		for (size_t i = 0; i < 45; i++) {
			size_t other = i + noise_next(&state) % (80 - i);
			uint32_t rank = ranks[other];

			ranks[other] = ranks[i];
			ranks[i] = rank;
			sum += rank;
		}
		greater += sum >= observed;
	}
	CHECK(tails.greater > 0.001 && tails.greater < 0.2);
	CHECK_NEAR(tails.greater, (double)greater / (double)rounds, 0.006);
}

/* The exact limits, by the recursions of Wilcoxon, and of Mann and Whitney. */
static size_t find_signed_limit(size_t count, double tail)
{
	double *chances = calloc(count * (count + 1) / 2 + 1, sizeof(*chances)), below = 0;
	size_t k = 0;

	chances[0] = 1;
	for (size_t rank = 1; rank <= count; rank++) {
		for (size_t sum = rank * (rank + 1) / 2 + 1; sum--;)
			chances[sum] = (chances[sum] + (sum >= rank ? chances[sum - rank] : 0)) / 2;
	}
	while (below + chances[k] <= tail)
		below += chances[k++];
	free(chances);
	return k;
}

/* chances[i][j][u]: u pairs of i against j values; the largest value is of either side. */
static size_t find_sum_limit(size_t count, double tail)
{
	size_t size = count * count + 1, k = 0;
	double *chances = calloc((count + 1) * (count + 1) * size, sizeof(*chances)), below = 0;
	const double *last = chances + (count * (count + 1) + count) * size;

	for (size_t i = 0; i <= count; i++) {
		for (size_t j = 0; j <= count; j++) {
			double *row = chances + (i * (count + 1) + j) * size;
			const double *left = i ? row - (count + 1) * size : NULL;
			const double *right = j ? row - size : NULL;
			double all = (double)(i + j);

			row[0] = i + j ? 0 : 1;
			for (size_t u = 0; u < size; u++) {
				row[u] += left && u >= j ? (double)i / all * left[u - j] : 0;
				row[u] += right ? (double)j / all * right[u] : 0;
			}
		}
	}
	while (below + last[k] <= tail)
		below += last[k++];
	free(chances);
	return k;
}

/* A limit of the normal distribution is not above the exact one, so that the coverage holds. */
static void check_near_limit(size_t limit, size_t exact, double tail)
{
	CHECK(limit <= exact);
	CHECK(exact - limit <= (tail > 0.02 ? 1 : 10));
}

/* 101 pairs, and 31 against 31 values, use the normal distribution. */
TEST(normal_approximation_of_limits)
{
	size_t limit;

	for (double tail = 0.001; tail < 0.03; tail += 0.004) {
		CHECK_EQUAL(signed_rank_find_limit(100, tail, &limit), 0);
		CHECK_EQUAL(limit, find_signed_limit(100, tail));
		CHECK_EQUAL(signed_rank_find_limit(101, tail, &limit), 0);
		check_near_limit(limit, find_signed_limit(101, tail), tail);
		CHECK_EQUAL(rank_sum_find_limit(20, 20, tail, &limit), 0);
		CHECK_EQUAL(limit, find_sum_limit(20, tail));
		CHECK_EQUAL(rank_sum_find_limit(31, 31, tail, &limit), 0);
		check_near_limit(limit, find_sum_limit(31, tail), tail);
	}
}

int main(void)
{
	RUN(rank_sums_match_all_choices);
	RUN(signed_ranks_match_all_signs);
	RUN(limits_match_tables);
	RUN(normal_quantiles_match_tables);
	RUN(normal_approximation_of_rank_sums);
	RUN(normal_approximation_of_limits);
	return harness_end();
}
