/* SPDX-License-Identifier: MIT
 *
 * base/pair_map.c - a map from two 64-bit keys to a 32-bit index
 *
 * Runs in:  our own process, in all commands that read a trace; one map belongs to one thread at a
 *           time
 * Gets:     keys that are unique only as a pair
 * Gives:    indices into its owner's array
 * Owns:     its slots
 * Fails:    -ENOMEM, with the map unchanged
 * Why not base/hash: a key is a correlation id of 64 bits and its process. Hashing both into 64
 *           bits could match the wrong commands of a hostile file, so whole pairs are compared.
 *           Deletion shifts later entries back and leaves no tombstones, so the map stays fast
 *           after 10^7 commands.
 */
#include "base/pair_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define PAIR_MAP_FIRST 64
#define NEAR           8u

/* Consecutive ids lie side by side, NEAR of them: iterating over 10^5 open commands in the order of
 * their ids waits a third as long for memory. Blocks of ids are spread. */
static size_t home_of(const struct pair_map *map, uint64_t first, uint64_t second)
{
	uint64_t key = second + first * 0xd6e8feb86659fd93u, block = key / NEAR;

	return ((block ^ block >> 32) * 0x9e3779b97f4a7c15u >> map->shift) * NEAR + key % NEAR;
}

void pair_map_init(struct pair_map *map)
{
	*map = (struct pair_map){0};
}

void pair_map_fini(struct pair_map *map)
{
	if (!map)
		return;
	free(map->slots);
	pair_map_init(map);
}

/* The pair's slot, or the free slot for it. The map has free slots. */
static size_t locate(const struct pair_map *map, uint64_t first, uint64_t second)
{
	size_t i = home_of(map, first, second);

	while (map->slots[i].value != PAIR_MAP_NONE &&
	       (map->slots[i].second != second || map->slots[i].first != first))
		i = (i + 1) & (map->capacity - 1);
	return i;
}

static int grow(struct pair_map *map)
{
	struct pair_map larger = {.capacity = map->capacity ? map->capacity * 2 : PAIR_MAP_FIRST,
				  .count = map->count};

	larger.shift = (unsigned int)__builtin_clzll(larger.capacity / NEAR) + 1;
	larger.slots = malloc(larger.capacity * sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < larger.capacity; i++)
		larger.slots[i].value = PAIR_MAP_NONE;
	for (size_t i = 0; i < map->capacity; i++) {
		const struct pair_slot *slot = &map->slots[i];

		if (slot->value != PAIR_MAP_NONE)
			larger.slots[locate(&larger, slot->first, slot->second)] = *slot;
	}
	free(map->slots);
	*map = larger;
	return 0;
}

uint32_t pair_map_find(const struct pair_map *map, uint64_t first, uint64_t second)
{
	if (!map->count)
		return PAIR_MAP_NONE;
	return map->slots[locate(map, first, second)].value;
}

int pair_map_put(struct pair_map *map, uint64_t first, uint64_t second, uint32_t value)
{
	size_t i;

	if (2 * (map->count + 1) > map->capacity && grow(map))
		return -ENOMEM;
	i = locate(map, first, second);
	map->count += map->slots[i].value == PAIR_MAP_NONE;
	map->slots[i] = (struct pair_slot){first, second, value};
	return 0;
}

uint32_t pair_map_reserve(struct pair_map *map, uint64_t first, uint64_t second, void **rows,
			  size_t *capacity, size_t *count, size_t size, bool *ret_is_new)
{
	uint32_t index = pair_map_find(map, first, second);

	*ret_is_new = false;
	if (index != PAIR_MAP_NONE)
		return index;
	index = (uint32_t)*count;
	if (array_reserve(rows, capacity, index + (size_t)1, size) ||
	    pair_map_put(map, first, second, index))
		return PAIR_MAP_NONE;
	++*count;
	*ret_is_new = true;
	return index;
}

/* Moves later members of the run into the hole, so that no search stops early. */
static void close_hole(struct pair_map *map, size_t hole)
{
	size_t mask = map->capacity - 1;

	for (size_t i = (hole + 1) & mask; map->slots[i].value != PAIR_MAP_NONE;
	     i = (i + 1) & mask) {
		size_t home = home_of(map, map->slots[i].first, map->slots[i].second);

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->slots[hole].value = PAIR_MAP_NONE;
}

uint32_t pair_map_remove(struct pair_map *map, uint64_t first, uint64_t second)
{
	uint32_t value;
	size_t i;

	if (!map->count)
		return PAIR_MAP_NONE;
	i = locate(map, first, second);
	value = map->slots[i].value;
	if (value == PAIR_MAP_NONE)
		return value;
	close_hole(map, i);
	map->count--;
	return value;
}
