/* SPDX-License-Identifier: MIT
 *
 * base/key_sort.h - rows put in order by keys of a few numbers
 */
#ifndef BASE_KEY_SORT_H
#define BASE_KEY_SORT_H

#include <stddef.h>
#include <stdint.h>

enum { SORT_WORDS = 3 };

struct sort_key {
	uint64_t words[SORT_WORDS]; /* the least significant one first */
	uint32_t row;
};

/* As qsort's, of two rows whose keys are equal. */
typedef int (*key_sort_compare)(const void *context, uint32_t left, uint32_t right);

/* Sorts `count` keys. keys: has room for twice as many. compare: NULL: equal ones stay as they were. Returns where in keys
 * the sorted ones are. */
struct sort_key *key_sort(struct sort_key *keys, size_t count, key_sort_compare compare,
			  const void *context);

#endif
