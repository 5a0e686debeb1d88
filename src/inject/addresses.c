/* SPDX-License-Identifier: MIT
 *
 * inject/addresses.c - a sorted list of start addresses
 *
 * Runs in:  the profiled process, under its user's lock
 * Gets:     addresses as code is loaded
 * Gives:    the entry that covers an address
 * Owns:     the list, until the process ends
 * Fails:    by refusing an entry when the list is full
 * Why:      samples come by the thousand but code is loaded rarely. A sorted list answers each
 *           lookup in 17 steps with 65,536 loaded kernels, and an entry above all others is
 *           appended without moving them.
 */
#include "inject/addresses.h"

#include <string.h>

#include "inject/guest.h"

/* Returns the number of entries whose start is not above `at`. */
static uint32_t count_until(const struct start_addresses *addresses, uint64_t at)
{
	uint32_t low = 0, high = addresses->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (addresses->list[middle].begin <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool start_addresses_add(struct start_addresses *addresses, uint32_t most, uint64_t begin,
			 uint32_t index)
{
	uint32_t place;

	if (!addresses->list)
		addresses->list = guest_memory(most * sizeof(*addresses->list));
	if (!addresses->list || addresses->count == most)
		return false;
	place = count_until(addresses, begin);
	memmove(&addresses->list[place + 1], &addresses->list[place],
		(addresses->count++ - place) * sizeof(*addresses->list));
	addresses->list[place] = (struct start_address){begin, index};
	return true;
}

void start_addresses_tidy(struct start_addresses *addresses,
			  bool (*is_there)(const struct start_address *))
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < addresses->count; i++)
		if (is_there(&addresses->list[i]))
			addresses->list[kept++] = addresses->list[i];
	addresses->count = kept;
}

const struct start_address *start_addresses_find(const struct start_addresses *addresses,
						 uint64_t at)
{
	uint32_t count = count_until(addresses, at);

	return count ? &addresses->list[count - 1] : NULL;
}
