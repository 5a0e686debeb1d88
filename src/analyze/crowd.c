/* SPDX-License-Identifier: MIT
 *
 * analyze/crowd.c - many commands in execution at once, that divide time among them
 *
 * Runs in:  the readers
 * Gets:     members as they start, lengths of time   Gives: the share of each when it ends
 * Owns:     the members
 * Fails:    -ENOMEM
 * Why trees: with a list of k members each of 2 n moments costs k steps; a trace of 3,850 bytes with 80,000
 *           commands that overlap took 15 s
 */
#include "analyze/crowd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST ((size_t)256) /* a power of two, as all that follow */

void crowd_init(struct crowd *crowd)
{
	*crowd = (struct crowd){0};
}

void crowd_fini(struct crowd *crowd)
{
	if (!crowd)
		return;
	free(crowd->members);
	free(crowd->extras);
	free(crowd->present);
	free(crowd->heap);
	crowd_init(crowd);
}

static void add_present(struct crowd *crowd, size_t index, uint32_t difference)
{
	for (size_t i = index + 1; i <= crowd->capacity; i += i & -i)
		crowd->present[i] += difference;
}

/* 1 ns to everyone up to and with `index`. */
static void add_extra(struct crowd *crowd, size_t index)
{
	for (size_t i = index + 1; i <= crowd->capacity; i += i & -i)
		crowd->extras[i]++;
	crowd->extras_sum++;
}

static uint64_t share_of(const struct crowd *crowd, size_t index)
{
	const struct crowd_member *member = &crowd->members[index];
	uint64_t before = 0;

	for (size_t i = index; i; i -= i & -i)
		before += crowd->extras[i];
	return member->share_ns + (crowd->each_ns - member->joined_ns) +
	       (crowd->extras_sum - before);
}

/* The nth that is present, counted from 1. */
static size_t find_present(const struct crowd *crowd, uint64_t nth)
{
	size_t index = 0;

	for (size_t step = crowd->capacity; step; step /= 2) {
		if (index + step <= crowd->capacity && crowd->present[index + step] < nth) {
			index += step;
			nth -= crowd->present[index];
		}
	}
	return index;
}

/* ---- the heap ---- */

static uint64_t end_at(const struct crowd *crowd, size_t place)
{
	return crowd->members[crowd->heap[place]].ended;
}

static void push(struct crowd *crowd, uint32_t index)
{
	size_t i = crowd->count++;

	while (i && crowd->members[index].ended < end_at(crowd, (i - 1) / 2)) {
		crowd->heap[i] = crowd->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	crowd->heap[i] = index;
}

static uint32_t pop(struct crowd *crowd)
{
	uint32_t top = crowd->heap[0], moved = crowd->heap[--crowd->count];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= crowd->count)
			break;
		if (child + 1 < crowd->count && end_at(crowd, child + 1) < end_at(crowd, child))
			child++;
		if (crowd->members[moved].ended <= end_at(crowd, child))
			break;
		crowd->heap[i] = crowd->heap[child];
		i = child;
	}
	crowd->heap[i] = moved;
	return top;
}

/* ---- members ---- */

/* Takes out who is gone, in place; what they have is theirs from now on. */
static void compact(struct crowd *crowd)
{
	size_t kept = 0;

	for (size_t i = 0; i < crowd->used; i++) {
		struct crowd_member member = crowd->members[i];

		if (member.is_gone)
			continue;
		member.share_ns = share_of(crowd, i);
		member.joined_ns = crowd->each_ns;
		crowd->members[kept++] = member;
	}
	crowd->used = kept;
	crowd->count = 0;
	crowd->extras_sum = 0;
}

static int allocate(struct crowd *crowd, size_t capacity)
{
	struct crowd_member *members = realloc(crowd->members, capacity * sizeof(*members));
	uint32_t *present, *heap;
	uint64_t *extras;

	if (members)
		crowd->members = members;
	heap = realloc(crowd->heap, capacity * sizeof(*heap));
	if (heap)
		crowd->heap = heap;
	extras = realloc(crowd->extras, (capacity + 1) * sizeof(*extras));
	if (extras)
		crowd->extras = extras;
	present = realloc(crowd->present, (capacity + 1) * sizeof(*present));
	if (present)
		crowd->present = present;
	return members && heap && extras && present ? 0 : -ENOMEM;
}

/* Room for one more: where half of the places are of members that are gone they are taken out, else there are
 * twice as many. */
static int make_room(struct crowd *crowd)
{
	size_t capacity = crowd->capacity ? crowd->capacity : CAPACITY_FIRST;

	if (crowd->used < crowd->capacity)
		return 0;
	if (crowd->capacity && crowd->count > crowd->capacity / 2)
		capacity *= 2;
	if (capacity > UINT32_MAX || allocate(crowd, capacity))
		return -ENOMEM;
	compact(crowd);
	crowd->capacity = capacity;
	memset(crowd->extras, 0, (capacity + 1) * sizeof(*crowd->extras));
	memset(crowd->present, 0, (capacity + 1) * sizeof(*crowd->present));
	for (size_t i = 0; i < crowd->used; i++) {
		add_present(crowd, i, 1);
		push(crowd, (uint32_t)i);
	}
	return 0;
}

int crowd_join(struct crowd *crowd, const struct crowd_member *member)
{
	int error = make_room(crowd);

	if (error)
		return error;
	crowd->members[crowd->used] = *member;
	crowd->members[crowd->used].joined_ns = crowd->each_ns;
	crowd->members[crowd->used].is_gone = false;
	add_present(crowd, crowd->used, 1);
	push(crowd, (uint32_t)crowd->used++);
	return 0;
}

void crowd_divide(struct crowd *crowd, uint64_t length)
{
	uint64_t rest;

	if (!crowd->count)
		return;
	crowd->each_ns += length / crowd->count;
	rest = length % crowd->count;
	if (rest)
		add_extra(crowd, find_present(crowd, rest));
}

uint64_t crowd_earliest_end(const struct crowd *crowd)
{
	return crowd->count ? end_at(crowd, 0) : UINT64_MAX;
}

void crowd_tell(struct crowd *crowd, void (*on_part)(void *context, uint32_t tag, uint64_t part_ns),
		void *context)
{
	for (size_t i = 0; i < crowd->used; i++) {
		struct crowd_member *member = &crowd->members[i];
		uint64_t share_ns;

		if (member->is_gone)
			continue;
		share_ns = share_of(crowd, i);
		on_part(context, member->tag, share_ns - member->told_ns);
		member->told_ns = share_ns;
	}
}

struct crowd_member crowd_leave(struct crowd *crowd)
{
	size_t index = pop(crowd);
	struct crowd_member member = crowd->members[index];

	member.share_ns = share_of(crowd, index);
	crowd->members[index].is_gone = true;
	add_present(crowd, index, (uint32_t)-1);
	return member;
}
