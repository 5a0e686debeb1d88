/* SPDX-License-Identifier: MIT
 *
 * cli/archive.h - copy the symbol files of a trace into a folder beside it
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/frames.h"

struct archive_result {
	size_t copied, kept; /* files; kept: were already there */
	size_t missing;      /* modules whose file is gone or was replaced */
	uint64_t bytes;      /* bytes copied */
};

/* The archive folder of a trace, FILE.symbols. Freed by the caller; NULL: no memory. */
char *archive_folder(const char *trace);

/* Names of frames with their lines, from the archive first. */
struct frames_options archive_names(const char *archive);

/* Copies the programs, libraries and debug files of all frames of the trace into its folder. Calls
 * on_missing for each module that could not be copied. Errors: -errno with the error chain. */
int archive_trace(const char *trace, void (*on_missing)(void *context, const char *path),
		  void *context, struct archive_result *ret_result);
