/* SPDX-License-Identifier: MIT
 *
 * base/string.c - build a text piece by piece; what is UTF-8
 *
 * Runs in:  the recorder and the readers; one builder belongs to one thread at a time
 * Gets:     pieces of any bytes; gives one NUL-terminated text
 * Owns:     the text until string_builder_take
 * Fails:    remembers -ENOMEM in the builder; a half-appended piece is not left behind
 * Why two passes in appendf: the first goes straight into the room there is, so that only one
 *           piece in about log2(length) is formatted twice
 */
#include "base/string.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void string_builder_init(struct string_builder *builder)
{
	*builder = (struct string_builder){0};
}

void string_builder_fini(struct string_builder *builder)
{
	if (!builder)
		return;
	free(builder->text);
	*builder = (struct string_builder){0};
}

void string_builder_clear(struct string_builder *builder)
{
	builder->length = 0;
	if (builder->text)
		builder->text[0] = '\0';
}

/* Room for size more bytes and the NUL. */
static int reserve(struct string_builder *builder, size_t size)
{
	if (builder->error)
		return builder->error;
	if (size >= SIZE_MAX - builder->length ||
	    array_grow(builder->text, builder->capacity, builder->length + size + 1))
		builder->error = -ENOMEM;
	return builder->error;
}

void string_builder_append_bytes(struct string_builder *builder, const void *bytes, size_t size)
{
	if (reserve(builder, size))
		return;
	if (size)
		memcpy(builder->text + builder->length, bytes, size);
	builder->length += size;
	builder->text[builder->length] = '\0';
}

void string_builder_append(struct string_builder *builder, const char *text)
{
	string_builder_append_bytes(builder, text, strlen(text));
}

void string_builder_append_char(struct string_builder *builder, char character)
{
	string_builder_append_bytes(builder, &character, 1);
}

void string_builder_appendf(struct string_builder *builder, const char *format, ...)
{
	va_list arguments;
	size_t room;
	int needed;

	if (reserve(builder, 0))
		return;
	room = builder->capacity - builder->length;
	va_start(arguments, format);
	needed = vsnprintf(builder->text + builder->length, room, format, arguments);
	va_end(arguments);
	if (needed >= 0 && (size_t)needed >= room && !reserve(builder, (size_t)needed)) {
		va_start(arguments, format);
		vsnprintf(builder->text + builder->length, (size_t)needed + 1, format, arguments);
		va_end(arguments);
	}
	if (needed > 0 && !builder->error)
		builder->length += (size_t)needed;
	builder->text[builder->length] = '\0';
}

const char *string_builder_text(const struct string_builder *builder)
{
	return builder->text ? builder->text : "";
}

char *string_builder_take(struct string_builder *builder)
{
	char *text = NULL;

	if (!reserve(builder, 0)) {
		builder->text[builder->length] = '\0';
		text = builder->text;
		builder->text = NULL;
	}
	string_builder_fini(builder);
	return text;
}

int utf8_length(const void *bytes, size_t size)
{
	const unsigned char *s = bytes;
	unsigned char low = 0x80, high = 0xbf;
	int length;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return -1;
	length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	for (int i = 1; i < length; i++) {
		if ((size_t)i >= size || s[i] < low || s[i] > high)
			return -i;
		low = 0x80;
		high = 0xbf;
	}
	return length;
}
