/* SPDX-License-Identifier: MIT
 *
 * collect/stack/mapped_file.h - opens the file that another process has mapped
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "symbol/proc_maps.h"

/* Opens the regular file of a mapping for reading, also if its path was removed or now names
 * another file. Errors: -errno; -ESTALE: the path names another file, and the mapped one cannot be
 * reached; -EINVAL: not a regular file. */
int mapped_file_open(pid_t pid, const struct proc_mapping *mapping);

/* Whether the open file is the one that is mapped, by the device and inode that the kernel reports
 * for mappings. */
bool mapped_file_is_same(int fd, const struct proc_mapping *mapping);
