/* SPDX-License-Identifier: MIT
 *
 * import/rocm/csv.h - read a table of comma-separated values by the names of its columns
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_source;

enum { MAX_CSV_COLUMNS = 64 };

struct csv_table {
	struct import_source *source;
	const char *const *names;    /* names of the columns that are read */
	size_t names_count;          /* at most MAX_CSV_COLUMNS */
	int places[MAX_CSV_COLUMNS]; /* column of each name; -1: absent */
	char *cells[MAX_CSV_COLUMNS];
	size_t cells_count;
};

/* Reads the header. Errors: -EBADMSG with a text for an empty file, those of the source. */
int csv_table_open(struct csv_table *table, struct import_source *source, const char *const *names,
		   size_t names_count);

bool csv_table_has(const struct csv_table *table, size_t name);

/* Reads the next row; empty lines are skipped. Returns 1 for a row, 0 at the end, errors of the
 * source. */
int csv_table_next(struct csv_table *table);

/* To be called before the cells of a row are read. Errors: -EBADMSG with the line for a row that
 * ends too early. */
int csv_table_check(const struct csv_table *table);

/* A cell of the row, without quotes; "" if the column is absent. Valid until the next row. */
const char *csv_table_text(const struct csv_table *table, size_t name);

/* A whole number; 0 for an empty cell. Errors: -EBADMSG with the line and the column. */
int csv_table_number(const struct csv_table *table, size_t name, uint64_t *ret_number);
