/* SPDX-License-Identifier: MIT
 *
 * import/common/probe.h - what a foreign file begins with, from which its format is recognized
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"

struct import_source;

struct import_probe {
	const char *path;
	const char *bytes; /* the first 64 KiB of the decompressed content, or all of it */
	size_t size;
	const char *text;           /* the same without white space at the start, with a
				       NUL at the end; "" if they contain a NUL */
	struct string_table tables; /* names of tables and views, of a SQLite database */
	bool is_damaged;            /* a SQLite database that SQLite cannot read */
};

/* Reads ahead; the source's bytes stay unread. A compressed database must be unpacked. Errors:
 * those of the source. A database that SQLite cannot read has no tables. */
int import_probe_open(struct import_source *source, const char *path,
		      struct import_probe *ret_probe);
void import_probe_close(struct import_probe *probe);

/* Whether a database has this table or view, whether the first bytes contain a text. */
bool import_probe_has_table(const struct import_probe *probe, const char *name);
bool import_probe_contains(const struct import_probe *probe, const char *text);
/* Whether the file has more bytes. */
bool import_probe_is_cut(const struct import_probe *probe);
/* Whether it is a JSON object or array, by its first character. */
bool import_probe_is_json(const struct import_probe *probe);
