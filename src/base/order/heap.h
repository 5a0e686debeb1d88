/* SPDX-License-Identifier: MIT
 *
 * base/order/heap.h - binary heaps in arrays; the item that comes before all others is the first
 *
 * is_before: an expression of `a` and `b`, pointers to two items, true if *a comes before *b.
 * Macros, because a callback would cost a call per step.
 *
 *	if (array_append(ends, capacity, count, end))
 *		return -ENOMEM;
 *	HEAP_LIFT(ends, count, a->time < b->time);
 *	first = HEAP_POP(ends, count, a->time < b->time);
 */
#pragma once

#include <stddef.h>

#define HEAP_IS_BEFORE(left, right, is_before)                   \
	({                                                       \
		const __typeof__(*(left)) *a = left, *b = right; \
                                                                 \
		is_before;                                       \
	})

/* Moves the last item, which was appended, to its place. */
#define HEAP_LIFT(items, count, is_before)                                               \
	do {                                                                             \
		size_t i_ = (count) - (size_t)1;                                         \
		const __typeof__(*(items)) moved_ = (items)[i_];                         \
                                                                                         \
		for (; i_ && HEAP_IS_BEFORE(&moved_, &(items)[(i_ - 1) / 2], is_before); \
		     i_ = (i_ - 1) / 2)                                                  \
			(items)[i_] = (items)[(i_ - 1) / 2];                             \
		(items)[i_] = moved_;                                                    \
	} while (0)

/* Moves the first item, which was replaced, to its place. */
#define HEAP_SINK(items, count, is_before)                                                       \
	do {                                                                                     \
		const __typeof__(*(items)) moved_ = (items)[0];                                  \
		size_t i_ = 0, child_;                                                           \
                                                                                                 \
		while ((child_ = 2 * i_ + 1) < (count)) {                                        \
			if (child_ + 1 < (count))                                                \
				child_ += HEAP_IS_BEFORE(&(items)[child_ + 1], &(items)[child_], \
							 is_before);                             \
			if (!HEAP_IS_BEFORE(&(items)[child_], &moved_, is_before))               \
				break;                                                           \
			(items)[i_] = (items)[child_];                                           \
			i_ = child_;                                                             \
		}                                                                                \
		(items)[i_] = moved_;                                                            \
	} while (0)

/* Removes the first item and returns it. */
#define HEAP_POP(items, count, is_before)                       \
	({                                                      \
		const __typeof__(*(items)) first_ = (items)[0]; \
                                                                \
		(items)[0] = (items)[--(count)];                \
		HEAP_SINK(items, count, is_before);             \
		first_;                                         \
	})
