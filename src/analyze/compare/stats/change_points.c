/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/change_points.c - where a series of values changes its level
 *
 * Runs in:  our own process, in commands that compare runs
 * Gets:     a series, in its order
 * Gives:    the first value of each new level
 * Owns:     ranks and pending segments while it runs
 * Fails:    -ENOMEM, -EINVAL
 * Why the division: Pettitt's statistic (1979) is the largest rank sum. A step in the last values
 *           cannot make it large, although the newest change matters most. So each sum is divided
 *           by its standard deviation. A 3-sigma step in the last 5 of 50 values has 3.7 of them,
 *           and Pettitt's own probability is 0.18.
 */
#include "analyze/compare/stats/change_points.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/stats/ranks.h"
#include "base/array.h"
#include "base/cleanup.h"

enum {
	MIN_LEVEL = 3,        /* values: one or two outliers are not a level */
	MAX_SHUFFLED = 1000,  /* longer segments use the bound alone */
	SHUFFLES = 4000,      /* the smallest p value is 1/4001 */
	ENOUGH_EXCEEDED = 20, /* shuffles that reach the statistic, after which p is known to 1/4 */
};

struct segment {
	size_t first, end; /* indices into the series */
	double share;      /* its part of alpha */
};

struct split {
	size_t index; /* first value of the new level, in the segment */
	double statistic;
};

struct search {
	const double *values;
	double alpha;
	uint32_t *ranks;
	struct segment *pending;
	size_t pending_count, pending_capacity;
	struct change_point *points;
	size_t points_count, points_capacity;
};

/* ---- the statistic --------------------------------------------------------------------------- */

/* The largest standardised rank sum of the first values. The statistic is 0 if all are equal. */
static struct split find_split(const uint32_t *ranks, size_t count)
{
	double all = (double)count, mean = all + 1, squares = 0, sum = 0, largest = 0;
	struct split split = {.index = MIN_LEVEL};

	for (size_t i = 0; i < count; i++)
		squares += (ranks[i] - mean) * (ranks[i] - mean);
	for (size_t i = 0; i + MIN_LEVEL < count; i++) {
		double chosen = (double)i + 1, square;

		sum += ranks[i] - mean;
		square = sum * sum / (chosen * (all - chosen));
		if (i + 1 >= MIN_LEVEL && square > largest) {
			largest = square;
			split.index = i + 1;
		}
	}
	if (squares > 0)
		split.statistic = sqrt(largest * all * (all - 1) / squares);
	return split;
}

/* The probability that a Brownian bridge, divided by its standard deviation, exceeds b between the
 * first and the last allowed place: Miller and Siegmund (1982). It is an upper limit here, because
 * the bridge has more places than the series. */
static double find_bound(double b, size_t count)
{
	double density = exp(-b * b / 2) / sqrt(2 * M_PI);
	double ratio = ((double)count - MIN_LEVEL) / MIN_LEVEL;

	if (b < 1)
		return 1;
	return fmin(4 * density / b + density * (b - 1 / b) * 2 * log(ratio), 1);
}

/* ---- random order ---------------------------------------------------------------------------- */

/* Steele, Lea and Flood (2014): SplitMix64. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
	return mixed ^ mixed >> 31;
}

static void shuffle_ranks(uint32_t *ranks, size_t count, uint64_t *state)
{
	for (size_t i = count; i > 1; i--) {
		size_t other = (size_t)(((next_random(state) >> 32) * i) >> 32);
		uint32_t rank = ranks[other];

		ranks[other] = ranks[i - 1];
		ranks[i - 1] = rank;
	}
}

/* The share of random orders whose statistic is at least the observed one. It ends early where the
 * share is large: Besag and Clifford (1991). The order of `ranks` is lost. */
static double find_shuffled_p(uint32_t *ranks, size_t count, double statistic)
{
	uint64_t state = count;
	size_t exceeded = 0;

	for (size_t i = 1; i <= SHUFFLES; i++) {
		shuffle_ranks(ranks, count, &state);
		/* Sums of the same values in another order may differ in the last bit. */
		exceeded += find_split(ranks, count).statistic >= statistic * (1 - 1e-12);
		if (exceeded == ENOUGH_EXCEEDED)
			return (double)exceeded / (double)i;
	}
	return (double)(exceeded + 1) / (SHUFFLES + 1);
}

/* ---- the search ------------------------------------------------------------------------------ */

static int add_segment(struct search *search, size_t first, size_t end, double share)
{
	if (end - first < 2 * (size_t)MIN_LEVEL)
		return 0;
	return array_append(search->pending, search->pending_capacity, search->pending_count,
			    (struct segment){first, end, share});
}

static int split_segment(struct search *search, struct segment segment)
{
	size_t count = segment.end - segment.first;
	struct split split;
	double p;

	if (ranks_find(search->values + segment.first, count, search->ranks))
		return -ENOMEM;
	split = find_split(search->ranks, count);
	p = find_bound(split.statistic, count);
	if (p > search->alpha * segment.share && count <= MAX_SHUFFLED)
		p = fmin(p, find_shuffled_p(search->ranks, count, split.statistic));
	if (p > search->alpha * segment.share)
		return 0;
	split.index += segment.first;
	if (array_append(search->points, search->points_capacity, search->points_count,
			 (struct change_point){.index = split.index, .p = p / segment.share}))
		return -ENOMEM;
	return add_segment(search, segment.first, split.index, segment.share / 2) ||
			       add_segment(search, split.index, segment.end, segment.share / 2)
		       ? -ENOMEM
		       : 0;
}

static int compare_points(const void *left, const void *right)
{
	size_t a = ((const struct change_point *)left)->index;
	size_t b = ((const struct change_point *)right)->index;

	return (a > b) - (a < b);
}

/* Finds each change again between its neighbours. The first splits had other changes beside them.
 */
static int refine_points(struct search *search, size_t count)
{
	struct change_point *points = search->points;

	for (size_t i = 0; i < search->points_count; i++) {
		size_t first = i ? points[i - 1].index : 0;
		size_t end = i + 1 < search->points_count ? points[i + 1].index : count;

		if (ranks_find(search->values + first, end - first, search->ranks))
			return -ENOMEM;
		points[i].index = first + find_split(search->ranks, end - first).index;
	}
	return 0;
}

/* ---- levels ---------------------------------------------------------------------------------- */

static int compare_values(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static int set_levels(struct search *search, size_t count)
{
	auto_free double *sorted = malloc(count * sizeof(*sorted));
	size_t first = 0;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, search->values, count * sizeof(*sorted));
	for (size_t i = 0; i <= search->points_count; i++) {
		bool is_last = i == search->points_count;
		size_t end = is_last ? count : search->points[i].index;
		double median;

		qsort(sorted + first, end - first, sizeof(*sorted), compare_values);
		median = (sorted[first + (end - first - 1) / 2] +
			  sorted[first + (end - first) / 2]) /
			 2;
		if (i)
			search->points[i - 1].after = median;
		if (!is_last)
			search->points[i].before = median;
		first = end;
	}
	return 0;
}

static int find_points(struct search *search, size_t count)
{
	int error = add_segment(search, 0, count, 1);

	while (!error && search->pending_count)
		error = split_segment(search, search->pending[--search->pending_count]);
	if (error || !search->points_count)
		return error;
	qsort(search->points, search->points_count, sizeof(*search->points), compare_points);
	error = refine_points(search, count);
	return error ? error : set_levels(search, count);
}

int change_points_find(const double *values, size_t count, double alpha,
		       struct change_point **ret_points, size_t *ret_count)
{
	auto_free uint32_t *ranks = NULL;
	struct search search = {.values = values, .alpha = alpha};
	int error;

	for (size_t i = 0; i < count; i++) {
		if (!isfinite(values[i]))
			return -EINVAL;
	}
	ranks = search.ranks = calloc(count + 1, sizeof(*ranks));
	if (!ranks)
		return -ENOMEM;
	error = find_points(&search, count);
	free(search.pending);
	if (error) {
		free(search.points);
		return error;
	}
	*ret_points = search.points;
	*ret_count = search.points_count;
	return 0;
}
