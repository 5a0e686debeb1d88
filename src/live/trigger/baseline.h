/* SPDX-License-Identifier: MIT
 *
 * live/trigger/baseline.h - statistics of the newest durations of one kind
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BASELINE_WINDOW = 1000, /* durations that count */
	BASELINE_LEAST = 50     /* with fewer durations there is no statistic */
};

struct trigger_baseline {
	uint64_t *durations; /* owned; ns; a ring of BASELINE_WINDOW */
	uint64_t *sorted;    /* owned; a copy, sorted at count sorted_at */
	uint64_t count;      /* durations added so far */
	uint64_t sorted_at;
	uint64_t sum; /* sum of the ring */
};

void baseline_fini(struct trigger_baseline *baseline); /* NULL-safe */
void baseline_clear(struct trigger_baseline *baseline);

/* -ENOMEM: nothing was added. */
int baseline_add(struct trigger_baseline *baseline, uint64_t duration_ns);

/* is_exact false: the quantile may lack the newest 1/32 of the durations. False: too few
 * durations. */
bool baseline_mean(const struct trigger_baseline *baseline, double *ret_ns);
bool baseline_quantile(struct trigger_baseline *baseline, double quantile, bool is_exact,
		       double *ret_ns);
