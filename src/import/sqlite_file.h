/* SPDX-License-Identifier: MIT
 *
 * import/sqlite_file.h - read plain tables of an untrusted SQLite file
 *
 * Neither a view, a trigger, a virtual table nor a generated column is executed. All texts of
 * errors contain the table, and the row if it is the row's fault.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file/sqlite_library.h"

enum { MAX_SQLITE_COLUMNS = 64 };

struct import_faults;

struct sqlite_file {
	struct sqlite_library sqlite;
	sqlite3 *database;
	uint64_t steps, steps_max; /* SQLite's steps, and bytes of texts */
	bool has_failed;           /* the last error is SQLite's, not that of a row */
};

/* Errors: -ENOENT without the library; -EBADMSG; -errno; all with a text. The caller closes the
 * file in any case. */
int sqlite_file_open(struct sqlite_file *file, const char *path);
void sqlite_file_close(struct sqlite_file *file);

/* The max size of a text or blob after opening; names of C++ templates reach some 100 KB. */
#define SQLITE_TEXT_BYTES_MAX (1 << 20)

/* Sets another one. */
void sqlite_file_set_limit(struct sqlite_file *file, size_t bytes);

/* Type of a name in the schema: absent, a plain table, or one that SQLite would have to compute
 * (view, virtual table, generated columns). */
enum sqlite_table { SQLITE_TABLE_ABSENT, SQLITE_TABLE_PLAIN, SQLITE_TABLE_COMPUTED };

int sqlite_file_find_table(struct sqlite_file *file, const char *name,
			   enum sqlite_table *ret_table);

/* Whether it is a plain table. */
int sqlite_file_has_table(struct sqlite_file *file, const char *name, bool *ret_has);

/* Calls on_name for each plain table whose name begins with the prefix, in the order of names. */
int sqlite_file_each_table(struct sqlite_file *file, const char *prefix,
			   int (*on_name)(void *context, const char *name), void *context);

/* Names of columns; the functions below refer to them by their index. */
struct sqlite_columns {
	const char *const *names;
	size_t count;  /* at most MAX_SQLITE_COLUMNS */
	size_t needed; /* the first N must exist; the others read as NULL where the table lacks them
			*/
};

/* The columns in an array of names, of which the first `needed` must exist. */
#define SQLITE_COLUMNS(array, needed)                               \
	{                                                           \
		(array), sizeof(array) / sizeof(*(array)), (needed) \
	}

/* A plain table to read. If its first column is "id", texts of errors name a row by it; otherwise
 * by the number in which the row was read. */
struct sqlite_query {
	const char *table;
	struct sqlite_columns columns;
	const char *where; /* SQL with names of columns, ?1 and ?2; NULL: all rows */
	const char *order; /* the same; NULL: the table's order. SQLite sorts on disk, and whole
			      rows, so there should be no texts among the columns */
};

struct sqlite_cursor {
	struct sqlite_file *file;
	sqlite3_stmt *statement;
	const char *table; /* borrowed */
	bool has_id;
	size_t columns_count;
	uint64_t chance;  /* chooses a column of each row */
	uint64_t present; /* bit i: the table has column i */
	uint64_t number;  /* number of the current row, from 1 */
};

/* Opens a cursor before the first row. ?1 and ?2 are NULL until sqlite_cursor_restart. */
int sqlite_cursor_open(struct sqlite_cursor *cursor, struct sqlite_file *file,
		       const struct sqlite_query *query);
void sqlite_cursor_close(struct sqlite_cursor *cursor); /* zero-safe */

/* Returns 1 for a row, 0 after the last, -EBADMSG, -ENOMEM. */
int sqlite_cursor_next(struct sqlite_cursor *cursor);

/* Starts again with other values of ?1 and ?2. */
int sqlite_cursor_restart(struct sqlite_cursor *cursor, int64_t first, int64_t second);

/* A cursor on the texts of a table that has them by id. columns: {text, id}. */
int sqlite_texts_open(struct sqlite_cursor *cursor, struct sqlite_file *file, const char *table,
		      const char *const columns[2]);
/* The text of an id; "" if there is none; valid until the next call. */
int sqlite_texts_read(struct sqlite_cursor *cursor, int64_t id, const char **ret_text);

/* Calls on_row for each row. Its -EBADMSG is added to `faults` unless SQLite failed. */
int sqlite_file_each_row(struct sqlite_file *file, const struct sqlite_query *query,
			 struct import_faults *faults,
			 int (*on_row)(void *context, const struct sqlite_cursor *row),
			 void *context);

/* Whether the table is there with all needed columns. A missing column is added to `faults`. */
int sqlite_file_can_read(struct sqlite_file *file, const struct sqlite_query *query,
			 struct import_faults *faults, bool *ret_can);

/* The same for a table that may be absent or lack needed columns. */
int sqlite_file_each_row_if_any(struct sqlite_file *file, const struct sqlite_query *query,
				struct import_faults *faults,
				int (*on_row)(void *context, const struct sqlite_cursor *row),
				void *context);

/* Whether the value is not NULL. */
bool sqlite_cursor_has(const struct sqlite_cursor *row, size_t column);
/* "" for NULL; valid until the cursor moves. It may be invalid UTF-8. */
const char *sqlite_cursor_text(const struct sqlite_cursor *row, size_t column);
/* The bytes of a blob or text; NULL for none. Valid until the cursor moves. */
const void *sqlite_cursor_bytes(const struct sqlite_cursor *row, size_t column, size_t *ret_size);
/* 0 for NULL and for a text without a number. */
int64_t sqlite_cursor_number(const struct sqlite_cursor *row, size_t column);
double sqlite_cursor_real(const struct sqlite_cursor *row, size_t column);

/* Reads a whole number from `least` to `most`; `what` is its name in the message ("a GPU").
 * Errors: -EBADMSG. */
int sqlite_cursor_take_number(const struct sqlite_cursor *row, size_t column, const char *what,
			      int64_t least, int64_t most, int64_t *ret_number);
/* Reads start and end from columns `first` and `first` + 1. Errors: -EBADMSG. */
int sqlite_cursor_take_times(const struct sqlite_cursor *row, size_t first, uint64_t *ret_begin,
			     uint64_t *ret_end);
