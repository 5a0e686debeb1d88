/* SPDX-License-Identifier: MIT
 *
 * live/follow.h - read a trace file that a recorder is still writing
 *
 * A follower finds the segments that a growing file has and returns the newest ones as bytes in
 * memory, which trace_reader_open_memory reads. A segment stands alone, so a window of the last
 * seconds needs only the segments that overlap it. The present segment is included as far as its
 * chunks are complete in the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/observer.h"

struct analysis;
struct live_follow;
struct model;
struct trace_reader;

/* Takes ownership of fd, a descriptor of the file that can be read at any offset. Errors: -ENOMEM.
 */
int live_follow_new(int fd, struct live_follow **ret_follow);
/* Opens a file by name. Errors: -errno with the path in the error chain. */
int live_follow_open(const char *path, struct live_follow **ret_follow);
void live_follow_free(struct live_follow *follow); /* NULL-safe */

/* Looks for new chunks; reads only their heads. Call it before live_follow_analyse. Errors:
 * -errno. *ret_newest_ns (may be NULL): latest time of a row in the file, CLOCK_MONOTONIC; 0: none.
 */
int live_follow_update(struct live_follow *follow, uint64_t *ret_newest_ns);

/* When the file was last written, CLOCK_MONOTONIC; 0: not known. */
uint64_t live_follow_written_ns(const struct live_follow *follow);

/* Start of the oldest segment in the file, CLOCK_MONOTONIC; 0: none, or not known. */
uint64_t live_follow_start_ns(const struct live_follow *follow);

/* True: the recorder has closed the file, so no more rows will come. */
bool live_follow_has_ended(const struct live_follow *follow);
/* True: no process has the file open for writing any more (its recorder was killed). */
bool live_follow_is_abandoned(const struct live_follow *follow);

/* The newest part of a recording, with its analysis. */
struct live_window {
	void *bytes; /* owned */
	size_t size;
	struct model *model;         /* owned */
	struct trace_reader *reader; /* the model's */
	struct analysis *analysis;   /* owned */
};

struct live_window_options {
	uint64_t begin_ns, end_ns; /* the window, CLOCK_MONOTONIC */
	/* Time before begin_ns whose segments are read too, for launches of commands that run in
	 * the window; 0: 2 s. */
	uint64_t before_ns;
	bool finds_iterations;
	bool by_thread;
	bool is_brief;                            /* as in struct analysis_options */
	const struct analysis_observer *observer; /* NULL: none */
	uint64_t max_bytes; /* older segments are left out beyond this size; 0: 256 MiB */
};

/* Reads and analyses a window. Errors: -errno; -ENODATA: the file has no row in that time. */
int live_follow_analyse(struct live_follow *follow, const struct live_window_options *options,
			struct live_window *ret_window);
void live_window_fini(struct live_window *window); /* NULL-safe on zeroed memory */
