/* SPDX-License-Identifier: MIT
 *
 * base/hash.c - a map from 64-bit keys to 64-bit values, and a table that interns byte strings
 *
 * Runs in:  the recorder, and all commands that read a trace; one map or table belongs to one
 *           thread at a time
 * Gets:     any keys, also sequential ids, addresses and handles
 * Owns:     its slots; the table also owns copies of the strings, in an arena
 * Fails:    -ENOMEM (map) or id 0 (table), with everything unchanged
 * Why linear probing with backward shift: deletion leaves no tombstone, so a map stays fast
 *           although millions of pending commands are added and removed, a few of them present at
 *           any time. Keys are mixed first, because handles share their low bits. A table is at
 *           most 3/4 full.
 */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/error.h"

#define HASH_FIRST 16

static uint64_t mix(uint64_t key)
{
	key ^= key >> 32;
	key *= 0xd6e8feb86659fd93u;
	key ^= key >> 32;
	key *= 0xd6e8feb86659fd93u;
	return key ^ key >> 32;
}

static bool is_used(const struct hash_map *map, size_t index)
{
	return map->used[index / 64] >> index % 64 & 1;
}

void hash_map_init(struct hash_map *map)
{
	*map = (struct hash_map){0};
}

void hash_map_fini(struct hash_map *map)
{
	if (!map)
		return;
	free(map->slots);
	free(map->used);
	*map = (struct hash_map){0};
}

void hash_map_clear(struct hash_map *map)
{
	if (map->used)
		memset(map->used, 0, (map->capacity + 63) / 64 * sizeof(*map->used));
	map->count = 0;
}

/* The slot of the key, or the free slot for it. The map is never full. */
static size_t locate(const struct hash_map *map, uint64_t key)
{
	size_t mask = map->capacity - 1;
	size_t index = mix(key) & mask;

	while (is_used(map, index) && map->slots[index].key != key)
		index = (index + 1) & mask;
	return index;
}

static void fill(struct hash_map *map, size_t index, uint64_t key, uint64_t value)
{
	map->slots[index] = (struct hash_slot){key, value};
	map->used[index / 64] |= (uint64_t)1 << index % 64;
	map->count++;
}

static int grow(struct hash_map *map)
{
	struct hash_map larger = {.capacity = map->capacity ? map->capacity * 2 : HASH_FIRST};

	if (larger.capacity > SIZE_MAX / 2 / sizeof(*larger.slots))
		return -ENOMEM;
	larger.slots = malloc(larger.capacity * sizeof(*larger.slots));
	larger.used = calloc((larger.capacity + 63) / 64, sizeof(*larger.used));
	if (!larger.slots || !larger.used) {
		hash_map_fini(&larger);
		return error_no_memory();
	}
	for (size_t i = 0; i < map->capacity; i++) {
		if (is_used(map, i))
			fill(&larger, locate(&larger, map->slots[i].key), map->slots[i].key,
			     map->slots[i].value);
	}
	hash_map_fini(map);
	*map = larger;
	return 0;
}

uint64_t *hash_map_find(const struct hash_map *map, uint64_t key)
{
	size_t index;

	if (!map->count)
		return NULL;
	index = locate(map, key);
	return is_used(map, index) ? &map->slots[index].value : NULL;
}

uint64_t hash_map_get(const struct hash_map *map, uint64_t key, uint64_t otherwise)
{
	const uint64_t *value = hash_map_find(map, key);

	return value ? *value : otherwise;
}

int hash_map_put(struct hash_map *map, uint64_t key, uint64_t value)
{
	uint64_t *old = hash_map_find(map, key);

	if (old) {
		*old = value;
		return 0;
	}
	if (map->count + 1 > map->capacity / 4 * 3 && grow(map))
		return -ENOMEM;
	fill(map, locate(map, key), key, value);
	return 0;
}

/* Moves later members of the probe run into the hole, until a slot that is free or in its home
 * position. */
static void close_hole(struct hash_map *map, size_t hole)
{
	size_t mask = map->capacity - 1;

	for (size_t i = (hole + 1) & mask; is_used(map, i); i = (i + 1) & mask) {
		size_t home = mix(map->slots[i].key) & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	map->used[hole / 64] &= ~((uint64_t)1 << hole % 64);
}

bool hash_map_remove(struct hash_map *map, uint64_t key, uint64_t *ret_value)
{
	size_t index;

	if (!map->count)
		return false;
	index = locate(map, key);
	if (!is_used(map, index))
		return false;
	if (ret_value)
		*ret_value = map->slots[index].value;
	close_hole(map, index);
	map->count--;
	return true;
}

bool hash_map_next(const struct hash_map *map, size_t *cursor, uint64_t *ret_key,
		   uint64_t *ret_value)
{
	for (size_t i = *cursor; map->count && i < map->capacity; i++) {
		if (!is_used(map, i))
			continue;
		if (ret_key)
			*ret_key = map->slots[i].key;
		if (ret_value)
			*ret_value = map->slots[i].value;
		*cursor = i + 1;
		return true;
	}
	*cursor = map->capacity;
	return false;
}

void string_table_init(struct string_table *table)
{
	*table = (struct string_table){0};
}

void string_table_fini(struct string_table *table)
{
	if (!table)
		return;
	arena_fini(&table->arena);
	free(table->entries);
	free(table->slots);
	*table = (struct string_table){0};
}

/* The slot with the string's id, or the free slot for it. */
static size_t locate_string(const struct string_table *table, const void *bytes, size_t length,
			    uint64_t hash)
{
	size_t mask = table->slots_count - 1;
	size_t index = hash & mask;

	for (; table->slots[index]; index = (index + 1) & mask) {
		const struct string_entry *entry = &table->entries[table->slots[index] - 1];

		if (entry->hash == hash && entry->length == length &&
		    memcmp(entry->text, bytes, length) == 0)
			break;
	}
	return index;
}

static int grow_strings(struct string_table *table)
{
	size_t slots_count = table->slots_count ? table->slots_count * 2 : HASH_FIRST;
	uint32_t *slots = calloc(slots_count, sizeof(*slots));
	size_t mask = slots_count - 1;

	if (!slots)
		return error_no_memory();
	for (uint32_t id = 1; id <= table->count; id++) {
		size_t index = table->entries[id - 1].hash & mask;

		while (slots[index])
			index = (index + 1) & mask;
		slots[index] = id;
	}
	free(table->slots);
	table->slots = slots;
	table->slots_count = slots_count;
	return 0;
}

uint32_t string_table_find(const struct string_table *table, const void *bytes, size_t length)
{
	if (!length || !table->count)
		return 0;
	return table->slots[locate_string(table, bytes, length, XXH3_64bits(bytes, length))];
}

/* Prefetches the entry of the first slot that a key may have, or its text. */
static void prefetch_string(const struct string_table *table, uint64_t hash, bool has_text)
{
	uint32_t id = table->slots[hash & (table->slots_count - 1)];

	if (id)
		__builtin_prefetch(has_text ? (const void *)table->entries[id - 1].text
					    : (const void *)&table->entries[id - 1]);
}

void string_table_find_all(const struct string_table *table, struct string_key *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		keys[i].id = 0;
		keys[i].hash = XXH3_64bits(keys[i].bytes, keys[i].length);
		if (table->count)
			__builtin_prefetch(&table->slots[keys[i].hash & (table->slots_count - 1)]);
	}
	if (!table->count)
		return;
	for (size_t i = 0; i < count; i++)
		prefetch_string(table, keys[i].hash, false);
	for (size_t i = 0; i < count; i++)
		prefetch_string(table, keys[i].hash, true);
	for (size_t i = 0; i < count; i++)
		if (keys[i].length)
			keys[i].id = table->slots[locate_string(table, keys[i].bytes,
								keys[i].length, keys[i].hash)];
}

uint32_t string_table_add(struct string_table *table, const void *bytes, size_t length)
{
	uint64_t hash;
	size_t index;
	char *copy;

	if (!length || table->count == UINT32_MAX)
		return 0;
	if (table->count + (size_t)1 > table->slots_count / 4 * 3 && grow_strings(table))
		return 0;
	hash = XXH3_64bits(bytes, length);
	index = locate_string(table, bytes, length, hash);
	if (table->slots[index])
		return table->slots[index];
	if (array_grow(table->entries, table->entries_capacity, table->count + (size_t)1))
		return 0;
	copy = arena_copy(&table->arena, bytes, length);
	if (!copy)
		return 0;
	table->entries[table->count++] = (struct string_entry){copy, length, hash};
	table->slots[index] = table->count;
	return table->count;
}

const char *string_table_text(const struct string_table *table, uint32_t id, size_t *ret_length)
{
	bool known = id && id <= table->count;

	if (ret_length)
		*ret_length = known ? table->entries[id - 1].length : 0;
	return known ? table->entries[id - 1].text : "";
}
