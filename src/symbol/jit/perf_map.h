/* SPDX-License-Identifier: MIT
 *
 * symbol/jit/perf_map.h - names of JIT code from /tmp/perf-PID.map
 */
#ifndef SYMBOL_JIT_PERF_MAP_H
#define SYMBOL_JIT_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

struct perf_map;

struct perf_map_entry {
	const char *name; /* lives as long as the map */
	uint64_t start, size;
};

/* Lines "START SIZE NAME", both numbers hexadecimal. A later line replaces overlapping parts of
 * earlier lines; an invalid line is left out. Errors: -ENOMEM. */
int perf_map_parse(const char *text, size_t size, struct perf_map **ret_map);

/* Errors: -errno with the error chain. */
int perf_map_open(const char *path, struct perf_map **ret_map);
void perf_map_close(struct perf_map *map); /* NULL-safe */

/* Errors: -ENOENT. */
int perf_map_find(const struct perf_map *map, uint64_t address, struct perf_map_entry *ret_entry);

/* An address to look up. */
struct perf_map_wanted {
	uint64_t address;
	uint64_t at;     /* offset of the name in the file */
	uint32_t length; /* bytes of the name; 0: not found */
};

/* The same without a map in memory: looks up `count` addresses, sorted, in the first `max_bytes`
 * of a file, which is read block by block. Errors: -errno of reading, -ENOMEM. */
int perf_map_search(int fd, uint64_t max_bytes, struct perf_map_wanted *wanted, size_t count);

/* The found name; freed by the caller. NULL: it is no longer there, or no memory. */
char *perf_map_name(int fd, const struct perf_map_wanted *wanted);

size_t perf_map_count(const struct perf_map *map);
size_t perf_map_damaged_count(const struct perf_map *map);

#endif
