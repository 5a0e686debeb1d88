/* SPDX-License-Identifier: MIT
 *
 * page/view/rows.c - collect rows of a view's track, column by column, until they fill a chunk
 *
 * Runs in:  our own process
 * Gets:     rows
 * Gives:    a chunk of columns in a store
 * Owns:     the columns
 * Fails:    -ENOMEM, errors of the store
 * Why a constant column is written as one value: lanes, stacks and links are mostly 0. For 10^7
 *           events these zeros are half of the bytes, and all of them would have to be compressed.
 */
#include "page/view/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"

void view_rows_fini(struct view_rows *rows)
{
	for (size_t i = 0; i < VIEW_COLUMNS; i++)
		free(rows->columns[i].bytes);
	*rows = (struct view_rows){0};
}

static int append_value(struct view_column *column, uint64_t value)
{
	if (value < 0x80 && column->size < column->capacity) { /* the usual case */
		column->bytes[column->size++] = (uint8_t)value;
		return 0;
	}
	if (column->capacity < column->size + MAX_VARINT &&
	    array_grow(column->bytes, column->capacity, column->size + MAX_VARINT))
		return -ENOMEM;
	column->size = (size_t)(varint_write(column->bytes + column->size, value) - column->bytes);
	return 0;
}

/* A second value occurs: writes out the values of the first `count` rows. */
static int write_out_values(struct view_column *column, uint32_t count)
{
	int error = 0;

	column->is_mixed = true;
	for (uint32_t i = 0; i < count && !error; i++)
		error = append_value(column, column->value);
	return error;
}

/* Adds a value; count: rows in the column so far. */
static int put_column(struct view_column *column, uint32_t count, uint64_t value)
{
	int error = 0;

	if (!count)
		column->value = value;
	if (!column->is_mixed && column->value == value)
		return 0;
	if (!column->is_mixed)
		error = write_out_values(column, count);
	return error ? error : append_value(column, value);
}

/* Encodes a link as its difference to the link of the row before plus one. In a queue, and among a
 * thread's calls, most links are consecutive, so most differences are 0. */
static uint64_t link_of(struct view_rows *rows, uint64_t link)
{
	uint64_t expected = rows->link ? rows->link + 1 : 1;

	if (!link)
		return 0;
	rows->link = link;
	return 1 + view_zigzag((int64_t)(link - expected));
}

int view_rows_add(struct view_rows *rows, unsigned int columns, bool has_links,
		  const struct view_row *row)
{
	bool is_first = !rows->count;
	int error = 0;

	if (is_first)
		rows->first = row->first;
	else
		error = put_column(
			&rows->columns[0], rows->count - 1,
			view_zigzag((int64_t)((uint64_t)row->first - (uint64_t)rows->base)));
	rows->base = row->base;
	if (is_first || row->begin_ns < rows->begin_ns)
		rows->begin_ns = row->begin_ns;
	if (is_first || row->end_ns > rows->end_ns)
		rows->end_ns = row->end_ns;
	for (unsigned int i = 1; i < columns && !error; i++)
		error = put_column(&rows->columns[i], rows->count,
				   has_links && i == VIEW_LINK_COLUMN
					   ? link_of(rows, row->values[i - 1])
					   : row->values[i - 1]);
	rows->count++;
	return error;
}

/* Inserts column 1 of the first row, whose reference is known only when the chunk is written. */
static int complete_first(struct view_rows *rows, int64_t first_from)
{
	struct view_column *column = &rows->columns[0];
	uint64_t value = view_zigzag((int64_t)((uint64_t)rows->first - (uint64_t)first_from));
	struct view_column whole = {.value = value};
	int error = 0;

	if (rows->count == 1 || (!column->is_mixed && column->value == value)) {
		column->value = value;
		return 0;
	}
	error = append_value(&whole, value);
	if (!error && !column->is_mixed)
		error = write_out_values(column, rows->count - 1);
	if (!error && array_grow(whole.bytes, whole.capacity, whole.size + column->size))
		error = -ENOMEM;
	for (size_t i = 0; i < column->size && !error; i++)
		whole.bytes[whole.size++] = column->bytes[i];
	free(column->bytes);
	whole.is_mixed = true;
	*column = whole;
	return error;
}

static int put_bytes(struct view_bytes *to, const uint8_t *bytes, size_t size)
{
	if (array_grow(to->bytes, to->capacity, to->size + size))
		return -ENOMEM;
	if (size)
		memcpy(to->bytes + to->size, bytes, size);
	to->size += size;
	return 0;
}

static int put_value(struct view_bytes *to, uint64_t value)
{
	uint8_t bytes[MAX_VARINT];

	return put_bytes(to, bytes, (size_t)(varint_write(bytes, value) - bytes));
}

static int write_columns(struct view_rows *rows, unsigned int columns, struct view_bytes *to)
{
	uint64_t same = 0;
	int error;

	for (unsigned int i = 0; i < columns; i++)
		same |= rows->columns[i].is_mixed ? 0 : UINT64_C(1) << i;
	error = put_value(to, same);
	for (unsigned int i = 0; i < columns && !error; i++) {
		struct view_column *column = &rows->columns[i];

		if (column->is_mixed)
			error = put_bytes(to, column->bytes, column->size);
		else
			error = put_value(to, column->value);
		column->size = 0;
		column->is_mixed = false;
	}
	return error;
}

int view_rows_write(struct view_rows *rows, unsigned int columns, int64_t first_from,
		    unsigned int hint, struct view_store *store, struct view_chunk *ret_chunk)
{
	struct view_bytes *to = view_store_begin(store);
	struct view_chunk chunk = {
		.begin_ns = rows->begin_ns, .end_ns = rows->end_ns, .items = rows->count};
	int error = complete_first(rows, first_from);

	if (!error)
		error = write_columns(rows, columns, to);
	chunk.bytes = (uint32_t)to->size;
	if (!error)
		error = view_store_end(store, hint, &chunk.piece);
	if (error)
		return error;
	rows->count = 0;
	rows->link = 0;
	*ret_chunk = chunk;
	return 0;
}
