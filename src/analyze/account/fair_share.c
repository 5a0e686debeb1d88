/* SPDX-License-Identifier: MIT
 *
 * analyze/account/fair_share.c - divides time among many commands that execute at once
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     members as they start, lengths of time
 * Gives:    the share of each member when it ends
 * Owns:     the members
 * Fails:    -ENOMEM
 * Why trees: with k commands at once, a list costs k steps at each start and end of a command. With
 *           a list, a trace of 3,850 bytes with 80,000 overlapping commands took 15 s.
 */
#include "analyze/account/fair_share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order/heap.h"

#define CAPACITY_FIRST ((size_t)256) /* capacities are powers of two */

void fair_share_fini(struct fair_share *fair_share)
{
	if (!fair_share)
		return;
	free(fair_share->members);
	free(fair_share->extras);
	free(fair_share->present);
	free(fair_share->heap);
	*fair_share = (struct fair_share){0};
}

static void add_present(struct fair_share *fair_share, size_t index, uint32_t difference)
{
	for (size_t i = index + 1; i <= fair_share->capacity; i += i & -i)
		fair_share->present[i] += difference;
}

/* Adds 1 ns to all members up to and including `index`. */
static void add_extra(struct fair_share *fair_share, size_t index)
{
	for (size_t i = index + 1; i <= fair_share->capacity; i += i & -i)
		fair_share->extras[i]++;
	fair_share->extras_sum++;
}

static uint64_t share_of(const struct fair_share *fair_share, size_t index)
{
	const struct fair_share_member *member = &fair_share->members[index];
	uint64_t before = 0;

	for (size_t i = index; i; i -= i & -i)
		before += fair_share->extras[i];
	return member->share_ns + (fair_share->each_ns - member->joined_ns) +
	       (fair_share->extras_sum - before);
}

/* Index of the nth present member, counted from 1. */
static size_t find_present(const struct fair_share *fair_share, uint64_t nth)
{
	size_t index = 0;

	for (size_t step = fair_share->capacity; step; step /= 2) {
		if (index + step <= fair_share->capacity &&
		    fair_share->present[index + step] < nth) {
			index += step;
			nth -= fair_share->present[index];
		}
	}
	return index;
}

/* ---- the heap ---- */

static void push(struct fair_share *fair_share, uint32_t index)
{
	const struct fair_share_member *members = fair_share->members;

	fair_share->heap[fair_share->count++] = index;
	HEAP_LIFT(fair_share->heap, fair_share->count, members[*a].ended < members[*b].ended);
}

/* ---- members ---- */

/* Removes the members that are gone. Writes into each other member the share it has so far
 * (share_ns), because the trees start again at zero. */
static void compact(struct fair_share *fair_share)
{
	size_t kept = 0;

	for (size_t i = 0; i < fair_share->used; i++) {
		struct fair_share_member member = fair_share->members[i];

		if (member.is_gone)
			continue;
		member.share_ns = share_of(fair_share, i);
		member.joined_ns = fair_share->each_ns;
		fair_share->members[kept++] = member;
	}
	fair_share->used = kept;
	fair_share->count = 0;
	fair_share->extras_sum = 0;
}

static int allocate(struct fair_share *fair_share, size_t capacity)
{
	struct fair_share_member *members =
		realloc(fair_share->members, capacity * sizeof(*members));
	uint32_t *present, *heap;
	uint64_t *extras;

	if (members)
		fair_share->members = members;
	heap = realloc(fair_share->heap, capacity * sizeof(*heap));
	if (heap)
		fair_share->heap = heap;
	extras = realloc(fair_share->extras, (capacity + 1) * sizeof(*extras));
	if (extras)
		fair_share->extras = extras;
	present = realloc(fair_share->present, (capacity + 1) * sizeof(*present));
	if (present)
		fair_share->present = present;
	return members && heap && extras && present ? 0 : -ENOMEM;
}

/* Makes room for one more. If at least half of the members are gone, they are removed; otherwise
 * the capacity doubles. */
static int make_room(struct fair_share *fair_share)
{
	size_t capacity = fair_share->capacity ? fair_share->capacity : CAPACITY_FIRST;

	if (fair_share->used < fair_share->capacity)
		return 0;
	if (fair_share->capacity && fair_share->count > fair_share->capacity / 2)
		capacity *= 2;
	if (capacity > UINT32_MAX || allocate(fair_share, capacity))
		return -ENOMEM;
	compact(fair_share);
	fair_share->capacity = capacity;
	memset(fair_share->extras, 0, (capacity + 1) * sizeof(*fair_share->extras));
	memset(fair_share->present, 0, (capacity + 1) * sizeof(*fair_share->present));
	for (size_t i = 0; i < fair_share->used; i++) {
		add_present(fair_share, i, 1);
		push(fair_share, (uint32_t)i);
	}
	return 0;
}

int fair_share_join(struct fair_share *fair_share, const struct fair_share_member *member)
{
	int error = make_room(fair_share);

	if (error)
		return error;
	fair_share->members[fair_share->used] = *member;
	fair_share->members[fair_share->used].joined_ns = fair_share->each_ns;
	fair_share->members[fair_share->used].is_gone = false;
	add_present(fair_share, fair_share->used, 1);
	push(fair_share, (uint32_t)fair_share->used++);
	return 0;
}

void fair_share_divide(struct fair_share *fair_share, uint64_t length)
{
	uint64_t rest;

	if (!fair_share->count)
		return;
	fair_share->each_ns += length / fair_share->count;
	rest = length % fair_share->count;
	if (rest)
		add_extra(fair_share, find_present(fair_share, rest));
}

uint64_t fair_share_earliest_end(const struct fair_share *fair_share)
{
	return fair_share->count ? fair_share->members[fair_share->heap[0]].ended : UINT64_MAX;
}

void fair_share_emit(struct fair_share *fair_share,
		     void (*on_part)(void *context, uint32_t tag, uint64_t part_ns), void *context)
{
	for (size_t i = 0; i < fair_share->used; i++) {
		struct fair_share_member *member = &fair_share->members[i];
		uint64_t share_ns;

		if (member->is_gone)
			continue;
		share_ns = share_of(fair_share, i);
		on_part(context, member->tag, share_ns - member->emitted_ns);
		member->emitted_ns = share_ns;
	}
}

struct fair_share_member fair_share_leave(struct fair_share *fair_share)
{
	struct fair_share_member *members = fair_share->members;
	size_t index = HEAP_POP(fair_share->heap, fair_share->count,
				members[*a].ended < members[*b].ended);
	struct fair_share_member member = members[index];

	member.share_ns = share_of(fair_share, index);
	members[index].is_gone = true;
	add_present(fair_share, index, (uint32_t)-1);
	return member;
}
