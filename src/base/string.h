/* SPDX-License-Identifier: MIT
 *
 * base/string.h - build a text piece by piece; what is UTF-8
 */
#ifndef BASE_STRING_H
#define BASE_STRING_H

#include <stddef.h>

/* Running out of memory is remembered in `error`, and pieces after it are ignored, so that callers
 * check once, at the end. */
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

/* A text as UTF-8: what is malformed becomes U+FFFD. */
void string_builder_append_utf8(struct string_builder *builder, const char *text);

/* Never NULL; valid until the next append. */
const char *string_builder_text(const struct string_builder *builder);

/* The text, to be freed by the caller; the builder is empty afterwards. NULL where an append ran
 * out of memory. */
char *string_builder_take(struct string_builder *builder);

/* What stands behind the last '/'; the whole where there is none. */
const char *path_base(const char *path);

/* Length of the well-formed UTF-8 sequence at `bytes` (Unicode 15, table 3-7), or minus the number of
 * bytes that one U+FFFD stands for. size > 0. */
int utf8_length(const void *bytes, size_t size);

/* Length of the character at `bytes` where a terminal just shows it, or minus the number of bytes that one
 * '?' stands for: controls of one byte or two (C1), what is not UTF-8, and what turns or hides text (marks of
 * direction, separators of lines). size > 0. */
int utf8_printable(const void *bytes, size_t size);

/* The text with those '?', and "…" at the end where it is cut to fit into `size` bytes, at least 8, with its NUL.
 * Returns ret_text. */
char *string_make_printable(const char *text, char *ret_text, size_t size);

#endif
