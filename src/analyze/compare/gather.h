/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/gather.h - one table of all runs of a side
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/compare/comparison.h"
#include "base/hash.h"

struct gathered_row {
	const struct side_row *first; /* cell in the first run that has it */
	uint32_t device;              /* index of comparison.devices */
};

struct gathered {
	size_t runs;
	struct gathered_row *rows;
	const struct side_row **cells; /* [row * runs + run]; NULL: the run lacks the row */
	size_t count, capacity, cells_capacity;
	struct string_table keys; /* an id is an index + 1 */
};

/* Joins the rows of one table of all runs. maps: for each run, see struct device_map. -ENOMEM. */
int gathered_init(struct gathered *gathered, const struct comparison_sides *sides,
		  uint32_t *const *maps, enum compare_table table);
void gathered_fini(struct gathered *gathered); /* NULL-safe */

static inline const struct side_row *gathered_cell(const struct gathered *gathered, size_t row,
						   size_t run)
{
	return gathered->cells[row * gathered->runs + run];
}
