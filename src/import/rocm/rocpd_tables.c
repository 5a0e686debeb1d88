/* SPDX-License-Identifier: MIT
 *
 * import/rocm/rocpd_tables.c - rows of a table of one recording
 *
 * Runs in:  our own process
 * Gets:     a query, the uuid at the end of the names of tables
 * Gives:    cursors, rows
 * Owns:     nothing
 * Fails:    -EBADMSG for a view or virtual table, errors of SQLite
 * Why an absent table has no rows: rocprof-sys and older versions of rocprofv3 lack some tables
 */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "import/rocm/rocpd_tables.h"

int rocpd_cursor_open(struct rocpd_import *rocpd, const struct rocpd_query *query,
		      struct sqlite_cursor *cursor, char table[128], bool *ret_exists)
{
	const struct sqlite_query whole = {table, query->columns, query->where, query->order};
	enum sqlite_table found;
	int error;

	snprintf(table, 128, "%s%s", query->table, rocpd->uuid);
	error = sqlite_file_find_table(rocpd->file, table, &found);
	*ret_exists = found == SQLITE_TABLE_PLAIN;
	if (error || found == SQLITE_TABLE_ABSENT)
		return error;
	if (found == SQLITE_TABLE_COMPUTED)
		return error_set(-EBADMSG,
				 "expected a plain table '%s', found a view, a virtual table or "
				 "generated columns; duet does not execute them",
				 table);
	return sqlite_cursor_open(cursor, rocpd->file, &whole);
}

int rocpd_side_open(struct rocpd_import *rocpd, const struct rocpd_query *query,
		    struct rocm_side *side, char table[128])
{
	bool exists = false;
	int error = rocpd_cursor_open(rocpd, query, &side->cursor, table, &exists);

	if (error || !exists)
		return error;
	side->status = sqlite_cursor_next(&side->cursor);
	return side->status < 0 ? side->status : 0;
}

int rocpd_each_row_with(struct rocpd_import *rocpd, const struct rocpd_query *query, void *context,
			int (*on_row)(void *context, const struct sqlite_cursor *row))
{
	char table[128];
	const struct sqlite_query whole = {table, query->columns, query->where, query->order};
	struct sqlite_cursor cursor = {0};
	bool exists = false;
	int error = rocpd_cursor_open(rocpd, query, &cursor, table, &exists);

	sqlite_cursor_close(&cursor);
	return error || !exists
		       ? error
		       : sqlite_file_each_row(rocpd->file, &whole, rocpd->faults, on_row, context);
}

int rocpd_each_row(struct rocpd_import *rocpd, const struct rocpd_query *query,
		   int (*on_row)(void *context, const struct sqlite_cursor *row))
{
	return rocpd_each_row_with(rocpd, query, rocpd, on_row);
}
