/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/label_table.h - counters by label values, with a bounded number of rows
 *
 * A row keeps its place until it is forgotten, so that a time series never changes its meaning.
 * Label values beyond the bound are counted in rows "other". Forgotten rows leave their counts in
 * `forgotten`. So the rows plus `forgotten` are always the sum of all that was added.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

enum { LABELS_MAX = 3, LABEL_VALUES_MAX = 24, LABEL_SIZE_MAX = 200 };

struct label_row {
	char *texts[LABELS_MAX]; /* one allocation, owned by texts[0] */
	uint64_t values[LABEL_VALUES_MAX];
	uint64_t born_ns; /* CLOCK_REALTIME of the start of its first interval */
	uint64_t used_ns; /* CLOCK_REALTIME of the end of its last interval */
	bool is_other;
};

struct label_table {
	size_t labels_count, values_count;
	size_t keys_count; /* the first labels, which identify a row */
	size_t max_rows;   /* without rows "other" */
	size_t max_others; /* rows "other" that differ in their first keys */
	const char *other; /* the last key of a row "other" */
	bool can_forget;
	bool lacks_room;        /* a label went to "other" since label_table_forget */
	struct label_row *rows; /* own rows and rows "other" */
	size_t count, capacity, others_count;
	struct hash_map index; /* hash of the labels -> row */
	uint64_t forgotten[LABEL_VALUES_MAX], forgotten_rows;
};

void label_table_fini(struct label_table *table);

/* The row of these label values, new or old; the row "other" if there is no room. Texts are made
 * UTF-8 and cut to LABEL_SIZE_MAX bytes, with a hash that keeps long texts apart. NULL: no memory.
 * Valid until the next call. */
struct label_row *label_table_row(struct label_table *table, const char *const *texts,
				  uint64_t begin_ns, uint64_t end_ns);

/* The row "other", for an object that shall have no row of its own. As label_table_row. */
struct label_row *label_table_other(struct label_table *table, const char *const *texts,
				    uint64_t begin_ns, uint64_t end_ns);

/* Forgets rows that were not used for unused_ns; if there is no room for a new one, for reused_ns.
 */
void label_table_forget(struct label_table *table, uint64_t now_ns, uint64_t unused_ns,
			uint64_t reused_ns);

/* Copies a label value as it is shown: valid UTF-8, at most LABEL_SIZE_MAX bytes. */
void label_copy(const char *text, char ret_text[LABEL_SIZE_MAX + 1]);
