/* SPDX-License-Identifier: MIT
 *
 * base/file/sqlite_library.h - load SQLite to write or read a database
 */
#pragma once

#include <sqlite3.h>

#define SQLITE_FUNCTIONS(X) \
	X(open_v2)          \
	X(close)            \
	X(exec)             \
	X(errcode)          \
	X(errmsg)           \
	X(prepare_v3)       \
	X(step)             \
	X(reset)            \
	X(finalize)         \
	X(bind_double)      \
	X(bind_int64)       \
	X(bind_null)        \
	X(bind_text)        \
	X(column_blob)      \
	X(column_bytes)     \
	X(column_double)    \
	X(column_int64)     \
	X(column_text)      \
	X(column_type)      \
	X(db_config)        \
	X(limit)            \
	X(progress_handler)

/* sqlite3_open_v2 is open_v2, and so on. */
struct sqlite_library {
	void *handle;
#define SQLITE_MEMBER(name) __typeof__(sqlite3_##name) *name;
	SQLITE_FUNCTIONS(SQLITE_MEMBER)
#undef SQLITE_MEMBER
};

/* -ENOENT with a remedy if it is missing. */
int sqlite_library_open(struct sqlite_library *library);
void sqlite_library_close(struct sqlite_library *library); /* half-built-safe */
