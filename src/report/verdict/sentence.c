/* SPDX-License-Identifier: MIT
 *
 * report/verdict/sentence.c - builds sentences from parts and wraps them
 *
 * Runs in:  our own process
 * Gets:     parts of sentences
 * Gives:    one text, cut if it is too long
 * Owns:     nothing
 * Fails:    never
 */
#include "report/verdict/sentence.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/string.h"
#include "report/report.h"
#include "report/table.h"

void say(struct sentence *sentence, const char *format, ...)
{
	size_t room = sizeof(sentence->text) - sentence->length;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(sentence->text + sentence->length, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		sentence->length += (size_t)length < room ? (size_t)length : room - 1;
}

void say_place(struct sentence *sentence, const char *function, const char *file, uint32_t line)
{
	say(sentence, "%.*s", SENTENCE_NAME, function);
	if (file && line)
		say(sentence, " (%.*s:%" PRIu32 ")", SENTENCE_NAME, path_base(file), line);
}

static size_t columns_of(const char *text, size_t length)
{
	size_t columns = 0;

	for (size_t i = 0; i < length; i++)
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
	return columns;
}

void sentence_put_wrapped(const char *text, size_t first, size_t indent, size_t width)
{
	const size_t room = width > indent + 8 ? width - indent : 8;
	size_t used = first;
	bool is_first = true;

	while (*text) {
		size_t length = strcspn(text, " "), columns = columns_of(text, length);
		char word[512];

		if (!is_first && used + 1 + columns > width) {
			printf("\n%*s", (int)indent, "");
			used = indent;
		} else if (!is_first) {
			putchar(' ');
			used++;
		}
		is_first = false;
		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		table_put_text(word, room);
		used += columns;
		text += length + strspn(text + length, " ");
	}
}

void report_put_note(const struct report *report, const char *text)
{
	printf("\n");
	sentence_put_wrapped(text, 0, 2, report_columns(report));
	printf("\n");
}

void report_put_hint(const struct report *report, const char *text)
{
	printf("  ");
	sentence_put_wrapped(text, 2, 2, report_columns(report));
	putchar('\n');
}
