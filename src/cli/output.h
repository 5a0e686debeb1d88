/* SPDX-License-Identifier: MIT
 *
 * cli/output.h - the file that a verb writes: its name by default, and what is said of it
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdio.h>

/* The trace's name with another end (".html"), freed by the caller. NULL: no memory, with a text. */
char *output_beside(const char *trace, const char *end);

/* Writes to a file, NULL: to stdout, and says on a terminal which. Errors: of write, -errno with a text that names the
 * file. */
int output_write(const char *path, int (*write)(void *context, FILE *out), void *context);

#endif
