/* SPDX-License-Identifier: MIT
 *
 * base/hash.h - a map from 64-bit keys to 64-bit values, and a table that interns byte strings
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct hash_slot {
	uint64_t key, value;
};

/* All zero: empty. Any key and any value, 0 included. Operations take O(1) on average. */
struct hash_map {
	struct hash_slot *slots;
	uint64_t *used;  /* one bit per slot */
	size_t capacity; /* a power of two, or 0 before the first insertion */
	size_t count;
};

void hash_map_init(struct hash_map *map);
void hash_map_fini(struct hash_map *map); /* NULL-safe; values that are pointers are not freed */
void hash_map_clear(struct hash_map *map);

/* The address of the key's value, NULL if the key is missing. Valid until the next put or remove.
 */
uint64_t *hash_map_find(const struct hash_map *map, uint64_t key);

/* The value of key, or `otherwise`. */
uint64_t hash_map_get(const struct hash_map *map, uint64_t key, uint64_t otherwise);

/* Sets or replaces; -ENOMEM leaves the map as it was. */
int hash_map_put(struct hash_map *map, uint64_t key, uint64_t value);

/* True if the key was there; its value goes to ret_value (may be NULL). */
bool hash_map_remove(struct hash_map *map, uint64_t key, uint64_t *ret_value);

/* Iterates in no particular order: start with *cursor = 0; false at the end. The map must not be
 * changed meanwhile. The outputs may be NULL. */
bool hash_map_next(const struct hash_map *map, size_t *cursor, uint64_t *ret_key,
		   uint64_t *ret_value);

/* The same for values that are pointers. */
static inline void *hash_map_find_pointer(const struct hash_map *map, uint64_t key)
{
	return (void *)(uintptr_t)hash_map_get(map, key, 0);
}
static inline int hash_map_put_pointer(struct hash_map *map, uint64_t key, const void *pointer)
{
	return hash_map_put(map, key, (uintptr_t)pointer);
}

struct string_entry {
	const char *text; /* NUL-terminated, may hold NUL bytes */
	size_t length;
	uint64_t hash;
};

/* All zero: empty. Byte strings <-> ids that count from 1; id 0 is the empty string. A string keeps
 * its id and its address until string_table_fini. */
struct string_table {
	struct arena arena;
	struct string_entry *entries; /* by id - 1 */
	size_t entries_capacity;
	uint32_t *slots; /* ids; 0: free */
	size_t slots_count;
	uint32_t count; /* the largest id */
};

void string_table_init(struct string_table *table);
void string_table_fini(struct string_table *table); /* NULL-safe */

/* The string's id, new or old; 0 for length 0 and when memory or ids have run out. */
uint32_t string_table_add(struct string_table *table, const void *bytes, size_t length);

/* The string's id, 0 if it is not in the table. */
uint32_t string_table_find(const struct string_table *table, const void *bytes, size_t length);

/* A string to find; its hash and id are set by string_table_find_all. */
struct string_key {
	const void *bytes;
	size_t length;
	uint64_t hash;
	uint32_t id; /* 0 if it is not in the table */
};

/* Finds many strings, with less waiting for memory than one after the other. */
void string_table_find_all(const struct string_table *table, struct string_key *keys, size_t count);

/* Never NULL: "" for an id that is not in the table. ret_length may be NULL. */
const char *string_table_text(const struct string_table *table, uint32_t id, size_t *ret_length);
