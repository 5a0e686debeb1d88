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
	enum sqlite_table found;
	int error = sqlite_file_find_table(&nsys->file, table, &found);

	*ret_has = found == SQLITE_TABLE_PLAIN;
	return error;
}

int nsys_can_read(struct nsys *nsys, const struct sqlite_query *query, bool *ret_can)
{
	int error = nsys_has_table(nsys, query->table, ret_can);

	if (error || !*ret_can)
		return error;
	error = sqlite_file_check_columns(&nsys->file, query);
	*ret_can = !error;
	return error && !nsys->file.has_failed ? import_faults_add(&nsys->faults, error) : error;
}

int nsys_each_row(struct nsys *nsys, const struct sqlite_query *query,
		  int (*on_row)(void *context, const struct sqlite_cursor *row), void *context)
{
	bool can;
	int error = nsys_can_read(nsys, query, &can);

	if (error || !can)
		return error;
	return sqlite_file_each_row(&nsys->file, query, &nsys->faults, on_row, context);
}

uint64_t nsys_global(const struct nsys *nsys, const struct sqlite_cursor *row)
{
	return sqlite_cursor_has(row, NSYS_GLOBAL)
		       ? (uint64_t)sqlite_cursor_number(row, NSYS_GLOBAL)
		       : nsys->default_global;
}
