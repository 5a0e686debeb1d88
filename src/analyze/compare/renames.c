/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/renames.c - finds kernels that are matched by something else than equal names
 *
 * Runs in:  our own process
 * Gets:     the busy rows of two sides
 * Gives:    pairs of names
 * Owns:     the names of the base
 * Fails:    -ENOMEM
 * Why pairs only: a picture can draw a renamed kernel as one box, but not one that was split
 */
#include "analyze/compare/renames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/match/match.h"
#include "analyze/compare/side.h"
#include "base/array.h"
#include "base/hash.h"

struct renames {
	struct string_table old; /* an id is an index of names + 1 */
	const char **names;
	size_t capacity;
};

/* The kernels of a side. NULL: no memory. */
static struct match_item *list_kernels(const struct compare_side *side, size_t *ret_count)
{
	const struct side_table *table = &side->tables[COMPARE_BUSY];
	struct match_item *items = calloc(table->count + 1, sizeof(*items));

	*ret_count = 0;
	for (size_t i = 0; items && i < table->count; i++) {
		const struct side_row *row = &table->rows[i];

		if (row->is_kernel)
			items[(*ret_count)++] =
				(struct match_item){.name = row->name,
						    .scope = row->device,
						    .is_kernel = true,
						    .stacks = row->stacks,
						    .stacks_count = row->stacks_count,
						    .position = row->position,
						    .count = row->count,
						    .time_ns = row->value};
	}
	return items;
}

/* The first match of a name counts, if it has several on several devices. */
static int add_pair(struct renames *renames, const char *old, const char *new_name)
{
	const uint32_t known = renames->old.count;
	const uint32_t id = string_table_add(&renames->old, old, strlen(old));

	if (!id && *old)
		return -ENOMEM;
	if (!id || id <= known)
		return 0;
	if (array_grow(renames->names, renames->capacity, id))
		return -ENOMEM;
	renames->names[id - 1] = new_name;
	return 0;
}

static int add_pairs(struct renames *renames, const struct match *match,
		     const struct match_item *base, const struct match_item *changed)
{
	const struct match_row *rows;
	const size_t count = match_rows(match, &rows);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		if (rows[i].base_count == 1 && rows[i].changed_count == 1 &&
		    rows[i].reason != MATCH_EXACT)
			error = add_pair(renames, base[rows[i].base[0]].name,
					 changed[rows[i].changed[0]].name);
	return error;
}

int renames_find(const struct compare_side *base, const struct compare_side *changed,
		 struct renames **ret_renames)
{
	struct renames *renames = calloc(1, sizeof(*renames));
	size_t base_count, changed_count;
	struct match_item *base_items = list_kernels(base, &base_count);
	struct match_item *changed_items = list_kernels(changed, &changed_count);
	struct match *match = NULL;
	int error = -ENOMEM;

	if (renames && base_items && changed_items)
		error = match_make(base_items, base_count, changed_items, changed_count, NULL,
				   &match);
	if (!error)
		error = add_pairs(renames, match, base_items, changed_items);
	match_free(match);
	free(base_items);
	free(changed_items);
	if (error) {
		renames_free(renames);
		return error;
	}
	*ret_renames = renames;
	return 0;
}

void renames_free(struct renames *renames)
{
	if (!renames)
		return;
	string_table_fini(&renames->old);
	free(renames->names);
	free(renames);
}

const char *renames_get(const struct renames *renames, const char *name)
{
	const uint32_t id = string_table_find(&renames->old, name, strlen(name));

	return id ? renames->names[id - 1] : name;
}
