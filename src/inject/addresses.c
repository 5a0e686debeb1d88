/* SPDX-License-Identifier: MIT
 *
 * inject/addresses.c - what begins where, in order
 *
 * Runs in:  the profiled process, under its user's lock
 * Gets:     addresses as things are loaded   Gives: what lies at a place
 * Owns:     the list, until the process ends
 * Fails:    by refusing one more
 * Why:      samples come by the thousand and code is loaded now and then: a list that is kept in order answers each in 17
 *           steps where 65,536 kernels are loaded, and what is loaded at rising addresses is put behind the others.
 */
#include "inject/addresses.h"

#include <string.h>

#include "inject/guest.h"

/* How many begin at `at` or before. */
static uint32_t count_until(const struct addresses *addresses, uint64_t at)
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

bool addresses_add(struct addresses *addresses, uint32_t most, uint64_t begin, uint32_t index)
{
	uint32_t place;

	if (!addresses->list)
		addresses->list = guest_memory(most * sizeof(*addresses->list));
	if (!addresses->list || addresses->count == most)
		return false;
	place = count_until(addresses, begin);
	memmove(&addresses->list[place + 1], &addresses->list[place],
		(addresses->count++ - place) * sizeof(*addresses->list));
	addresses->list[place] = (struct address){begin, index};
	return true;
}

void addresses_tidy(struct addresses *addresses, bool (*is_there)(const struct address *))
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < addresses->count; i++)
		if (is_there(&addresses->list[i]))
			addresses->list[kept++] = addresses->list[i];
	addresses->count = kept;
}

const struct address *addresses_find(const struct addresses *addresses, uint64_t at)
{
	uint32_t count = count_until(addresses, at);

	return count ? &addresses->list[count - 1] : NULL;
}
