/* SPDX-License-Identifier: MIT
 *
 * base/file/copy.h - copy files together with their modification time
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct output_folder;

/* Copies at most max_bytes from the start of one open file to the position of another. *ret_bytes:
 * bytes copied. Errors: -errno with `path`, the target's path, in the error chain. */
int copy_content(int from, int to, const char *path, uint64_t max_bytes, uint64_t *ret_bytes);

/* Copies an open regular file, at most max_bytes from its start, to a path below a folder; missing
 * folders are made. The copy gets the file's modification time, to the nanosecond if the file
 * system supports that. It replaces a file at the path, completely or not at all. *ret_bytes: bytes
 * written. Errors: -errno with the path in the error chain. */
int copy_file(int from, struct output_folder *folder, const char *path, mode_t mode,
	      uint64_t max_bytes, uint64_t *ret_bytes);

/* Whether a regular file of the same size and modification time is at the path. */
bool copy_is_there(int from, struct output_folder *folder, const char *path);
