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

size_t perf_map_count(const struct perf_map *map);
size_t perf_map_damaged_count(const struct perf_map *map);

#endif
