/* SPDX-License-Identifier: MIT
 *
 * analyze/text/metrics.h - minimum, mean, 95th percentile and maximum of each series in a part of a
 * recording
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/model.h"

/* One series in the selected part. LEVEL: values, AMOUNT: values per second, RATIO: ratios, all in
 * the series' own unit. */
struct metric_summary {
	const struct event_series *series;
	uint64_t readings;
	uint64_t covered_ns; /* time covered by readings */
	double min, max;
	double p95;  /* 95th percentile by time; accurate to 0.2 % if there are more than 1024
			readings */
	double mean; /* weighted by time; RATIO: sum of the numerators divided by sum of the
			denominators */
	double sum;  /* AMOUNT: sum of all values, exact up to 2^53 */
};

struct metrics {
	/* sorted by id, without series that have no reading */
	struct metric_summary *all;
	size_t count;
};

/* Summarizes all readings that overlap [from_ns, to_ns] of host time. A reading that extends beyond
 * it counts in proportion to the part inside. Errors: -ENOMEM and those of the reader. */
int metrics_new(const struct model *model, uint64_t from_ns, uint64_t to_ns,
		struct metrics *ret_metrics);
void metrics_fini(struct metrics *metrics); /* NULL-safe */

/* Whether a reading is at least half as long as the series' interval. Shorter readings count in
 * sums and means, but not as minimum or maximum. */
bool metrics_is_full(const struct event_series *series, const struct event_counter *row);

/* The next series with this name from *inout_index on; NULL: no more. */
const struct metric_summary *metrics_find(const struct model *model, const struct metrics *metrics,
					  const char *name, size_t *inout_index);
