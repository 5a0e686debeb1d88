/* SPDX-License-Identifier: MIT
 *
 * import/common/strings.h - a table of texts of a database, by id
 */
#pragma once

#include <stdint.h>

#include "base/hash.h"
#include "import/sqlite_file.h"

struct import_strings {
	struct sqlite_cursor cursor;
	struct string_table texts;
	struct hash_map by_id; /* id in texts */
};

/* table: a plain table, borrowed, with the columns `id` and `text`. Errors: those of the cursor. */
int import_strings_open(struct import_strings *strings, struct sqlite_file *file, const char *table,
			const char *id, const char *text);
void import_strings_close(struct import_strings *strings); /* zero-safe */

/* Returns the text of an id, "" for none. find: for names, which repeat; valid until the strings
 * are closed. read: for other texts; valid until the next call. Errors: those of the cursor,
 * -ENOMEM. */
int import_strings_find(struct import_strings *strings, int64_t id, const char **ret_text);
int import_strings_read(struct import_strings *strings, int64_t id, const char **ret_text);
