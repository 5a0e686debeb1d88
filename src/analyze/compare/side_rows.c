/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/side_rows.c - the rows of a side, found by name, device and scope
 *
 * Runs in:  our own process
 * Gets:     names
 * Gives:    a row for each
 * Owns:     nothing: rows and texts belong to the side
 * Fails:    -ENOMEM
 */
#include "analyze/compare/side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const char *side_text(struct compare_side *side, const char *text)
{
	return arena_copy(&side->arena, text, strlen(text));
}

static int add_key(struct side_table *table, const struct side_row *key, uint32_t *ret_id)
{
	char *text;
	const size_t length = strlen(key->name);
	const size_t head = sizeof(key->device) + sizeof(key->scope);

	text = malloc(head + length);
	if (!text)
		return -ENOMEM;
	memcpy(text, &key->device, sizeof(key->device));
	memcpy(text + sizeof(key->device), &key->scope, sizeof(key->scope));
	memcpy(text + head, key->name, length);
	*ret_id = string_table_add(&table->keys, text, head + length);
	free(text);
	return *ret_id ? 0 : -ENOMEM;
}

int side_find_row(struct compare_side *side, enum compare_table table_of,
		  const struct side_row *key, struct side_row **ret_row)
{
	struct side_table *table = &side->tables[table_of];
	struct side_row *row;
	uint32_t id;

	if (add_key(table, key, &id) || array_grow(table->rows, table->capacity, id))
		return -ENOMEM;
	row = &table->rows[id - 1];
	if (id > table->count) {
		*row = (struct side_row){.name = side_text(side, key->name),
					 .device = key->device,
					 .scope = key->scope};
		if (!row->name)
			return -ENOMEM;
		table->count = id;
	}
	*ret_row = row;
	return 0;
}
