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
 * Why turns: where there are thousands of shares and rows of one, to look at each share for each row is what takes long. Multiples of
 *           the golden section, without their whole parts, never lie close together: each share is met as often as it is wide.
 */
#include "analyze/shares.h"

#define ONE    ((int64_t)1 << 32)
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static size_t find_largest(const struct share *shares, size_t count)
{
	size_t found = 0;

	for (size_t i = 1; i < count; i++)
		if (shares[i].debt > shares[found].debt)
			found = i;
	return found;
}

/* Whole parts, and what is owed beyond them; all: the sum of the weights. Returns how many are left. */
static uint64_t round_down(struct share *shares, size_t count, uint64_t amount,
			   unsigned __int128 all)
{
	uint64_t left = amount;

	for (size_t i = 0; i < count; i++) {
		const unsigned __int128 whole = (unsigned __int128)amount * shares[i].weight;

		shares[i].part = (uint64_t)(whole / all);
		shares[i].debt += (int64_t)(((whole % all) << 32) / all);
		left -= shares[i].part;
	}
	return left;
}

/* The same of numbers that a processor divides at once. */
static uint64_t round_small_down(struct share *shares, size_t count, uint64_t amount, uint64_t all)
{
	uint64_t left = amount;

	for (size_t i = 0; i < count; i++) {
		const uint64_t whole = amount * shares[i].weight;

		shares[i].part = whole / all;
		shares[i].debt += (int64_t)((whole % all << 32) / all);
		left -= shares[i].part;
	}
	return left;
}

static unsigned __int128 add_weights(const struct share *shares, size_t count)
{
	unsigned __int128 all = 0;

	for (size_t i = 0; i < count; i++)
		all += shares[i].weight;
	return all;
}

void shares_divide(struct share *shares, size_t count, uint64_t amount)
{
	const unsigned __int128 all = add_weights(shares, count);
	uint64_t left = all <= UINT32_MAX && amount <= UINT32_MAX
				? round_small_down(shares, count, amount, (uint64_t)all)
				: round_down(shares, count, amount, all);

	/* fewer than there are shares, and than the amount */
	for (; left; left--) {
		struct share *largest = &shares[find_largest(shares, count)];

		largest->part++;
		largest->debt -= ONE;
	}
}

uint64_t shares_round_down(struct share *shares, size_t count, uint64_t amount)
{
	uint64_t left = amount;
	const unsigned __int128 all = add_weights(shares, count);

	for (size_t i = 0; i < count; i++) {
		shares[i].part = (uint64_t)((unsigned __int128)amount * shares[i].weight / all);
		left -= shares[i].part;
	}
	return left;
}

void shares_line_up(struct share *shares, size_t count)
{
	const unsigned __int128 all = add_weights(shares, count);
	unsigned __int128 sum = 0;
	unsigned int shift = 0;

	while (all >> shift > UINT64_MAX)
		shift++;
	for (size_t i = 0; i < count; i++) {
		sum += shares[i].weight;
		shares[i].until = (uint64_t)(sum >> shift);
	}
}

size_t shares_turn(const struct share *shares, size_t count, uint64_t turn)
{
	const uint64_t point =
		(uint64_t)((unsigned __int128)(turn * GOLDEN) * shares[count - 1].until >> 64);
	size_t low = 0, high = count - 1;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (shares[middle].until > point)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}
