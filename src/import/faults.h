/* SPDX-License-Identifier: MIT
 *
 * import/faults.h - what of a foreign file makes no sense: left out, counted and shown
 */
#ifndef IMPORT_FAULTS_H
#define IMPORT_FAULTS_H

#include <stdint.h>

struct import_source;
struct import_target;

struct import_faults {
	struct import_target *target;
	const char *unit, *units; /* "line", "lines" */
	uint64_t count;
	char first[256];
};

/* Takes -EBADMSG, with the text that says where: 0 then. Any other error is returned. */
int import_faults_add(struct import_faults *faults, int error);

/* The same for what import_source_line failed with: a line that is too long is skipped, the end of the data is an error. */
int import_faults_add_unread(struct import_faults *faults, struct import_source *source, int error);

/* Says how many more there were. -EBADMSG where there were some and nothing else: `usable` of `what` ("sample") could be read. */
int import_faults_end(struct import_faults *faults, uint64_t usable, const char *what);

#endif
