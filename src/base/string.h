/* SPDX-License-Identifier: MIT
 *
 * base/string.h - build a text piece by piece; lists separated by commas; UTF-8
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: empty. When memory runs out, `error` keeps that and later pieces are ignored, so that
 * callers check once, at the end. */
struct string_builder {
	char *text; /* NUL-terminated once anything was appended; use string_builder_text */
	size_t length, capacity;
	int error; /* 0 or -ENOMEM */
};

void string_builder_init(struct string_builder *builder);
void string_builder_fini(struct string_builder *builder);  /* NULL-safe */
void string_builder_clear(struct string_builder *builder); /* keeps the memory and the error */

void string_builder_append(struct string_builder *builder, const char *text);
void string_builder_append_bytes(struct string_builder *builder, const void *bytes, size_t size);
void string_builder_append_char(struct string_builder *builder, char character);
__attribute__((format(printf, 2, 3))) void string_builder_appendf(struct string_builder *builder,
								  const char *format, ...);

/* Appends a text as UTF-8; malformed bytes become U+FFFD. */
void string_builder_append_utf8(struct string_builder *builder, const char *text);

/* A Unicode character, as UTF-8. */
void string_builder_append_character(struct string_builder *builder, uint32_t character);

/* Each byte as \xNN. */
void string_builder_append_hex(struct string_builder *builder, const void *bytes, size_t size);

/* A byte and its replacement; byte 0 ends a table. */
struct byte_escape {
	char byte;
	const char *text;
};
void string_builder_append_escaped(struct string_builder *builder, const char *text, size_t size,
				   const struct byte_escape *escapes);

/* Never NULL; valid until the next append. */
const char *string_builder_text(const struct string_builder *builder);

/* The text, to be freed by the caller; the builder is empty afterwards. NULL if an append ran out
 * of memory. */
char *string_builder_take(struct string_builder *builder);

/* The part after the last '/'; the whole path if there is none. */
const char *path_base(const char *path);

/* The next word of a list such as "kernel,copy", and its length; NULL: the list has ended. *at goes
 * past the word and its comma. */
const char *word_list_next(const char **at, size_t *ret_length);
/* The next number of a list such as "12,345" that has not ended. False: the text is something else.
 */
bool number_list_next(const char **at, uint64_t *ret_number);

/* Length of the well-formed UTF-8 sequence at `bytes` (Unicode 15, table 3-7), or minus the number
 * of bytes that one U+FFFD replaces. size > 0. */
int utf8_length(const void *bytes, size_t size);

/* The same, and the character if it is well-formed. */
int utf8_decode(const void *bytes, size_t size, uint32_t *ret_character);

/* Length of the character at `bytes` if a terminal shows it as it is, or minus the number of bytes
 * that one '?' replaces: control characters of one or two bytes (C1), malformed UTF-8, and
 * characters that reverse or hide text (direction marks, line separators). size > 0. */
int utf8_printable(const void *bytes, size_t size);

/* Whether the first `length` bytes of a text match a pattern, in which * stands for any bytes. */
bool text_matches(const char *pattern, const char *text, size_t length);

/* Copies the text with such bytes replaced by '?', and with "…" at the end if it is cut to fit into
 * `size` bytes, at least 8, including its NUL. Returns ret_text. */
char *string_make_printable(const char *text, char *ret_text, size_t size);
