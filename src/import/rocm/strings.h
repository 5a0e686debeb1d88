/* SPDX-License-Identifier: MIT
 *
 * import/rocm/strings.h - the table rocpd_string of a database, by id
 */
#pragma once

#include <stdint.h>

#include "base/hash.h"
#include "import/sqlite_file.h"

struct rocm_strings {
	struct sqlite_cursor cursor;
	struct string_table texts;
	struct hash_map by_id; /* id in texts */
};

/* table: a plain table with the columns id and string; borrowed. Errors: those of the cursor. */
int rocm_strings_open(struct rocm_strings *strings, struct sqlite_file *file, const char *table);
void rocm_strings_close(struct rocm_strings *strings); /* zero-safe */

/* Returns the text of an id, "" for none. find: for names, which repeat; valid until the strings
 * are closed. read: for other texts; valid until the next call. Errors: those of the cursor,
 * -ENOMEM. */
int rocm_strings_find(struct rocm_strings *strings, int64_t id, const char **ret_text);
int rocm_strings_read(struct rocm_strings *strings, int64_t id, const char **ret_text);
