/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/likeness.c - what launches at the head of a loop have in common
 *
 * Runs in:  our own process
 * Gets:     launches that are known as heads
 * Gives:    whether another launch is like them
 * Owns:     the lengths of the iterations between the known heads
 * Fails:    -ENOMEM
 * Why points: no sign of a head is certain. A gap may be an interruption, a neighbour may be
 *           another launch in between, and a validation may begin like an iteration.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/iterations/heads.h"
#include "base/array.h"
#include "base/number.h"

enum { BEFORE, AFTER };
enum { MAX_RUN = 64, MAX_SKIPPED = 2, SAMPLES = 1000 };

#define SHARE_UNIT 1e6

/* Most iterations have one length. */
static const double is_regular_from = 0.6;

/* Evidence is counted in points. They were fitted to generated programs, not to those that the
 * project's documents give figures for. */
static const double skipped_cost = 0.4; /* a launch between the neighbours of a head */
static const double of_usual_gap = 3, of_longer_gap = 2, of_longest_gap = 0.5;
static const double of_halved_gap = -4, of_shortest_gap = -9, of_kernel_at_head = 5;
static const double is_possible_gap = -8; /* less: no launch is like a head */
static const double before_range = 3, before_least = -1;
static const double after_range = 11, after_first = -8, after_least = -8;
static const double of_one_between = 0, of_other_next = -4, of_foreign_next = -12;
static const double of_part = -8, of_short = -3, of_long = -4, of_new = -1.5, of_rare = -1,
		    of_irregular = -2, of_cut = -3;

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

/* ---- neighbours ------------------------------------------------------------------------------ */

/* Neighbours of a launch on one side. Without repetitions, a run of one key counts once, because it
 * may be an inner loop of any length. */
static bool is_before(size_t side)
{
	return side < 2;
}

static bool skips_repetitions(size_t side)
{
	return side % 2;
}

/* Lists the keys of at most `max` neighbours. Returns their number. */
static size_t list_neighbours(const struct sequence *sequence, size_t i, size_t side, size_t max,
			      uint32_t *ret_keys)
{
	size_t step = is_before(side) ? (size_t)-1 : 1, count = 0;

	for (size_t run = 0; run < MAX_RUN && count < max; run++) {
		if (i + step >= sequence->count) /* also before the first one */
			break;
		i += step;
		if (!run || !skips_repetitions(side) ||
		    sequence->keys[i] != sequence->keys[i - step])
			ret_keys[count++] = sequence->keys[i];
	}
	return count;
}

static void find_side(const struct heads *heads, const size_t *list, size_t count, size_t side,
		      uint64_t *numbers, struct head_likeness *like)
{
	uint32_t keys[NEIGHBOURS];

	for (size_t k = 0; k < NEIGHBOURS; k++) {
		double *share = &like->shares[side][k];

		/* Neighbours of short iterations are in other iterations. */
		if ((k + 1) * 2 > heads->length)
			continue;
		for (size_t i = 0; i < count; i++)
			numbers[i] =
				list_neighbours(heads->sequence, list[i], side, k + 1, keys) > k
					? keys[k]
					: UINT32_MAX;
		like->keys[side][k] = (uint32_t)most_frequent(numbers, count, share);
		if (*share < majority || like->keys[side][k] == UINT32_MAX)
			*share = 0;
	}
}

/* The sum of the shares of the neighbours that a launch has in common with the heads, in their
 * order: the best alignment of the two lists. */
static double compare_side(const struct heads *heads, const struct head_likeness *like, size_t i,
			   size_t side)
{
	uint32_t keys[NEIGHBOURS + MAX_SKIPPED];
	size_t count = list_neighbours(heads->sequence, i, side, NEIGHBOURS + MAX_SKIPPED, keys);
	double sums[NEIGHBOURS + MAX_SKIPPED + 1], best = 0;

	for (size_t j = 0; j <= count; j++)
		sums[j] = -skipped_cost * (double)j;
	for (size_t k = 0; k < NEIGHBOURS; k++) {
		double diagonal = sums[0];

		for (size_t j = 1; j <= count; j++) {
			bool is_equal = keys[j - 1] == like->keys[side][k];
			double sum = diagonal + (is_equal ? like->shares[side][k] : 0);

			diagonal = sums[j];
			sums[j] =
				fmax(sum, fmax(sums[j] - skipped_cost, sums[j - 1] - skipped_cost));
			best = fmax(best, sums[j]);
		}
		sums[0] -= skipped_cost;
	}
	return best;
}

static double compare_direction(const struct heads *heads, const struct head_likeness *like,
				size_t i, size_t direction)
{
	return fmax(0, compare_side(heads, like, i, 2 * direction) +
			       compare_side(heads, like, i, 2 * direction + 1));
}

/* Finds the likeness that most heads have with the others. */
static void find_usual(const struct heads *heads, const size_t *list, size_t count,
		       struct head_likeness *like)
{
	size_t stride = count / SAMPLES + 1, samples = 0;
	uint64_t equal[2][SAMPLES];

	for (size_t i = 0; i < count; i += stride, samples++)
		for (size_t direction = 0; direction < 2; direction++)
			equal[direction][samples] =
				(uint64_t)(SHARE_UNIT *
					   compare_direction(heads, like, list[i], direction));
	for (size_t direction = 0; direction < 2 && samples; direction++) {
		qsort(equal[direction], samples, sizeof(uint64_t), compare_u64);
		like->usual[direction] = (double)equal[direction][samples / 5] / SHARE_UNIT;
	}
}

/* The likeness of a launch with heads in one direction, 0 to 1. */
static double likeness_in(const struct heads *heads, const struct head_likeness *like, size_t i,
			  size_t direction)
{
	return fmin(1, compare_direction(heads, like, i, direction) / like->usual[direction]);
}

/* How much other launches of the heads' kernel have in common with heads. */
static void find_background(const struct heads *heads, struct head_likeness *like)
{
	const size_t *positions = heads->anchor->positions;
	size_t first = positions[0], last = positions[heads->anchor->count - 1], samples = 0;
	size_t stride = (last - first) / (8 * SAMPLES) + 1;
	double sums[2] = {0};

	for (size_t i = first; i <= last && samples < SAMPLES; i += stride) {
		if (heads->sequence->keys[i] != heads->key ||
		    8 * sequence_gap(heads->sequence, i) > like->low_gap_ns)
			continue;
		samples++;
		for (size_t direction = 0; direction < 2; direction++)
			if (like->usual[direction] > 0)
				sums[direction] += likeness_in(heads, like, i, direction);
	}
	for (size_t direction = 0; direction < 2; direction++)
		like->weight[direction] = samples * stride < heads->anchor->count / 2 || !samples
						  ? 1
						  : 1 - sums[direction] / (double)samples;
}

/* ---- gaps and lengths ------------------------------------------------------------------------ */

static size_t count_similar(const struct head_likeness *like, size_t length)
{
	uint64_t span = length / 20, low = length - smaller(span, length);
	const uint64_t *lengths = like->lengths;

	return LOWER_BOUND(like->lengths_count, i, lengths[i] <= length + span) -
	       LOWER_BOUND(like->lengths_count, i, lengths[i] < low);
}

static int find_lengths(const size_t *list, size_t count, struct head_likeness *like)
{
	uint64_t *counts = malloc(count * sizeof(*counts));

	like->lengths_count = count - 1;
	like->lengths = malloc(count * sizeof(*like->lengths));
	if (!like->lengths || !counts) {
		free(counts);
		return -ENOMEM;
	}
	for (size_t i = 0; i < like->lengths_count; i++)
		like->lengths[i] = list[i + 1] - list[i];
	qsort(like->lengths, like->lengths_count, sizeof(*like->lengths), compare_u64);
	for (size_t i = 0; i < like->lengths_count; i++)
		counts[i] = count_similar(like, like->lengths[i]);
	qsort(counts, like->lengths_count, sizeof(*counts), compare_u64);
	like->usual_count = counts[like->lengths_count / 2];
	like->is_regular = like->usual_count >= is_regular_from * (double)like->lengths_count;
	free(counts);
	return 0;
}

int head_likeness_init(const struct heads *heads, const size_t *list, size_t count,
		       struct head_likeness *like)
{
	uint64_t *numbers = malloc((count + 1) * sizeof(*numbers));

	*like = (struct head_likeness){0};
	if (!numbers || find_lengths(list, count, like)) {
		free(numbers);
		head_likeness_fini(like);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		numbers[i] = sequence_gap(heads->sequence, list[i]);
	qsort(numbers, count, sizeof(*numbers), compare_u64);
	like->low_gap_ns = count ? numbers[count / 20] : 0;
	like->high_gap_ns =
		count ? smaller(numbers[count - 1 - count / 20] * 3 / 2, 2 * numbers[count / 2])
		      : 0;
	for (size_t side = 0; side < SIDES; side++)
		find_side(heads, list, count, side, numbers, like);
	find_usual(heads, list, count, like);
	find_background(heads, like);
	free(numbers);
	return 0;
}

void head_likeness_fini(struct head_likeness *like)
{
	free(like->lengths);
	*like = (struct head_likeness){0};
}

/* ---- evidence -------------------------------------------------------------------------------- */

/* If a head's kernel has the same neighbours elsewhere, a long gap is an interruption rather
 * than a head that was interrupted. */
static double of_gap(const struct head_likeness *like, uint64_t gap)
{
	double doubt = 1 - like->weight[AFTER];

	if (gap == SEQUENCE_LONG_GAP)
		return of_longer_gap;
	if (gap >= 2 * like->high_gap_ns && gap > like->high_gap_ns)
		return of_longest_gap - 2 * doubt;
	if (gap > like->high_gap_ns)
		return of_longer_gap - doubt;
	if (gap >= like->low_gap_ns)
		return of_usual_gap;
	return fmax(of_usual_gap +
			    of_halved_gap * log2((double)like->low_gap_ns / (double)(gap + 1)),
		    of_shortest_gap + of_kernel_at_head * like->weight[AFTER]);
}

/* The next launch is nearly always the same one. Another one may be between, but no other launch
 * that is like a head. If a launch follows that most iterations lack, it is another loop, such as a
 * validation. */
static double limit_of_next(const struct heads *heads, const struct head_likeness *like, size_t i)
{
	const struct sequence *sequence = heads->sequence;
	uint32_t usual = like->keys[2 * AFTER][0];

	if (like->shares[2 * AFTER][0] < 0.8 || i + 1 >= sequence->count ||
	    sequence->keys[i + 1] == usual)
		return INFINITY;
	if (i + 2 >= sequence->count || sequence->keys[i + 2] != usual)
		return heads->anchor->is_common[sequence->keys[i + 1]] ? of_other_next
								       : of_foreign_next;
	return sequence->keys[i + 1] == heads->key &&
			       sequence_gap(sequence, i + 1) >= like->low_gap_ns
		       ? of_other_next
		       : of_one_between;
}

/* Other launches may be before an iteration, but not after its head. */
double head_likeness_of_launch(const struct heads *heads, const struct head_likeness *like,
			       size_t i)
{
	double sum, after = 0;

	if (heads->sequence->keys[i] != heads->key)
		return -INFINITY;
	sum = of_gap(like, sequence_gap(heads->sequence, i));
	if (sum < is_possible_gap)
		return sum;
	/* Before the first launch of all is nothing that could speak against a head. */
	if (like->usual[BEFORE] > 0)
		sum += like->weight[BEFORE] *
		       (before_range * (i ? likeness_in(heads, like, i, BEFORE) : 1) +
			before_least);
	if (like->usual[AFTER] > 0)
		after = fmax(after_range * likeness_in(heads, like, i, AFTER) + after_first,
			     after_least);
	return sum + like->weight[AFTER] * fmin(after, limit_of_next(heads, like, i));
}

/* Lengths beyond the known ones, by a small part of their range, may still be usual. */
static bool is_in_range(const struct head_likeness *like, size_t length)
{
	size_t low = like->lengths[0], high = like->lengths[like->lengths_count - 1];
	size_t margin = (high - low) / 8;

	return length + margin >= low && length <= high + margin;
}

/* The least points of a length in the range. If most iterations have one length, a rare one is
 * rather an interruption, which cuts an iteration in two, than another iteration. */
static double least_of_length(const struct head_likeness *like, size_t length)
{
	if (!like->is_regular)
		return of_rare;
	return length < like->lengths[like->lengths_count / 2] ? of_cut : of_irregular;
}

double head_likeness_of_length(const struct head_likeness *like, size_t length)
{
	size_t similar = count_similar(like, length);

	if (2 * length < like->lengths[like->lengths_count / 50])
		return of_part;
	if (!is_in_range(like, length))
		return length > like->lengths[like->lengths_count - 1] ? of_long : of_short;
	if (!similar)
		return like->is_regular ? least_of_length(like, length) : of_new;
	return similar >= like->usual_count
		       ? 0
		       : fmax(least_of_length(like, length),
			      log2((double)similar / (double)like->usual_count));
}
