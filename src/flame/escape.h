/* SPDX-License-Identifier: MIT
 *
 * flame/escape.h - names and numbers of a flame graph as text
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "flame/tree.h"

/* A frame in folded text: escaped, with the suffix of its class. */
void flame_escape_folded(struct string_builder *builder, struct flame_text name,
			 enum flame_class frame_class);

/* A name in UTF-8 whose every character is visible. Control bytes and invalid UTF-8 become \xNN;
 * characters that reverse or hide text (bidi controls, zero-width characters, line separators) and
 * those that XML forbids become \uNNNN. An empty name is "(no name)". */
void flame_escape_shown(struct string_builder *builder, struct flame_text name);

/* Text whose every character is visible, for XML's content and attribute values. */
void flame_escape_xml(struct string_builder *builder, const char *text, size_t size);

/* Number of bytes of shown text that fit into `cells` columns of a fixed-width font; wide
 * characters take two, and none is cut. */
size_t flame_fit(const char *text, size_t size, size_t cells);

/* "1,234,567 ns" */
void flame_format_exact(struct string_builder *builder, uint64_t value, const char *unit);

/* "1.235 ms", "4.2 MiB", "1.2 M samples"; four digits, rounded. */
void flame_format_human(struct string_builder *builder, uint64_t value, const char *unit);

/* "12.34 %", "< 0.01 %" */
void flame_format_share(struct string_builder *builder, uint64_t part, uint64_t whole);
