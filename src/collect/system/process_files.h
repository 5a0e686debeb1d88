/* SPDX-License-Identifier: MIT
 *
 * collect/system/process_files.h - a file of each recorded process, read again and again
 */
#ifndef COLLECT_SYSTEM_PROCESS_FILES_H
#define COLLECT_SYSTEM_PROCESS_FILES_H

#include "collect/source.h"
#include "collect/tracked.h"

/* What the own of such a source begins with. The file is the last part of the source's. */
struct process_files {
	struct tracked_view view;
	int fds[TRACKED_MOST]; /* -1: not open */
	uint64_t next
		[TRACKED_MOST]; /* of a source that is paced: tick with which it is read again */
	const struct tick *tick;
	const char *name;
	const char *refused; /* what is noted of a process whose file is not ours to read */
};

/* Whether there are processes. */
bool process_files_open(struct source_state *state, const struct tick *tick);
void process_files_close(struct source_state *state);

/* A round; parse fills in what is found in a file, as bits, of the process at a place. */
void process_files_read(struct source_state *state, struct tick *tick,
			uint64_t (*parse)(struct source_state *state, struct tick *tick,
					  size_t place, size_t length, uint64_t *values));

#endif
