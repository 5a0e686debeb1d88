/* SPDX-License-Identifier: MIT
 *
 * base/output_file.h - create or open the files that duet writes, without writing where another user wants it
 */
#ifndef BASE_OUTPUT_FILE_H
#define BASE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Opens a file for writing, which is created with `mode` where it is missing; flags: of open(2), without O_CREAT. As root, a
 * link that another user may have placed, and a file or pipe of another user, are refused with -EPERM; terminals, devices and
 * duet's own descriptors (/dev/stdout) are not. Returns the descriptor. ret_is_new: it was created; may be NULL. Errors:
 * -errno with the error chain. */
int output_file_open(const char *path, int flags, mode_t mode, bool *ret_is_new);

/* The same as an empty file with mode 0666. NULL: -errno is in *ret_error. */
FILE *output_file_stream(const char *path, int *ret_error);

/* Whether the path names a descriptor that duet was started with, such as /dev/stdout. */
bool output_file_is_descriptor(const char *path);

/* As root: whether a folder that is there is root's own and no link. 0 where it is missing, or duet does not run as root.
 * Errors: -EPERM with the error chain. */
int output_folder_check(const char *path);

#endif
