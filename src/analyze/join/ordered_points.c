/* SPDX-License-Identifier: MIT
 *
 * analyze/join/ordered_points.c - sorts begins and ends: slices go in by begin, begins and ends
 * come out by time
 *
 * Runs in:  our own process
 * Gets:     slices (intervals), in the order of their begins
 * Gives:    their begins and ends, in the order of time
 * Owns:     the begins and ends that were not taken yet: two for each open slice
 * Fails:    -ENOMEM
 * Why a heap, although order_next returns times in order: an execution is held back for the length
 *           of the clock's error until it is joined to its launch, as in the report. Its begin and
 *           end then come too late and must be sorted back into the order of time.
 */
#include "analyze/join/ordered_points.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

enum { RANK_END, RANK_BEGIN };

static bool is_before(const struct moment *a, const struct moment *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->tie != b->tie)
		return a->tie < b->tie;
	if (a->number != b->number)
		return a->number < b->number;
	return a->half < b->half;
}

static void push(struct moments *moments, const struct moment *moment)
{
	struct moment *heap = moments->heap;
	size_t i = moments->count++;

	while (i && is_before(moment, &heap[(i - 1) / 2])) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = *moment;
}

int moments_add(struct moments *moments, uint32_t slice, uint64_t begin, uint64_t end,
		bool is_stacked)
{
	struct moment moment = {.time = begin,
				.tie = UINT64_MAX - (is_stacked ? end : 0),
				.number = moments->number,
				.slice = slice,
				.rank = RANK_BEGIN};

	if (array_grow(moments->heap, moments->capacity, moments->count + 2))
		return -ENOMEM;
	moments->number++;
	push(moments, &moment);
	moment.half = 1;
	if (end > begin) {
		moment.time = end;
		moment.tie = 0;
		moment.rank = RANK_END;
	}
	push(moments, &moment);
	return 0;
}

int moments_add_point(struct moments *moments, uint32_t slice, uint64_t time, bool is_end,
		      bool begins_then)
{
	struct moment moment = {.time = time,
				.number = moments->number,
				.slice = slice,
				.rank = is_end && !begins_then ? RANK_END : RANK_BEGIN,
				.half = is_end};

	if (array_grow(moments->heap, moments->capacity, moments->count + 1))
		return -ENOMEM;
	moments->number++;
	push(moments, &moment);
	return 0;
}

bool moments_take(struct moments *moments, uint64_t limit, struct moment *ret_moment)
{
	struct moment *heap = moments->heap, moved;
	size_t i = 0;

	if (!moments->count || (heap[0].time >= limit && limit < UINT64_MAX))
		return false;
	*ret_moment = heap[0];
	moved = heap[--moments->count];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= moments->count)
			break;
		if (child + 1 < moments->count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &moved))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
	return true;
}

void moments_fini(struct moments *moments)
{
	if (!moments)
		return;
	free(moments->heap);
	*moments = (struct moments){0};
}
