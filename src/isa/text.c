/* SPDX-License-Identifier: MIT
 *
 * isa/text.c - texts of instructions and of refusals
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     "\tadrp\tx0, 16 // 0x411000"
 * Gives:    "adrp x0, 16" and "0x411000"
 * Owns:     nothing
 * Fails:    never
 * Why:      LLVM's text has the tabs and columns of assembler files; reports have their own columns
 */
#include "isa/decoders.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static size_t squeeze(char *text)
{
	size_t length = 0;

	for (const char *from = text; *from && *from != '\n'; from++) {
		char character = *from == '\t' ? ' ' : *from;

		if (character < ' ' || character > '~')
			character = '?';
		if (character == ' ' && (!length || text[length - 1] == ' '))
			continue;
		text[length++] = character;
	}
	while (length && text[length - 1] == ' ')
		length--;
	text[length] = 0;
	return length;
}

bool text_refuse(char *why, const char *format, ...)
{
	va_list arguments;

	if (why[0])
		return false;
	va_start(arguments, format);
	vsnprintf(why, WHY_BYTES, format, arguments);
	va_end(arguments);
	return false;
}

const char *text_tidy(char *text, const char *comment)
{
	size_t length = squeeze(text);
	char *blank = text;

	while ((blank = strchr(blank, ' '))) {
		if (strncmp(blank + 1, comment, strlen(comment)) == 0) {
			*blank = 0;
			blank += 1 + strlen(comment);
			return blank + strspn(blank, "# ");
		}
		blank++;
	}
	return text + length;
}

void text_set_last_operand(char *text, size_t text_size, uint64_t value)
{
	char *last = strrchr(text, ' ');

	if (last)
		snprintf(last + 1, text_size - (size_t)(last + 1 - text), "0x%" PRIx64, value);
}
