/* SPDX-License-Identifier: MIT
 *
 * analyze/text/name_pattern.c - the name that numbered threads and processes share
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     a name
 * Gives:    its pattern
 * Owns:     nothing
 * Fails:    never
 * Why numbers: pools number their threads. Rows of a thousand threads say less than one row with
 *           their sum.
 */
#include "analyze/text/name_pattern.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The length of the name without " (process 12)". */
static size_t length_of(const char *name)
{
	static const char word[] = " (process ";
	const size_t length = strlen(name);
	size_t at = length;

	if (!length || name[length - 1] != ')')
		return length;
	for (at--; at && isdigit((unsigned char)name[at - 1]);)
		at--;
	if (at == length - 1 || at < sizeof(word) - 1)
		return length;
	at -= sizeof(word) - 1;
	return strncmp(name + at, word, sizeof(word) - 1) == 0 ? at : length;
}

void name_without_process(const char *name, char ret_name[NAME_PATTERN_BYTES])
{
	snprintf(ret_name, NAME_PATTERN_BYTES, "%.*s", (int)length_of(name), name);
}

const char *name_process_of(const char *name)
{
	return name + length_of(name);
}

void name_pattern_cut(const char *name, char *ret_pattern, size_t room)
{
	const size_t length = length_of(name);
	size_t size = 0;

	for (size_t i = 0; i < length && size < room - 1; i++) {
		const bool is_digit = isdigit((unsigned char)name[i]);

		if (!is_digit)
			ret_pattern[size++] = name[i];
		else if (!i || !isdigit((unsigned char)name[i - 1]))
			ret_pattern[size++] = '*';
	}
	ret_pattern[size] = '\0';
}

void name_pattern(const char *name, char ret_pattern[NAME_PATTERN_BYTES])
{
	name_pattern_cut(name, ret_pattern, NAME_PATTERN_BYTES);
}
