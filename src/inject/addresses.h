/* SPDX-License-Identifier: MIT
 *
 * inject/addresses.h - a sorted list of start addresses
 *
 * Memory:   zeroed is empty; allocated at the first addition for the max number of entries, and
 *           kept
 * Locks:    the caller's
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct start_address {
	uint64_t begin;
	uint32_t index; /* the caller's index of the entry */
};

struct start_addresses {
	uint32_t count;
	struct start_address *list;
};

/* most: max number of entries, the same each time. False: the list is full, or no memory. */
bool start_addresses_add(struct start_addresses *addresses, uint32_t most, uint64_t begin,
			 uint32_t index);
/* Drops the entries for which is_there is false. */
void start_addresses_tidy(struct start_addresses *addresses,
			  bool (*is_there)(const struct start_address *));
/* Returns the entry with the highest start that is not above `at`; NULL: none. */
const struct start_address *start_addresses_find(const struct start_addresses *addresses,
						 uint64_t at);

#pragma GCC visibility pop
