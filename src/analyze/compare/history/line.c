/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/history/line.c - values and texts of a history
 *
 * Runs in:  our own process
 * Gets:     a value or a text
 * Gives:    a longer line, or a copy
 * Owns:     nothing
 * Fails:    -ENOMEM, NULL
 * Why values with their recording: a kernel that only one of 1000 recordings has takes 16 bytes
 */
#include <string.h>

#include "analyze/compare/history/history.h"
#include "base/array.h"

const char *history_text(struct history *history, const char *text)
{
	return arena_copy(&history->arena, text, strlen(text));
}

int history_line_add(struct history_line *line, size_t recording, double value)
{
	return array_append(line->values, line->capacity, line->count,
			    (struct history_value){(uint32_t)recording, value});
}
