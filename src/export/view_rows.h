/* SPDX-License-Identifier: MIT
 *
 * export/view_rows.h - rows of a view's track, column by column, until there are enough of them for a chunk
 *
 * The layout is docs/design/view.md.
 */
#ifndef EXPORT_VIEW_ROWS_H
#define EXPORT_VIEW_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/view_store.h"

enum { VIEW_COLUMNS = 8, VIEW_LINK_COLUMN = 5, VIEW_CHUNK_ROWS = 16384 };

struct view_column {
	uint8_t *bytes; /* of all rows, once they have more than one value */
	size_t size, capacity;
	uint64_t value; /* the only one so far */
	bool is_mixed;
};

/* All zero: empty. */
struct view_rows {
	struct view_column columns[VIEW_COLUMNS]; /* [0] without the first row */
	uint32_t count;
	int64_t first, base; /* column 1: of the first row, and what the next one counts from */
	int64_t begin_ns, end_ns;
	uint64_t link; /* the latest */
};

struct view_row {
	int64_t first;            /* begin of an item, number of a bin */
	int64_t base;             /* what the next row's counts from */
	int64_t begin_ns, end_ns; /* what it is about */
	const uint64_t *values;   /* columns 2, 3, … */
};

/* Where a chunk is. */
struct view_chunk {
	int64_t begin_ns, end_ns;
	uint32_t piece; /* of the store */
	uint32_t bytes, items;
	uint32_t section, at; /* in the file: see view_sections.h */
};

void view_rows_fini(struct view_rows *rows);

/* columns: with the first; has_links: the sixth is a link. -ENOMEM. */
int view_rows_add(struct view_rows *rows, unsigned int columns, bool has_links,
		  const struct view_row *row);

/* All of them as a chunk; first_from: what the first row's column 1 counts from; hint: of the store. Then there are
 * none. */
int view_rows_write(struct view_rows *rows, unsigned int columns, int64_t first_from,
		    unsigned int hint, struct view_store *store, struct view_chunk *ret_chunk);

static inline uint64_t view_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

#endif
