/* SPDX-License-Identifier: MIT
 *
 * live/trigger/baseline.c - statistics of the newest durations of one kind
 *
 * Runs in:  the watcher of `duet record --trigger`
 * Gets:     durations in the order of time
 * Gives:    their mean and quantiles
 * Owns:     two arrays of BASELINE_WINDOW numbers, 16 KB
 * Fails:    -ENOMEM
 * Why a sorted copy that is not renewed for each duration: sorting 1000 numbers takes 30 us, and a
 *           program may have 100 000 iterations a second. The copy is renewed after 32 durations
 * and before a trigger fires
 */
#include "live/trigger/baseline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

enum { RENEWED_AFTER = BASELINE_WINDOW / 32 };

void baseline_fini(struct trigger_baseline *baseline)
{
	if (!baseline)
		return;
	free(baseline->durations);
	free(baseline->sorted);
	*baseline = (struct trigger_baseline){0};
}

void baseline_clear(struct trigger_baseline *baseline)
{
	baseline->count = baseline->sorted_at = baseline->sum = 0;
}

static size_t count_present(const struct trigger_baseline *baseline)
{
	return baseline->count < BASELINE_WINDOW ? (size_t)baseline->count : BASELINE_WINDOW;
}

int baseline_add(struct trigger_baseline *baseline, uint64_t duration_ns)
{
	uint64_t *place;

	if (!baseline->durations) {
		baseline->durations = calloc(BASELINE_WINDOW, sizeof(*baseline->durations));
		baseline->sorted = calloc(BASELINE_WINDOW, sizeof(*baseline->sorted));
	}
	if (!baseline->durations || !baseline->sorted) {
		baseline_fini(baseline);
		return -ENOMEM;
	}
	place = &baseline->durations[baseline->count % BASELINE_WINDOW];
	if (baseline->count >= BASELINE_WINDOW)
		baseline->sum -= *place;
	*place = duration_ns;
	baseline->sum += duration_ns;
	baseline->count++;
	return 0;
}

bool baseline_mean(const struct trigger_baseline *baseline, double *ret_ns)
{
	size_t present = count_present(baseline);

	if (present < BASELINE_LEAST)
		return false;
	*ret_ns = (double)baseline->sum / (double)present;
	return true;
}

static void sort_copy(struct trigger_baseline *baseline)
{
	size_t present = count_present(baseline);

	memcpy(baseline->sorted, baseline->durations, present * sizeof(*baseline->sorted));
	qsort(baseline->sorted, present, sizeof(*baseline->sorted), compare_u64);
	baseline->sorted_at = baseline->count;
}

bool baseline_quantile(struct trigger_baseline *baseline, double quantile, bool is_exact,
		       double *ret_ns)
{
	size_t present = count_present(baseline), index;

	if (present < BASELINE_LEAST)
		return false;
	if (!baseline->sorted_at || baseline->sorted_at + RENEWED_AFTER <= baseline->count ||
	    (is_exact && baseline->sorted_at != baseline->count))
		sort_copy(baseline);
	/* the copy may have fewer durations than the ring */
	if (baseline->sorted_at < present)
		present = (size_t)baseline->sorted_at;
	index = (size_t)(quantile * (double)present);
	*ret_ns = (double)baseline->sorted[index < present ? index : present - 1];
	return true;
}
