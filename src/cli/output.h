/* SPDX-License-Identifier: MIT
 *
 * cli/output.h - the file that a verb writes: its name by default, and what is said of it
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdio.h>

/* The trace's name with another end (".html"), freed by the caller. NULL: no memory, with a text. */
char *output_beside(const char *trace, const char *end);

/* A file that takes its name when it is whole: until then what had the name stays, and nothing is left where writing fails or
 * is interrupted. Pipes, devices, links, files with several names and files of others are written in place. */
struct whole_file {
	FILE *file;
	const char *path; /* NULL: stdout */
	char *part;       /* what takes the name in the end; NULL: written in place */
};

/* path NULL: stdout. -errno with a text that names the file. */
int whole_file_open(struct whole_file *output, const char *path);

/* error: what writing came to; anything but 0 leaves no new file. Returns it, or why the file is not whole. */
int whole_file_close(struct whole_file *output, int error);

/* Writes to a file, NULL: to stdout, and says on a terminal which. Errors: of write, -errno with a text that names the
 * file. */
int output_write(const char *path, int (*write)(void *context, FILE *out), void *context);

#endif
