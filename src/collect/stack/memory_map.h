/* SPDX-License-Identifier: MIT
 *
 * collect/stack/memory_map.h - table of a process's executable mappings, by address
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_file;

/* An executable address range, mapped from one file or anonymous. */
struct memory_piece {
	uint64_t start, end;
	uint64_t file_offset;   /* offset of the byte at `start` */
	struct code_file *file; /* borrowed; NULL: anonymous */
	uint64_t put;           /* private to the map: value of `puts` at insertion */
};

/* All zero: empty. perf does not report unmapping. A piece therefore stays until a later one
 *           overlaps it or the map is renewed. */
struct memory_map {
	/* owned; sorted, without overlaps; the free space is between gap - 1 and gap */
	struct memory_piece *pieces;
	size_t count, capacity, gap;
	size_t most;     /* max count; 0: MAX_MEMORY_PIECES */
	size_t left_out; /* number of mappings beyond the limit at the last renewal */
	uint64_t puts;
	uint32_t references; /* for maps from memory_map_new */
};

/* A map is full when fewer than two more pieces fit below its limit. The limit is
 * MAX_MEMORY_PIECES, or twice the count of the map's last renewal if that is more. The kernel's
 * default limit is 65530 mappings (vm.max_map_count). A renewal keeps the pieces of the last
 * MEMORY_PIECES_RECENT insertions. */
enum { MAX_MEMORY_PIECES = 1 << 16, MEMORY_PIECES_LIMIT = 1 << 20, MEMORY_PIECES_RECENT = 4096 };

void memory_map_fini(struct memory_map *map); /* NULL-safe */

/* A map with a reference count: a child shares its parent's map until one of the two maps
 * something. NULL: out of memory. */
struct memory_map *memory_map_new(void);
struct memory_map *memory_map_share(struct memory_map *map);
void memory_map_release(struct memory_map *map); /* NULL-safe */

/* If the map is shared, replaces *inout_map by a copy. Errors: -ENOMEM. */
int memory_map_own(struct memory_map **inout_map);

/* Inserts a piece and removes what it overlaps. Errors, with the map unchanged: -ENOMEM; -ENOSPC:
 * full; -EINVAL: the end is not after the start. */
int memory_map_put(struct memory_map *map, const struct memory_piece *piece);

/* Whether memory_map_put may refuse another piece. */
bool memory_map_is_full(const struct memory_map *map);

/* Finds the piece at an address. NULL: none. Valid until the next memory_map_put. */
const struct memory_piece *memory_map_find(const struct memory_map *map, uint64_t address);

/* The piece with an index below `count`, in the order of addresses. */
const struct memory_piece *memory_map_at(const struct memory_map *map, size_t index);

/* Drops all pieces except the last inserted ones, because samples not yet taken may lie in them.
 * Then inserts `pieces`, the present mappings. The map's limit becomes twice its count, from
 * MAX_MEMORY_PIECES to MEMORY_PIECES_LIMIT; left_out counts the pieces beyond. Errors: -ENOMEM; the
 * map is unchanged. */
int memory_map_renew(struct memory_map *map, const struct memory_piece *pieces, size_t count);
