/* SPDX-License-Identifier: MIT
 *
 * import/common/merge.c - read several tables of a database in the order of a common key
 *
 * Runs in:  our own process
 * Gets:     queries that sort by the key
 * Gives:    the rows of each key
 * Owns:     a cursor for each table
 * Fails:    errors of the cursors
 * Why a merge: SQLite sorts each table by the key, on disk if it is large. So the rows of one key
 *           come together in any file and no table is in memory. A table that a profiler wrote is
 *           nearly in this order.
 */
#include "import/common/merge.h"

static int step(struct import_merge *merge, size_t table)
{
	struct import_merge_table *of = &merge->tables[table];
	const int status = sqlite_cursor_next(&of->cursor);

	of->has_row = status > 0;
	if (of->has_row)
		of->key = merge->key_of(merge->context, table, &of->cursor);
	return status < 0 ? status : 0;
}

int import_merge_open(struct import_merge *merge, size_t table, struct sqlite_file *file,
		      const struct sqlite_query *query)
{
	int error = sqlite_cursor_open(&merge->tables[table].cursor, file, query);

	return error ? error : step(merge, table);
}

void import_merge_close(struct import_merge *merge)
{
	for (size_t i = 0; i < merge->count; i++)
		sqlite_cursor_close(&merge->tables[i].cursor);
}

bool import_merge_find(const struct import_merge *merge, int64_t *ret_key)
{
	bool found = false;

	for (size_t i = 0; i < merge->count; i++) {
		const struct import_merge_table *table = &merge->tables[i];

		if (table->has_row && (!found || table->key < *ret_key))
			*ret_key = table->key;
		found |= table->has_row;
	}
	return found;
}

int import_merge_each_row(struct import_merge *merge, size_t table, int64_t key,
			  int (*on_row)(void *context, size_t table,
					const struct sqlite_cursor *row))
{
	struct import_merge_table *of = &merge->tables[table];
	int error = 0;

	while (!error && of->has_row && of->key == key) {
		error = on_row(merge->context, table, &of->cursor);
		if (!error)
			error = step(merge, table);
	}
	return error;
}
