/* SPDX-License-Identifier: MIT
 *
 * symbol/jit/perf_map.h - names of JIT code from /tmp/perf-PID.map
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* An address to look up. */
struct perf_map_wanted {
	uint64_t address;
	uint64_t at;     /* offset of the name in the file */
	uint32_t length; /* bytes of the name; 0: not found */
};

/* Looks up `count` addresses, sorted, in the first `max_bytes` of a file, which is read block by
 * block. Lines are "START SIZE NAME", both numbers hexadecimal. A later line replaces overlapping
 * parts of earlier lines; an invalid line is left out. Errors: -errno of reading, -ENOMEM. */
int perf_map_search(int fd, uint64_t max_bytes, struct perf_map_wanted *wanted, size_t count);

/* The found name; freed by the caller. NULL: it is no longer there, or no memory. */
char *perf_map_name(int fd, const struct perf_map_wanted *wanted);
