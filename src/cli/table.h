/* SPDX-License-Identifier: MIT
 *
 * cli/table.h - numbers and columns for people
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct model;

#define TABLE_CELL 11 /* columns of a number */

struct number {
	char text[32];
};

struct shown {
	char text[1024];
};

/* Text from a trace or a path as a terminal may get it: string_make_printable. */
struct shown format_text(const char *text);

/* "11 (SIGSEGV)" */
struct number format_signal(int number);

/* "2026-11-21 17:05:09 +0100" of a host time, in this machine's time zone; "" where the trace does not say. */
struct number format_realtime(uint64_t realtime_ns);
struct number format_date(const struct model *model, uint64_t host_ns);

/* "12.34 ms", "1.5 KiB", "12.3 %" ("-" of nothing), "1234". */
struct number format_duration(uint64_t ns);
struct number format_size(double bytes);
struct number format_percent(uint64_t part, uint64_t whole);
struct number format_count(uint64_t value);

/* What a number of things is called. */
const char *table_noun(uint64_t value, const char *one, const char *many);

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
