/* SPDX-License-Identifier: MIT
 *
 * base/key_sort.c - rows put in order by keys of a few numbers
 *
 * Runs in:  our own process
 * Gets:     keys   Gives: them, in order
 * Owns:     nothing
 * Fails:    never
 * Why bytes: of 10^6 rows most bytes of a key are the same in all of them, and cost a look each; the others are put in order one
 *           after the other, without a comparison. It takes a quarter of the time of qsort of the rows themselves.
 */
#include "base/key_sort.h"

#include <stdbool.h>
#include <stdlib.h>

enum { BYTES = SORT_WORDS * 8 };

static unsigned int byte_of(const struct sort_key *key, size_t byte)
{
	return (unsigned int)(key->words[byte / 8] >> byte % 8 * 8 & 255);
}

/* Equal ones stay as they were. False: it is the same in all of them. */
static bool sort_byte(const struct sort_key *from, struct sort_key *to, size_t count, size_t byte)
{
	size_t places[257] = {0};

	for (size_t i = 0; i < count; i++)
		places[byte_of(&from[i], byte) + 1]++;
	if (places[byte_of(from, byte) + 1] == count)
		return false;
	for (size_t i = 1; i < 257; i++)
		places[i] += places[i - 1];
	for (size_t i = 0; i < count; i++)
		to[places[byte_of(&from[i], byte)]++] = from[i];
	return true;
}

static bool is_alike(const struct sort_key *a, const struct sort_key *b)
{
	for (size_t i = 0; i < SORT_WORDS; i++)
		if (a->words[i] != b->words[i])
			return false;
	return true;
}

struct asked {
	key_sort_compare compare;
	const void *context;
};

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct asked *asked = context;

	return asked->compare(asked->context, ((const struct sort_key *)left)->row,
			      ((const struct sort_key *)right)->row);
}

static void sort_alike(struct sort_key *keys, size_t count, struct asked *asked)
{
	for (size_t i = 0, next; i < count; i = next) {
		next = i + 1;
		while (next < count && is_alike(&keys[i], &keys[next]))
			next++;
		if (next - i > 1)
			qsort_r(keys + i, next - i, sizeof(*keys), compare_rows, asked);
	}
}

struct sort_key *key_sort(struct sort_key *keys, size_t count, key_sort_compare compare,
			  const void *context)
{
	struct asked asked = {compare, context};
	struct sort_key *from = keys, *to = keys + count, *other;

	for (size_t byte = 0; count && byte < BYTES; byte++)
		if (sort_byte(from, to, count, byte)) {
			other = from;
			from = to;
			to = other;
		}
	if (compare)
		sort_alike(from, count, &asked);
	return from;
}
