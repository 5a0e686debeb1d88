/* SPDX-License-Identifier: MIT
 *
 * cli/output.h - write a verb's output file: default name, temporary file, message
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/file/output_file.h"

/* The trace's name with another ending (".html"), freed by the caller. NULL: no memory, with the
 * error chain. */
char *output_beside(const char *trace, const char *end);

/* An output file that gets its name when it is complete. Until then an older file of that name
 * stays. If writing fails or is interrupted, no new file is left. Pipes, devices, links, files with
 * several hard links and files of other users are written in place. */
struct whole_file {
	FILE *file;
	const char *path; /* NULL: stdout */
	struct output_place place;
	char *part; /* name of the temporary file in `place`; NULL: written in place */
};

/* path NULL: stdout. Errors: -errno with the error chain, which names the file. */
int whole_file_open(struct whole_file *output, const char *path);

/* error: result of writing; if not 0, the new file is removed. Returns error, or the error of
 * closing and renaming. */
int whole_file_close(struct whole_file *output, int error);

/* Writes to a file, or to stdout if path is NULL. Errors: that of write; -errno with the error
 * chain, which names the file. */
int output_write(const char *path, int (*write)(void *context, FILE *out), void *context);

/* Prints one line on stderr if it is a terminal: "duet: wrote run.svg (1.2 MiB): idle, 20 frames".
 * path NULL, stdout: prints nothing. */
__attribute__((format(printf, 2, 3))) void output_announce(const char *path, const char *format,
							   ...);

/* Whether the reader of stdout has closed it. That error is cleared, as it is not a failure. path
 * NULL: stdout. */
bool output_is_cut(const char *path, int error);
