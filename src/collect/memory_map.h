/* SPDX-License-Identifier: MIT
 *
 * collect/memory_map.h - what code lies where in a process
 */
#ifndef COLLECT_MEMORY_MAP_H
#define COLLECT_MEMORY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_file;

/* A run of addresses with one file's code, or with code of no file. */
struct memory_piece {
	uint64_t start, end;
	uint64_t file_offset;   /* of the byte at start */
	struct code_file *file; /* borrowed; NULL: of no file */
	uint64_t put;           /* the map's own: when it was put, in puts */
};

/* All zero: nothing is mapped. The kernel tells of no unmapping, so that a piece stays until another one
 * is put over it, or the map is renewed. */
struct memory_map {
	struct memory_piece *
		pieces; /* owned; sorted, none over another, with the free room between gap - 1 and gap */
	size_t count, capacity, gap;
	size_t most;     /* pieces; 0: MEMORY_PIECES_MOST */
	size_t left_out; /* of what was mapped when it was renewed last: found no room */
	uint64_t puts;
	uint32_t references; /* of one from memory_map_new */
};

/* A map is renewed when it has so many pieces, or twice as many as there were then; the kernel's own limit of
 * mappings is 65530, unless somebody raised it. What was put in the last MEMORY_PIECES_RECENT times is kept. */
enum { MEMORY_PIECES_MOST = 1 << 16, MEMORY_PIECES_LIMIT = 1 << 20, MEMORY_PIECES_RECENT = 4096 };

void memory_map_fini(struct memory_map *map); /* NULL-safe */

/* One that several processes can have: a child has its parent's until one of the two maps something. NULL: out of
 * memory. */
struct memory_map *memory_map_new(void);
struct memory_map *memory_map_share(struct memory_map *map);
void memory_map_release(struct memory_map *map); /* NULL-safe */

/* The map, or, where it is shared, a copy of one's own in its place. Errors: -ENOMEM. */
int memory_map_own(struct memory_map **inout_map);

/* Puts a piece over whatever was there. Errors: -ENOMEM, -ENOSPC where there are too many, -EINVAL for an end that
 * is not behind its start; the map is as it was. */
int memory_map_put(struct memory_map *map, const struct memory_piece *piece);

/* NULL: nothing is known to lie there. Valid until the next put. */
const struct memory_piece *memory_map_find(const struct memory_map *map, uint64_t address);

/* By its number, below count, in the order of addresses. */
const struct memory_piece *memory_map_at(const struct memory_map *map, size_t index);

/* Forgets all pieces but the last ones put (what a sample that is still to come may lie in), and puts `pieces`, which
 * are mapped now, over those. Where most of a map is mapped it may grow further, up to MEMORY_PIECES_LIMIT: what is
 * beyond is counted in left_out. Errors: -ENOMEM; the map is as it was. */
int memory_map_renew(struct memory_map *map, const struct memory_piece *pieces, size_t count);

#endif
