/* SPDX-License-Identifier: MIT
 *
 * import/sqlite_file.c - read plain tables of an untrusted SQLite file
 *
 * Runs in:  our own process
 * Gets:     a path, names of tables and columns
 * Gives:    rows
 * Owns:     the loaded SQLite library, the open database
 * Fails:    -EBADMSG with the table, the row, the expected and the actual value
 * Why no views: a file of 24 KB can contain a view that never ends, or a text of 400 MB. Only plain
 *           tables are read, texts are limited to 1 MiB, and the number of SQLite's steps is
 *           limited by the size of the file. Rows may share one text of the file, so the bytes of
 *           texts count as steps, too.
 */
#include "import/sqlite_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "import/faults.h"

/* A row of a real file takes at least 70 bytes and about 40 of SQLite's steps. */
#define STEPS_PER_CALL      10000 /* 0.1 ms */
#define STEPS_FREE          UINT64_C(10000000)
#define STEPS_PER_BYTE_MAX  UINT64_C(50)
#define TEXT_BYTES_PER_STEP 4 /* to copy, hash and write them */

/* ---- the file ---- */

static int fail_steps(struct sqlite_file *file, const char *what)
{
	file->has_failed = true;
	return error_set(-EBADMSG,
			 "%s: SQLite did not finish in %" PRIu64
			 " steps, which is more than a valid file of this size needs; steps of "
			 "texts are an estimate, so a file near this limit may pass in another run",
			 what, file->steps_max);
}

static int fail_sqlite(struct sqlite_file *file, const char *what)
{
	const int code = file->sqlite.errcode(file->database);

	file->has_failed = true;
	if (code == SQLITE_NOMEM)
		return error_set(-ENOMEM, "%s: out of memory", what);
	if (code == SQLITE_INTERRUPT)
		return fail_steps(file, what);
	return error_set(-EBADMSG, "%s: %s", what, file->sqlite.errmsg(file->database));
}

static int fail_table(struct sqlite_file *file, const char *table,
		      int (*fail)(struct sqlite_file *file, const char *what))
{
	char what[128];

	snprintf(what, sizeof(what), "table %s", table);
	return fail(file, what);
}

/* Switches off views, triggers and functions, which a hostile file may have in its schema. */
static int distrust_schema(struct sqlite_file *file)
{
	static const struct {
		int option, value;
	} rows[] = {
		{SQLITE_DBCONFIG_DEFENSIVE, 1},
		{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
		{SQLITE_DBCONFIG_ENABLE_VIEW, 0},
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		if (file->sqlite.db_config(file->database, rows[i].option, rows[i].value, NULL) !=
		    SQLITE_OK)
			return error_set(-ENOTSUP, "the SQLite library cannot switch views off; "
						   "install SQLite 3.31 or later");
	file->sqlite.limit(file->database, SQLITE_LIMIT_LENGTH, SQLITE_TEXT_BYTES_MAX);
	return 0;
}

/* A result other than 0 ends the statement with SQLITE_INTERRUPT. */
static int on_steps(void *context)
{
	struct sqlite_file *file = context;

	file->steps += STEPS_PER_CALL;
	return file->steps > file->steps_max;
}

int sqlite_file_open(struct sqlite_file *file, const char *path)
{
	struct stat about;
	int error;

	*file = (struct sqlite_file){0};
	error = sqlite_library_open(&file->sqlite);
	if (error)
		return error;
	/* without mutexes: one thread alone uses the file, and they take 9 % of the time */
	if (file->sqlite.open_v2(path, &file->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
				 NULL) != SQLITE_OK)
		return fail_sqlite(file, "open the database");
	error = distrust_schema(file);
	if (error)
		return error;
	if (stat(path, &about) != 0)
		return error_set(-errno, "%s", strerror(errno));
	file->steps_max = STEPS_FREE + STEPS_PER_BYTE_MAX * (uint64_t)about.st_size;
	file->sqlite.progress_handler(file->database, STEPS_PER_CALL, on_steps, file);
	/* the size of the cache, in KiB: otherwise the file's own header sets it */
	if (file->sqlite.exec(file->database,
			      "PRAGMA cell_size_check = ON; PRAGMA cache_size = -2000", NULL, NULL,
			      NULL) != SQLITE_OK)
		return fail_sqlite(file, "expected a SQLite database");
	return 0;
}

void sqlite_file_close(struct sqlite_file *file)
{
	if (file->database)
		file->sqlite.close(file->database);
	sqlite_library_close(&file->sqlite);
	*file = (struct sqlite_file){0};
}

void sqlite_file_set_limit(struct sqlite_file *file, size_t bytes)
{
	file->sqlite.limit(file->database, SQLITE_LIMIT_LENGTH, (int)bytes);
}

/* ---- the schema ---- */

/* Calls on_row for each row of a query about the schema, whose ?1 is `name`. */
static int query_schema(struct sqlite_file *file, const char *query, const char *name,
			int (*on_row)(void *context, const struct sqlite_cursor *row),
			void *context)
{
	struct sqlite_cursor cursor = {.file = file, .table = "sqlite_master"};
	int error = 0, status = SQLITE_ROW;

	if (file->sqlite.prepare_v3(file->database, query, -1, 0, &cursor.statement, NULL) !=
		    SQLITE_OK ||
	    file->sqlite.bind_text(cursor.statement, 1, name, -1, SQLITE_STATIC) != SQLITE_OK)
		error = fail_sqlite(file, "expected a SQLite database");
	while (!error && (status = file->sqlite.step(cursor.statement)) == SQLITE_ROW)
		error = on_row(context, &cursor);
	if (!error && status != SQLITE_DONE)
		error = fail_sqlite(file, "expected a SQLite database");
	file->sqlite.finalize(cursor.statement);
	return error;
}

static int on_schema(void *context, const struct sqlite_cursor *row)
{
	enum sqlite_table *found = context;

	*found = sqlite_cursor_number(row, 0) ? SQLITE_TABLE_PLAIN : SQLITE_TABLE_COMPUTED;
	return 0;
}

/* Views and virtual tables have no root page; generated columns are hidden. Only CASE keeps SQLite
 * from asking for the columns of a view, which it refuses. */
int sqlite_file_find_table(struct sqlite_file *file, const char *name, enum sqlite_table *ret_table)
{
	*ret_table = SQLITE_TABLE_ABSENT;
	return query_schema(file,
			    "SELECT CASE WHEN type = 'table' AND rootpage > 0 THEN NOT EXISTS "
			    "(SELECT 1 FROM pragma_table_xinfo(?1) WHERE hidden) END "
			    "FROM sqlite_master WHERE name = ?1 AND type IN ('table', 'view')",
			    name, on_schema, ret_table);
}

int sqlite_file_has_table(struct sqlite_file *file, const char *name, bool *ret_has)
{
	enum sqlite_table found;
	int error = sqlite_file_find_table(file, name, &found);

	*ret_has = found == SQLITE_TABLE_PLAIN;
	return error;
}

struct table_names {
	int (*on_name)(void *context, const char *name);
	void *context;
};

static int on_table(void *context, const struct sqlite_cursor *row)
{
	const struct table_names *names = context;

	return names->on_name(names->context, sqlite_cursor_text(row, 0));
}

int sqlite_file_each_table(struct sqlite_file *file, const char *prefix,
			   int (*on_name)(void *context, const char *name), void *context)
{
	struct table_names names = {on_name, context};

	return query_schema(file,
			    "SELECT name FROM sqlite_master AS m WHERE CASE WHEN type = 'table' "
			    "AND rootpage > 0 AND substr(name, 1, length(?1)) = ?1 THEN NOT EXISTS "
			    "(SELECT 1 FROM pragma_table_xinfo(m.name) WHERE hidden) END ORDER BY "
			    "name",
			    prefix, on_table, &names);
}

/* ---- cursors ---- */

struct column_search {
	struct sqlite_columns columns;
	uint64_t present;
};

static int on_column(void *context, const struct sqlite_cursor *row)
{
	struct column_search *search = context;
	const char *name = sqlite_cursor_text(row, 0);

	for (size_t i = 0; i < search->columns.count; i++)
		if (strcasecmp(search->columns.names[i], name) == 0)
			search->present |= UINT64_C(1) << i;
	return 0;
}

static void append_name(struct string_builder *query, const char *name)
{
	string_builder_append_char(query, '"');
	for (; *name; name++) {
		if (*name == '"')
			string_builder_append_char(query, '"');
		string_builder_append_char(query, *name);
	}
	string_builder_append_char(query, '"');
}

/* The inner query gives names to columns that the table lacks, so that `where` and `order` may use
 * them. */
static void format_query(struct string_builder *text, const struct sqlite_query *query,
			 uint64_t present)
{
	string_builder_append(text, "SELECT * FROM (SELECT ");
	for (size_t i = 0; i < query->columns.count; i++) {
		if (i)
			string_builder_append(text, ", ");
		if (!(present >> i & 1))
			string_builder_append(text, "NULL AS ");
		append_name(text, query->columns.names[i]);
	}
	string_builder_append(text, " FROM ");
	append_name(text, query->table);
	string_builder_appendf(text, ") WHERE %s", query->where ? query->where : "1");
	if (query->order)
		string_builder_appendf(text, " ORDER BY %s", query->order);
}

static int find_columns(struct sqlite_file *file, const struct sqlite_query *query,
			uint64_t *ret_present)
{
	struct column_search search = {.columns = query->columns};
	int error = query_schema(file, "SELECT name FROM pragma_table_xinfo(?1) WHERE NOT hidden",
				 query->table, on_column, &search);

	for (size_t i = 0; i < query->columns.needed && !error; i++)
		if (!(search.present >> i & 1))
			error = error_set(-EBADMSG, "table %s: no such column: %s", query->table,
					  query->columns.names[i]);
	*ret_present = search.present;
	return error;
}

int sqlite_file_can_read(struct sqlite_file *file, const struct sqlite_query *query,
			 struct import_faults *faults, bool *ret_can)
{
	uint64_t present;
	int error = sqlite_file_has_table(file, query->table, ret_can);

	if (error || !*ret_can)
		return error;
	error = find_columns(file, query, &present);
	*ret_can = !error;
	return error && !file->has_failed ? import_faults_add(faults, error) : error;
}

int sqlite_cursor_open(struct sqlite_cursor *cursor, struct sqlite_file *file,
		       const struct sqlite_query *query)
{
	struct string_builder text = {0};
	int error;

	*cursor = (struct sqlite_cursor){.file = file, .table = query->table};
	error = find_columns(file, query, &cursor->present);
	if (error)
		return error;
	cursor->columns_count = query->columns.count;
	cursor->chance = (uint64_t)(uintptr_t)cursor; /* differs between runs */
	cursor->has_id = cursor->present & 1 && strcmp(query->columns.names[0], "id") == 0;
	format_query(&text, query, cursor->present);
	error = text.error;
	if (!error &&
	    file->sqlite.prepare_v3(file->database, string_builder_text(&text), -1,
				    SQLITE_PREPARE_NO_VTAB, &cursor->statement, NULL) != SQLITE_OK)
		error = fail_table(file, query->table, fail_sqlite);
	string_builder_fini(&text);
	return error;
}

void sqlite_cursor_close(struct sqlite_cursor *cursor)
{
	if (cursor->file)
		cursor->file->sqlite.finalize(cursor->statement);
	*cursor = (struct sqlite_cursor){0};
}

/* SQLite copies all texts of a row, whether they are used or not. One column of each row, chosen at
 * random, stands for all: a look at each costs 17 % of an import, and a file could avoid any other
 * choice. */
static int charge_texts(struct sqlite_cursor *row)
{
	struct sqlite_file *file = row->file;
	int column, type;

	row->chance = row->chance * UINT64_C(6364136223846793005) + 1442695040888963407;
	column = (int)((row->chance >> 32) * row->columns_count >> 32);
	type = file->sqlite.column_type(row->statement, column);
	if (type != SQLITE_TEXT && type != SQLITE_BLOB)
		return 1;
	file->steps += (uint64_t)file->sqlite.column_bytes(row->statement, column) *
		       row->columns_count / TEXT_BYTES_PER_STEP;
	return file->steps > file->steps_max ? fail_table(file, row->table, fail_steps) : 1;
}

int sqlite_cursor_next(struct sqlite_cursor *cursor)
{
	const int status = cursor->file->sqlite.step(cursor->statement);

	cursor->number++;
	if (status == SQLITE_ROW)
		return charge_texts(cursor);
	return status == SQLITE_DONE ? 0 : fail_table(cursor->file, cursor->table, fail_sqlite);
}

int sqlite_cursor_restart(struct sqlite_cursor *cursor, int64_t first, int64_t second)
{
	const int64_t values[] = {first, second};
	struct sqlite_library *sqlite = &cursor->file->sqlite;

	cursor->number = 0;
	sqlite->reset(cursor->statement);
	for (int i = 0; i < 2; i++) {
		const int status = sqlite->bind_int64(cursor->statement, i + 1, values[i]);

		/* out of range: the query has no such parameter */
		if (status != SQLITE_OK && status != SQLITE_RANGE)
			return fail_table(cursor->file, cursor->table, fail_sqlite);
	}
	return 0;
}

int sqlite_texts_open(struct sqlite_cursor *cursor, struct sqlite_file *file, const char *table,
		      const char *const columns[2])
{
	char where[32];
	const struct sqlite_query query = {
		.table = table, .columns = {columns, 2, 2}, .where = where};

	snprintf(where, sizeof(where), "%s = ?1", columns[1]);
	return sqlite_cursor_open(cursor, file, &query);
}

int sqlite_texts_read(struct sqlite_cursor *cursor, int64_t id, const char **ret_text)
{
	int status = sqlite_cursor_restart(cursor, id, 0);

	if (!status)
		status = sqlite_cursor_next(cursor);
	if (status < 0)
		return status;
	*ret_text = status ? sqlite_cursor_text(cursor, 0) : "";
	return 0;
}

int sqlite_file_each_row(struct sqlite_file *file, const struct sqlite_query *query,
			 struct import_faults *faults,
			 int (*on_row)(void *context, const struct sqlite_cursor *row),
			 void *context)
{
	struct sqlite_cursor cursor;
	int error = sqlite_cursor_open(&cursor, file, query), status = 0;

	while (!error && (status = sqlite_cursor_next(&cursor)) > 0) {
		error = on_row(context, &cursor);
		if (error && !file->has_failed)
			error = import_faults_add(faults, error);
	}
	sqlite_cursor_close(&cursor);
	return error ? error : status;
}

int sqlite_file_each_row_if_any(struct sqlite_file *file, const struct sqlite_query *query,
				struct import_faults *faults,
				int (*on_row)(void *context, const struct sqlite_cursor *row),
				void *context)
{
	bool can;
	int error = sqlite_file_can_read(file, query, faults, &can);

	return error || !can ? error : sqlite_file_each_row(file, query, faults, on_row, context);
}

/* ---- values ---- */

bool sqlite_cursor_has(const struct sqlite_cursor *row, size_t column)
{
	return row->file->sqlite.column_type(row->statement, (int)column) != SQLITE_NULL;
}

const char *sqlite_cursor_text(const struct sqlite_cursor *row, size_t column)
{
	const unsigned char *text = row->file->sqlite.column_text(row->statement, (int)column);

	return text ? (const char *)text : "";
}

const void *sqlite_cursor_bytes(const struct sqlite_cursor *row, size_t column, size_t *ret_size)
{
	const struct sqlite_library *sqlite = &row->file->sqlite;
	const void *bytes = sqlite->column_blob(row->statement, (int)column);

	*ret_size = bytes ? (size_t)sqlite->column_bytes(row->statement, (int)column) : 0;
	return bytes;
}

int64_t sqlite_cursor_number(const struct sqlite_cursor *row, size_t column)
{
	return row->file->sqlite.column_int64(row->statement, (int)column);
}

double sqlite_cursor_real(const struct sqlite_cursor *row, size_t column)
{
	return row->file->sqlite.column_double(row->statement, (int)column);
}

static bool is_number(const struct sqlite_cursor *row, size_t column)
{
	return row->file->sqlite.column_type(row->statement, (int)column) == SQLITE_INTEGER;
}

static int64_t row_id(const struct sqlite_cursor *row)
{
	return row->has_id ? sqlite_cursor_number(row, 0) : (int64_t)row->number;
}

int sqlite_cursor_take_number(const struct sqlite_cursor *row, size_t column, const char *what,
			      int64_t least, int64_t most, int64_t *ret_number)
{
	const int64_t number = sqlite_cursor_number(row, column);

	if (!is_number(row, column) || number < least || number > most)
		return error_set(-EBADMSG,
				 "table %s, row %" PRId64 ": expected the number of %s, found '%s'",
				 row->table, row_id(row), what, sqlite_cursor_text(row, column));
	*ret_number = number;
	return 0;
}

int sqlite_cursor_take_times(const struct sqlite_cursor *row, size_t first, uint64_t *ret_begin,
			     uint64_t *ret_end)
{
	const int64_t begin = sqlite_cursor_number(row, first);
	const int64_t end = sqlite_cursor_number(row, first + 1);

	if (!is_number(row, first) || !is_number(row, first + 1) || begin < 0 || end < begin)
		return error_set(-EBADMSG,
				 "table %s, row %" PRId64
				 ": expected a start and an end that is not "
				 "before it, found '%s' and '%s'",
				 row->table, row_id(row), sqlite_cursor_text(row, first),
				 sqlite_cursor_text(row, first + 1));
	*ret_begin = (uint64_t)begin;
	*ret_end = (uint64_t)end;
	return 0;
}
