/* SPDX-License-Identifier: MIT
 *
 * cli/info/cubin.h - duet info for a cubin (NVIDIA): functions, sizes, instructions, lines
 */
#ifndef CLI_INFO_CUBIN_H
#define CLI_INFO_CUBIN_H

#include <stdbool.h>
#include <stddef.h>

/* Prints the cubin. Errors: -errno with the error chain. */
int info_cubin(const char *path, const void *bytes, size_t size, bool is_json);

#endif
