/* SPDX-License-Identifier: MIT
 *
 * cli/archive.h - the files that a trace's names come from, kept beside it
 */
#ifndef CLI_ARCHIVE_H
#define CLI_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct archive_result {
	size_t copied, kept; /* files; kept: there already */
	size_t missing;      /* modules whose file is gone or another's now */
	uint64_t bytes;      /* copied */
};

/* The folder that belongs to a trace: FILE.symbols. To be freed; NULL: no memory. */
char *archive_folder(const char *trace);

/* Copies the programs, libraries and debug files of all frames of the trace into its folder. Errors: -errno with
 * the error chain. on_missing is told of each module that could not be kept. */
int archive_trace(const char *trace, void (*on_missing)(void *context, const char *path),
		  void *context, struct archive_result *ret_result);

#endif
