/* SPDX-License-Identifier: MIT
 *
 * base/file/regular_file.h - open regular files whose paths come from other users
 */
#pragma once

/* Opens a regular file for reading. Links are followed. A device, a pipe, a socket or a folder is
 * refused without being opened. Errors: -errno; -EINVAL: not a regular file. The error chain is
 * left alone. */
int regular_file_open(const char *path);

/* The same in the folder `root`, as a process sees it whose root folder that is: its links cannot
 * lead out. A kernel without openat2 (before Linux 5.6) follows links out of it. */
int regular_file_open_in(int root, const char *path);
