/* SPDX-License-Identifier: MIT
 *
 * export/common/sqlite_writer.h - write the rows of a SQLite database
 *
 *	sqlite_writer_begin(&writer, insert);
 *	sqlite_writer_u64(&writer, id);
 *	sqlite_writer_text(&writer, name);
 *	error = sqlite_writer_end(&writer);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/file/sqlite_library.h"
#include "base/string.h"

struct sqlite_writer {
	struct sqlite_library library;
	sqlite3 *handle;
	sqlite3_stmt *row; /* the row that is being filled */
	int column;
	struct string_builder text;
};

/* Opens an empty file, which must be a regular one. Errors: -ENOENT without SQLite, -EIO with its
 * message, -ENOSPC, -ENOMEM. */
int sqlite_writer_open(struct sqlite_writer *writer, FILE *file);
void sqlite_writer_close(struct sqlite_writer *writer); /* half-built-safe */

/* Errors of these: -EIO with SQLite's message, -ENOSPC, -ENOMEM. */
int sqlite_writer_execute(struct sqlite_writer *writer, const char *sql);
int sqlite_writer_prepare(struct sqlite_writer *writer, const char *sql,
			  sqlite3_stmt **ret_statement);
void sqlite_writer_finalize(struct sqlite_writer *writer, sqlite3_stmt *statement); /* NULL-safe */

void sqlite_writer_begin(struct sqlite_writer *writer, sqlite3_stmt *insert);
int sqlite_writer_end(struct sqlite_writer *writer);

/* The next column. */
void sqlite_writer_null(struct sqlite_writer *writer);
void sqlite_writer_u64(struct sqlite_writer *writer, uint64_t value); /* keeps its bits */
void sqlite_writer_i64(struct sqlite_writer *writer, int64_t value);
void sqlite_writer_double(struct sqlite_writer *writer, double value);
/* NULL unless it is known; NULL for 0. */
void sqlite_writer_optional(struct sqlite_writer *writer, bool is_known, int64_t value);
void sqlite_writer_known(struct sqlite_writer *writer, uint64_t value);
/* Replaces invalid UTF-8, because readers expect valid text. NULL: NULL. */
void sqlite_writer_text(struct sqlite_writer *writer, const char *text);
