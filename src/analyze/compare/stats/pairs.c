/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/pairs.c - order statistics of all pairs of values
 *
 * Runs in:  our own process, in commands that compare runs
 * Gets:     sorted values
 * Gives:    the k-th smallest difference, average or distance of pairs
 * Owns:     nothing
 * Fails:    never
 * Why a search: 5000 against 5000 values have 25 million differences, 200 MB. Doubles in the order
 *           of their bits have 2^64 places, so 64 counts find the exact value.
 */
#include "analyze/compare/stats/pairs.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef size_t (*count_pairs)(const struct pair_differences *pairs, double limit);

/* ---- number of pairs with a value up to the limit -------------------------------------------- */

static size_t count_differences(const struct pair_differences *pairs, double limit)
{
	size_t j = 0, found = 0;

	for (size_t i = 0; i < pairs->base_count; i++) {
		while (j < pairs->changed_count && pairs->changed[j] - pairs->base[i] <= limit)
			j++;
		found += j;
	}
	return found;
}

static size_t count_averages(const struct pair_differences *pairs, double limit)
{
	const double *values = pairs->base;
	size_t end = pairs->base_count, found = 0;

	for (size_t i = 0; i < end; i++) {
		while (end > i && values[i] / 2 + values[end - 1] / 2 > limit)
			end--;
		found += end - i;
	}
	return found;
}

static size_t count_distances_within(const double *values, size_t count, double limit)
{
	size_t end = 0, found = 0;

	for (size_t i = 0; i < count; i++) {
		while (end < count && values[end] - values[i] <= limit)
			end++;
		found += end - i - 1;
	}
	return found;
}

static size_t count_distances(const struct pair_differences *pairs, double limit)
{
	if (limit < 0)
		return 0;
	return count_distances_within(pairs->base, pairs->base_count, limit) +
	       count_distances_within(pairs->changed, pairs->changed_count, limit);
}

/* ---- search ---------------------------------------------------------------------------------- */

/* Doubles in ascending order have ascending places. */
static double double_at(uint64_t place)
{
	uint64_t bits = place >> 63 ? place & ~(1ull << 63) : ~place;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t place_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static double find_value(const struct pair_differences *pairs, count_pairs count, size_t index)
{
	uint64_t low = place_of(-INFINITY), high = place_of(INFINITY);

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (count(pairs, double_at(middle)) > index)
			high = middle;
		else
			low = middle + 1;
	}
	return double_at(low) + 0.0; /* -0 becomes 0 */
}

static double find_median(const struct pair_differences *pairs, count_pairs count, size_t all)
{
	if (!all)
		return NAN;
	if (all % 2)
		return find_value(pairs, count, all / 2);
	return find_value(pairs, count, all / 2 - 1) / 2 + find_value(pairs, count, all / 2) / 2;
}

double pair_differences_get(const struct pair_differences *pairs, size_t place)
{
	return find_value(pairs, count_differences, place);
}

double pair_differences_median(const struct pair_differences *pairs)
{
	return find_median(pairs, count_differences, pairs->base_count * pairs->changed_count);
}

double walsh_averages_get(const double *sorted, size_t count, size_t place)
{
	return find_value(&(struct pair_differences){.base = sorted, .base_count = count},
			  count_averages, place);
}

double walsh_averages_median(const double *sorted, size_t count)
{
	return find_median(&(struct pair_differences){.base = sorted, .base_count = count},
			   count_averages, count * (count + 1) / 2);
}

static size_t number_of_distances(size_t count)
{
	return count ? count * (count - 1) / 2 : 0;
}

double distances_median(const struct pair_differences *samples)
{
	return find_median(samples, count_distances,
			   number_of_distances(samples->base_count) +
				   number_of_distances(samples->changed_count));
}
