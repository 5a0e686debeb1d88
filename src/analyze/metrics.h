/* SPDX-License-Identifier: MIT
 *
 * analyze/metrics.h - what counters say of a part of a recording: least, mean, most, and what they rarely exceed
 */
#ifndef ANALYZE_METRICS_H
#define ANALYZE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/model.h"

/* A series in the part: a level; of an amount what comes in a second; a ratio. In its own unit. */
struct metric_summary {
	const struct event_series *series;
	uint64_t readings;
	uint64_t covered_ns; /* by readings */
	double min, max;
	double p95; /* not more than that for 95 % of the time; of more than 1024 readings within 0.2 % */
	double mean; /* by time; of a ratio the sum of the one by that of the other */
	double sum;  /* AMOUNT: all that came, exactly up to 2^53 */
};

struct metrics {
	struct metric_summary
		*all; /* in the order of their ids; those without a reading are left out */
	size_t count;
};

/* Of what overlaps [from_ns, to_ns] of host time; of a reading that begins before or ends after it counts the part within,
 * as if all had come evenly. Errors: -ENOMEM, what the reader fails with. */
int metrics_new(const struct model *model, uint64_t from_ns, uint64_t to_ns,
		struct metrics *ret_metrics);
void metrics_fini(struct metrics *metrics); /* NULL-safe */

/* Whether a reading is as long as it should be, or nearly: else it is in sums and means, not among the extremes. */
bool metrics_is_full(const struct event_series *series, const struct event_counter *row);

/* The next series of a name from an index on; NULL: there is none. */
const struct metric_summary *metrics_find(const struct model *model, const struct metrics *metrics,
					  const char *name, size_t *inout_index);

#endif
