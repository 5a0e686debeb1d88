/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/signed_rank.c - the distribution of a sum of ranks with random signs
 *
 * Runs in:  our own process, in commands that compare runs
 * Gets:     doubled ranks of the sizes of differences, and their signs
 * Gives:    probabilities of the sum of the positive ranks
 * Owns:     the table of one distribution
 * Fails:    -ENOMEM
 * Why exact: as in rank_sum.c. The table has the probability of each sum, so 100 pairs do not
 *           overflow it: they take a million additions. Above that number the normal distribution
 *           serves.
 */
#include "analyze/compare/stats/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/compare/stats/normal.h"
#include "base/cleanup.h"

enum { MAX_EXACT_PAIRS = 100 };
#define TOLERANCE (1 + 1e-9) /* sums of probabilities are rounded */

/* The probability of each sum, if each rank is in it with probability 1/2. */
static int find_chances(const uint32_t *ranks, size_t count, double **ret_chances,
			size_t *ret_max_sum)
{
	size_t max_sum = 0, reached = 0;
	double *chances;

	for (size_t i = 0; i < count; i++)
		max_sum += ranks[i];
	chances = calloc(max_sum + 1, sizeof(*chances));
	if (!chances)
		return -ENOMEM;
	chances[0] = 1;
	for (size_t i = 0; i < count; i++) {
		size_t rank = ranks[i];

		reached += rank;
		for (size_t sum = reached + 1; sum-- > rank;)
			chances[sum] = (chances[sum] + chances[sum - rank]) / 2;
		for (size_t sum = 0; sum < rank && sum <= reached; sum++)
			chances[sum] /= 2;
	}
	*ret_chances = chances;
	*ret_max_sum = max_sum;
	return 0;
}

static struct rank_tails find_normal_tails(const uint32_t *ranks, size_t count, double observed)
{
	double mean = 0, variance = 0;

	for (size_t i = 0; i < count; i++) {
		mean += ranks[i] / 2.0;
		variance += (double)ranks[i] * ranks[i] / 4;
	}
	/* Doubled ranks: half a step is 1. */
	return (struct rank_tails){normal_upper_tail((observed - mean - 1) / sqrt(variance)),
				   normal_upper_tail((mean - observed - 1) / sqrt(variance))};
}

int signed_rank_find_tails(const uint32_t *ranks, const bool *is_positive, size_t count,
			   struct rank_tails *ret_tails)
{
	auto_free double *chances = NULL;
	size_t observed = 0, max_sum;
	struct rank_tails tails = {0};

	for (size_t i = 0; i < count; i++)
		observed += is_positive[i] ? ranks[i] : 0;
	if (count > MAX_EXACT_PAIRS) {
		*ret_tails = find_normal_tails(ranks, count, (double)observed);
		return 0;
	}
	if (find_chances(ranks, count, &chances, &max_sum))
		return -ENOMEM;
	for (size_t sum = 0; sum <= max_sum; sum++) {
		tails.greater += sum >= observed ? chances[sum] : 0;
		tails.less += sum <= observed ? chances[sum] : 0;
	}
	*ret_tails = tails;
	return 0;
}

static size_t find_normal_limit(double count, double tail)
{
	double deviation = sqrt(count * (count + 1) * (2 * count + 1) / 24);
	double below =
		floor(count * (count + 1) / 4 - 0.5 - normal_quantile_upper(tail) * deviation);

	return below < 0 ? 0 : (size_t)below + 1;
}

int signed_rank_find_limit(size_t count, double tail, size_t *ret_k)
{
	uint32_t ranks[MAX_EXACT_PAIRS];
	auto_free double *chances = NULL;
	size_t k = 0, max_sum;
	double below = 0;

	if (count > MAX_EXACT_PAIRS) {
		*ret_k = find_normal_limit((double)count, tail);
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		ranks[i] = (uint32_t)(i + 1);
	if (find_chances(ranks, count, &chances, &max_sum))
		return -ENOMEM;
	for (; k <= max_sum; k++) {
		below += chances[k];
		if (below > tail * TOLERANCE)
			break;
	}
	*ret_k = k;
	return 0;
}
