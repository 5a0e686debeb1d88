/* SPDX-License-Identifier: MIT
 *
 * collect/system/instance_names.h - the disks and network interfaces that the kernel lists now
 */
#pragma once

#include <stddef.h>

#include "collect/counter/series.h"

enum { MAX_INSTANCE_NAMES = 256 };

struct instance_names {
	char texts[MAX_INSTANCE_NAMES][SERIES_NAME_BYTES];
	const char *all[MAX_INSTANCE_NAMES];
	size_t count;
};

/* root: prefix of /proc; "": the real one. A file that cannot be read has no names. */
void instance_names_read_disks(const char *root, struct instance_names *ret_names);
void instance_names_read_interfaces(const char *root, struct instance_names *ret_names);
