/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/label_table.c - counters by label values, with a bounded number of rows
 *
 * Runs in:  our own process, the agent's child for endpoints
 * Gets:     label values
 * Gives:    rows whose counters the caller adds to
 * Owns:     the rows
 * Fails:    NULL without memory; the caller counts the interval as lost
 * Why forgotten rows do not go to "other": rate() of "other" would show the whole past of the
 *           forgotten row as one burst.
 */
#include "agent/endpoints/label_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

enum { HASH_DIGITS = 9 }; /* "~" and eight digits */

void label_table_fini(struct label_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->rows[i].texts[0]);
	free(table->rows);
	hash_map_fini(&table->index);
	table->rows = NULL;
	table->count = table->capacity = table->others_count = 0;
}

/* FNV-1a; a NUL after each text keeps ("a", "bc") and ("ab", "c") apart. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	do
		hash = (hash ^ *at) * UINT64_C(0x100000001b3);
	while (*at++);
	return hash;
}

#define HASH_START UINT64_C(0xcbf29ce484222325)

void label_copy(const char *text, char ret_text[LABEL_SIZE_MAX + 1])
{
	size_t length = 0, left = strlen(text), room = LABEL_SIZE_MAX;
	bool is_long = left > room;
	const char *at = text;

	if (is_long)
		room -= HASH_DIGITS;
	while (left) {
		int size = utf8_length(at, left);
		size_t taken = (size_t)(size > 0 ? size : -size), shown = size > 0 ? taken : 3;

		if (length + shown > room)
			break;
		memcpy(ret_text + length, size > 0 ? at : "\xEF\xBF\xBD", shown);
		length += shown;
		at += taken;
		left -= taken;
	}
	ret_text[length] = '\0';
	if (is_long)
		snprintf(ret_text + length, HASH_DIGITS + 1, "~%08x",
			 (unsigned int)(hash_text(HASH_START, text) >> 32));
}

struct label_key {
	char texts[LABELS_MAX][LABEL_SIZE_MAX + 1];
	uint64_t hash;
};

static void hash_key(const struct label_table *table, struct label_key *key)
{
	key->hash = HASH_START;
	for (size_t i = 0; i < table->keys_count; i++)
		key->hash = hash_text(key->hash, key->texts[i]);
}

static bool is_same(const struct label_table *table, const struct label_row *row,
		    const struct label_key *key)
{
	for (size_t i = 0; i < table->keys_count; i++)
		if (strcmp(row->texts[i], key->texts[i]) != 0)
			return false;
	return true;
}

static struct label_row *find_row(const struct label_table *table, const struct label_key *key)
{
	uint64_t index = hash_map_get(&table->index, key->hash, UINT64_MAX);

	if (index == UINT64_MAX || !is_same(table, &table->rows[index], key))
		return NULL;
	return &table->rows[index];
}

static int copy_texts(const struct label_table *table, const struct label_key *key,
		      struct label_row *row)
{
	size_t size = 0;
	char *at;

	for (size_t i = 0; i < table->labels_count; i++)
		size += strlen(key->texts[i]) + 1;
	at = malloc(size);
	if (!at)
		return error_no_memory();
	for (size_t i = 0; i < table->labels_count; i++) {
		row->texts[i] = strcpy(at, key->texts[i]);
		at += strlen(at) + 1;
	}
	return 0;
}

static struct label_row *add_row(struct label_table *table, const struct label_key *key,
				 bool is_other, uint64_t begin_ns)
{
	struct label_row row = {.born_ns = begin_ns, .is_other = is_other};

	if (copy_texts(table, key, &row))
		return NULL;
	/* The row counts only after both have worked. */
	if (array_grow(table->rows, table->capacity, table->count + 1) ||
	    hash_map_put(&table->index, key->hash, table->count)) {
		free(row.texts[0]);
		error_no_memory();
		return NULL;
	}
	table->rows[table->count++] = row;
	table->others_count += is_other;
	return &table->rows[table->count - 1];
}

static bool is_other_key(const struct label_table *table, const struct label_key *key)
{
	return table->other && strcmp(key->texts[table->keys_count - 1], table->other) == 0;
}

/* The row "other" of the same first keys, or of no first keys if there are too many of them. */
static struct label_row *other_row(struct label_table *table, struct label_key *key,
				   uint64_t begin_ns)
{
	size_t last = table->keys_count - 1;
	struct label_row *row;

	snprintf(key->texts[last], sizeof(key->texts[last]), "%s", table->other);
	hash_key(table, key);
	row = find_row(table, key);
	if (row)
		return row;
	if (table->others_count >= table->max_others) {
		for (size_t i = 0; i < last; i++)
			*key->texts[i] = '\0';
		hash_key(table, key);
		row = find_row(table, key);
	}
	return row ? row : add_row(table, key, true, begin_ns);
}

static void fill_key(const struct label_table *table, const char *const *texts,
		     struct label_key *key)
{
	for (size_t i = 0; i < table->labels_count; i++)
		label_copy(texts[i], key->texts[i]);
	hash_key(table, key);
}

struct label_row *label_table_row(struct label_table *table, const char *const *texts,
				  uint64_t begin_ns, uint64_t end_ns)
{
	struct label_key key;
	struct label_row *row;

	fill_key(table, texts, &key);
	row = find_row(table, &key);
	if (!row && !is_other_key(table, &key) &&
	    table->count - table->others_count < table->max_rows &&
	    hash_map_get(&table->index, key.hash, UINT64_MAX) == UINT64_MAX) {
		row = add_row(table, &key, false, begin_ns);
	} else if (!row) {
		table->lacks_room = true;
		row = other_row(table, &key, begin_ns);
	}
	if (row)
		row->used_ns = end_ns;
	return row;
}

struct label_row *label_table_other(struct label_table *table, const char *const *texts,
				    uint64_t begin_ns, uint64_t end_ns)
{
	struct label_key key;
	struct label_row *row;

	fill_key(table, texts, &key);
	row = find_row(table, &key); /* one that has had a row keeps it */
	if (!row)
		row = other_row(table, &key, begin_ns);
	if (row)
		row->used_ns = end_ns;
	return row;
}

/* ---- forgetting ---- */

static uint64_t hash_row(const struct label_table *table, const struct label_row *row)
{
	uint64_t hash = HASH_START;

	for (size_t i = 0; i < table->keys_count; i++)
		hash = hash_text(hash, row->texts[i]);
	return hash;
}

static void forget_row(struct label_table *table, size_t index)
{
	struct label_row *row = &table->rows[index], *last = &table->rows[table->count - 1];

	for (size_t i = 0; i < table->values_count; i++)
		table->forgotten[i] += row->values[i];
	table->forgotten_rows++;
	hash_map_remove(&table->index, hash_row(table, row), NULL);
	free(row->texts[0]);
	if (row != last) {
		*row = *last;
		/* The key is in the map, so this put needs no memory. */
		hash_map_put(&table->index, hash_row(table, row), index);
	}
	table->count--;
}

void label_table_forget(struct label_table *table, uint64_t now_ns, uint64_t unused_ns,
			uint64_t reused_ns)
{
	uint64_t limit_ns = table->lacks_room && reused_ns < unused_ns ? reused_ns : unused_ns;

	table->lacks_room = false;
	for (size_t i = table->count; table->can_forget && i-- > 0;) {
		const struct label_row *row = &table->rows[i];

		if (!row->is_other && row->used_ns + limit_ns < now_ns)
			forget_row(table, i);
	}
}
