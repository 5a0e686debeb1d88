/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm_samples.h - turns samples of a GPU's counters into rows, and gaps between them
 * into losses
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/counter/series.h"
#include "collect/nvidia/pm_metrics.h"

/* Consecutive values that were not numbers. */
struct pm_absent {
	uint64_t begin, end, count; /* 0: none */
};

struct pm_samples {
	struct series *series; /* borrowed, like the set */
	const struct pm_set *set;
	uint64_t interval_ns;       /* the requested interval */
	uint32_t slots[PM_METRICS]; /* by index of pm_metrics; SERIES_NO_SLOT: none */
	uint64_t last_end;          /* end of the last sample, in the GPU's time; 0: none */
	bool has_overflowed;        /* since the last sample */
	struct pm_absent absent[PM_METRICS];
	uint64_t count, gaps; /* number of samples, and of gaps between them */
};

void pm_samples_init(struct pm_samples *samples, struct series *series, const struct pm_set *set,
		     uint64_t interval_ns);

/* Describes the series of a device. now_ns: CLOCK_MONOTONIC. */
void pm_samples_begin(struct pm_samples *samples, uint32_t device, uint64_t now_ns);

/* Writes one sample, with values in the set's order and times of the GPU's clock. */
void pm_samples_put(struct pm_samples *samples, uint64_t begin, uint64_t end, const double *values);

/* Notes that the hardware's buffer was full: the time until the next sample is lost. */
void pm_samples_overflow(struct pm_samples *samples);

/* Ends the series; until: the GPU's time, now_ns: CLOCK_MONOTONIC. */
void pm_samples_end(struct pm_samples *samples, uint64_t until, uint64_t now_ns);
