/* SPDX-License-Identifier: MIT
 *
 * base/order/key_sort.c - sort rows by keys of a few numbers
 *
 * Runs in:  our own process
 * Gets:     keys
 * Gives:    the keys, sorted
 * Owns:     nothing
 * Fails:    never
 * Why a radix sort by bytes: among 10^6 rows, most bytes of the keys are equal in all rows, and one
 *           pass finds the bytes that are not. Only these are sorted, one byte after the other,
 *           without comparing keys
 */
#include "base/order/key_sort.h"

#include <stdbool.h>
#include <stdlib.h>

enum { BYTES = SORT_WORDS * 8 };

static unsigned int byte_of(const struct sort_key *key, size_t byte)
{
	return (unsigned int)(key->words[byte / 8] >> byte % 8 * 8 & 255);
}

/* Stable: equal keys keep their order. */
static void sort_byte(const struct sort_key *from, struct sort_key *to, size_t count, size_t byte)
{
	size_t places[257] = {0};

	for (size_t i = 0; i < count; i++)
		places[byte_of(&from[i], byte) + 1]++;
	for (size_t i = 1; i < 257; i++)
		places[i] += places[i - 1];
	for (size_t i = 0; i < count; i++)
		to[places[byte_of(&from[i], byte)]++] = from[i];
}

/* Bits that differ between keys. */
static struct sort_key find_different(const struct sort_key *keys, size_t count)
{
	struct sort_key different = {.row = 0};

	for (size_t i = 1; i < count; i++)
		for (size_t word = 0; word < SORT_WORDS; word++)
			different.words[word] |= keys[i].words[word] ^ keys->words[word];
	return different;
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
	const struct sort_key different = find_different(keys, count);
	struct sort_key *from = keys, *to = keys + count, *other;

	for (size_t byte = 0; byte < BYTES; byte++) {
		if (!byte_of(&different, byte))
			continue;
		sort_byte(from, to, count, byte);
		other = from;
		from = to;
		to = other;
	}
	if (compare)
		sort_alike(from, count, &asked);
	return from;
}
