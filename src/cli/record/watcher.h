/* SPDX-License-Identifier: MIT
 *
 * cli/record/watcher.h - the process that looks for triggers while the recorder records
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "live/trigger/trigger.h"

struct watcher_options {
	const struct trigger_expr *exprs; /* borrowed */
	size_t count;
	uint64_t keep_ns;    /* time before a firing that its file has */
	uint64_t max_age_ns; /* older findings cannot be cut out any more */
	const char *command; /* run by /bin/sh for each file; NULL: none */
};

/* The recorder's side. All zero: there is no watcher. */
struct watcher {
	pid_t pid; /* 0: none */
	int fd;    /* the socket; valid with pid */
	bool has_ended;
};

enum watcher_event {
	WATCHER_NOTHING,
	WATCHER_FIRED,   /* *ret_firing */
	WATCHER_PROBLEM, /* ret_firing->reason: a sentence for the user */
	WATCHER_SKIPPED, /* it looked too late at ret_firing's time, and missed its triggers */
	WATCHER_DROPPED, /* ret_firing->end_ns: number of firings that were not kept */
	WATCHER_DONE,    /* all rows were evaluated, after watcher_finish */
	WATCHER_ENDED    /* it ended by itself; reported once */
};

/* Forks the watcher. Call it before the recorder has threads or descriptors of its own. Errors:
 * -errno with the error chain. */
int watcher_start(const struct watcher_options *options, struct watcher *ret_watcher);

/* From now on the watcher reads this file. */
void watcher_follow(struct watcher *watcher, const char *path);
/* Runs the command for a file. False: the watcher is gone. */
bool watcher_run(struct watcher *watcher, const char *file, const char *reason);
/* All rows are in the file: evaluate the rest. */
void watcher_finish(struct watcher *watcher);

/* The next event that has arrived. timeout_ms: how long to wait for one. */
enum watcher_event watcher_next(struct watcher *watcher, int timeout_ms,
				struct trigger_firing *ret_firing);

/* Resources that the watcher used. */
struct watcher_cost {
	uint64_t cpu_ns, memory_bytes;
};

/* Ends the watcher. False: there was none. */
bool watcher_stop(struct watcher *watcher, struct watcher_cost *ret_cost);
