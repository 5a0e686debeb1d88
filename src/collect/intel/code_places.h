/* SPDX-License-Identifier: MIT
 *
 * collect/intel/code_places.h - index of kernels by GPU address space and address, and by process
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* The key of a kernel: two kernels differ in at least one member. */
struct code_place {
	uint64_t vm, address;
	uint32_t process, device;
};

struct placed_code;

/* All zero: empty. */
struct code_places {
	void *tree;              /* owned; tsearch(3) tree, ordered by address space and address */
	struct hash_map by_key;  /* hash of a place -> struct placed_code * */
	struct hash_map by_user; /* process -> first struct placed_code * of its list */
	size_t count;
};

void code_places_init(struct code_places *places);
void code_places_fini(struct code_places *places); /* NULL-safe */

/* The id of the kernel at the address; 0: none. */
uint32_t code_places_find(const struct code_places *places, const struct code_place *place);

/* Adds a kernel; the place must be free. Errors: -ENOMEM. */
int code_places_put(struct code_places *places, const struct code_place *place, uint32_t id);

/* Remove one kernel whose address is in [begin, end) of an address space, of a process, or of any.
 * Return its id; 0: there is none left. O(log n) of all kernels, whatever the range. */
uint32_t code_places_take(struct code_places *places, uint64_t vm, uint64_t begin, uint64_t end);
uint32_t code_places_take_of(struct code_places *places, uint32_t process);
uint32_t code_places_take_any(struct code_places *places);

/* Adds a word to a hash. */
static inline uint64_t code_places_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}
