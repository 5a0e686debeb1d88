/* SPDX-License-Identifier: MIT
 *
 * export/scope_cells.h - values by cell of time and by what they are of; of scope.c and scope_write.c only
 */
#ifndef EXPORT_SCOPE_CELLS_H
#define EXPORT_SCOPE_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/pair_map.h"
#include "export/flame_drawing.h"
#include "export/scope.h"

/* What values are of, beyond the kinds of drawn rows. */
enum scope_kind {
	SCOPE_DIVIDED = DRAWN_KINDS, /* a device's idle time by states; part: the cause */
};

/* Parts of a state, in front of one for each class of lengths, and of an instruction. */
enum { SCOPE_KNOWN, SCOPE_SEEN, SCOPE_LENGTHS };
enum { SCOPE_WEIGHT, SCOPE_COUNT };

struct scope_item {
	uint32_t kind, index, part; /* enum drawing_kind or scope_kind */
};

struct scope_value {
	uint32_t cell, item;
	uint64_t value;
};

struct scope_cells {
	struct scope_grid grid;
	uint64_t asked_row_ns; /* of the grid that was asked for */
	uint64_t origin_ns;    /* host time at which the first cell begins */
	struct scope_item *items;
	size_t items_count, items_capacity;
	struct scope_value *values;
	size_t values_count, values_capacity;
	struct pair_map item_numbers;  /* (kind << 32 | part, index) -> index of items */
	struct pair_map value_numbers; /* (cell, item) -> index of values */
};

void scope_cells_init(struct scope_cells *cells, const struct scope_grid *grid);
void scope_cells_fini(struct scope_cells *cells); /* NULL-safe */
/* As it was after init, from a moment on. */
void scope_cells_clear(struct scope_cells *cells, uint64_t origin_ns);

/* What lasts from begin to end, evenly; the same: all at that moment. */
struct scope_amount {
	uint64_t begin, end; /* host ns */
	uint64_t by;         /* may be below zero, as 2^64 less */
	/* What others got of the same stretch before: parts of which each begins where the one before it ends add up exactly
	 * in each cell. */
	uint64_t before;
};

/* -ENOMEM. */
int scope_cells_add(struct scope_cells *cells, const struct scope_item *item,
		    const struct scope_amount *amount);

/* Joins cells until those up to `end` are not too many; values are in the order of cells then, those of one as they
 * came, and nothing can be added. -ENOMEM. */
int scope_cells_finish(struct scope_cells *cells, uint64_t end_ns);

#endif
