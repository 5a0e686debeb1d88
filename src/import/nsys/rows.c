/* SPDX-License-Identifier: MIT
 *
 * import/nsys/rows.c - rows of a table that may be absent
 *
 * Runs in:  our own process
 * Gets:     the database
 * Gives:    rows, the process of a row
 * Owns:     nothing
 * Fails:    errors of SQLite; invalid rows become faults
 * Why: no table is there in each file, because Nsight Systems writes only tables with rows
 */
#include "import/nsys/import.h"

int nsys_has_table(struct nsys *nsys, const char *table, bool *ret_has)
{
	return sqlite_file_has_table(&nsys->file, table, ret_has);
}

int nsys_can_read(struct nsys *nsys, const struct sqlite_query *query, bool *ret_can)
{
	return sqlite_file_can_read(&nsys->file, query, &nsys->faults, ret_can);
}

int nsys_each_row(struct nsys *nsys, const struct sqlite_query *query,
		  int (*on_row)(void *context, const struct sqlite_cursor *row), void *context)
{
	return sqlite_file_each_row_if_any(&nsys->file, query, &nsys->faults, on_row, context);
}

uint64_t nsys_global(const struct nsys *nsys, const struct sqlite_cursor *row)
{
	return sqlite_cursor_has(row, NSYS_GLOBAL)
		       ? (uint64_t)sqlite_cursor_number(row, NSYS_GLOBAL)
		       : nsys->default_global;
}
