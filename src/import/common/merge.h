/* SPDX-License-Identifier: MIT
 *
 * import/common/merge.h - read several tables of a database in the order of a common key
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/sqlite_file.h"

enum { IMPORT_MERGE_TABLES_MAX = 16 };

struct import_merge_table {
	struct sqlite_cursor cursor;
	bool has_row;
	int64_t key;
};

struct import_merge {
	struct import_merge_table tables[IMPORT_MERGE_TABLES_MAX];
	size_t count; /* number of tables, open or not */
	int64_t (*key_of)(void *context, size_t table, const struct sqlite_cursor *row);
	void *context;
};

/* Opens a table, whose query sorts by the key, and reads its first row. Errors: those of the
 * cursor. */
int import_merge_open(struct import_merge *merge, size_t table, struct sqlite_file *file,
		      const struct sqlite_query *query);
void import_merge_close(struct import_merge *merge); /* zero-safe */

/* The least key of all tables; false: no table has a further row. */
bool import_merge_find(const struct import_merge *merge, int64_t *ret_key);

/* Calls on_row for the rows of a table that have this key. Errors: those of on_row, the cursor. */
int import_merge_each_row(struct import_merge *merge, size_t table, int64_t key,
			  int (*on_row)(void *context, size_t table,
					const struct sqlite_cursor *row));
