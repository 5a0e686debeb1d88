/* SPDX-License-Identifier: MIT
 *
 * flame/escape.c - names and numbers of a flame graph as text
 *
 * Runs in:  our own process
 * Gets:     names from the profiled program, any bytes
 * Gives:    text without separators of folded lines, markup and invisible characters
 * Owns:     nothing
 * Fails:    never; the string_builder keeps -ENOMEM
 * Why a lone '\' is escaped too: otherwise a name that contains "\xNN" would look like an escaped
 *           byte. With the escape, folded text can be converted back to the names. It costs 3 bytes
 *           in rare names.
 */
#include "flame/escape.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"

static const char *const suffixes[FLAME_CLASS_COUNT] = {
	[FLAME_KERNEL] = "_[k]", [FLAME_JIT] = "_[j]",         [FLAME_INLINED] = "_[i]",
	[FLAME_DEVICE] = "_[G]", [FLAME_INSTRUCTION] = "_[g]", [FLAME_STALL] = "_[g]",
};

/* Bytes of the valid UTF-8 character at `text`; 0 if it is invalid. */
static size_t decode(const char *text, size_t size, uint32_t *ret_character)
{
	int length = utf8_decode(text, size, ret_character);

	return length > 0 ? (size_t)length : 0;
}

static bool is_control(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

/* If a name of a class without suffix would read as one with it, or as a separator, its bracket or
 * dash is escaped: returns the offset of that byte, otherwise SIZE_MAX. */
static size_t find_misleading(struct flame_text name, enum flame_class frame_class)
{
	if (frame_class == FLAME_SEPARATOR || frame_class == FLAME_TRUNCATED ||
	    suffixes[frame_class])
		return SIZE_MAX;
	if (name.size == 1 && name.bytes[0] == '-')
		return 0;
	if (name.size == 11 && memcmp(name.bytes, "[truncated]", 11) == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_COUNT(suffixes); i++) {
		if (suffixes[i] && name.size >= 4 &&
		    memcmp(name.bytes + name.size - 4, suffixes[i], 4) == 0)
			return name.size - 3;
	}
	return SIZE_MAX;
}

void flame_escape_folded(struct string_builder *builder, struct flame_text name,
			 enum flame_class frame_class)
{
	size_t misleading = find_misleading(name, frame_class);

	if (!name.size)
		string_builder_append_char(builder, '\\');
	for (size_t i = 0; i < name.size;) {
		uint32_t character = 0;
		size_t length = decode(name.bytes + i, name.size - i, &character);
		bool is_escaped = !length || is_control(character) || character == ';' ||
				  character == '\\' || i == misleading;

		length = length ? length : 1;
		if (is_escaped)
			string_builder_append_hex(builder, name.bytes + i, length);
		else
			string_builder_append_bytes(builder, name.bytes + i, length);
		i += length;
	}
	if (suffixes[frame_class])
		string_builder_append(builder, suffixes[frame_class]);
}

struct range {
	uint32_t first, last;
};

static bool is_in(const struct range *ranges, size_t count, uint32_t character)
{
	for (size_t i = 0; i < count; i++) {
		if (character >= ranges[i].first && character <= ranges[i].last)
			return true;
	}
	return false;
}

/* Soft hyphen, Arabic letter mark, Mongolian vowel separator, widths of zero and marks of
 * direction, line and paragraph separators, embeddings, isolates and invisible operators, fillers,
 * byte order mark, interlinear marks, not characters (XML forbids some), tags. */
static const struct range hidden[] = {
	{0xad, 0xad},     {0x61c, 0x61c},     {0x115f, 0x1160},   {0x180e, 0x180e},
	{0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},
	{0xfeff, 0xfeff}, {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0xfdd0, 0xfdef},
	{0xfffe, 0xffff}, {0xe0000, 0xe0fff}, {0x1fffe, 0x1ffff}, {0x10fffe, 0x10ffff},
};

void flame_escape_shown(struct string_builder *builder, struct flame_text name)
{
	if (!name.size)
		string_builder_append(builder, "(no name)");
	for (size_t i = 0; i < name.size;) {
		uint32_t character = 0;
		size_t length = decode(name.bytes + i, name.size - i, &character);

		if (!length || (is_control(character) && length == 1))
			string_builder_append_hex(builder, name.bytes + i, length = 1);
		else if (is_control(character) ||
			 (character >= 0xad && is_in(hidden, ARRAY_COUNT(hidden), character)))
			string_builder_appendf(builder, "\\u%04x", character);
		else
			string_builder_append_bytes(builder, name.bytes + i, length);
		i += length;
	}
}

void flame_escape_xml(struct string_builder *builder, const char *text, size_t size)
{
	static const struct byte_escape escapes[] = {{'&', "&amp;"},  {'<', "&lt;"},
						     {'>', "&gt;"},   {'"', "&quot;"},
						     {'\'', "&#39;"}, {0}};

	string_builder_append_escaped(builder, text, size, escapes);
}

/* East Asian wide and full-width characters and pictures. */
static const struct range wide[] = {
	{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf}, {0xac00, 0xd7a3},
	{0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff01, 0xff60}, {0xffe0, 0xffe6},
	{0x1f300, 0x1faff}, {0x20000, 0x3fffd},
};

size_t flame_fit(const char *text, size_t size, size_t cells)
{
	size_t used = 0, position = 0;

	while (position < size) {
		uint32_t character = 0;
		size_t length = decode(text + position, size - position, &character);

		used += 1 + (character >= 0x1100 && is_in(wide, ARRAY_COUNT(wide), character));
		if (used > cells)
			break;
		position += length ? length : 1;
	}
	return position;
}

void flame_format_exact(struct string_builder *builder, uint64_t value, const char *unit)
{
	char digits[32];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);

	for (int i = 0; i < length; i++) {
		string_builder_append_char(builder, digits[i]);
		if (i + 1 < length && (length - i - 1) % 3 == 0)
			string_builder_append_char(builder, ',');
	}
	string_builder_append_char(builder, ' ');
	string_builder_append(builder, unit);
}

struct scale {
	double size;
	const char *prefix;
};

static const struct scale seconds[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "\302\265s"}, {1, "ns"}};
static const struct scale bytes_scale[] = {
	{0x1p60, "EiB"}, {0x1p50, "PiB"}, {0x1p40, "TiB"}, {0x1p30, "GiB"},
	{0x1p20, "MiB"}, {0x1p10, "KiB"}, {1, "bytes"},
};
static const struct scale thousands[] = {{1e18, "E "}, {1e15, "P "}, {1e12, "T "}, {1e9, "G "},
					 {1e6, "M "},  {1e3, "k "},  {1, ""}};

void flame_format_human(struct string_builder *builder, uint64_t value, const char *unit)
{
	bool is_time = strcmp(unit, "ns") == 0, is_size = strcmp(unit, "bytes") == 0;
	const struct scale *scale = is_time ? seconds : is_size ? bytes_scale : thousands;
	double scaled;
	int digits;

	/* 999.95 ms would be printed as 1000 ms */
	while (scale->size > 1 && (double)value < scale->size * (is_size ? 1 : 0.99995))
		scale++;
	scaled = (double)value / scale->size;
	digits = scale->size == 1 ? 0 : scaled < 9.9995 ? 3 : scaled < 99.995 ? 2 : scaled < 999.95;
	string_builder_appendf(builder, "%.*f %s%s", digits, scaled, scale->prefix,
			       is_time || is_size ? "" : unit);
}

void flame_format_share(struct string_builder *builder, uint64_t part, uint64_t whole)
{
	double share = whole ? 100.0 * (double)part / (double)whole : 0;

	if (part && share < 0.01)
		string_builder_append(builder, "< 0.01 %");
	else
		string_builder_appendf(builder, "%.2f %%",
				       part < whole ? fmin(share, 99.99) : share);
}
