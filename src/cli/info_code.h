/* SPDX-License-Identifier: MIT
 *
 * cli/info_code.h - what is in a code object of a GPU: kernels, sizes, instructions, lines
 */
#ifndef CLI_INFO_CODE_H
#define CLI_INFO_CODE_H

#include <stdbool.h>

struct command;

/* Whether the file is an ELF file, which no trace is. */
bool info_is_code(const char *path);

/* Prints it; returns the command's status. */
int info_code(const struct command *command, const char *path, bool is_json);

#endif
