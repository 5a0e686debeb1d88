/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/ranks.c - ranks of values
 *
 * Runs in:  our own process, in commands that compare runs
 * Gets:     values
 * Gives:    their ranks, doubled
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why doubled: two equal values share a rank of n + 1/2. Sums of integers index the tables of the
 *           exact distributions.
 */
#include "analyze/compare/stats/ranks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct placed_value {
	double value;
	size_t index;
};

static int compare_placed(const void *left, const void *right)
{
	double a = ((const struct placed_value *)left)->value;
	double b = ((const struct placed_value *)right)->value;

	return (a > b) - (a < b);
}

int ranks_find(const double *values, size_t count, uint32_t *ret_ranks)
{
	auto_free struct placed_value *sorted = calloc(count ? count : 1, sizeof(*sorted));
	size_t end;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct placed_value){values[i], i};
	qsort(sorted, count, sizeof(*sorted), compare_placed);
	for (size_t first = 0; first < count; first = end) {
		for (end = first + 1; end < count; end++) {
			if (sorted[end].value > sorted[first].value)
				break;
		}
		for (size_t i = first; i < end; i++)
			ret_ranks[sorted[i].index] = (uint32_t)(first + end + 1);
	}
	return 0;
}
