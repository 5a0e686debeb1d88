/* SPDX-License-Identifier: MIT
 *
 * export/common/fields.h - rows of events as lists of named values (event/fields.def)
 *
 * An exporter has lists of columns, which tools/make_fields.py generates from event/fields.def. It
 * reads the cells of a row one after the other and writes each in its format.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/text/units.h"
#include "event/event.h"

struct model;

/* How a column's value is stored in its row, or how it is computed. */
enum field_value {
	FIELD_VALUE_U32,
	FIELD_VALUE_I32,
	FIELD_VALUE_U64,
	FIELD_VALUE_I64,
	FIELD_VALUE_TIME,
	FIELD_VALUE_STACK,
	FIELD_VALUE_TEXT,  /* id of a text */
	FIELD_VALUE_NEXT,  /* one more than the number, 0: none */
	FIELD_VALUE_SIZES, /* work sizes of a launch */
	FIELD_VALUE_BIT,
	FIELD_VALUE_NAME, /* a number whose name a function returns */
	FIELD_VALUE_TEXT_OF,
	FIELD_VALUE_NUMBER_OF,
	FIELD_VALUE_COUNT_OF, /* a number below 256 */
	FIELD_VALUE_TIME_OF,
	FIELD_VALUE_DOUBLE_OF,
	FIELD_VALUE_BOOL_OF
};

/* A step from a row to another one, by the id in the first. */
struct field_step {
	enum event_kind kind; /* kind of the other row; EVENT_PADDING ends the list */
	uint16_t offset;      /* offset of the id, a uint32_t */
	/* computes the id; NULL: it is at offset */
	uint64_t (*number)(const struct model *model, const void *row);
};

struct field_column {
	const char *name;
	enum field_value value;
	bool is_optional; /* a value of 0 is absent */
	uint16_t offset;  /* in the row after the last step */
	uint32_t bit;
	const struct field_step *steps; /* NULL: none */
	bool (*has)(const void *row);   /* NULL: always */
	union {
		const char *(*name)(uint32_t number);
		/* `buffer` has UNIT_TEXT_BYTES */
		const char *(*text)(const struct model *model, const void *row, char *buffer);
		uint64_t (*number)(const struct model *model, const void *row);
		double (*real)(const struct model *model, const void *row);
	} of;
};

struct field_list {
	const char *name; /* name of the list, table or event in the export */
	enum event_kind kind;
	uint16_t row_bytes;
	uint16_t count;
	const struct field_column *columns;
};

/* In the order of fields.def; a name of NULL ends each. */
extern const struct field_list field_json_lists[];
extern const struct field_list field_sqlite_lists[];
extern const struct field_list field_csv_lists[];
/* By enum ctf_event; without columns: not a row of a single event. */
extern const struct field_list field_ctf_lists[];

/* The first list of a kind; NULL: none. */
const struct field_list *field_list_find(const struct field_list *lists, enum event_kind kind);

enum field_cell_type {
	FIELD_CELL_U64,
	FIELD_CELL_I64,
	FIELD_CELL_TIME,  /* u64, host ns */
	FIELD_CELL_STACK, /* u64, id of a stack, which may be lost */
	FIELD_CELL_TEXT,
	FIELD_CELL_BOOL, /* u64 */
	FIELD_CELL_DOUBLE,
	FIELD_CELL_SIZES
};

struct field_cell {
	enum field_cell_type type;
	uint64_t u64;
	double real;
	const char *text;
	const uint64_t *sizes;
	uint32_t sizes_count; /* at most 3 */
	char buffer[UNIT_TEXT_BYTES];
	/* cache: steps of the previous column and the row that they lead to */
	const struct field_step *steps;
	const void *steps_row;
};

/* Returns false if the value is absent. Without a condition of the column, the cell then has a zero
 * value. A referenced row that is not in the trace counts as a row of zeros. Use one cell for all
 * columns of a row, with steps = NULL before the first. */
bool field_read(const struct field_column *column, const struct model *model, const void *row,
		struct field_cell *cell);
