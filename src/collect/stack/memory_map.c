/* SPDX-License-Identifier: MIT
 *
 * collect/stack/memory_map.c - table of a process's executable mappings, by address
 *
 * Runs in:  the recorder
 * Gets:     mappings in the order in which the process made them; for memory_map_renew, a list of
 *           the present mappings
 * Gives:    the mapping at an address
 * Owns:     the pieces (executable mappings that do not overlap)
 * Fails:    -ENOMEM; -ENOSPC: the map is full; -EINVAL: an empty mapping
 * Why:      a sorted array with a gap. A program has some 30 pieces, and each frame of hundreds of
 *           stacks a second needs a lookup. The free space (gap) is where the last piece was
 *           inserted, because libraries are mapped one below the other: in a process with 60000
 *           mappings, moving all higher pieces at each insertion would take 5 s.
 */
#include "collect/stack/memory_map.h"

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

struct memory_map *memory_map_new(void)
{
	struct memory_map *map = calloc(1, sizeof(*map));

	if (map)
		map->references = 1;
	return map;
}

struct memory_map *memory_map_share(struct memory_map *map)
{
	map->references++;
	return map;
}

void memory_map_release(struct memory_map *map)
{
	if (!map || --map->references)
		return;
	memory_map_fini(map);
	free(map);
}

static struct memory_piece *piece_at(const struct memory_map *map, size_t index)
{
	return &map->pieces[index < map->gap ? index : index + map->capacity - map->count];
}

/* Index of the first piece that ends after an address. */
static size_t first_behind(const struct memory_map *map, uint64_t address)
{
	return LOWER_BOUND(map->count, i, piece_at(map, i)->end <= address);
}

const struct memory_piece *memory_map_find(const struct memory_map *map, uint64_t address)
{
	size_t i = first_behind(map, address);

	return i < map->count && piece_at(map, i)->start <= address ? piece_at(map, i) : NULL;
}

const struct memory_piece *memory_map_at(const struct memory_map *map, size_t index)
{
	return piece_at(map, index);
}

static void move_gap(struct memory_map *map, size_t to)
{
	size_t room = map->capacity - map->count, size = sizeof(*map->pieces);

	if (to < map->gap)
		memmove(map->pieces + to + room, map->pieces + to, (map->gap - to) * size);
	else if (to > map->gap)
		memmove(map->pieces + map->gap, map->pieces + map->gap + room,
			(to - map->gap) * size);
	map->gap = to;
}

static int make_room(struct memory_map *map, size_t count)
{
	if (count <= map->capacity)
		return 0;
	if (map->count)
		move_gap(map, map->count);
	return array_grow(map->pieces, map->capacity, count);
}

static struct memory_piece cut_before(struct memory_piece piece, uint64_t start)
{
	piece.file_offset += start - piece.start;
	piece.start = start;
	return piece;
}

bool memory_map_is_full(const struct memory_map *map)
{
	return map->count + 2 > (map->most ? map->most : MAX_MEMORY_PIECES);
}

/* Replaces the overlapping pieces [first, last) by the new piece and the uncovered rests before and
 * after it: at most three pieces. */
int memory_map_put(struct memory_map *map, const struct memory_piece *piece)
{
	struct memory_piece put[3];
	size_t first = first_behind(map, piece->start), last = first, count = 0;

	if (piece->end <= piece->start)
		return -EINVAL;
	while (last < map->count && piece_at(map, last)->start < piece->end)
		last++;
	if (memory_map_is_full(map))
		return -ENOSPC;
	if (make_room(map, map->count + 3))
		return -ENOMEM;
	if (first < last && piece_at(map, first)->start < piece->start) {
		put[count] = *piece_at(map, first);
		put[count++].end = piece->start;
	}
	put[count] = *piece;
	put[count++].put = ++map->puts;
	if (first < last && piece_at(map, last - 1)->end > piece->end)
		put[count++] = cut_before(*piece_at(map, last - 1), piece->end);
	move_gap(map, first);
	map->count -= last - first;
	memcpy(map->pieces + map->gap, put, count * sizeof(*put));
	map->gap += count;
	map->count += count;
	return 0;
}

static int copy(const struct memory_map *from, struct memory_map *to)
{
	if (make_room(to, from->count))
		return -ENOMEM;
	for (size_t i = 0; i < from->count; i++)
		to->pieces[i] = *piece_at(from, i);
	to->gap = to->count = from->count;
	to->most = from->most;
	to->left_out = from->left_out;
	to->puts = from->puts;
	return 0;
}

int memory_map_own(struct memory_map **inout_map)
{
	struct memory_map *map = *inout_map, *own;

	if (map->references <= 1)
		return 0;
	own = memory_map_new();
	if (!own || copy(map, own)) {
		memory_map_release(own);
		return -ENOMEM;
	}
	memory_map_release(map);
	*inout_map = own;
	return 0;
}

/* Copies the pieces of the last MEMORY_PIECES_RECENT insertions, with their insertion numbers. */
static int keep_recent(const struct memory_map *map, struct memory_map *kept)
{
	int error = 0;

	for (size_t i = 0; i < map->count && !error; i++) {
		const struct memory_piece *piece = piece_at(map, i);

		if (piece->put + MEMORY_PIECES_RECENT <= map->puts)
			continue;
		error = make_room(kept, kept->count + 1);
		if (!error)
			kept->pieces[kept->count++] = *piece;
		kept->gap = kept->count;
	}
	kept->puts = map->puts;
	return error;
}

int memory_map_renew(struct memory_map *map, const struct memory_piece *pieces, size_t count)
{
	struct memory_map renewed = {.most = MEMORY_PIECES_LIMIT, .references = map->references};
	int error = keep_recent(map, &renewed);

	for (size_t i = 0; i < count && error != -ENOMEM; i++) {
		error = memory_map_put(&renewed, &pieces[i]);
		renewed.left_out += error == -ENOSPC;
	}
	if (error == -ENOMEM) {
		memory_map_fini(&renewed);
		return error;
	}
	/* pieces from this reading do not count as recent */
	for (size_t i = 0; i < renewed.count; i++)
		if (piece_at(&renewed, i)->put > map->puts)
			piece_at(&renewed, i)->put = 0;
	renewed.puts = map->puts + MEMORY_PIECES_RECENT;
	renewed.most =
		2 * renewed.count > MAX_MEMORY_PIECES ? 2 * renewed.count : MAX_MEMORY_PIECES;
	if (renewed.most > MEMORY_PIECES_LIMIT)
		renewed.most = MEMORY_PIECES_LIMIT;
	memory_map_fini(map);
	*map = renewed;
	return 0;
}
