/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/pairs.h - order statistics of all pairs of values
 *
 * The values are sorted. The pairs are never stored: a search over the values of a double counts
 * the pairs below it, so that n against m values take 64 (n + m) steps.
 */
#pragma once

#include <stddef.h>

/* changed[j] - base[i] for all i and j. */
struct pair_differences {
	const double *base, *changed;
	size_t base_count, changed_count;
};

/* Number `place` in ascending order, from 0. */
double pair_differences_get(const struct pair_differences *pairs, size_t place);
double pair_differences_median(const struct pair_differences *pairs);

/* The same for Walsh averages: (sorted[i] + sorted[j]) / 2 for i <= j. */
double walsh_averages_get(const double *sorted, size_t count, size_t place);
double walsh_averages_median(const double *sorted, size_t count);

/* The median of the distances of values in one sample, for both samples together; NAN if there is
 * none. */
double distances_median(const struct pair_differences *samples);
