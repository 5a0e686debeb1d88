/* SPDX-License-Identifier: MIT
 *
 * symbol/perf_map.h - names of generated code from /tmp/perf-PID.map
 */
#ifndef SYMBOL_PERF_MAP_H
#define SYMBOL_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

struct perf_map;

struct perf_map_entry {
	const char *name; /* lives as long as the map */
	uint64_t start, size;
};

/* Lines "START SIZE NAME", both numbers hexadecimal. What is written later replaces what it
 * overlaps; a line that makes no sense is left out. Errors: -ENOMEM. */
int perf_map_parse(const char *text, size_t size, struct perf_map **ret_map);

/* Errors: -errno with the error chain. */
int perf_map_open(const char *path, struct perf_map **ret_map);
void perf_map_close(struct perf_map *map); /* NULL-safe */

/* Errors: -ENOENT. */
int perf_map_find(const struct perf_map *map, uint64_t address, struct perf_map_entry *ret_entry);

/* An address that is looked for. */
struct perf_map_wanted {
	uint64_t address;
	uint64_t at;     /* of the name in the file, and … */
	uint32_t length; /* … its bytes; 0: not found */
};

/* The same without a map in memory: looks `count` addresses, sorted, up in the first `most_bytes` of a file, of which
 * a block at a time is read. Errors: -errno of reading, -ENOMEM. */
int perf_map_search(int fd, uint64_t most_bytes, struct perf_map_wanted *wanted, size_t count);

/* The name that was found; freed by the caller. NULL: it is not there any more, or no memory. */
char *perf_map_name(int fd, const struct perf_map_wanted *wanted);

size_t perf_map_count(const struct perf_map *map);
size_t perf_map_damaged_count(const struct perf_map *map);

#endif
