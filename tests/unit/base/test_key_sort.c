/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_key_sort.c - rows are in the order that comparing them gives
 */
#include "base/order/key_sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { ROWS = 5000 };

static struct sort_key keys[2 * ROWS], wanted[ROWS];

static uint64_t state = 88172645463325252u;

static uint64_t random_number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int compare_keys(const void *left, const void *right)
{
	const struct sort_key *a = left, *b = right;

	for (size_t i = SORT_WORDS; i-- > 0;)
		if (a->words[i] != b->words[i])
			return a->words[i] < b->words[i] ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static int compare_backwards(const void *context, uint32_t left, uint32_t right)
{
	(void)context;
	return (left < right) - (left > right);
}

static void fill(uint64_t most)
{
	for (uint32_t i = 0; i < ROWS; i++) {
		keys[i] = (struct sort_key){.row = i};
		for (size_t word = 0; word < SORT_WORDS; word++)
			keys[i].words[word] = most ? random_number() % most : random_number();
		wanted[i] = keys[i];
	}
	qsort(wanted, ROWS, sizeof(*wanted), compare_keys);
}

static bool is_wanted(const struct sort_key *sorted)
{
	for (size_t i = 0; i < ROWS; i++)
		if (compare_keys(&sorted[i], &wanted[i]) != 0)
			return false;
	return true;
}

TEST(as_comparisons_say)
{
	fill(0);
	CHECK(is_wanted(key_sort(keys, ROWS, NULL, NULL)));
	fill(3);
	CHECK(is_wanted(key_sort(keys, ROWS, NULL, NULL)));
	fill(1);
	CHECK(is_wanted(key_sort(keys, ROWS, NULL, NULL)));
	fill(UINT64_C(1) << 40);
	CHECK(is_wanted(key_sort(keys, ROWS, NULL, NULL)));
}

TEST(equal_keys_are_compared_by_row)
{
	const struct sort_key *sorted;

	fill(2);
	sorted = key_sort(keys, ROWS, compare_backwards, NULL);
	for (size_t i = 1; i < ROWS; i++)
		if (memcmp(sorted[i].words, sorted[i - 1].words, sizeof(sorted->words)) == 0 &&
		    sorted[i].row >= sorted[i - 1].row) {
			CHECK(sorted[i].row < sorted[i - 1].row);
			return;
		}
	CHECK(sorted[0].words[0] == wanted[0].words[0]);
}

TEST(nothing_to_sort)
{
	CHECK(key_sort(keys, 0, compare_backwards, NULL) == keys);
}

int main(void)
{
	RUN(as_comparisons_say);
	RUN(equal_keys_are_compared_by_row);
	RUN(nothing_to_sort);
	return harness_end();
}
