/* SPDX-License-Identifier: MIT
 *
 * export/common/escape.h - write names of a trace as one line of text
 */
#pragma once

struct string_builder;

/* Writes as \xNN: control bytes, invalid UTF-8, characters that reverse or hide text, the
 * backslash. */
void escape_append(struct string_builder *builder, const char *text);

/* The same; blanks are escaped too, so that the result is one word. */
void escape_append_word(struct string_builder *builder, const char *text);
