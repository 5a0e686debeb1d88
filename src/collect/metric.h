/* SPDX-License-Identifier: MIT
 *
 * collect/metric.h - what a source counts, as a table
 */
#ifndef COLLECT_METRIC_H
#define COLLECT_METRIC_H

#include <stdint.h>

enum metric_kind {
	METRIC_LEVEL, /* as it is read */
	METRIC_TOTAL, /* counts up: what came since the reading before */
	METRIC_PART   /* counts up, of another that does */
};

enum metric_limit {
	LIMIT_NONE,
	LIMIT_WHOLE,  /* of a ratio */
	LIMIT_SECOND, /* 10^9 ns in a second */
	LIMIT_VALUE   /* what another value of the same reading is */
};

enum { METRICS_MOST = 16 }; /* of a source */

/* A value of a source's reading. */
struct metric {
	const char *name; /* NULL: it is read for the sake of others */
	const char *unit; /* as in an event_series */
	const char *help;
	const char *file;    /* where it is read; NULL: where all of its source are */
	uint8_t kind;        /* enum metric_kind */
	uint8_t of;          /* PART: index of the value that it is of */
	uint8_t limit;       /* enum metric_limit */
	uint8_t limit_value; /* VALUE: index */
};

#endif
