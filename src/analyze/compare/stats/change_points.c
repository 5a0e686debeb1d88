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
 *           by its standard deviation. The 5 largest of 50 values at the end have 3.7 of them, and
 *           Pettitt's own probability is 0.18.
 * Why windows: a level that returns leaves no large sum of the first values. A level of 10 values,
 *           5 sigma above the other 50, was found in 7 % of the series without windows.
 */
#include "analyze/compare/stats/change_points.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/stats/normal.h"
#include "analyze/compare/stats/ranks.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/number.h"

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

/* The values [index, end) of a segment have another level; end is the segment's for one step. */
struct split {
	size_t index, end;
	double statistic;
};

struct search {
	const double *values;
	double alpha;
	uint32_t *ranks;
	double *sums; /* sums[i]: the first i ranks, less their mean; or sorted values */
	struct segment *pending;
	size_t pending_count, pending_capacity;
	struct change_point *points;
	size_t points_count, points_capacity;
};

/* ---- the statistic --------------------------------------------------------------------------- */

/* From the largest square of a sum of ranks, divided by its number of values and of others. The
 * statistic is 0 if all are equal. */
static double standardise(double largest, const uint32_t *ranks, size_t count)
{
	double all = (double)count, squares = 0;

	for (size_t i = 0; i < count; i++)
		squares += (ranks[i] - all - 1) * (ranks[i] - all - 1);
	return squares > 0 ? sqrt(largest * all * (all - 1) / squares) : 0;
}

/* The largest standardised rank sum of the first values. */
static struct split find_step(struct search *search, size_t count)
{
	double all = (double)count, sum = 0, largest = 0;
	struct split split = {.index = MIN_LEVEL, .end = count};

	for (size_t i = 0; i + MIN_LEVEL < count; i++) {
		double chosen = (double)i + 1, square;

		sum += search->ranks[i] - all - 1;
		square = sum * sum / (chosen * (all - chosen));
		if (i + 1 >= MIN_LEVEL && square > largest) {
			largest = square;
			split.index = i + 1;
		}
	}
	split.statistic = standardise(largest, search->ranks, count);
	return split;
}

/* 3, 4, 6, 8, 12, ... */
static size_t next_length(size_t length)
{
	return length % 3 ? length / 2 * 3 : length / 3 * 4;
}

/* The largest standardised rank sum of a window inside the segment. */
static struct split find_window(struct search *search, size_t count)
{
	double all = (double)count, *sums = search->sums, largest = 0;
	struct split split = {0};

	sums[0] = 0;
	for (size_t i = 0; i < count; i++)
		sums[i + 1] = sums[i] + search->ranks[i] - all - 1;
	for (size_t length = MIN_LEVEL; length + 2 * (size_t)MIN_LEVEL <= count;
	     length = next_length(length)) {
		double places = (double)length * (all - (double)length);

		for (size_t end = MIN_LEVEL + length; end + MIN_LEVEL <= count; end++) {
			double sum = sums[end] - sums[end - length];

			if (sum * sum > largest * places) {
				largest = sum * sum / places;
				split.index = end - length;
				split.end = end;
			}
		}
	}
	split.statistic = standardise(largest, search->ranks, count);
	return split;
}

/* The probability that a Brownian bridge, divided by its standard deviation, exceeds b between the
 * first and the last allowed place: Miller and Siegmund (1982). It is an upper limit here, because
 * the bridge has more places than the series. */
static double find_step_bound(double b, size_t count)
{
	double density = exp(-b * b / 2) / sqrt(2 * M_PI);
	double ratio = ((double)count - MIN_LEVEL) / MIN_LEVEL;

	if (b < 1)
		return 1;
	return fmin(4 * density / b + density * (b - 1 / b) * 2 * log(ratio), 1);
}

/* The sum of the probabilities of all windows. */
static double find_window_bound(double b, size_t count)
{
	size_t windows = 0;

	for (size_t length = MIN_LEVEL; length + 2 * (size_t)MIN_LEVEL <= count;
	     length = next_length(length))
		windows += count + 1 - length - 2 * (size_t)MIN_LEVEL;
	return windows ? fmin(2 * normal_upper_tail(b) * (double)windows, 1) : 1;
}

struct change_test {
	struct split (*find)(struct search *search, size_t count);
	double (*bound)(double statistic, size_t count);
	double share; /* its part of a segment's alpha */
};

static const struct change_test step_test = {find_step, find_step_bound, 0.8};
static const struct change_test window_test = {find_window, find_window_bound, 0.2};

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
 * share is large: Besag and Clifford (1991). The order of the ranks is lost. */
static double find_shuffled_p(struct search *search, const struct change_test *test, size_t count,
			      double statistic)
{
	uint64_t state = count;
	size_t exceeded = 0;

	for (size_t i = 1; i <= SHUFFLES; i++) {
		shuffle_ranks(search->ranks, count, &state);
		/* Sums of the same values in another order may differ in the last bit. */
		exceeded += test->find(search, count).statistic >= statistic * (1 - 1e-12);
		if (exceeded == ENOUGH_EXCEEDED)
			return (double)exceeded / (double)i;
	}
	return (double)(exceeded + 1) / (SHUFFLES + 1);
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* The median of a part of the series. The sums are lost. */
static double find_median(struct search *search, size_t first, size_t end)
{
	size_t count = end - first;
	double *sorted = search->sums;

	memcpy(sorted, search->values + first, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_doubles);
	return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* Whether the median changes. One outlier at the end of a constant series has a small p value. */
static bool has_new_level(struct search *search, struct segment segment, struct split split)
{
	size_t index = segment.first + split.index, end = segment.first + split.end;
	double level = find_median(search, index, end);
	double before = find_median(search, segment.first, index);
	double after = end < segment.end ? find_median(search, end, segment.end) : before;

	return (level < before || level > before) && (level < after || level > after);
}

/* ---- the search ------------------------------------------------------------------------------ */

static int add_segment(struct search *search, size_t first, size_t end, double share)
{
	if (end - first < 2 * (size_t)MIN_LEVEL)
		return 0;
	return array_append(search->pending, search->pending_capacity, search->pending_count,
			    (struct segment){first, end, share});
}

static int add_point(struct search *search, size_t index, double p)
{
	return array_append(search->points, search->points_capacity, search->points_count,
			    (struct change_point){.index = index, .p = p});
}

/* Splits the segment into two or three. The parts share the segment's part of alpha, so the sum
 * over all segments that are not split is at most alpha. */
static int add_split(struct search *search, struct segment segment, struct split split, double p)
{
	size_t index = segment.first + split.index, end = segment.first + split.end;
	bool is_window = end < segment.end;
	double share = segment.share / (is_window ? 3 : 2);

	if (add_point(search, index, p) || (is_window && add_point(search, end, p)) ||
	    add_segment(search, segment.first, index, share) ||
	    add_segment(search, index, end, share) || add_segment(search, end, segment.end, share))
		return -ENOMEM;
	return 0;
}

static int test_segment(struct search *search, const struct change_test *test,
			struct segment segment, bool *ret_is_split)
{
	size_t count = segment.end - segment.first;
	double share = segment.share * test->share, p;
	struct split split;

	if (ranks_find(search->values + segment.first, count, search->ranks))
		return -ENOMEM;
	split = test->find(search, count);
	p = test->bound(split.statistic, count);
	if (p > search->alpha * share && count <= MAX_SHUFFLED && split.statistic > 0)
		p = fmin(p, find_shuffled_p(search, test, count, split.statistic));
	*ret_is_split = p <= search->alpha * share && has_new_level(search, segment, split);
	return *ret_is_split ? add_split(search, segment, split, p / share) : 0;
}

static int split_segment(struct search *search, struct segment segment)
{
	bool is_split;
	int error = test_segment(search, &step_test, segment, &is_split);

	return error || is_split ? error : test_segment(search, &window_test, segment, &is_split);
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
		points[i].index = first + find_step(search, end - first).index;
	}
	return 0;
}

static void set_levels(struct search *search, size_t count)
{
	size_t first = 0;

	for (size_t i = 0; i <= search->points_count; i++) {
		bool is_last = i == search->points_count;
		size_t end = is_last ? count : search->points[i].index;
		double median = find_median(search, first, end);

		if (i)
			search->points[i - 1].after = median;
		if (!is_last)
			search->points[i].before = median;
		first = end;
	}
}

static int find_points(struct search *search, size_t count)
{
	int error = add_segment(search, 0, count, 1);

	while (!error && search->pending_count)
		error = split_segment(search, search->pending[--search->pending_count]);
	if (error || !search->points_count)
		return error;
	qsort(search->points, search->points_count, sizeof(*search->points), compare_points);
	/* Twice, because a neighbour may have moved. */
	error = refine_points(search, count);
	error = error ? error : refine_points(search, count);
	if (!error)
		set_levels(search, count);
	return error;
}

int change_points_find(const double *values, size_t count, double alpha,
		       struct change_point **ret_points, size_t *ret_count)
{
	auto_free uint32_t *ranks = NULL;
	auto_free double *sums = NULL;
	struct search search = {.values = values, .alpha = alpha};
	int error;

	for (size_t i = 0; i < count; i++) {
		if (!isfinite(values[i]))
			return -EINVAL;
	}
	ranks = search.ranks = calloc(count + 1, sizeof(*ranks));
	sums = search.sums = calloc(count + 1, sizeof(*sums));
	if (!ranks || !sums)
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
