/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/sample.c - whether two samples of one quantity differ
 *
 * Runs in:  our own process, in commands that compare runs
 * Gets:     two samples, independent or in pairs
 * Gives:    the shift between them, its interval, its probabilities and its size
 * Owns:     sorted copies while a function runs
 * Fails:    -ENOMEM, -EINVAL
 * Why ranks: one run in a hundred may take twice as long on a shared machine. It moves a mean by as
 *           much as a real change, and a rank sum by one rank. docs/design/compare-statistics.md
 *           has the definitions and the measured coverage and power.
 */
#include "analyze/compare/stats/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/stats/pairs.h"
#include "analyze/compare/stats/power.h"
#include "analyze/compare/stats/ranks.h"
#include "base/cleanup.h"
#include "base/number.h"

/* Sorted values. Differences: changed - base of each pair, and none of independent samples. */
struct sorted_samples {
	double *base, *changed, *differences;
	size_t base_count, changed_count, differences_count;
};

static double *copy_sorted(struct stats_sample sample)
{
	double *sorted = malloc((sample.count + 1) * sizeof(*sorted));

	if (sorted && sample.count) {
		memcpy(sorted, sample.values, sample.count * sizeof(*sorted));
		qsort(sorted, sample.count, sizeof(*sorted), compare_doubles);
	}
	return sorted;
}

static void sorted_samples_fini(struct sorted_samples *sorted)
{
	free(sorted->base);
	free(sorted->changed);
	free(sorted->differences);
}

static int sort_differences(struct stats_sample base, struct stats_sample changed,
			    struct sorted_samples *sorted)
{
	sorted->differences = malloc((base.count + 1) * sizeof(*sorted->differences));
	if (!sorted->differences)
		return -ENOMEM;
	for (size_t i = 0; i < base.count; i++)
		sorted->differences[i] = changed.values[i] - base.values[i];
	sorted->differences_count = base.count;
	qsort(sorted->differences, base.count, sizeof(*sorted->differences), compare_doubles);
	return 0;
}

static int sorted_samples_init(struct stats_sample base, struct stats_sample changed,
			       bool is_paired, struct sorted_samples *ret_sorted)
{
	*ret_sorted = (struct sorted_samples){.base = copy_sorted(base),
					      .changed = copy_sorted(changed),
					      .base_count = base.count,
					      .changed_count = changed.count};
	if (!ret_sorted->base || !ret_sorted->changed ||
	    (is_paired && sort_differences(base, changed, ret_sorted))) {
		sorted_samples_fini(ret_sorted);
		return -ENOMEM;
	}
	return 0;
}

static struct pair_differences all_pairs(const struct sorted_samples *sorted)
{
	return (struct pair_differences){sorted->base, sorted->changed, sorted->base_count,
					 sorted->changed_count};
}

/* ---- spread ---------------------------------------------------------------------------------- */

/* The sum of the squares of distances from the mean. */
static double sum_squares(const double *values, size_t count)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < count; i++)
		mean += values[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return squares;
}

/* A standard deviation within the samples. The median distance of two normal values is 0.9539
 * standard deviations. It is 0 if most values are equal: then the sum of squares decides. */
static double find_spread(const struct sorted_samples *sorted, bool is_paired)
{
	struct pair_differences within = all_pairs(sorted);
	double median, squares;

	if (is_paired)
		within = (struct pair_differences){.base = sorted->differences,
						   .base_count = sorted->differences_count};
	if (within.base_count < 2 && within.changed_count < 2)
		return NAN;
	median = distances_median(&within);
	if (median > 0)
		return median / 0.9539;
	squares = sum_squares(within.base, within.base_count) +
		  sum_squares(within.changed, within.changed_count);
	return sqrt(squares /
		    (double)(within.base_count + within.changed_count - (is_paired ? 1 : 2)));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void set_probabilities(struct rank_tails tails, struct stats_result *result)
{
	result->p_greater = fmin(tails.greater, 1);
	result->p_less = fmin(tails.less, 1);
	result->p_two_sided = fmin(2 * fmin(tails.greater, tails.less), 1);
}

static int test_independent(struct stats_sample base, struct stats_sample changed,
			    struct stats_result *result)
{
	size_t count = base.count + changed.count;
	auto_free double *values = calloc(count, sizeof(*values));
	auto_free uint32_t *ranks = calloc(count, sizeof(*ranks));
	double sum = 0, own = (double)changed.count, other = (double)base.count;
	struct rank_tails tails;

	if (!values || !ranks)
		return -ENOMEM;
	memcpy(values, changed.values, changed.count * sizeof(*values));
	memcpy(values + changed.count, base.values, base.count * sizeof(*values));
	if (ranks_find(values, count, ranks) ||
	    rank_sum_find_tails(ranks, count, changed.count, &tails))
		return -ENOMEM;
	for (size_t i = 0; i < changed.count; i++)
		sum += ranks[i] / 2.0;
	result->superiority = (sum - own * (own + 1) / 2) / (own * other);
	set_probabilities(tails, result);
	return 0;
}

/* Pratt (1959): differences of 0 have ranks, which are then left out of the sum. */
static int test_pairs(const struct sorted_samples *sorted, struct stats_result *result)
{
	size_t count = sorted->differences_count, used = 0, positive = 0;
	auto_free double *sizes = calloc(count, sizeof(*sizes));
	auto_free uint32_t *ranks = calloc(count, sizeof(*ranks));
	auto_free bool *is_positive = calloc(count, sizeof(*is_positive));
	struct rank_tails tails;

	if (!sizes || !ranks || !is_positive)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sizes[i] = fabs(sorted->differences[i]);
	if (ranks_find(sizes, count, ranks))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!(sizes[i] > 0))
			continue;
		is_positive[used] = sorted->differences[i] > 0;
		positive += is_positive[used];
		ranks[used++] = ranks[i];
	}
	if (signed_rank_find_tails(ranks, is_positive, used, &tails))
		return -ENOMEM;
	result->superiority = ((double)positive + (double)(count - used) / 2) / (double)count;
	set_probabilities(tails, result);
	return 0;
}

/* ---- intervals ------------------------------------------------------------------------------- */

static int set_interval_of_pairs(const struct sorted_samples *sorted, double tail,
				 struct stats_result *result)
{
	size_t count = sorted->differences_count, k;

	result->estimate = walsh_averages_median(sorted->differences, count);
	if (signed_rank_find_limit(count, tail, &k))
		return -ENOMEM;
	result->has_interval = k > 0;
	if (!k)
		return 0;
	result->low = walsh_averages_get(sorted->differences, count, k - 1);
	result->high = walsh_averages_get(sorted->differences, count, count * (count + 1) / 2 - k);
	return 0;
}

static int set_interval_independent(const struct sorted_samples *sorted, double tail,
				    struct stats_result *result)
{
	struct pair_differences pairs = all_pairs(sorted);
	size_t k;

	result->estimate = pair_differences_median(&pairs);
	if (rank_sum_find_limit(pairs.base_count, pairs.changed_count, tail, &k))
		return -ENOMEM;
	result->has_interval = k > 0;
	if (!k)
		return 0;
	result->low = pair_differences_get(&pairs, k - 1);
	result->high = pair_differences_get(&pairs, pairs.base_count * pairs.changed_count - k);
	return 0;
}

/* ---- the comparison -------------------------------------------------------------------------- */

static bool are_finite(struct stats_sample sample)
{
	for (size_t i = 0; i < sample.count; i++) {
		if (!isfinite(sample.values[i]))
			return false;
	}
	return true;
}

static bool are_valid(struct stats_sample base, struct stats_sample changed,
		      const struct stats_options *options)
{
	return options->confidence > 0 && options->confidence < 1 && are_finite(base) &&
	       are_finite(changed) && (!options->is_paired || base.count == changed.count);
}

static int compare_sorted(struct stats_sample base, struct stats_sample changed,
			  const struct stats_options *options, const struct sorted_samples *sorted,
			  struct stats_result *result)
{
	double tail = (1 - options->confidence) / 2;

	result->base = walsh_averages_median(sorted->base, base.count);
	result->changed = walsh_averages_median(sorted->changed, changed.count);
	if (!base.count || !changed.count)
		return 0;
	result->detectable = power_find_shift(options->confidence, options->is_paired,
					      find_spread(sorted, options->is_paired), base.count,
					      changed.count);
	if (options->is_paired)
		return test_pairs(sorted, result) || set_interval_of_pairs(sorted, tail, result)
			       ? -ENOMEM
			       : 0;
	return test_independent(base, changed, result) ||
			       set_interval_independent(sorted, tail, result)
		       ? -ENOMEM
		       : 0;
}

int stats_compare(struct stats_sample base, struct stats_sample changed,
		  const struct stats_options *options, struct stats_result *ret_result)
{
	struct stats_result result = {.estimate = NAN,
				      .low = NAN,
				      .high = NAN,
				      .p_two_sided = NAN,
				      .p_greater = NAN,
				      .p_less = NAN,
				      .superiority = NAN,
				      .detectable = NAN};
	struct sorted_samples sorted;
	int error;

	if (!are_valid(base, changed, options))
		return -EINVAL;
	if (sorted_samples_init(base, changed, options->is_paired, &sorted))
		return -ENOMEM;
	error = compare_sorted(base, changed, options, &sorted, &result);
	sorted_samples_fini(&sorted);
	if (!error)
		*ret_result = result;
	return error;
}

/* ---- number of values ------------------------------------------------------------------------ */

size_t stats_values_min(const struct stats_options *options)
{
	return power_find_min_count(options->confidence, options->is_paired);
}

size_t stats_values_needed(struct stats_sample base, struct stats_sample changed,
			   const struct stats_options *options, double effect)
{
	struct sorted_samples sorted;
	double spread;

	if (!are_valid(base, changed, options) ||
	    sorted_samples_init(base, changed, options->is_paired, &sorted))
		return 0;
	spread = find_spread(&sorted, options->is_paired);
	sorted_samples_fini(&sorted);
	return power_find_count(options->confidence, options->is_paired, spread, fabs(effect));
}
