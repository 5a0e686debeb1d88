/* SPDX-License-Identifier: MIT
 *
 * base/string.c - build a text piece by piece; UTF-8
 *
 * Runs in:  the recorder, and all commands that read a trace; one builder belongs to one thread at
 *           a time
 * Gets:     pieces of any bytes
 * Gives:    one NUL-terminated text
 * Owns:     the text until string_builder_take
 * Fails:    keeps -ENOMEM in the builder; a half-appended piece is removed
 * Why appendf may format twice: it first formats into the free room. Only pieces that do not fit,
 *           about log2(length) of them, are formatted again
 */
#include "base/string.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
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

void string_builder_append_utf8(struct string_builder *builder, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		int length = utf8_length(text, left);
		size_t taken = (size_t)(length > 0 ? length : -length);

		if (length > 0)
			string_builder_append_bytes(builder, text, taken);
		else
			string_builder_append(builder, "\xef\xbf\xbd");
		text += taken;
		left -= taken;
	}
}

void string_builder_append_character(struct string_builder *builder, uint32_t character)
{
	static const unsigned char heads[] = {0, 0xc0, 0xe0, 0xf0};
	size_t more = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
	char bytes[4];

	for (size_t i = more; i > 0; i--, character >>= 6)
		bytes[i] = (char)(0x80 | (character & 0x3f));
	bytes[0] = (char)(heads[more] | character);
	string_builder_append_bytes(builder, bytes, more + 1);
}

void string_builder_append_hex(struct string_builder *builder, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		string_builder_appendf(builder, "\\x%02x", ((const unsigned char *)bytes)[i]);
}

void string_builder_append_escaped(struct string_builder *builder, const char *text, size_t size,
				   const struct byte_escape *escapes)
{
	size_t plain = 0;

	for (size_t i = 0; i < size; i++) {
		const struct byte_escape *escape = escapes;

		while (escape->byte && escape->byte != text[i])
			escape++;
		if (!escape->byte)
			continue;
		string_builder_append_bytes(builder, text + plain, i - plain);
		string_builder_append(builder, escape->text);
		plain = i + 1;
	}
	string_builder_append_bytes(builder, text + plain, size - plain);
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

int utf8_decode(const void *bytes, size_t size, uint32_t *ret_character)
{
	const unsigned char *s = bytes;
	int length = utf8_length(bytes, size);
	uint32_t character = s[0];

	if (length > 1)
		character &= 0x7fu >> length;
	for (int i = 1; i < length; i++)
		character = character << 6 | (s[i] & 0x3f);
	if (length > 0)
		*ret_character = character;
	return length;
}

/* Characters of several bytes that affect their neighbours or the terminal. */
static bool is_obeyed(uint32_t character)
{
	return (character >= 0x80 && character < 0xa0) || character == 0x61c ||
	       (character >= 0x200b && character <= 0x200f) ||
	       (character >= 0x2028 && character <= 0x202e) ||
	       (character >= 0x2060 && character <= 0x206f) || character == 0xfeff;
}

int utf8_printable(const void *bytes, size_t size)
{
	uint32_t character = 0;
	int length = utf8_decode(bytes, size, &character);
	bool is_control = length == 1 && (character < 0x20 || character == 0x7f);

	return is_control || (length > 1 && is_obeyed(character)) ? -length : length;
}

char *string_make_printable(const char *text, char *ret_text, size_t size)
{
	static const char cut[] = "…";
	size_t left = strlen(text), used = 0;

	while (left) {
		int length = utf8_printable(text, left);
		size_t shown = length > 0 ? (size_t)length : 1;
		size_t taken = (size_t)(length > 0 ? length : -length);

		if (used + shown + sizeof(cut) > size && used + left >= size) {
			memcpy(ret_text + used, cut, sizeof(cut) - 1);
			used += sizeof(cut) - 1;
			break;
		}
		if (length > 0)
			memcpy(ret_text + used, text, shown);
		else
			ret_text[used] = '?';
		used += shown;
		text += taken;
		left -= taken;
	}
	ret_text[used] = '\0';
	return ret_text;
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *word_list_next(const char **at, size_t *ret_length)
{
	const char *word = *at;

	*ret_length = strcspn(word, ",");
	*at += *ret_length + (word[*ret_length] == ',');
	return *word ? word : NULL;
}

bool number_list_next(const char **at, uint64_t *ret_number)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret_number = strtoull(*at, &end, 10);
	*at = end + (*end == ',' && end[1]);
	return !errno && (!*end || (*end == ',' && end[1]));
}

/* On a mismatch behind a star, the star takes one more byte. */
bool text_matches(const char *pattern, const char *text, size_t length)
{
	const char *star = NULL, *resume = NULL, *end = text + length;

	while (text < end) {
		if (*pattern == '*') {
			star = pattern++;
			resume = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
