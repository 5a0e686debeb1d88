/* SPDX-License-Identifier: MIT
 *
 * base/io.h - whole reads and whole writes
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Write or read all `size` bytes despite interruptions and short transfers. Errors: -errno;
 * read_all and pread_all: -ENODATA if the file ends first. They do not set the error chain. */
int write_all(int fd, const void *bytes, size_t size);
int pwrite_all(int fd, const void *bytes, size_t size, uint64_t offset);
int read_all(int fd, void *bytes, size_t size);
int pread_all(int fd, void *bytes, size_t size, uint64_t offset);

/* Explains by errno why a file could not be created, with its path, and with its folder if the
 * folder is missing. Returns -errno. */
int create_refused(const char *path);

/* Reads a whole file, also from /proc or a pipe, which have no size; NUL-terminated beyond its
 * size, freed by the caller. ret_size may be NULL. max_size 0: no limit. Errors: -errno with the
 * path in the error chain; -EFBIG above max_size. */
int read_file(const char *path, size_t max_size, char **ret_bytes, size_t *ret_size);

/* The same for an open descriptor, from its current position; does not set the error chain. */
int read_fd(int fd, size_t max_size, char **ret_bytes, size_t *ret_size);
