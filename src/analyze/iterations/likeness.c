/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/likeness.c - what launches at the head of a loop have in common
 *
 * Runs in:  our own process
 * Gets:     launches that are known as heads
 * Gives:    whether another launch is like them
 * Owns:     nothing
 * Fails:    never
 */
#include <stdlib.h>

#include "analyze/iterations/heads.h"
#include "base/number.h"

/* Shares of the neighbours of a head that a launch must have on one side: within the loop, and
 * before or after it, where fewer launches are like heads. */
static const double most = 0.8, half = 0.5;

enum { SIDE = 4, MAX_RUN = 64, LIKE_GAPS = 4 };

uint64_t most_frequent(uint64_t *numbers, size_t count, double *ret_share)
{
	uint64_t best = 0;
	size_t best_run = 0, run = 0;

	qsort(numbers, count, sizeof(*numbers), compare_u64);
	for (size_t i = 0; i < count; i++) {
		run = i && numbers[i] == numbers[i - 1] ? run + 1 : 1;
		if (run > best_run) {
			best_run = run;
			best = numbers[i];
		}
	}
	*ret_share = count ? (double)best_run / (double)count : 0;
	return best;
}

/* The key of the k-th neighbour, from 0; UINT32_MAX: beyond the ends. A run of one key counts once,
 * because it is an inner loop of any length. */
static uint32_t neighbour_key(const struct sequence *sequence, size_t i, bool is_before, size_t k)
{
	size_t step = is_before ? (size_t)-1 : 1;

	for (size_t run = 0; run < MAX_RUN; run++) {
		if (i + step >= sequence->count) /* also before the first one */
			return UINT32_MAX;
		i += step;
		if ((!run || sequence->keys[i] != sequence->keys[i - step]) && !k--)
			return sequence->keys[i];
	}
	return UINT32_MAX;
}

void head_likeness_find(const struct heads *heads, const size_t *list, size_t count,
			uint64_t *numbers, struct head_likeness *ret_like)
{
	*ret_like = (struct head_likeness){0};
	for (size_t i = 0; i < count; i++)
		numbers[i] = sequence_gap(heads->sequence, list[i]);
	qsort(numbers, count, sizeof(*numbers), compare_u64);
	ret_like->gap_ns = count ? numbers[count / 2] : 0;
	for (size_t k = 0; k < NEIGHBOURS; k++) {
		/* Neighbours of short iterations are in other iterations. */
		if ((k % SIDE + 1) * 2 > heads->length)
			continue;
		for (size_t i = 0; i < count; i++)
			numbers[i] = neighbour_key(heads->sequence, list[i], k < SIDE, k % SIDE);
		ret_like->keys[k] = (uint32_t)most_frequent(numbers, count, &ret_like->shares[k]);
		if (ret_like->shares[k] < majority)
			ret_like->shares[k] = 0;
	}
}

/* Whether most neighbours on one side, from `first` on, are those of a head. */
static bool is_like_side(const struct heads *heads, const struct head_likeness *like, size_t i,
			 size_t first)
{
	const struct anchor *anchor = heads->anchor;
	bool is_inside = i > anchor->positions[0] && i <= anchor->positions[anchor->count - 1];
	double equal = 0, all = 0;

	for (size_t k = first; k < first + SIDE; k++) {
		all += like->shares[k];
		/* One more launch may be between. */
		if (like->shares[k] > 0 &&
		    (neighbour_key(heads->sequence, i, k < SIDE, k % SIDE) == like->keys[k] ||
		     neighbour_key(heads->sequence, i, k < SIDE, k % SIDE + 1) == like->keys[k]))
			equal += like->shares[k];
	}
	return equal >= (is_inside ? most : half) * all;
}

unsigned int heads_like_sides(const struct heads *heads, const struct head_likeness *like, size_t i)
{
	if (heads->sequence->keys[i] != heads->key)
		return 0;
	return (unsigned int)is_like_side(heads, like, i, 0) +
	       (unsigned int)is_like_side(heads, like, i, SIDE);
}

bool heads_is_like(const struct heads *heads, const struct head_likeness *like, size_t i)
{
	const struct anchor *anchor = heads->anchor;
	uint64_t gap = sequence_gap(heads->sequence, i);
	bool is_inside = i > anchor->positions[0] && i <= anchor->positions[anchor->count - 1];
	unsigned int sides = LIKE_GAPS * gap < like->gap_ns ? 0 : heads_like_sides(heads, like, i);

	/* After a much longer gap, the thread may have been interrupted within an iteration. */
	return sides == 2 || (sides == 1 && (!is_inside || gap < LIKE_GAPS * like->gap_ns));
}
