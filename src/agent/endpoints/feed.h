/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/feed.h - cuts a growing recording into intervals that follow each other
 *
 * Each nanosecond from begin_ns on is in exactly one interval.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/endpoints/totals.h"

struct event_loss;
struct live_follow;
struct live_snapshot;

/* An interval is FEED_STEP_NS long. A feed that is behind makes longer ones, and skips time beyond
 * FEED_BEHIND_MAX_NS. */
#define FEED_STEP_NS       UINT64_C(1000000000)
#define FEED_STEP_MAX_NS   UINT64_C(10000000000)
#define FEED_BEHIND_MAX_NS UINT64_C(60000000000)
/* The default of feed.lag_ns. */
#define FEED_LAG_NS        UINT64_C(1000000000)

struct feed {
	const char *path;           /* borrowed */
	uint64_t lag_ns;            /* from the end of an interval until it is read */
	struct live_follow *follow; /* owned; NULL: the file does not exist */
	dev_t device;               /* identity of the open file */
	ino_t inode;
	uint64_t cursor_ns;    /* CLOCK_MONOTONIC; all earlier time is in an interval */
	uint64_t newest_ns;    /* latest time of a row in the open file */
	bool has_ended;        /* the open file gets no more rows */
	uint64_t abandoned_ns; /* since then no recorder has it open; 0: one has */
};

struct feed_interval {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	enum totals_state state;
	struct live_snapshot *snapshot; /* TOTALS_ANALYSED: owned by the caller; it may begin later
					   than begin_ns: the recording did */
	/* Losses that the recorder noticed in the interval: owned by the caller. */
	struct event_loss *losses;
	size_t losses_count;
	int error; /* TOTALS_SKIPPED: why, with the error chain; 0: too far behind */
};

/* lag_ns 0: FEED_LAG_NS. */
void feed_init(struct feed *feed, const char *path, uint64_t begin_ns, uint64_t lag_ns);
void feed_fini(struct feed *feed);

/* The next interval that is due; false: none. */
bool feed_next(struct feed *feed, uint64_t now_ns, struct feed_interval *ret_interval);
/* The time at which the next one is due. */
uint64_t feed_due_ns(const struct feed *feed);
/* The recording has ended, and all of it is in intervals. */
bool feed_is_complete(const struct feed *feed);
