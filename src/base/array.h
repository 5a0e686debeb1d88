/* SPDX-License-Identifier: MIT
 *
 * base/array.h - growable arrays: a pointer, a count and a capacity that their owner keeps
 *
 *	struct thing *things = NULL;
 *	size_t count = 0, capacity = 0;
 *	if (array_append(things, capacity, count, thing))
 *		return -ENOMEM;
 */
#pragma once

#include <errno.h>
#include <stddef.h>

/* Makes room for at least `count` items of `size` bytes in *items, doubling *capacity (items).
 * Existing items keep their values, new room is zeroed. -ENOMEM changes nothing. */
int array_reserve(void **items, size_t *capacity, size_t count, size_t size);

/* The same for typed lvalues; capacity is a size_t. */
#define array_grow(items, capacity, count) \
	array_reserve((void **)&(items), &(capacity), (count), sizeof(*(items)))

/* Appends an item: 0, or -ENOMEM without a change. */
#define array_append(items, capacity, count, ...)         \
	(array_grow(items, capacity, (count) + (size_t)1) \
		 ? -ENOMEM                                \
		 : ((items)[(count)++] = (__VA_ARGS__), 0))

/* Makes room for one more item in a ring of `count`, whose capacity is a power of two, and whose
 * item i is at (first + i) & (capacity - 1): 0, or -ENOMEM without a change. */
int array_reserve_ring(void **items, size_t *capacity, size_t first, size_t count, size_t size);

/* The same for typed lvalues; capacity is a size_t. */
#define array_grow_ring(items, capacity, first, count) \
	array_reserve_ring((void **)&(items), &(capacity), (first), (count), sizeof(*(items)))

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Binary search: how many of `count` elements come before a place. `is_before` is an expression of
 * the index `i`, true for the first elements and false for all others. A macro, because a callback
 * would cost a call per step.
 *
 *	size_t place = LOWER_BOUND(count, i, rows[i].begin < time);
 */
#define LOWER_BOUND(count, i, is_before)                      \
	({                                                    \
		size_t low_ = 0, high_ = (count);             \
                                                              \
		while (low_ < high_) {                        \
			size_t i = low_ + (high_ - low_) / 2; \
                                                              \
			if (is_before)                        \
				low_ = i + 1;                 \
			else                                  \
				high_ = i;                    \
		}                                             \
		low_;                                         \
	})

/* The text of a number that may come from a file: `unknown` if the table has none. */
static inline const char *array_text(const char *const *texts, size_t count, size_t index,
				     const char *unknown)
{
	return index < count && texts[index] ? texts[index] : unknown;
}
