/* SPDX-License-Identifier: MIT
 *
 * collect/memory_map.h - what code lies where in a process
 */
#ifndef COLLECT_MEMORY_MAP_H
#define COLLECT_MEMORY_MAP_H

#include <stddef.h>
#include <stdint.h>

struct code_file;

/* A run of addresses with one file's code, or with code of no file. */
struct memory_piece {
	uint64_t start, end;
	uint64_t file_offset;   /* of the byte at start */
	struct code_file *file; /* borrowed; NULL: of no file */
};

/* All zero: nothing is mapped. The kernel tells of no unmapping, so that a piece stays until another one
 * is put over it. */
struct memory_map {
	struct memory_piece *pieces; /* owned; sorted, none over another */
	size_t count, capacity;
};

enum { MEMORY_PIECES_MOST = 1 << 16 };

void memory_map_fini(struct memory_map *map); /* NULL-safe */

/* Puts a piece over whatever was there. Errors: -ENOMEM, -ENOSPC above MEMORY_PIECES_MOST, -EINVAL for an end that
 * is not behind its start; the map is as it was. */
int memory_map_put(struct memory_map *map, const struct memory_piece *piece);

/* NULL: nothing is known to lie there. */
const struct memory_piece *memory_map_find(const struct memory_map *map, uint64_t address);

/* What a forked child has. Errors: -ENOMEM. */
int memory_map_copy(const struct memory_map *from, struct memory_map *ret_copy);

#endif
