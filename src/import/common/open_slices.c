/* SPDX-License-Identifier: MIT
 *
 * import/common/open_slices.c - slices whose end was not read yet, as a stack for each thread or
 * track
 *
 * Runs in:  our own process
 * Gets:     slices of a file in the order in which it has their begins and ends
 * Gives:    the innermost open slice of a thread or track
 * Owns:     the open slices
 * Fails:    -ENOMEM
 * Why one list of places for all stacks: most threads of a file have few open slices, and an array
 *           for each of 10^5 threads would take more memory than the slices.
 */
#include "import/common/open_slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void open_slices_init(struct open_slices *open, size_t slice_bytes, size_t limit)
{
	*open = (struct open_slices){.slice_bytes = slice_bytes, .limit = limit};
}

void open_slices_fini(struct open_slices *open)
{
	free(open->slices);
	free(open->below);
	open_slices_init(open, open->slice_bytes, open->limit);
}

bool open_slices_is_full(const struct open_slices *open)
{
	return !open->free && open->limit && open->count == open->limit;
}

/* Makes room for a place behind the last one. */
static int grow(struct open_slices *open)
{
	size_t bytes;

	if (open->count == UINT32_MAX ||
	    __builtin_mul_overflow(open->count + 1, open->slice_bytes, &bytes))
		return -ENOMEM;
	if (array_grow(open->slices, open->slices_capacity, bytes))
		return -ENOMEM;
	return array_grow(open->below, open->below_capacity, open->count + 1);
}

void *open_slices_top(const struct open_slices *open, uint32_t stack)
{
	return open->slices + (stack - (size_t)1) * open->slice_bytes;
}

int open_slices_push(struct open_slices *open, uint32_t *stack, const void *slice)
{
	uint32_t place = open->free;

	if (open_slices_is_full(open) || (!place && grow(open)))
		return -ENOMEM;
	if (place)
		open->free = open->below[place - 1];
	else
		place = (uint32_t)++open->count;
	memcpy(open_slices_top(open, place), slice, open->slice_bytes);
	open->below[place - 1] = *stack;
	*stack = place;
	return 0;
}

void open_slices_pop(struct open_slices *open, uint32_t *stack)
{
	const uint32_t place = *stack;

	*stack = open->below[place - 1];
	open->below[place - 1] = open->free;
	open->free = place;
}
