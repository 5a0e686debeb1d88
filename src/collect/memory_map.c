/* SPDX-License-Identifier: MIT
 *
 * collect/memory_map.c - what code lies where in a process
 *
 * Runs in:  the recorder
 * Gets:     mappings in the order in which they were made   Gives: the one at an address
 * Owns:     the pieces
 * Fails:    -ENOMEM, -ENOSPC
 * Why:      a sorted array: a program has some 30 pieces and is asked hundreds of times a second for each frame
 *           of a stack. Ten thousand libraries cost half a second of moving in all.
 */
#include "collect/memory_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void memory_map_fini(struct memory_map *map)
{
	if (!map)
		return;
	free(map->pieces);
	*map = (struct memory_map){0};
}

/* The first piece that ends behind an address. */
static size_t first_behind(const struct memory_map *map, uint64_t address)
{
	size_t low = 0, high = map->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->pieces[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct memory_piece *memory_map_find(const struct memory_map *map, uint64_t address)
{
	size_t i = first_behind(map, address);

	return i < map->count && map->pieces[i].start <= address ? &map->pieces[i] : NULL;
}

static struct memory_piece cut_before(struct memory_piece piece, uint64_t start)
{
	piece.file_offset += start - piece.start;
	piece.start = start;
	return piece;
}

/* What of the pieces [first, last) is not covered, and the new one: at most three in their place. */
int memory_map_put(struct memory_map *map, const struct memory_piece *piece)
{
	struct memory_piece put[3];
	size_t first = first_behind(map, piece->start), last = first, count = 0;

	if (piece->end <= piece->start)
		return -EINVAL;
	while (last < map->count && map->pieces[last].start < piece->end)
		last++;
	if (map->count + 2 > MEMORY_PIECES_MOST)
		return -ENOSPC;
	if (array_grow(map->pieces, map->capacity, map->count + 2))
		return -ENOMEM;
	if (first < last && map->pieces[first].start < piece->start) {
		put[count] = map->pieces[first];
		put[count++].end = piece->start;
	}
	put[count++] = *piece;
	if (first < last && map->pieces[last - 1].end > piece->end)
		put[count++] = cut_before(map->pieces[last - 1], piece->end);
	memmove(map->pieces + first + count, map->pieces + last,
		(map->count - last) * sizeof(*map->pieces));
	memcpy(map->pieces + first, put, count * sizeof(*put));
	map->count += count - (last - first);
	return 0;
}

int memory_map_copy(const struct memory_map *from, struct memory_map *ret_copy)
{
	struct memory_map copy = {.count = from->count, .capacity = from->count};

	if (from->count) {
		copy.pieces = malloc(from->count * sizeof(*copy.pieces));
		if (!copy.pieces)
			return -ENOMEM;
		memcpy(copy.pieces, from->pieces, from->count * sizeof(*copy.pieces));
	}
	*ret_copy = copy;
	return 0;
}
