/* SPDX-License-Identifier: MIT
 *
 * base/copy.h - copies of files that can be told from copies of other files
 */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes what an open regular file holds, from its begin and at most most_bytes of it, to a path, whose folders are made
 * (the path is changed meanwhile and as before at the end). The copy has the file's time of modification, to the
 * nanosecond where the file system keeps that. It takes the place of what was at the path, whole or not at all.
 * *ret_bytes: how many were written. Errors: -errno with the path in the error chain. */
int copy_file(int from, char *to, mode_t mode, uint64_t most_bytes, uint64_t *ret_bytes);

/* Whether a regular file of the same size and time of modification lies at the path. */
bool copy_is_there(int from, const char *to);

#endif
