/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/gather.c - joins the same rows of several runs of one side
 *
 * Runs in:  our own process
 * Gets:     the sides
 * Gives:    a row for each name, with its cell of each run
 * Owns:     the rows and cells
 * Fails:    -ENOMEM
 * Why equal names only: runs of a side are runs of one program. Names that differ between such runs
 *           are different rows, which the matching of the two sides may join.
 */
#include "analyze/compare/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"

static int find_key(struct gathered *gathered, const struct side_row *row, uint32_t device,
		    uint32_t *ret_id)
{
	struct string_builder key = {0};
	int error;

	string_builder_append_bytes(&key, &device, sizeof(device));
	string_builder_append_bytes(&key, &row->scope, sizeof(row->scope));
	string_builder_append(&key, row->name);
	error = key.error;
	*ret_id = error ? 0 : string_table_add(&gathered->keys, key.text, key.length);
	string_builder_fini(&key);
	return *ret_id ? 0 : -ENOMEM;
}

static int add_cell(struct gathered *gathered, const struct side_row *row, uint32_t device,
		    size_t run)
{
	uint32_t id;
	int error = find_key(gathered, row, device, &id);

	if (error || array_grow(gathered->rows, gathered->capacity, id) ||
	    array_grow(gathered->cells, gathered->cells_capacity, id * gathered->runs))
		return -ENOMEM;
	if (id > gathered->count) {
		gathered->rows[id - 1] = (struct gathered_row){row, device};
		gathered->count = id;
	}
	gathered->cells[(id - 1) * gathered->runs + run] = row;
	return 0;
}

int gathered_init(struct gathered *gathered, const struct comparison_sides *sides,
		  uint32_t *const *maps, enum compare_table table)
{
	int error = 0;

	*gathered = (struct gathered){.runs = sides->count};
	for (size_t run = 0; run < sides->count && !error; run++) {
		const struct side_table *rows = &sides->runs[run]->tables[table];

		for (size_t i = 0; i < rows->count && !error; i++) {
			const uint32_t device = rows->rows[i].device;

			error = add_cell(gathered, &rows->rows[i],
					 device == SIDE_NO_DEVICE ? device : maps[run][device],
					 run);
		}
	}
	if (error)
		gathered_fini(gathered);
	return error;
}

void gathered_fini(struct gathered *gathered)
{
	if (!gathered)
		return;
	free(gathered->rows);
	free(gathered->cells);
	string_table_fini(&gathered->keys);
	*gathered = (struct gathered){0};
}
