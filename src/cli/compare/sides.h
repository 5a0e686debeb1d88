/* SPDX-License-Identifier: MIT
 *
 * cli/compare/sides.h - read the recordings that diff and gate compare
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/compare/comparison.h"

struct cli_command;

/* The files of the command line: BASE… and, after --new, NEW…. */
struct compare_files {
	const char **base, **changed; /* owned arrays of words of argv */
	size_t base_count, changed_count;
};

/* Moves the words after --new out of argv: those up to the next option. Returns the number of words
 * that remain in argv; -ENOMEM. */
int compare_files_split(struct compare_files *files, int argc, char **argv);
/* The operands that remain: all are BASE with --new, otherwise the first is BASE and the second
 * NEW. Returns a status; messages are printed. */
int compare_files_take(const struct cli_command *command, struct compare_files *files, int argc,
		       char **argv, int first);
void compare_files_fini(struct compare_files *files);

struct sides_request {
	const char *device, *range; /* NULL: all devices; the whole runs */
	uint32_t tables;
};

struct compare_sides {
	struct compare_side **runs; /* owned; in the order of time */
	size_t count;
};

/* Reads recordings, one after the other. Returns a status; STATUS_USAGE for a file that cannot be
 * read, with a message. */
int compare_sides_read(const struct cli_command *command, const char *const *paths, size_t count,
		       const struct sides_request *request, struct compare_sides *ret_sides);
void compare_sides_fini(struct compare_sides *sides); /* NULL-safe */

/* Iterations per run; 0: a run has too few for batches. */
double compare_sides_iterations(const struct compare_sides *sides);
/* The value of --confidence as a part of 1; text NULL: stays as it is. A status. */
int compare_confidence_parse(const struct cli_command *command, const char *text,
			     double *inout_confidence);

static inline struct comparison_sides compare_sides_of(const struct compare_sides *sides)
{
	return (struct comparison_sides){.runs = (const struct compare_side *const *)sides->runs,
					 .count = sides->count};
}
