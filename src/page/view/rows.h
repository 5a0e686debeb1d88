/* SPDX-License-Identifier: MIT
 *
 * page/view/rows.h - collect rows of a view's track, column by column, until they fill a chunk
 *
 * docs/design/view.md describes the layout.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "page/view/store.h"

enum { VIEW_COLUMNS = 8, VIEW_LINK_COLUMN = 5, VIEW_CHUNK_ROWS = 16384 };

struct view_column {
	uint8_t *bytes; /* values of all rows, if they are not all equal */
	size_t size, capacity;
	uint64_t value; /* the common value while all are equal */
	bool is_mixed;
};

/* All zero: empty. */
struct view_rows {
	struct view_column columns[VIEW_COLUMNS]; /* columns[0] lacks the first row */
	uint32_t count;
	int64_t first, base; /* column 1: value of the first row, reference of the next */
	int64_t begin_ns, end_ns;
	uint64_t link; /* the latest link */
};

struct view_row {
	int64_t first;            /* start of an item or number of a bin */
	int64_t base;             /* reference of the next row's column 1 */
	int64_t begin_ns, end_ns; /* time span of the row */
	const uint64_t *values;   /* columns 2, 3, … */
};

/* The place of a chunk. */
struct view_chunk {
	int64_t begin_ns, end_ns;
	uint32_t piece; /* id in the store */
	uint32_t bytes, items;
	uint32_t section, at; /* in the file: see view/sections.h */
};

void view_rows_fini(struct view_rows *rows);

/* Adds a row. columns: including the first; has_links: the sixth is a link. Errors: -ENOMEM. */
int view_rows_add(struct view_rows *rows, unsigned int columns, bool has_links,
		  const struct view_row *row);

/* Writes all rows as a chunk and clears them. first_from: reference of the first row's column 1;
 * hint: for the store. */
int view_rows_write(struct view_rows *rows, unsigned int columns, int64_t first_from,
		    unsigned int hint, struct view_store *store, struct view_chunk *ret_chunk);

static inline uint64_t view_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}
