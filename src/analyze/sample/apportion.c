/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/apportion.c - divides a whole number into whole parts in proportion to weights
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     weights, an amount
 * Gives:    whole parts that add up to the amount
 * Owns:     nothing
 * Fails:    never
 * Why each share's rounding error is kept as a debt: samples come as rows of one or two. With
 *           weights 2 and 1, the larger share would get every single sample and the other share
 *           none.
 * Why shares take turns: with thousands of shares and rows of one sample, a loop over all shares
 *           per row is too slow. The fractional parts of multiples of the golden ratio are evenly
 *           spread, so each share is hit in proportion to its weight.
 */
#include "analyze/sample/apportion.h"

#include "base/array.h"

#define ONE    ((int64_t)1 << 32)
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static size_t find_largest(const struct portion *shares, size_t count)
{
	size_t found = 0;

	for (size_t i = 1; i < count; i++)
		if (shares[i].debt > shares[found].debt)
			found = i;
	return found;
}

/* Rounds the parts down and adds the fractions to the debts. all: the sum of the weights. Returns
 * the remainder. */
static uint64_t round_down(struct portion *shares, size_t count, uint64_t amount,
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

/* The same with 64-bit divisions, which are faster. */
static uint64_t round_small_down(struct portion *shares, size_t count, uint64_t amount,
				 uint64_t all)
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

static unsigned __int128 add_weights(const struct portion *shares, size_t count)
{
	unsigned __int128 all = 0;

	for (size_t i = 0; i < count; i++)
		all += shares[i].weight;
	return all;
}

void portions_divide(struct portion *shares, size_t count, uint64_t amount)
{
	const unsigned __int128 all = add_weights(shares, count);
	uint64_t left = all <= UINT32_MAX && amount <= UINT32_MAX
				? round_small_down(shares, count, amount, (uint64_t)all)
				: round_down(shares, count, amount, all);

	/* at most one unit per share is left */
	for (; left; left--) {
		struct portion *largest = &shares[find_largest(shares, count)];

		largest->part++;
		largest->debt -= ONE;
	}
}

uint64_t portions_round_down(struct portion *shares, size_t count, uint64_t amount)
{
	uint64_t left = amount;
	const unsigned __int128 all = add_weights(shares, count);

	for (size_t i = 0; i < count; i++) {
		shares[i].part = (uint64_t)((unsigned __int128)amount * shares[i].weight / all);
		left -= shares[i].part;
	}
	return left;
}

void portions_line_up(struct portion *shares, size_t count)
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

size_t portions_turn(const struct portion *shares, size_t count, uint64_t turn)
{
	const uint64_t point =
		(uint64_t)((unsigned __int128)(turn * GOLDEN) * shares[count - 1].until >> 64);

	return LOWER_BOUND(count - 1, i, shares[i].until <= point);
}
