/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm_samples.h - samples of a GPU's counters become rows, and what is missing between them losses
 */
#ifndef COLLECT_NVIDIA_PM_SAMPLES_H
#define COLLECT_NVIDIA_PM_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/nvidia/pm_metrics.h"
#include "collect/series.h"

/* Values that were no numbers, one after the other. */
struct pm_absent {
	uint64_t begin, end, count; /* 0: none */
};

struct pm_samples {
	struct series *series; /* borrowed, as the set is */
	const struct pm_set *set;
	uint64_t interval_ns;       /* as it was asked for */
	uint32_t slots[PM_METRICS]; /* by pm_metrics; SERIES_NO_SLOT: there is none */
	uint64_t last_end;          /* of the sample before, in the GPU's time; 0: there was none */
	bool has_overflowed;        /* since then */
	struct pm_absent absent[PM_METRICS];
	uint64_t count, gaps; /* samples so far, and gaps between them */
};

void pm_samples_init(struct pm_samples *samples, struct series *series, const struct pm_set *set,
		     uint64_t interval_ns);

/* Describes what will come, of the trace's device. now_ns: CLOCK_MONOTONIC. */
void pm_samples_begin(struct pm_samples *samples, uint32_t device, uint64_t now_ns);

/* One sample, values in the set's order, times by the GPU's clock. */
void pm_samples_put(struct pm_samples *samples, uint64_t begin, uint64_t end, const double *values);

/* The hardware's buffer was full: what comes up to the next sample is lost. */
void pm_samples_overflow(struct pm_samples *samples);

/* Sampling ends; until: in the GPU's time, now_ns: in ours. */
void pm_samples_end(struct pm_samples *samples, uint64_t until, uint64_t now_ns);

#endif
