/* SPDX-License-Identifier: MIT
 *
 * export/common/escape.c - write names of a trace as one line of text
 *
 * Runs in:  our own process
 * Gets:     any bytes
 * Gives:    text without bytes that control a terminal or that a parser of lines would take for
 *           separators
 * Owns:     nothing
 * Fails:    out of memory is recorded in the builder
 * Why:      each \xNN is one byte, so a reader can restore the name
 */
#include "export/common/escape.h"

#include <stdbool.h>
#include <string.h>

#include "base/string.h"

static void append_escaped(struct string_builder *builder, const char *text, bool is_word)
{
	size_t left = strlen(text);

	while (left) {
		int length = utf8_printable(text, left);
		size_t taken = (size_t)(length > 0 ? length : -length);
		bool is_plain = length > 0 && *text != '\\' && !(is_word && *text == ' ');

		if (is_plain)
			string_builder_append_bytes(builder, text, taken);
		else
			string_builder_append_hex(builder, text, taken);
		text += taken;
		left -= taken;
	}
}

void escape_append(struct string_builder *builder, const char *text)
{
	append_escaped(builder, text, false);
}

void escape_append_word(struct string_builder *builder, const char *text)
{
	append_escaped(builder, text, true);
}
