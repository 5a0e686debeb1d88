/* SPDX-License-Identifier: MIT
 *
 * collect/counter/metric.h - the metrics of a source, as a table
 */
#pragma once

#include <stdint.h>

enum metric_kind {
	METRIC_LEVEL, /* value as read */
	METRIC_TOTAL, /* cumulative; a row is the increase since the last reading */
	METRIC_PART   /* increase as a share of another value's increase */
};

enum metric_limit {
	LIMIT_NONE,
	LIMIT_WHOLE,  /* 1, for a ratio */
	LIMIT_SECOND, /* 10^9 ns per second */
	LIMIT_VALUE   /* another value of the same reading */
};

enum { MAX_METRICS = 16 }; /* limit per source */

/* One value of a source's reading. */
struct metric {
	const char *name; /* NULL: used for other metrics only */
	const char *unit; /* as in struct event_series */
	const char *help;
	const char *file;    /* file it is read from; NULL: the source's */
	uint8_t kind;        /* enum metric_kind */
	uint8_t of;          /* for PART: index of the whole */
	uint8_t limit;       /* enum metric_limit */
	uint8_t limit_value; /* for LIMIT_VALUE: index */
};
