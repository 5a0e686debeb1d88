/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/sample.c - whether two samples of one quantity differ
 *
 * Runs in:  our own process
 * Gets:     two samples
 * Gives:    medians, for now
 * Owns:     nothing
 * Fails:    -ENOMEM
 */
#include "analyze/compare/stats/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int compare_values(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static int find_median(struct stats_sample sample, double *ret_median)
{
	auto_free double *sorted = NULL;

	*ret_median = NAN;
	if (!sample.count)
		return 0;
	sorted = malloc(sample.count * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, sample.values, sample.count * sizeof(*sorted));
	qsort(sorted, sample.count, sizeof(*sorted), compare_values);
	*ret_median = (sorted[(sample.count - 1) / 2] + sorted[sample.count / 2]) / 2;
	return 0;
}

int stats_compare(struct stats_sample base, struct stats_sample changed,
		  const struct stats_options *options, struct stats_result *ret_result)
{
	struct stats_result result = {.p_two_sided = NAN,
				      .p_greater = NAN,
				      .p_less = NAN,
				      .superiority = NAN,
				      .detectable = NAN};

	if (find_median(base, &result.base) || find_median(changed, &result.changed))
		return -ENOMEM;
	result.estimate = result.changed - result.base;
	*ret_result = result;
	return 0;
}

size_t stats_values_needed(struct stats_sample base, struct stats_sample changed,
			   const struct stats_options *options, double effect)
{
	return 0;
}

size_t stats_values_min(const struct stats_options *options)
{
	return 0;
}

int stats_adjust(double *p_values, size_t count)
{
	return 0;
}
