/* SPDX-License-Identifier: MIT
 *
 * base/io.h - whole reads and whole writes
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <stdint.h>

/* Write or read all `size` bytes through interruptions and short transfers. Errors: -errno;
 * read_all and pread_all: -ENODATA where the file ends first. They leave the error chain alone. */
int write_all(int fd, const void *bytes, size_t size);
int pwrite_all(int fd, const void *bytes, size_t size, uint64_t offset);
int read_all(int fd, void *bytes, size_t size);
int pread_all(int fd, void *bytes, size_t size, uint64_t offset);

/* Makes the folders that lead to a path, which is changed meanwhile and as before at the end. -EIO, with the
 * folder in the error chain. */
int make_folders_of(char *path);

/* Says why a file could not be created, by errno: -errno, with the path, and with its folder where that is what lacks. */
int create_refused(const char *path);

/* A whole file, also one of /proc or a pipe that tells no size; NUL-terminated beyond its size,
 * freed by the caller. ret_size may be NULL. max_size 0: no limit. Errors: -errno with the path in
 * the error chain; -EFBIG above max_size. */
int read_file(const char *path, size_t max_size, char **ret_bytes, size_t *ret_size);

/* The same for an open descriptor, from where it stands; leaves the error chain alone. */
int read_fd(int fd, size_t max_size, char **ret_bytes, size_t *ret_size);

#endif
