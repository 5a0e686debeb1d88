/* SPDX-License-Identifier: MIT
 *
 * cli/info_cubin.h - what is in a code object of NVIDIA's: functions, sizes, instructions, lines
 */
#ifndef CLI_INFO_CUBIN_H
#define CLI_INFO_CUBIN_H

#include <stdbool.h>
#include <stddef.h>

/* Prints it. Errors: -errno with the error chain. */
int info_cubin(const char *path, const void *bytes, size_t size, bool is_json);

#endif
