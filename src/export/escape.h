/* SPDX-License-Identifier: MIT
 *
 * export/escape.h - names of a trace as one line of text
 */
#ifndef EXPORT_ESCAPE_H
#define EXPORT_ESCAPE_H

struct string_builder;

/* Control bytes, what is not UTF-8, what turns or hides text, and the backslash itself are \xNN. */
void escape_append(struct string_builder *builder, const char *text);

/* The same, and blanks too: one word. */
void escape_append_word(struct string_builder *builder, const char *text);

#endif
