/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/stats/normal.c - the normal distribution
 *
 * Runs in:  our own process, in commands that compare runs
 * Gets:     probabilities
 * Gives:    quantiles, and the reverse
 * Owns:     nothing
 * Fails:    never
 * Why bisection: it needs no coefficients. 64 steps take 2 us, and a comparison needs a few.
 */
#include "analyze/compare/stats/normal.h"

#include <math.h>

double normal_upper_tail(double z)
{
	return erfc(z / M_SQRT2) / 2;
}

double normal_quantile_upper(double tail)
{
	double low = -40, high = 40; /* the tail above 40 is 0 in a double */

	for (int i = 0; i < 64; i++) {
		double middle = (low + high) / 2;

		if (normal_upper_tail(middle) > tail)
			low = middle;
		else
			high = middle;
	}
	return high;
}

double student_quantile_upper(double tail, double freedom)
{
	double z = normal_quantile_upper(tail), z3 = z * z * z, z5 = z3 * z * z;
	double z7 = z5 * z * z, v = freedom;

	return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}
