/* SPDX-License-Identifier: MIT
 *
 * import/common/probe.c - what a foreign file begins with, from which its format is recognized
 *
 * Runs in:  our own process
 * Gets:     a source
 * Gives:    its first bytes and the tables of a database
 * Owns:     the names of the tables
 * Fails:    errors of the source
 * Why 64 KiB: PyTorch writes the properties of all devices, and some programs their own data,
 *           before the first event. In 20 recordings at most 9 KiB precede "traceEvents".
 */
#include "import/common/probe.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file/sqlite_library.h"
#include "base/string.h"
#include "import/source.h"

enum { STEPS_PER_CALL = 10000, CALLS_MAX = 1000 };

#define NAME_BYTES_MAX 65536

/* ---- databases ---- */

struct table_list {
	struct sqlite_library sqlite;
	sqlite3 *database;
	unsigned int calls;
};

static int on_steps(void *context)
{
	struct table_list *list = context;

	return ++list->calls > CALLS_MAX;
}

static bool is_damage(const struct table_list *list)
{
	const int code = list->sqlite.errcode(list->database) & 0xff; /* without the extension */

	return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

/* Tables of a hostile file are only listed, not read. */
static int list_tables(struct table_list *list, const char *path, struct string_table *tables,
		       bool *ret_is_damaged)
{
	static const char query[] =
		"SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
		"LIMIT 4096";
	struct sqlite_library *sqlite = &list->sqlite;
	sqlite3_stmt *statement = NULL;
	int error = 0;

	if (sqlite->open_v2(path, &list->database, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		return 0;
	sqlite->limit(list->database, SQLITE_LIMIT_LENGTH, NAME_BYTES_MAX);
	sqlite->progress_handler(list->database, STEPS_PER_CALL, on_steps, list);
	if (sqlite->prepare_v3(list->database, query, -1, 0, &statement, NULL) != SQLITE_OK) {
		*ret_is_damaged = is_damage(list);
		return 0;
	}
	while (!error && sqlite->step(statement) == SQLITE_ROW) {
		const char *name = (const char *)sqlite->column_text(statement, 0);

		if (name && *name && !string_table_add(tables, name, strlen(name)))
			error = -ENOMEM;
	}
	*ret_is_damaged = is_damage(list);
	sqlite->finalize(statement);
	return error;
}

static int read_tables(const char *path, struct string_table *tables, bool *ret_is_damaged)
{
	struct table_list list = {0};
	int error = sqlite_library_open(&list.sqlite);

	if (!error)
		error = list_tables(&list, path, tables, ret_is_damaged);
	if (list.database)
		list.sqlite.close(list.database);
	sqlite_library_close(&list.sqlite);
	return error;
}

/* ---- the probe ---- */

static char *copy_text(const char *bytes, size_t size)
{
	size_t skipped = 0;

	while (skipped < size && isspace((unsigned char)bytes[skipped]))
		skipped++;
	size -= skipped;
	return strndup(memchr(bytes + skipped, 0, size) ? "" : bytes + skipped, size);
}

int import_probe_open(struct import_source *source, const char *path,
		      struct import_probe *ret_probe)
{
	static const char sqlite[] = "SQLite format 3"; /* with its NUL */
	struct import_probe probe = {.path = path};
	int error = import_source_peek(source, &probe.bytes, &probe.size);

	if (error)
		return error;
	probe.text = copy_text(probe.bytes, probe.size);
	if (!probe.text)
		return -ENOMEM;
	string_table_init(&probe.tables);
	if (probe.size >= sizeof(sqlite) && memcmp(probe.bytes, sqlite, sizeof(sqlite)) == 0)
		error = read_tables(import_source_path(source), &probe.tables, &probe.is_damaged);
	if (error)
		import_probe_close(&probe);
	else
		*ret_probe = probe;
	return error;
}

void import_probe_close(struct import_probe *probe)
{
	string_table_fini(&probe->tables);
	free((char *)probe->text);
}

bool import_probe_has_table(const struct import_probe *probe, const char *name)
{
	return string_table_find(&probe->tables, name, strlen(name)) != 0;
}

bool import_probe_contains(const struct import_probe *probe, const char *text)
{
	return memmem(probe->bytes, probe->size, text, strlen(text)) != NULL;
}

bool import_probe_is_cut(const struct import_probe *probe)
{
	return probe->size == IMPORT_PEEK_BYTES;
}

bool import_probe_is_json(const struct import_probe *probe)
{
	return *probe->text == '{' || *probe->text == '[';
}
