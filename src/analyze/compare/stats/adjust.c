/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/adjust.c - p values of several tests
 *
 * Runs in:  our own process, in commands that compare runs
 * Gets:     the p value of each test
 * Gives:    adjusted values: the tests with an adjusted value up to q have a share of at most q
 *           false discoveries on average
 * Owns:     a sorted copy while it runs
 * Fails:    -ENOMEM
 * Why:      1000 kernels without a change have ten p values below 0.01. Benjamini and Hochberg
 *           (1995) limit the share of false reports; Bonferroni's limit would hide most true ones.
 */
#include "analyze/compare/stats/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct placed_p {
	double p;
	size_t index;
};

static int compare_placed_p(const void *left, const void *right)
{
	double a = ((const struct placed_p *)left)->p, b = ((const struct placed_p *)right)->p;

	return (a > b) - (a < b);
}

int stats_adjust(double *p_values, size_t count)
{
	auto_free struct placed_p *sorted = calloc(count + 1, sizeof(*sorted));
	size_t tests = 0;
	double least = 1;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!isnan(p_values[i]))
			sorted[tests++] = (struct placed_p){p_values[i], i};
	}
	qsort(sorted, tests, sizeof(*sorted), compare_placed_p);
	for (size_t place = tests; place; place--) {
		const struct placed_p *test = &sorted[place - 1];

		least = fmin(least, test->p * (double)tests / (double)place);
		p_values[test->index] = least;
	}
	return 0;
}
