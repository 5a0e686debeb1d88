/* SPDX-License-Identifier: MIT
 *
 * cli/suggest.c - the name somebody most likely meant
 *
 * Runs in:  our own process
 * Gets:     a mistyped word and a table of names   Gives: the nearest name, or NULL
 * Owns:     nothing
 * Fails:    never; a word longer than any name has no neighbour
 * Why:      at most one edit per three letters, because with more "lst" would become "gate"
 */
#include "cli/suggest.h"

#include <string.h>

#define LONGEST_NAME 32

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Levenshtein distance, one row of the matrix at a time. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[LONGEST_NAME + 1], length = strlen(b);

	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			size_t above = row[j];

			row[j] = smallest(above + 1, row[j - 1] + 1,
					  diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[length];
}

const char *suggest_name(const char *word, const void *rows, size_t count, size_t stride)
{
	const char *nearest = NULL;
	size_t least = strlen(word) / 3 + 2;

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
