/* SPDX-License-Identifier: MIT
 *
 * import/common/strings.c - a table of texts of a database, by id
 *
 * Runs in:  our own process
 * Gets:     a database
 * Gives:    texts
 * Owns:     a cursor, the texts of names
 * Fails:    errors of the cursor, -ENOMEM
 * Why two functions: a search in SQLite takes 1 us, and each row has one to three names. Other
 *           texts, such as arguments, are rarely used twice
 */
#include "import/common/strings.h"

#include <errno.h>
#include <string.h>

int import_strings_open(struct import_strings *strings, struct sqlite_file *file, const char *table,
			const char *id, const char *text)
{
	const char *const columns[] = {text, id};

	return sqlite_texts_open(&strings->cursor, file, table, columns);
}

void import_strings_close(struct import_strings *strings)
{
	sqlite_cursor_close(&strings->cursor);
	string_table_fini(&strings->texts);
	hash_map_fini(&strings->by_id);
}

int import_strings_read(struct import_strings *strings, int64_t id, const char **ret_text)
{
	return sqlite_texts_read(&strings->cursor, id, ret_text);
}

int import_strings_find(struct import_strings *strings, int64_t id, const char **ret_text)
{
	const uint64_t *known = hash_map_find(&strings->by_id, (uint64_t)id);
	const char *text;
	uint32_t place;
	int error;

	if (known) {
		*ret_text = string_table_text(&strings->texts, (uint32_t)*known, NULL);
		return 0;
	}
	error = import_strings_read(strings, id, &text);
	if (error)
		return error;
	place = string_table_add(&strings->texts, text, strlen(text));
	if (!place && *text)
		return -ENOMEM;
	*ret_text = string_table_text(&strings->texts, place, NULL);
	return hash_map_put(&strings->by_id, (uint64_t)id, place);
}
