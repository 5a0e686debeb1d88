/* SPDX-License-Identifier: MIT
 *
 * base/array.c - growable arrays and rings
 *
 * Runs in:  the recorder, and all commands that read a trace, any thread; no state of its own
 * Gets:     the owner's pointer and capacity
 * Gives:    zeroed room for more items
 * Owns:     nothing: the owner frees the array with free()
 * Fails:    -ENOMEM, also if count * size overflows; the array is unchanged
 * Why room for 8 items at first: most lists in a trace have fewer items
 */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define ARRAY_FIRST 8

int array_reserve(void **items, size_t *capacity, size_t count, size_t size)
{
	size_t wanted = *capacity > ARRAY_FIRST ? *capacity : ARRAY_FIRST;
	size_t bytes;
	void *moved;

	if (count <= *capacity)
		return 0;
	while (wanted < count) {
		if (__builtin_mul_overflow(wanted, (size_t)2, &wanted))
			return error_no_memory();
	}
	if (__builtin_mul_overflow(wanted, size, &bytes))
		return error_no_memory();
	moved = realloc(*items, bytes);
	if (!moved)
		return error_no_memory();
	memset((char *)moved + *capacity * size, 0, (wanted - *capacity) * size);
	*items = moved;
	*capacity = wanted;
	return 0;
}

int array_reserve_ring(void **items, size_t *capacity, size_t first, size_t count, size_t size)
{
	const size_t before = *capacity;

	if (count < before)
		return 0;
	if (array_reserve(items, capacity, count + 1, size))
		return -ENOMEM;
	/* the items at the ring's start follow those at its end */
	memcpy((char *)*items + before * size, *items, first * size);
	return 0;
}
