/* SPDX-License-Identifier: MIT
 *
 * live/watch.h - snapshots of a growing recording, one interval after the other
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct live_follow;
struct live_snapshot;
struct live_watch;

struct live_watch_options {
	/* Age of the end of the newest interval: rows arrive that much later at most. */
	uint64_t lag_ns;
	bool has_places; /* live_device.place */
};

/* The interval and the content of a snapshot. */
struct live_look {
	uint64_t interval_ns;
	uint64_t end_ns; /* CLOCK_MONOTONIC; 0: the newest interval */
	bool has_stacks;
	int32_t pid; /* kernels and stacks of this process; 0: those of all */
};

/* Takes ownership of the follower, also on failure. -ENOMEM. */
int live_watch_new(struct live_follow *follow, const struct live_watch_options *options,
		   struct live_watch **ret_watch);
void live_watch_free(struct live_watch *watch); /* NULL-safe */
void live_watch_set_lag(struct live_watch *watch, uint64_t lag_ns);

/* *ret_snapshot is NULL if nothing was recorded in the interval; otherwise freed by the caller.
 * Errors: -errno with the error chain. */
int live_watch_look(struct live_watch *watch, const struct live_look *look,
		    struct live_snapshot **ret_snapshot);
/* End of the newest interval. Errors: -errno with the error chain. */
int live_watch_newest(struct live_watch *watch, uint64_t *ret_end_ns);
/* Notes up to where the file has been written at this moment: later looks leave older rows out.
 * Call it each LIVE_NOTE_NS between looks. Errors: -errno with the error chain. */
#define LIVE_NOTE_NS UINT64_C(200000000)
int live_watch_note(struct live_watch *watch);
/* Start of the oldest rows in the file, as of the last look; 0: not known. */
uint64_t live_watch_start_ns(const struct live_watch *watch);
/* End of the interval of the last look. */
uint64_t live_watch_end_ns(const struct live_watch *watch);
/* No more rows will come: the newest interval ends with the last row. As of the last look. */
bool live_watch_has_ended(const struct live_watch *watch);

/* Time for which the recorder has written nothing, although it still runs; 0: it is not late. As of
 * the last look or live_watch_newest. */
uint64_t live_watch_silent_ns(const struct live_watch *watch);

/* Writes the segments since `ns` before the newest interval's end into a new file, a trace of its
 * own. Errors: -errno with the error chain; no file is left. */
int live_watch_keep(struct live_watch *watch, uint64_t ns, const char *path);
