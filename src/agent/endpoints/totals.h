/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/totals.h - adds up snapshots to counters that only grow
 *
 * Not safe for several threads: the caller locks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/endpoints/families.h"

struct event_loss;
struct live_snapshot;
struct totals;

struct totals_options {
	size_t max_kernels, max_processes; /* rows with a name of their own; 0: 100 */
	uint64_t forget_ns;     /* a row that was not used for this time is forgotten; 0: 1 h */
	uint64_t reuse_ns;      /* the same while there is no room for a new row; 0: 5 min */
	uint64_t start_real_ns; /* CLOCK_REALTIME from which counters count */
	const char *version;    /* duet's */
};

/* How a time of the recording was handled. */
enum totals_state {
	TOTALS_ANALYSED, /* in a snapshot */
	TOTALS_EMPTY,    /* the recording has no row in it */
	TOTALS_SKIPPED,  /* not read: the endpoints were too far behind, or reading failed */
	TOTALS_STATE_COUNT
};
const char *totals_state_name(enum totals_state state);

/* Errors: -ENOMEM. */
int totals_new(const struct totals_options *options, struct totals **ret_totals);
void totals_free(struct totals *totals); /* NULL-safe */

/* Adds a snapshot. Its interval must begin where the last one ended. Errors: -ENOMEM: parts of the
 * snapshot are missing, and the interval counts as skipped. */
int totals_add(struct totals *totals, const struct live_snapshot *snapshot);
/* Adds an interval without a snapshot. real_ns: CLOCK_REALTIME of its end. */
void totals_pass(struct totals *totals, enum totals_state state, uint64_t duration_ns,
		 uint64_t real_ns);

/* Adds rows that the recorder could not store. */
void totals_add_loss(struct totals *totals, const struct event_loss *loss);

/* The clock was set forwards: rows and gauges do not become older by that. */
void totals_shift(struct totals *totals, uint64_t step_ns);

/* CLOCK_REALTIME up to which everything is counted. */
uint64_t totals_real_ns(const struct totals *totals);

/* Passes all metrics to a visitor. */
void totals_visit(const struct totals *totals, const struct metric_visitor *visitor);
