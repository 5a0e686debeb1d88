/* SPDX-License-Identifier: MIT
 *
 * analyze/text/cgroup.h - the path of a process's control group, and the container that it names
 */
#pragma once

#include <stddef.h>

/* The path in a line of /proc/PID/cgroup, such as "0::/user.slice"; "" if it has none, or if it is
 * the root group, which says nothing about the process. */
const char *cgroup_path_of(const char *line);

/* The container of a path: its engine, if the path names it, and the first 12 digits of its id,
 * such as "docker 3f2a91c04b7e"; "" if the path names none. The text is cut to the buffer; returns
 * ret_text. */
const char *cgroup_container(const char *path, char *ret_text, size_t size);
