/* SPDX-License-Identifier: MIT
 *
 * import/importer.h - a reader of a foreign format: one file, one row in the registry
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_probe;
struct import_source;
struct import_target;

struct importer {
	const char *name;
	const char *help; /* one line */
	/* Reads the whole source into the target. Adds a note about data that a recording has and
	 * the file lacks. Errors: -EBADMSG with a text that contains the place, the expected and
	 * the actual value; errors of the source and the target. */
	int (*read)(struct import_source *source, struct import_target *target);
	/* Whether a file has this format, by its first bytes or its tables. */
	bool (*recognize)(const struct import_probe *probe);
};

/* In the order of `duet import --help`; ends with NULL. The first one that recognizes a file reads
 * it, so the importer of a special case stands before that of the general one. */
extern const struct importer *const importers[];

/* NULL if there is none of that name. */
const struct importer *importer_find(const char *name);

struct import_result {
	uint64_t rows;
	char *notes;  /* data that the file lacks, one line each for the user; "" or NULL: none;
			 freed by the caller */
	char *faults; /* invalid parts that were left out; the same form */
};

/* Imports files of one job into the trace `output`. importer NULL: that which recognizes the file.
 * An existing output keeps its content until the new trace is complete. Errors: those of the
 * importers with the path, those of writing. */
int import_files(const struct importer *importer, char *const *paths, size_t count,
		 const char *output, struct import_result *ret_result);
/* The same for one file. */
int import_file(const struct importer *importer, const char *path, const char *output,
		struct import_result *ret_result);
