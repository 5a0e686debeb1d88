/* SPDX-License-Identifier: MIT
 *
 * base/suggest.c - suggest a name for a mistyped word
 *
 * Runs in:  our own process
 * Gets:     a mistyped word and a table of names
 * Gives:    the nearest name, or NULL
 * Owns:     nothing
 * Fails:    never; a word longer than any name has no neighbour
 * Why at most one edit per three letters: with more, the suggestion for "lst" could be "gate", and
 *           for --foo --top
 */
#include "base/suggest.h"

#include <string.h>

#define LONGEST_NAME 32

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Number of edits from one to the other; swapping two neighbours is one edit. It keeps one row of
 * the matrix and the two before it. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][LONGEST_NAME + 1], length = strlen(b);
	size_t *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= length; j++)
		above[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t *spare = before;

		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			row[j] = smallest(above[j] + 1, row[j - 1] + 1,
					  above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = above;
		above = row;
		row = spare;
	}
	return above[length];
}

const char *suggest_name(const char *word, const void *rows, size_t count, size_t stride)
{
	const char *nearest = NULL;
	size_t least = strlen(word) / 3 + 1;

	if (strlen(word) > LONGEST_NAME)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const char *name;
		size_t distance;

		memcpy(&name, (const char *)rows + i * stride, sizeof(name));
		if (!name || strlen(name) > LONGEST_NAME)
			continue;
		distance = edit_distance(word, name);
		if (distance < least && distance < strlen(name)) {
			least = distance;
			nearest = name;
		}
	}
	return nearest;
}
