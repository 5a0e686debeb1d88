/* SPDX-License-Identifier: MIT
 *
 * base/order/key_sort.h - sort rows by keys of a few numbers
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SORT_WORDS = 3 };

struct sort_key {
	uint64_t words[SORT_WORDS]; /* least significant first */
	uint32_t row;
};

/* As qsort's, for two rows with equal keys. */
typedef int (*key_sort_compare)(const void *context, uint32_t left, uint32_t right);

/* Sorts `count` keys. `keys` has room for twice as many. compare NULL: equal keys keep their order.
 * Returns the address of the sorted keys in `keys`. */
struct sort_key *key_sort(struct sort_key *keys, size_t count, key_sort_compare compare,
			  const void *context);
