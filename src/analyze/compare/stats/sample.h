/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/sample.h - whether two samples of one quantity differ
 *
 * The methods use ranks: docs/design/compare-statistics.md. All values are finite numbers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct stats_sample {
	const double *values;
	size_t count;
};

struct stats_options {
	double confidence; /* two-sided, such as 0.99 */
	bool is_paired;    /* values[i] of both belong together; the counts are equal */
};

struct stats_result {
	double base, changed; /* Hodges-Lehmann location of each sample; NAN if it is empty */
	double estimate;      /* Hodges-Lehmann shift from base to changed; NAN if there is none */
	bool has_interval;    /* false: too few values for this confidence */
	double low, high;     /* the interval: its coverage is at least the confidence */
	double p_two_sided;   /* NAN if a sample is empty, as the next two */
	double p_greater;     /* for a shift above 0 */
	double p_less;        /* for a shift below 0 */
	double superiority;   /* P(changed > base) + P(equal) / 2; paired: in one pair */
	double detectable;    /* shift proved with probability 0.8 at these counts; NAN: unknown */
};

/* Errors: -ENOMEM; -EINVAL for a value that is not finite, for pairs of different counts, or for a
 * confidence outside 0 to 1. */
int stats_compare(struct stats_sample base, struct stats_sample changed,
		  const struct stats_options *options, struct stats_result *ret_result);

/* The number of values per side that proves a shift of `effect` with probability 0.8. It is at
 * least the smallest number whose exact test can reach the confidence. 0: unknown. */
size_t stats_values_needed(struct stats_sample base, struct stats_sample changed,
			   const struct stats_options *options, double effect);

/* The smallest number of values per side whose exact test can reach the confidence; 0: none. */
size_t stats_values_min(const struct stats_options *options);

/* Benjamini-Hochberg: replaces each p value by its adjusted value. NAN entries are not tests and
 * stay. Errors: -ENOMEM. */
int stats_adjust(double *p_values, size_t count);
