/* SPDX-License-Identifier: MIT
 *
 * export/common/sqlite_writer.c - write the rows of a SQLite database
 *
 * Runs in:  our own process
 * Gets:     statements and values
 * Gives:    one SQLite database in a regular file
 * Owns:     the loaded library, the database while it is written
 * Fails:    -EIO with SQLite's message, -ENOSPC, -ENOMEM
 * Why no journal: the file is not read before it is complete, and a failed export can be repeated.
 *           With a journal 10^6 rows take twice the time.
 */
#include "export/common/sqlite_writer.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

static int fail(const struct sqlite_writer *writer)
{
	int code = writer->library.errcode(writer->handle);

	return error_set(code == SQLITE_FULL ? -ENOSPC : -EIO, "SQLite: %s",
			 code == SQLITE_FULL ? strerror(ENOSPC)
					     : writer->library.errmsg(writer->handle));
}

/* Opens the file by its descriptor: its path may refer to another file by now. */
int sqlite_writer_open(struct sqlite_writer *writer, FILE *file)
{
	char path[64];
	int error = sqlite_library_open(&writer->library);

	if (error)
		return error;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	if (writer->library.open_v2(path, &writer->handle, SQLITE_OPEN_READWRITE, NULL) !=
	    SQLITE_OK)
		return writer->handle ? fail(writer) : -ENOMEM;
	return sqlite_writer_execute(writer, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; "
					     "PRAGMA locking_mode=EXCLUSIVE");
}

void sqlite_writer_close(struct sqlite_writer *writer)
{
	if (writer->handle)
		writer->library.close(writer->handle);
	sqlite_library_close(&writer->library);
	string_builder_fini(&writer->text);
}

int sqlite_writer_execute(struct sqlite_writer *writer, const char *sql)
{
	return writer->library.exec(writer->handle, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : fail(writer);
}

int sqlite_writer_prepare(struct sqlite_writer *writer, const char *sql,
			  sqlite3_stmt **ret_statement)
{
	return writer->library.prepare_v3(writer->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
					  ret_statement, NULL) == SQLITE_OK
		       ? 0
		       : fail(writer);
}

void sqlite_writer_finalize(struct sqlite_writer *writer, sqlite3_stmt *statement)
{
	if (statement)
		writer->library.finalize(statement);
}

void sqlite_writer_begin(struct sqlite_writer *writer, sqlite3_stmt *insert)
{
	writer->row = insert;
	writer->column = 0;
}

int sqlite_writer_end(struct sqlite_writer *writer)
{
	int code;

	if (writer->text.error)
		return error_set(-ENOMEM, "SQLite: out of memory");
	code = writer->library.step(writer->row);
	writer->library.reset(writer->row);
	return code == SQLITE_DONE ? 0 : fail(writer);
}

void sqlite_writer_null(struct sqlite_writer *writer)
{
	writer->library.bind_null(writer->row, ++writer->column);
}

void sqlite_writer_u64(struct sqlite_writer *writer, uint64_t value)
{
	writer->library.bind_int64(writer->row, ++writer->column, (sqlite3_int64)value);
}

void sqlite_writer_i64(struct sqlite_writer *writer, int64_t value)
{
	writer->library.bind_int64(writer->row, ++writer->column, value);
}

void sqlite_writer_double(struct sqlite_writer *writer, double value)
{
	writer->library.bind_double(writer->row, ++writer->column, value);
}

void sqlite_writer_optional(struct sqlite_writer *writer, bool is_known, int64_t value)
{
	if (is_known)
		sqlite_writer_i64(writer, value);
	else
		sqlite_writer_null(writer);
}

void sqlite_writer_known(struct sqlite_writer *writer, uint64_t value)
{
	sqlite_writer_optional(writer, value != 0, (int64_t)value);
}

void sqlite_writer_text(struct sqlite_writer *writer, const char *text)
{
	if (!text) {
		sqlite_writer_null(writer);
		return;
	}
	string_builder_clear(&writer->text);
	string_builder_append_utf8(&writer->text, text);
	if (writer->library.bind_text(writer->row, ++writer->column,
				      string_builder_text(&writer->text), -1,
				      SQLITE_TRANSIENT) == SQLITE_NOMEM)
		writer->text.error = error_no_memory();
}
