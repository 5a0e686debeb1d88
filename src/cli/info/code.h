/* SPDX-License-Identifier: MIT
 *
 * cli/info/code.h - duet info for a GPU code object: kernels, sizes, instructions, lines
 */
#ifndef CLI_INFO_CODE_H
#define CLI_INFO_CODE_H

#include <stdbool.h>

struct cli_command;

/* Whether the file is an ELF file, and therefore not a trace. */
bool info_is_code(const char *path);

/* Prints the code object; returns the command's status. */
int info_code(const struct cli_command *command, const char *path, bool is_json);

#endif
