/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/rank_sum.c - the distribution of a sum of chosen ranks
 *
 * Runs in:  our own process, in commands that compare runs
 * Gets:     doubled ranks of two samples
 * Gives:    probabilities of their rank sums
 * Owns:     the table of one distribution
 * Fails:    -ENOMEM
 * Why exact: few runs have a discrete distribution, and values such as counts are often equal.
 *           The method is the shift algorithm of Streitberg and Roehmel (1986): a table of the
 *           number of ways to choose k ranks with sum s grows by one rank at a time. 30 against 30
 *           values take 2.4 million additions. Beyond MAX_EXACT_WORK the normal distribution
 *           serves, with corrections for equal values and for steps.
 */
#include "analyze/compare/stats/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/stats/normal.h"
#include "base/cleanup.h"

/* All values times the values of the smaller sample. */
enum { MAX_EXACT_WORK = 60 * 30 };

/* A sum of 0.1 + 0.2 is above 0.3: probabilities are compared with this tolerance. */
#define TOLERANCE (1 + 1e-9)

static size_t smaller_size(size_t left, size_t right)
{
	return left < right ? left : right;
}

static bool is_exact(size_t count, size_t chosen)
{
	return chosen <= MAX_EXACT_WORK && count * chosen <= MAX_EXACT_WORK;
}

/* Ranks without equal values are even; their halves need a table of half the size. */
static uint32_t find_divisor(const uint32_t *ranks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ranks[i] % 2)
			return 1;
	}
	return 2;
}

static int compare_ranks_down(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a < b) - (a > b);
}

static int find_largest_sum(const uint32_t *ranks, size_t count, size_t chosen, size_t *ret_sum)
{
	auto_free uint32_t *sorted = malloc(count * sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, ranks, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_ranks_down);
	*ret_sum = 0;
	for (size_t i = 0; i < chosen; i++)
		*ret_sum += sorted[i];
	return 0;
}

/* The number of ways to choose `chosen` of the ranks, by the sum divided by `divisor`. */
static int count_ways(const uint32_t *ranks, size_t count, size_t chosen, uint32_t divisor,
		      double **ret_ways, size_t *ret_max_sum)
{
	auto_free double *table = NULL, *ways = NULL;
	size_t max_sum, width;

	if (find_largest_sum(ranks, count, chosen, &max_sum))
		return -ENOMEM;
	max_sum /= divisor;
	width = max_sum + 1;
	table = calloc((chosen + 1) * width, sizeof(*table));
	ways = malloc(width * sizeof(*ways));
	if (!table || !ways)
		return -ENOMEM;
	table[0] = 1;
	for (size_t i = 0; i < count; i++) {
		size_t rank = ranks[i] / divisor;

		/* Downwards, so that each rank is chosen at most once. */
		for (size_t k = smaller_size(chosen, i + 1); k; k--) {
			const double *fewer = table + (k - 1) * width;
			double *row = table + k * width;

			for (size_t sum = rank; sum <= max_sum; sum++)
				row[sum] += fewer[sum - rank];
		}
	}
	memcpy(ways, table + chosen * width, width * sizeof(*ways));
	*ret_ways = take_ptr(ways);
	*ret_max_sum = max_sum;
	return 0;
}

static size_t sum_ranks(const uint32_t *ranks, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += ranks[i];
	return sum;
}

static int find_exact_tails(const uint32_t *ranks, size_t count, size_t chosen,
			    struct rank_tails *ret_tails)
{
	uint32_t divisor = find_divisor(ranks, count);
	size_t max_sum, observed = sum_ranks(ranks, chosen) / divisor;
	double all = 0, greater = 0, less = 0;
	auto_free double *ways = NULL;

	if (count_ways(ranks, count, chosen, divisor, &ways, &max_sum))
		return -ENOMEM;
	for (size_t sum = 0; sum <= max_sum; sum++) {
		all += ways[sum];
		greater += sum >= observed ? ways[sum] : 0;
		less += sum <= observed ? ways[sum] : 0;
	}
	*ret_tails = (struct rank_tails){greater / all, less / all};
	return 0;
}

static struct rank_tails find_normal_tails(const uint32_t *ranks, size_t count, size_t chosen)
{
	double mean = (double)count + 1, squares = 0;
	double above = (double)sum_ranks(ranks, chosen) - (double)chosen * mean;
	double deviation;

	for (size_t i = 0; i < count; i++)
		squares += (ranks[i] - mean) * (ranks[i] - mean);
	deviation = sqrt((double)chosen * (double)(count - chosen) / ((double)count * (mean - 2)) *
			 squares);
	if (!(deviation > 0))
		return (struct rank_tails){1, 1};
	/* Doubled ranks: half a step is 1. */
	return (struct rank_tails){normal_upper_tail((above - 1) / deviation),
				   normal_upper_tail((-above - 1) / deviation)};
}

int rank_sum_find_tails(const uint32_t *ranks, size_t count, size_t chosen,
			struct rank_tails *ret_tails)
{
	bool is_swapped = chosen > count - chosen;
	struct rank_tails tails;
	auto_free uint32_t *swapped = NULL;

	if (!is_exact(count, smaller_size(chosen, count - chosen))) {
		*ret_tails = find_normal_tails(ranks, count, chosen);
		return 0;
	}
	if (!is_swapped)
		return find_exact_tails(ranks, count, chosen, ret_tails);
	/* The smaller sample has the smaller table. */
	swapped = malloc(count * sizeof(*swapped));
	if (!swapped)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		swapped[i] = ranks[(i + chosen) % count];
	if (find_exact_tails(swapped, count, count - chosen, &tails))
		return -ENOMEM;
	*ret_tails = (struct rank_tails){tails.less, tails.greater};
	return 0;
}

static size_t find_normal_limit(double count, double other_count, double tail)
{
	double deviation = sqrt(count * other_count * (count + other_count + 1) / 12);
	double below =
		floor(count * other_count / 2 - 0.5 - normal_quantile_upper(tail) * deviation);

	return below < 0 ? 0 : (size_t)below + 1;
}

int rank_sum_find_limit(size_t count, size_t other_count, double tail, size_t *ret_k)
{
	size_t chosen = smaller_size(count, other_count), all = count + other_count, max_sum;
	auto_free uint32_t *ranks = NULL;
	auto_free double *ways = NULL;
	double total = 0, below = 0;
	size_t k = 0, least = chosen * (chosen + 1) / 2;

	if (!is_exact(all, chosen)) {
		*ret_k = find_normal_limit((double)count, (double)other_count, tail);
		return 0;
	}
	ranks = calloc(all, sizeof(*ranks));
	if (!ranks)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++)
		ranks[i] = (uint32_t)(i + 1);
	if (count_ways(ranks, all, chosen, 1, &ways, &max_sum))
		return -ENOMEM;
	for (size_t sum = least; sum <= max_sum; sum++)
		total += ways[sum];
	for (; least + k <= max_sum; k++) {
		below += ways[least + k] / total;
		if (below > tail * TOLERANCE)
			break;
	}
	*ret_k = k;
	return 0;
}
