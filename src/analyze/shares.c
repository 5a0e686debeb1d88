/* SPDX-License-Identifier: MIT
 *
 * analyze/shares.c - whole things, divided in proportion to weights
 *
 * Runs in:  the readers
 * Gets:     weights, an amount   Gives: whole parts that add up to it
 * Owns:     nothing
 * Fails:    never
 * Why debts: samples come as rows of one or two. Of weights 2 and 1 the larger one would get each single row, and the other
 *           nothing, however many come.
 */
#include "analyze/shares.h"

#define ONE ((int64_t)1 << 32)

static size_t find_largest(const struct share *shares, size_t count)
{
	size_t found = 0;

	for (size_t i = 1; i < count; i++)
		if (shares[i].debt > shares[found].debt)
			found = i;
	return found;
}

void shares_divide(struct share *shares, size_t count, uint64_t amount)
{
	unsigned __int128 all = 0;
	uint64_t left = amount;

	for (size_t i = 0; i < count; i++)
		all += shares[i].weight;
	for (size_t i = 0; i < count; i++) {
		const unsigned __int128 whole = (unsigned __int128)amount * shares[i].weight;

		shares[i].part = (uint64_t)(whole / all);
		shares[i].debt += (int64_t)(((whole % all) << 32) / all);
		left -= shares[i].part;
	}
	/* fewer than there are shares, and than the amount */
	for (; left; left--) {
		struct share *largest = &shares[find_largest(shares, count)];

		largest->part++;
		largest->debt -= ONE;
	}
}
