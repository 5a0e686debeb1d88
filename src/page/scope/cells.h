/* SPDX-License-Identifier: MIT
 *
 * page/scope/cells.h - sums of values per cell of time and item; used by scope.c and scope/write.c
 * only
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/pair_map.h"
#include "flame/drawing.h"
#include "page/scope/scope.h"

/* Kinds of items besides those of drawn rows. */
enum scope_kind {
	SCOPE_DIVIDED = DRAWN_KINDS, /* a device's idle time by states; part: the cause */
};

/* Parts of a state: known and seen, then one for each class of durations. Below: the parts of an
 * instruction. */
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
	uint64_t asked_row_ns; /* cell length that the caller requested */
	uint64_t origin_ns;    /* host time of the start of the first cell */
	struct scope_item *items;
	size_t items_count, items_capacity;
	struct scope_value *values;
	size_t values_count, values_capacity;
	struct pair_map item_numbers;  /* (kind << 32 | part, index) -> index of items */
	struct pair_map value_numbers; /* (cell, item) -> index of values */
};

void scope_cells_init(struct scope_cells *cells, const struct scope_grid *grid);
void scope_cells_fini(struct scope_cells *cells); /* NULL-safe */
/* Removes all values and starts again; the first cell starts at origin_ns. */
void scope_cells_clear(struct scope_cells *cells, const struct scope_grid *grid,
		       uint64_t origin_ns);

/* An amount that is spread evenly from begin to end. begin == end: the whole amount is at that
 * time. */
struct scope_amount {
	uint64_t begin, end; /* host ns */
	uint64_t by;         /* two's complement: may be negative */
	/* Sum of earlier amounts over the same time span. With it, consecutive amounts add up
	 * exactly in each cell. */
	uint64_t before;
};

/* Errors: -ENOMEM. */
int scope_cells_add(struct scope_cells *cells, const struct scope_item *item,
		    const struct scope_amount *amount);

/* Joins cells until the number of cells up to `end_ns` is within the limit, and sorts values by
 * cell. Nothing can be added afterwards. Errors: -ENOMEM. */
int scope_cells_finish(struct scope_cells *cells, uint64_t end_ns);

/* ---- page/scope/write.c ---- */

/* For both, cells: finished; drawing: opened for the analysis that filled them. Errors: -ENOMEM,
 * -errno with a text. */
int scope_write_elements(const struct scope_cells *cells, struct drawing *drawing,
			 const char *head_id, const char *cells_id, FILE *file);
int scope_write_page(const struct scope_cells *cells, struct drawing *drawing,
		     const struct scope_about *about, FILE *file);
