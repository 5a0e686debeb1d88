/* SPDX-License-Identifier: MIT
 *
 * cli/table.h - numbers and columns for people
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/format.h"

struct model;
struct trace_damage;

#define TABLE_CELL 11 /* columns of a number */

static inline const char *table_noun(uint64_t value, const char *one, const char *many)
{
	return format_noun(value, one, many);
}

/* format_realtime of a host time; "" where the trace does not say. */
struct number format_date(const struct model *model, uint64_t host_ns);

/* How many rows are gone with chunks: "not known" where no head could be read, for such a chunk was not empty. */
struct number format_damaged_rows(const struct trace_damage *damage);

/* Columns that a text takes: its code points, and one for each '?' in place of what a terminal would obey. */
size_t table_width(const char *text);
/* At most `limit` columns, as format_text has them. */
void table_put_text(const char *text, size_t limit);
/* Left-aligned and cut to width. */
void table_put_left(const char *text, size_t width);
/* Right-aligned, never cut. */
void table_put_right(const char *text, size_t width);

/* An empty line, the title in `width` columns, the heads of the cells; columns ends with NULL. */
void table_put_title(const char *title, size_t width, const char *const *columns);
void table_put_name(const char *name, size_t width);
void table_put_cell(struct number number);
/* How many lines --top left out; nothing where it left out none. */
void table_put_rest(size_t shown, size_t all, const char *one, const char *many);

#endif
