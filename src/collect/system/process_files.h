/* SPDX-License-Identifier: MIT
 *
 * collect/system/process_files.h - a file of each recorded process, read repeatedly
 */
#pragma once

#include "collect/counter/sampled_processes.h"
#include "collect/counter/source.h"

/* The first member of such a source's own state. The file name is the last part of the source's
 * path. */
struct process_files {
	struct tracked_view view;
	int fds[MAX_TRACKED];       /* -1: not open */
	uint64_t next[MAX_TRACKED]; /* for a paced source: the tick of the next reading */
	const struct tick *tick;
	const struct source *source;
	const char *name;
};

/* False: no processes are recorded. */
bool process_files_open(struct source_state *state, const struct tick *tick);
void process_files_close(struct source_state *state);

/* Reads the file of each process. */
void process_files_read(struct source_state *state, struct tick *tick);

#define PROCESS_FILES_SOURCE                                                     \
	.max_instances = MAX_TRACKED, .own_bytes = sizeof(struct process_files), \
	.open = process_files_open, .read = process_files_read, .close = process_files_close
