/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/repair.c - drops boundaries that do not belong to the loop
 *
 * Runs in:  our own process
 * Gets:     launches at which iterations may begin, and the keys that iterations have in common
 * Gives:    fewer of them: each piece has most of the common keys
 * Owns:     the last piece with each key while it counts
 * Fails:    -ENOMEM
 * Why:      the program may launch the same kernel at other places too: once before the loop, in a
 *           validation pass, or once in a thousand launches. Such a launch cuts an iteration in
 * two.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/iterations/sequence.h"
#include "base/number.h"

/* A piece with a smaller share of the common keys is a part of an iteration. The same holds for a
 * piece of half the usual length, if most pieces have exactly this length. */
static const double is_complete_from = 0.75, is_usual_from = 0.7;

struct repair {
	const struct sequence *sequence;
	const struct anchor *anchor;
	uint32_t *seen; /* owned; by key: number of the last count */
	uint32_t number;
	size_t length; /* median of the pieces */
	bool is_usual; /* most pieces have this length */
};

/* Kinds of common keys in a piece. */
static size_t count_common(struct repair *repair, size_t from, size_t to)
{
	size_t common = 0;

	repair->number++;
	for (size_t i = from; i < to; i++) {
		uint32_t key = repair->sequence->keys[i];

		if (!repair->anchor->is_common[key] || repair->seen[key] == repair->number)
			continue;
		repair->seen[key] = repair->number;
		common++;
	}
	return common;
}

static bool is_complete(struct repair *repair, size_t from, size_t to)
{
	if (repair->is_usual && 2 * (to - from) < repair->length)
		return false;
	return (double)count_common(repair, from, to) >=
	       is_complete_from * (double)repair->anchor->common_count;
}

static size_t difference(size_t left, size_t right)
{
	return left > right ? left - right : right - left;
}

/* Whether an incomplete piece belongs to the next one: then the next one lacks the keys of this
 * one, or is too short without it. */
static bool belongs_to_next(struct repair *repair, size_t from, size_t to, size_t end)
{
	if (count_common(repair, to, end) < count_common(repair, from, end))
		return true;
	return repair->is_usual && is_complete(repair, to, end) &&
	       difference(end - to, repair->length) > difference(end - from, repair->length);
}

static int measure_length(struct repair *repair, const size_t *list, size_t count)
{
	uint64_t *lengths = calloc(count, sizeof(*lengths));
	size_t equal = 0;

	if (!lengths)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < count; i++)
		lengths[i] = list[i + 1] - list[i];
	qsort(lengths, count - 1, sizeof(*lengths), compare_u64);
	repair->length = lengths[(count - 1) / 2];
	for (size_t i = 0; i + 1 < count; i++)
		equal += lengths[i] == repair->length;
	repair->is_usual = (double)equal >= is_usual_from * (double)(count - 1);
	free(lengths);
	return 0;
}

static size_t end_of(const struct repair *repair, const size_t *list, size_t count, size_t i)
{
	return i + 1 < count ? list[i + 1]
			     : smaller(repair->sequence->count, list[i] + repair->length * 3 / 2);
}

static size_t drop_boundaries(struct repair *repair, size_t *list, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		size_t from = list[i];

		while (i + 1 < count && !is_complete(repair, from, list[i + 1]) &&
		       belongs_to_next(repair, from, list[i + 1],
				       end_of(repair, list, count, i + 1)))
			i++;
		if (is_complete(repair, from, end_of(repair, list, count, i)))
			list[kept++] = from;
	}
	return kept;
}

int sequence_repair(const struct sequence *sequence, const struct anchor *anchor, size_t *list,
		    size_t *count)
{
	struct repair repair = {.sequence = sequence, .anchor = anchor};
	int error;

	if (*count < 3)
		return 0;
	error = measure_length(&repair, list, *count);
	if (error)
		return error;
	repair.seen = calloc(sequence->keys_count, sizeof(*repair.seen));
	if (!repair.seen)
		return -ENOMEM;
	*count = drop_boundaries(&repair, list, *count);
	free(repair.seen);
	return 0;
}
