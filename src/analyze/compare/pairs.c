/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/pairs.c - whether the runs of both sides were recorded in turns
 *
 * Runs in:  our own process
 * Gets:     the start times of the runs, sorted by time on each side
 * Gives:    whether run i of both sides belongs together
 * Owns:     nothing
 * Fails:    never
 * Why not always: the paired test loses power to outliers. It wins if the machine drifts: then the
 *           sums of the pairs vary much more than their differences do.
 */
#include "analyze/compare/comparison.h"
#include "analyze/compare/stats/sample.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRIFT = 3 }; /* spread of the sums, as a multiple of that of the differences */

/* Host times of one boot can be compared, otherwise dates. 0: not known. */
static uint64_t start_of(const struct compare_side *side, bool is_one_boot)
{
	return is_one_boot ? side->facts.begin_ns : side->facts.started_realtime_ns;
}

static bool is_one_boot(const struct comparison *comparison)
{
	const char *boot_id = comparison->base.runs[0]->facts.boot_id;
	bool is_one = *boot_id;

	for (size_t i = 0; i < comparison->base.count; i++)
		is_one = is_one && strcmp(comparison->base.runs[i]->facts.boot_id, boot_id) == 0;
	for (size_t i = 0; i < comparison->changed.count; i++)
		is_one = is_one && strcmp(comparison->changed.runs[i]->facts.boot_id, boot_id) == 0;
	return is_one;
}

/* Median distance from the middle; sorts the values. */
static double spread_of(double *values, size_t count, double middle)
{
	for (size_t i = 0; i < count; i++)
		values[i] = fabs(values[i] - middle);
	qsort(values, count, sizeof(*values), compare_doubles);
	return values[count / 2];
}

static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return values[count / 2];
}

/* Without drift, sums and differences of pairs have one spread. The differences' is around 0, so
 * both stay the same if the runs of a pair change places: the choice does not bias the test. */
static bool is_drifting(const struct comparison *comparison)
{
	const size_t count = comparison->base.count;
	double *sums = malloc(2 * count * sizeof(*sums)), *differences = sums + count;
	bool is_drift;

	if (!sums)
		return false;
	for (size_t i = 0; i < count; i++) {
		const double base = (double)comparison->base.runs[i]->wall_ns;
		const double changed = (double)comparison->changed.runs[i]->wall_ns;

		sums[i] = base + changed;
		differences[i] = changed - base;
	}
	is_drift = spread_of(sums, count, median_of(sums, count)) >
		   DRIFT * spread_of(differences, count, 0);
	free(sums);
	return is_drift;
}

/* Both runs of pair i start before both runs of pair i + 1. Pairs that are too few for the paired
 * test are better compared without it. */
static bool are_alternating(const struct comparison *comparison)
{
	const bool is_one = is_one_boot(comparison);
	const struct stats_options options = {.confidence = comparison->options.confidence,
					      .is_paired = true};
	const size_t count = comparison->base.count;
	const size_t needed = stats_values_min(&options);
	uint64_t last = 0;

	if (count != comparison->changed.count || !needed || count < needed)
		return false;
	for (size_t i = 0; i < count; i++) {
		const uint64_t base = start_of(comparison->base.runs[i], is_one);
		const uint64_t changed = start_of(comparison->changed.runs[i], is_one);

		if (!base || !changed || smaller(base, changed) <= last)
			return false;
		last = larger(base, changed);
	}
	return true;
}

bool comparison_find_pairs(const struct comparison *comparison)
{
	return are_alternating(comparison) && is_drifting(comparison);
}
