/* SPDX-License-Identifier: MIT
 *
 * export/escape.c - names of a trace as one line of text
 *
 * Runs in:  our own process
 * Gets:     any bytes   Gives: text that a terminal only shows and a parser of lines only splits where we did
 * Owns:     nothing
 * Fails:    without memory in the builder
 * Why:      every \xNN stands for one byte, so that whoever wants the name back can have it
 */
#include "export/escape.h"

#include <stdbool.h>
#include <string.h>

#include "base/string.h"

static void append(struct string_builder *builder, const char *text, bool is_word)
{
	size_t left = strlen(text);

	while (left) {
		int length = utf8_printable(text, left);
		size_t taken = (size_t)(length > 0 ? length : -length);
		bool is_plain = length > 0 && *text != '\\' && !(is_word && *text == ' ');

		if (is_plain)
			string_builder_append_bytes(builder, text, taken);
		for (size_t i = 0; i < taken && !is_plain; i++)
			string_builder_appendf(builder, "\\x%02x", (unsigned char)text[i]);
		text += taken;
		left -= taken;
	}
}

void escape_append(struct string_builder *builder, const char *text)
{
	append(builder, text, false);
}

void escape_append_word(struct string_builder *builder, const char *text)
{
	append(builder, text, true);
}
