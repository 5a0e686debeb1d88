/* SPDX-License-Identifier: MIT
 *
 * base/pair_map.h - a map from two 64-bit keys to a 32-bit index
 *
 * For keys that are unique only within a process: (process, correlation), (process, event handle).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAIR_MAP_NONE UINT32_MAX

struct pair_slot {
	uint64_t first, second;
	uint32_t value; /* PAIR_MAP_NONE: free */
};

/* All zero: empty. */
struct pair_map {
	struct pair_slot *slots;
	size_t capacity; /* a power of two, or 0 before the first insertion */
	size_t count;
	unsigned int shift; /* from a hash to the number of a block */
};

void pair_map_init(struct pair_map *map);
void pair_map_fini(struct pair_map *map); /* NULL-safe */

/* The value, PAIR_MAP_NONE if there is none. */
uint32_t pair_map_find(const struct pair_map *map, uint64_t first, uint64_t second);

/* Sets or replaces; value below PAIR_MAP_NONE. -ENOMEM leaves the map as it was. */
int pair_map_put(struct pair_map *map, uint64_t first, uint64_t second, uint32_t value);

/* The index of a pair's row in an array. A new pair gets the row (*count)++, and *ret_is_new is
 * set. PAIR_MAP_NONE: out of memory. */
uint32_t pair_map_reserve(struct pair_map *map, uint64_t first, uint64_t second, void **rows,
			  size_t *capacity, size_t *count, size_t size, bool *ret_is_new);

/* The same for typed lvalues. The last argument is the value of a new row; it is evaluated for a
 * new pair only. */
#define pair_map_add(map, first, second, rows, capacity, count, ...)                        \
	({                                                                                  \
		bool is_new_;                                                               \
		const uint32_t index_ =                                                     \
			pair_map_reserve(map, first, second, (void **)&(rows), &(capacity), \
					 &(count), sizeof(*(rows)), &is_new_);              \
                                                                                            \
		if (is_new_)                                                                \
			(rows)[index_] = (__VA_ARGS__);                                     \
		index_;                                                                     \
	})

/* The removed value, PAIR_MAP_NONE if there was none. */
uint32_t pair_map_remove(struct pair_map *map, uint64_t first, uint64_t second);
