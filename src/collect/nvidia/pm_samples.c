/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm_samples.c - turns samples of a GPU's counters into rows, and gaps between them
 * into losses
 *
 * Runs in:  the thread of a sampled GPU
 * Gets:     samples with their times and values
 * Gives:    rows, losses
 * Owns:     nothing
 * Fails:    samples without room in the series are counted in the series
 * Why:      Gaps are found by time. Samples follow one another without a break, so any time between
 *           the end of one and the start of the next was lost, for whatever reason. Gaps are not
 *           filled.
 */
#include "collect/nvidia/pm_samples.h"

#include <string.h>

#include "event/event.h"

void pm_samples_init(struct pm_samples *samples, struct series *series, const struct pm_set *set,
		     uint64_t interval_ns)
{
	*samples = (struct pm_samples){.series = series, .set = set, .interval_ns = interval_ns};
	for (size_t i = 0; i < PM_METRICS; i++)
		samples->slots[i] = SERIES_NO_SLOT;
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void put_gap(struct pm_samples *samples, uint64_t until)
{
	uint64_t missing_ns = until > samples->last_end ? until - samples->last_end : 0;
	uint64_t count = (missing_ns + samples->interval_ns / 2) / samples->interval_ns;

	if (!samples->last_end || !count)
		return;
	samples->gaps++;
	series_put_loss(samples->series, samples->last_end, until,
			samples->has_overflowed ? LOSS_RING_FULL : LOSS_GAP,
			count * samples->set->count);
}

static void put_absent(struct pm_samples *samples, struct pm_absent *absent)
{
	if (absent->count)
		series_put_loss(samples->series, absent->begin, absent->end, LOSS_GAP,
				absent->count);
	*absent = (struct pm_absent){0};
}

static void add_absent(struct pm_absent *absent, uint64_t begin, uint64_t end)
{
	if (!absent->count++)
		absent->begin = begin;
	absent->end = end;
}

void pm_samples_overflow(struct pm_samples *samples)
{
	samples->has_overflowed = true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

void pm_samples_begin(struct pm_samples *samples, uint32_t device, uint64_t now_ns)
{
	for (size_t i = 0; i < samples->set->count; i++) {
		size_t index = samples->set->indices[i];
		const struct series_slot about = {.metric = &pm_metrics[index],
						  .file = pm_metrics[index].file,
						  .of = {.device = device},
						  .limit = pm_limit(index),
						  .interval_ns = samples->interval_ns};

		samples->slots[index] = series_begin(samples->series, &about, now_ns);
	}
}

static void put_value(struct pm_samples *samples, size_t index, uint64_t begin, uint64_t end,
		      double value)
{
	struct pm_absent *absent = &samples->absent[index];
	struct pm_value row;
	uint32_t slot = samples->slots[index];

	if (!pm_value_make(index, value, end - begin, &row)) {
		add_absent(absent, begin, end);
		return;
	}
	put_absent(samples, absent);
	if (slot != SERIES_NO_SLOT)
		series_put(samples->series, slot, begin, end, row.value, row.of);
}

void pm_samples_put(struct pm_samples *samples, uint64_t begin, uint64_t end, const double *values)
{
	/* The driver maps GPU times to CUPTI's by a line that changes with each decoding, so
	 * neighbours may overlap by its error. */
	if (begin < samples->last_end)
		begin = samples->last_end;
	if (begin >= end)
		return;
	put_gap(samples, begin);
	for (size_t i = 0; i < samples->set->count; i++)
		put_value(samples, samples->set->indices[i], begin, end, values[i]);
	samples->last_end = end;
	samples->has_overflowed = false;
	samples->count++;
}

void pm_samples_end(struct pm_samples *samples, uint64_t until, uint64_t now_ns)
{
	for (size_t i = 0; i < PM_METRICS; i++)
		put_absent(samples, &samples->absent[i]);
	/* Time after the last sample is a loss only if a buffer was full; otherwise that sample was
	 * only incomplete. */
	if (samples->has_overflowed)
		put_gap(samples, until);
	for (size_t i = 0; i < PM_METRICS; i++)
		if (samples->slots[i] != SERIES_NO_SLOT)
			series_end(samples->series, samples->slots[i], now_ns);
}
