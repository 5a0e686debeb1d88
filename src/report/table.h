/* SPDX-License-Identifier: MIT
 *
 * report/table.h - tables as descriptions: one list of columns prints as text and as JSON
 *
 *	#define CALL(member) TABLE_MEMBER(struct analysis_call, member)
 *	static const struct table_column columns[] = {
 *		{"name", NULL, TABLE_NAME, .value = CALL(name)},
 *		{"count", "count", TABLE_COUNT, .value = CALL(count)},
 *		{NULL, "mean", TABLE_TIME, .value = CALL(total_ns), .per = CALL(count)},
 *		{0}};
 *
 * A column without a key is not in JSON, and one without a title is not in text. So one value can
 * have two columns, one for text and one for JSON, which gives the two outputs different orders of
 * columns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format.h"

struct json_writer;
struct model;
struct report;
struct trace_damage;

enum {
	TABLE_CELL = 11,        /* columns of a number */
	TABLE_NAME_BYTES = 4096 /* buffer for a row's name */
};

/* ---- descriptions ---------------------------------------------------------------------------- */

enum table_type {
	TABLE_NO_MEMBER,
	TABLE_U64,
	TABLE_U32,
	TABLE_BOOLEAN,
	TABLE_DOUBLE,
	TABLE_STRING
};

/* A member of the row's struct. */
struct table_member {
	enum table_type type;
	size_t offset;
};

/* clang-format off */
#define TABLE_MEMBER(row, member) {                                                                \
	_Generic(((row *)0)->member,                                                               \
		uint64_t: TABLE_U64, uint32_t: TABLE_U32, bool: TABLE_BOOLEAN,                     \
		double: TABLE_DOUBLE, char *: TABLE_STRING, const char *: TABLE_STRING),           \
	offsetof(row, member)}
/* clang-format on */

/* The unit of a column's text. In JSON numbers are plain: nanoseconds, bytes. */
enum table_unit {
	TABLE_END,  /* ends the list of columns */
	TABLE_NAME, /* the first column; without a value: the table's format_name */
	TABLE_COUNT,
	TABLE_TIME, /* nanoseconds */
	TABLE_BYTES,
	TABLE_SIZE,    /* bytes with a fraction */
	TABLE_PERCENT, /* value of whole */
	TABLE_DECIMAL, /* two places */
	TABLE_VALUE,   /* four digits: counters are not more accurate */
	TABLE_FLAG,
	TABLE_TEXT,
	TABLE_REMARK /* text after two blanks, cut to the width of the column; 0: not cut */
};

/* The JSON output of a blank cell. Text shows the column's `blank`. */
enum table_blank { BLANK_HAS_NO_KEY, BLANK_IS_NULL, BLANK_HAS_VALUE };

struct table_cell {
	uint64_t value, whole;
	double number;    /* TABLE_SIZE, TABLE_DECIMAL, TABLE_VALUE */
	const char *text; /* TABLE_NAME, TABLE_TEXT, TABLE_REMARK */
	bool is_blank;
};

struct table_column {
	const char *key, *title;
	enum table_unit unit;
	struct table_member value;
	struct table_member per;   /* divisor of the value */
	struct table_member whole; /* TABLE_PERCENT */
	/* The index of a device, whose key is the text, and whose busy time is the whole. */
	struct table_member device;
	struct table_member needs; /* 0, NULL or false: the cell is blank */
	enum table_blank in_json;
	const char *blank; /* NULL: "-" */
	const char *empty; /* replaces an empty text of the row; NULL: nothing does */
	unsigned int width;
	/* Replaces the members above. */
	struct table_cell (*get)(const struct report *report, const void *row);
	/* For JSON: writes several keys, or a value that is not a cell. */
	void (*write)(const struct report *report, const void *row, struct json_writer *json);
};

struct table {
	const char *title, *one, *many; /* one, many: nouns for rows; NULL: --top does not apply */
	size_t width;                   /* columns of the name with its indent */
	const struct table_column *columns; /* ends with {0} */
	/* A row is shown if it passes all that are given: its device is shown, the member is not 0,
	 * the function returns true. */
	struct table_member device, needs;
	bool (*is_shown)(const void *row);
	bool is_cut_inside; /* a long name loses its middle: its end distinguishes it */
	/* The name in text, and in JSON if the column TABLE_NAME has no value. */
	void (*format_name)(const struct report *report, const void *row, char *ret_name,
			    size_t size);
	void (*put_below)(const struct report *report, const void *row);
};

struct table_rows {
	const void *first;
	size_t count, stride;
	bool are_pointers; /* `first` is an array of pointers to rows */
};

#define TABLE_ROWS(rows, count)     ((struct table_rows){(rows), (count), sizeof(*(rows)), false})
#define TABLE_POINTERS(rows, count) ((struct table_rows){(rows), (count), sizeof(*(rows)), true})

/* Prints at most --top rows and the number of rows left out. Prints no title without a row. Returns
 * the number of rows printed. */
size_t table_put(const struct report *report, const struct table *table, struct table_rows rows);
/* The same rows as items of an array, each on a line of its own. */
void table_write(const struct report *report, const struct table *table, struct table_rows rows,
		 struct json_writer *json);
/* Prints `text` if json is NULL, otherwise the rows of `list`. Returns 0, for the tables of --by.
 */
int table_print(const struct report *report, const struct table *text, const struct table *list,
		struct table_rows rows, struct json_writer *json);
/* The same as table_write, with the array as the value of a key. */
void table_write_list(const struct report *report, const char *key, const struct table *table,
		      struct table_rows rows, struct json_writer *json);

/* ---- parts of tables ------------------------------------------------------------------------- */

static inline const char *table_noun(uint64_t value, const char *one, const char *many)
{
	return format_noun(value, one, many);
}

/* format_realtime of a host time; "" if the trace has no date. */
struct number format_date(const struct model *model, uint64_t host_ns);

/* The number of rows lost with damaged chunks. "not known" if no chunk's head could be read,
 * because such a chunk is never empty. */
struct number format_damaged_rows(const struct trace_damage *damage);

/* Four digits: counters are not more accurate. */
struct number format_value(double value);

/* Columns that a text takes: one for each code point, and one for the '?' that replaces a control
 *                            character. */
size_t table_width(const char *text);
/* Prints at most `limit` columns, with control characters replaced by '?'. */
void table_put_text(const char *text, size_t limit);
/* Left-aligned and cut to width. */
void table_put_left(const char *text, size_t width);
/* Right-aligned, never cut. */
void table_put_right(const char *text, size_t width);

/* An empty line, the title in `width` columns, the heads of the cells; columns ends with NULL. */
void table_put_title(const char *title, size_t width, const char *const *columns);
void table_put_name(const char *name, size_t width);
/* The same; a name that is too long keeps its beginning and its end. */
void table_put_name_ends(const char *name, size_t width);
void table_put_cell(struct number number);
/* Prints the number of lines that --top left out, unless it is 0. */
void table_put_rest(size_t shown, size_t all, const char *one, const char *many);
