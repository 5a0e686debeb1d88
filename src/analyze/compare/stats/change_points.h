/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/change_points.h - where a series of values changes its level
 */
#pragma once

#include <stddef.h>

struct change_point {
	size_t index;         /* the first value of the new level */
	double before, after; /* medians of the segments on both sides */
	double p;             /* adjusted for all tests of the series */
};

/* Finds the changes of a series, in its order; alpha limits the probability of any false
 * change. The caller frees *ret_points, NULL if there are none. The same series has the same
 * result in each call. Errors: -ENOMEM; -EINVAL for a value that is not finite. */
int change_points_find(const double *values, size_t count, double alpha,
		       struct change_point **ret_points, size_t *ret_count);
