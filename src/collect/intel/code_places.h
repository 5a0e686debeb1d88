/* SPDX-License-Identifier: MIT
 *
 * collect/intel/code_places.h - kernels by where they lie in GPUs' address spaces, and by whose they are
 */
#ifndef COLLECT_INTEL_CODE_PLACES_H
#define COLLECT_INTEL_CODE_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* All of it tells one from another. */
struct code_place {
	uint64_t vm, address;
	uint32_t process, device;
};

struct placed_code;

/* All zero: there are none. */
struct code_places {
	void *tree;              /* owned; by address space and address */
	struct hash_map by_key;  /* of a place -> struct placed_code * */
	struct hash_map by_user; /* process -> the first of its struct placed_code * */
	size_t count;
};

void code_places_init(struct code_places *places);
void code_places_fini(struct code_places *places); /* NULL-safe */

/* The id of what lies there; 0: nothing does. */
uint32_t code_places_find(const struct code_places *places, const struct code_place *place);

/* Errors: -ENOMEM. Nothing may lie there. */
int code_places_put(struct code_places *places, const struct code_place *place, uint32_t id);

/* Takes one out whose address is in [begin, end) of an address space, of a process, or any; its id, 0: there is none left.
 * Each in O(log n) of all kernels, whatever the range. */
uint32_t code_places_take(struct code_places *places, uint64_t vm, uint64_t begin, uint64_t end);
uint32_t code_places_take_of(struct code_places *places, uint32_t process);
uint32_t code_places_take_any(struct code_places *places);

/* A process that has kernels, for each in turn: start with *cursor = 0; 0 at the end. Nothing may be put or taken out
 * meanwhile. */
uint32_t code_places_next_user(const struct code_places *places, size_t *cursor);

#endif
