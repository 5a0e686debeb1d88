/* SPDX-License-Identifier: MIT
 *
 * export/flame_escape.h - names and numbers of a flame graph as text
 */
#ifndef EXPORT_FLAME_ESCAPE_H
#define EXPORT_FLAME_ESCAPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "export/flame_tree.h"

/* A frame as folded text has it: escaped, with the suffix of its class. */
void flame_escape_folded(struct string_builder *builder, struct flame_text name,
			 enum flame_class frame_class);

/* A name as people see it: UTF-8 of which every character is visible. Control bytes and what is not
 * UTF-8 are \xNN; characters that turn or hide text (bidi controls, those without width, line
 * separators) and those that XML forbids are \uNNNN. An empty name is "(no name)". */
void flame_escape_shown(struct string_builder *builder, struct flame_text name);

/* Text whose every character is visible, for XML's content and attribute values. */
void flame_escape_xml(struct string_builder *builder, const char *text, size_t size);

/* How many bytes of shown text fit into `cells` columns of a fixed-width font; wide characters take
 * two, and none is cut. */
size_t flame_fit(const char *text, size_t size, size_t cells);

/* "1,234,567 ns" */
void flame_format_exact(struct string_builder *builder, uint64_t value, const char *unit);

/* "1.235 ms", "4.2 MiB", "1.2 M samples"; four digits, rounded. */
void flame_format_human(struct string_builder *builder, uint64_t value, const char *unit);

/* "12.34 %", "< 0.01 %" */
void flame_format_share(struct string_builder *builder, uint64_t part, uint64_t whole);

#endif
