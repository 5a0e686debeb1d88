/* SPDX-License-Identifier: MIT
 *
 * ring/record_text.h - write the two texts of a range or a counter into its record
 *
 * Runs in:  the profiled process: the guest of ranges and libduet
 * Why the text itself and not an id: real programs put numbers into their names ("aten::mm, seq =
 *           1234"), so a table of names would be full after a second and would have to be sent
 *           again to each recorder. With the text in each record, threads share nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "event/event.h"
#include "event/record.h"

/* Without a NUL at its end. */
struct record_text {
	const char *text;
	size_t length;
};

/* Replaces the rest of a text that is cut. */
#define RECORD_TEXT_MORE "…"

/* NULL: "". */
static inline struct record_text record_text_of(const char *text)
{
	return (struct record_text){text ? text : "",
				    text ? strnlen(text, RECORD_RANGE_TEXT_BYTES + 1) : 0};
}

/* Not within a character. */
static inline size_t record_text_cut(const struct record_text *text)
{
	size_t length = RECORD_RANGE_TEXT_BYTES - sizeof(RECORD_TEXT_MORE);

	while (length && ((uint8_t)text->text[length] & 0xc0) == 0x80)
		length--;
	return length;
}

/* With its NUL: the bytes that record_text_put writes. */
static inline size_t record_text_bytes(const struct record_text *text)
{
	if (__builtin_expect(text->length >= RECORD_RANGE_TEXT_BYTES, 0))
		return record_text_cut(text) + sizeof(RECORD_TEXT_MORE);
	return text->length + 1;
}

static inline char *record_text_put(char *at, const struct record_text *text)
{
	const size_t bytes = record_text_bytes(text);

	if (__builtin_expect(text->length >= RECORD_RANGE_TEXT_BYTES, 0)) {
		memcpy(at, text->text, bytes - sizeof(RECORD_TEXT_MORE));
		memcpy(at + bytes - sizeof(RECORD_TEXT_MORE), RECORD_TEXT_MORE,
		       sizeof(RECORD_TEXT_MORE));
	} else {
		memcpy(at, text->text, bytes - 1);
		at[bytes - 1] = '\0';
	}
	return at + bytes;
}

/* Returns the byte behind the texts. */
static inline char *record_put_texts(char *at, const struct record_text *first,
				     const struct record_text *second)
{
	return record_text_put(record_text_put(at, first), second);
}

/* Size of a record with its two texts behind `fixed` bytes, including padding. */
static inline uint32_t record_bytes_with(size_t fixed, const struct record_text *first,
					 const struct record_text *second)
{
	return (uint32_t)(fixed + record_text_bytes(first) + record_text_bytes(second) + 7) & ~7u;
}

static inline uint32_t record_range_detail(enum record_range_of of, enum event_range_type type)
{
	return (uint32_t)of << 8 | (uint32_t)type;
}
