/* SPDX-License-Identifier: MIT
 *
 * import/importer.h - a reader of a foreign format: one file, one row in the registry
 */
#ifndef IMPORT_IMPORTER_H
#define IMPORT_IMPORTER_H

#include <stddef.h>
#include <stdint.h>

struct import_source;
struct import_target;

struct importer {
	const char *name;
	const char *help; /* one line */
	/* Reads all of the source into the target, and notes what a recording has and the file lacks. Errors: -EBADMSG
	 * with a text that says where, what was expected and what was found; what the source or the target fails with. */
	int (*read)(struct import_source *source, struct import_target *target);
};

/* In the order in which they are listed; ends with NULL. */
extern const struct importer *const importers[];

/* NULL where there is none of that name. */
const struct importer *importer_find(const char *name);

struct import_result {
	uint64_t rows;
	char *notes; /* what the file lacks, for people, a line each; "" or NULL: nothing; freed by the caller */
	char *faults; /* what of it is left out, since it makes no sense; the same */
};

/* Makes the trace `output` of the file `path`. A file that was there is replaced once the new one is whole. Errors: those of
 * the importer with the path, what writing fails with. */
int import_file(const struct importer *importer, const char *path, const char *output,
		struct import_result *ret_result);

#endif
