/* SPDX-License-Identifier: MIT
 *
 * export/view_metrics.h - values over time that a view works out itself
 */
#ifndef EXPORT_VIEW_METRICS_H
#define EXPORT_VIEW_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/view_pyramid.h"

#define VIEW_METRIC_ONE 1000 /* values are thousandths */

/* What came before the part that is shown stands at its begin. All zero: nothing came. */
struct view_line {
	bool is_held;
	int64_t held;
};

struct view_step {
	int64_t time_ns;
	int64_t by;
};

/* How many there are at a time, from what comes and goes. All zero: none. */
struct view_level {
	struct view_step *heap; /* the earliest on top */
	size_t count, capacity;
	int64_t value, last_ns;
	struct view_line line;
};

void view_level_fini(struct view_level *level);
int view_level_add(struct view_level *level, int64_t time_ns, int64_t by); /* -ENOMEM */
/* Steps before limit_ns become values; what comes later must not be earlier than it. */
int view_level_take(struct view_level *level, int64_t limit_ns, struct pyramid *pyramid);
int view_level_finish(struct view_level *level, struct pyramid *pyramid);

/* Processors in use: the samples of one source, whose weights are nanoseconds, in bins of time. All zero: none. */
struct view_use {
	uint32_t source;
	bool has_bin;
	int64_t bin;
	uint64_t before_ns, now_ns; /* in the bin before, in this one */
	bool was_used;              /* the latest value is not 0 */
	struct view_line line;
};

/* A sample's weight is the time before it. Other sources than the first are left out. */
int view_use_add(struct view_use *use, int64_t time_ns, uint64_t weight_ns, uint32_t source,
		 struct pyramid *pyramid);
int view_use_finish(struct view_use *use, struct pyramid *pyramid);

#endif
