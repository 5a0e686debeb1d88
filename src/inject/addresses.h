/* SPDX-License-Identifier: MIT
 *
 * inject/addresses.h - what begins where, in order
 *
 * Memory:  zeroed is empty; taken at the first addition for as many as there may ever be, and kept
 * Locks:   the caller's
 */
#ifndef INJECT_ADDRESSES_H
#define INJECT_ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct address {
	uint64_t begin;
	uint32_t index; /* the caller's, of what begins there */
};

struct addresses {
	uint32_t count;
	struct address *list;
};

/* most: how many there may ever be, the same each time. False: there is no room, or no memory. */
bool addresses_add(struct addresses *addresses, uint32_t most, uint64_t begin, uint32_t index);
/* Leaves out what is not there any more. */
void addresses_tidy(struct addresses *addresses, bool (*is_there)(const struct address *));
/* What begins last at `at` or before; NULL: nothing. */
const struct address *addresses_find(const struct addresses *addresses, uint64_t at);

#pragma GCC visibility pop

#endif
