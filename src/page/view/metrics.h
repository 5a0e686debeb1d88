/* SPDX-License-Identifier: MIT
 *
 * page/view/metrics.h - values over time that a view computes itself
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "page/view/pyramid.h"

#define VIEW_METRIC_ONE 1000 /* values are thousandths */

/* The last value before the shown window, which is drawn at the window's start. All zero: none. */
struct view_line {
	bool is_held;
	int64_t held;
};

struct view_step {
	int64_t time_ns;
	int64_t by;
};

/* A number over time, computed from steps up and down. All zero: none. */
struct view_level {
	struct view_step *heap; /* the earliest on top */
	size_t count, capacity;
	int64_t value, last_ns;
	struct view_line line;
};

void view_level_fini(struct view_level *level);
int view_level_add(struct view_level *level, int64_t time_ns, int64_t by); /* -ENOMEM */
/* Turns steps before limit_ns into values. Later steps must not be earlier than limit_ns. */
int view_level_take(struct view_level *level, int64_t limit_ns, struct pyramid *pyramid);
int view_level_finish(struct view_level *level, struct pyramid *pyramid);

/* Processors in use: the samples of one source, with weights in nanoseconds, in bins of time. All
 * zero: none. */
struct view_use {
	uint32_t source;
	bool has_bin;
	int64_t bin;
	uint64_t before_ns, now_ns; /* weight in the previous and the current bin */
	bool was_used;              /* the latest written value is not 0 */
	struct view_line line;
};

/* Adds a sample, whose weight is the time before it. Ignores other sources than that of the first
 * sample. */
int view_use_add(struct view_use *use, int64_t time_ns, uint64_t weight_ns, uint32_t source,
		 struct pyramid *pyramid);
int view_use_finish(struct view_use *use, struct pyramid *pyramid);
