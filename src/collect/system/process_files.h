/* SPDX-License-Identifier: MIT
 *
 * collect/system/process_files.h - a file of each recorded process, read repeatedly
 */
#ifndef COLLECT_SYSTEM_PROCESS_FILES_H
#define COLLECT_SYSTEM_PROCESS_FILES_H

#include "collect/counter/sampled_processes.h"
#include "collect/counter/source.h"

/* The first member of such a source's own state. The file name is the last part of the source's
 * path. */
struct process_files {
	struct tracked_view view;
	int fds[MAX_TRACKED];       /* -1: not open */
	uint64_t next[MAX_TRACKED]; /* for a paced source: the tick of the next reading */
	const struct tick *tick;
	const char *name;
	const char *refused; /* note for a process whose file may not be read */
};

/* False: no processes are recorded. */
bool process_files_open(struct source_state *state, const struct tick *tick);
void process_files_close(struct source_state *state);

/* Reads the file of each process. parse sets the values found for the process of a slot, and
 * returns them as bits. */
void process_files_read(struct source_state *state, struct tick *tick,
			uint64_t (*parse)(struct source_state *state, struct tick *tick,
					  size_t place, size_t length, uint64_t *values));

#endif
