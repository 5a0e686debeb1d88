/* SPDX-License-Identifier: MIT
 *
 * collect/limit/estimate.c - a mean of noisy measurements, and its confidence interval
 *
 * Runs in:  the recorder
 * Gets:     one value per pair of windows
 * Gives:    a trimmed mean and the half-width of its 95 % interval
 * Owns:     nothing
 * Fails:    with false, if there are too few values
 * Why:      A window in which another process took the processor is off by 10 to 100 %, and one of
 *           ten windows is such. A plain mean needs ten times as many windows then. So a fifth of
 *           the values is left out at each end, and the interval comes from the winsorized
 *           variance (Yuen 1974).
 */
#include "collect/limit/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

void estimate_add(struct estimate *estimate, double value)
{
	estimate->values[estimate->next] = value;
	estimate->next = (estimate->next + 1) % ESTIMATE_VALUES;
	estimate->count += estimate->count < ESTIMATE_VALUES;
}

/* 0.975 quantile of Student's t; within 0.01 of the tables from 4 degrees of freedom on. */
static double quantile_of(double freedom)
{
	return 1.96 + 2.4 / freedom + 3.3 / (freedom * freedom);
}

bool estimate_get(const struct estimate *estimate, struct estimate_interval *ret_interval)
{
	const uint32_t count = estimate->count, cut = count * 3 / 10, kept = count - 2 * cut;
	double sorted[ESTIMATE_VALUES], sum = 0, all = 0, squares = 0;

	if (count < ESTIMATE_LEAST)
		return false;
	memcpy(sorted, estimate->values, count * sizeof(sorted[0]));
	qsort(sorted, count, sizeof(sorted[0]), compare_doubles);
	for (uint32_t i = 0; i < cut; i++) {
		sorted[i] = sorted[cut];
		sorted[count - 1 - i] = sorted[count - 1 - cut];
	}
	for (uint32_t i = 0; i < count; i++)
		all += sorted[i];
	for (uint32_t i = 0; i < count; i++)
		squares += (sorted[i] - all / count) * (sorted[i] - all / count);
	for (uint32_t i = cut; i < cut + kept; i++)
		sum += sorted[i];
	ret_interval->mean = sum / kept;
	ret_interval->half_width =
		quantile_of(kept - 1) * sqrt(squares / ((double)kept * (kept - 1)));
	return true;
}
