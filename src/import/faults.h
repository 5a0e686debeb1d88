/* SPDX-License-Identifier: MIT
 *
 * import/faults.h - invalid parts of a foreign file: left out, counted and reported
 */
#pragma once

#include <stdint.h>

struct import_source;
struct import_target;

struct import_faults {
	struct import_target *target;
	const char *unit, *units; /* "line", "lines" */
	uint64_t count;
	char first[256];
};

/* Counts and reports -EBADMSG with its text, and returns 0. Returns any other error. */
int import_faults_add(struct import_faults *faults, int error);

/* The same for an error of import_source_line: skips a line that is too long; damaged data remain
 * an error. */
int import_faults_add_unread(struct import_faults *faults, struct import_source *source, int error);

/* Reports the number of faults that were not shown. Returns -EBADMSG if there were faults and
 * `usable` is 0. `usable` is the number of readable items; `what` is their name ("sample"). */
int import_faults_end(struct import_faults *faults, uint64_t usable, const char *what);
