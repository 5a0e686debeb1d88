/* SPDX-License-Identifier: MIT
 *
 * page/scope/cells.c - sums of values per cell of time and item
 *
 * Runs in:  our own process
 * Gets:     values with their start and end times
 * Gives:    the exact sum of each item in each cell
 * Owns:     its tables
 * Fails:    -ENOMEM
 * Why cells are joined during the recording: its length and the number of stacks per cell are known
 *           only at its end. When cells of 20 ms become too many, each two are joined, which loses
 *           only detail.
 */
#include "page/scope/cells.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"

void scope_cells_init(struct scope_cells *cells, const struct scope_grid *grid)
{
	*cells = (struct scope_cells){.grid = *grid, .asked_row_ns = grid->row_ns};
}

void scope_cells_fini(struct scope_cells *cells)
{
	if (!cells)
		return;
	free(cells->items);
	free(cells->values);
	pair_map_fini(&cells->item_numbers);
	pair_map_fini(&cells->value_numbers);
}

void scope_cells_clear(struct scope_cells *cells, const struct scope_grid *grid, uint64_t origin_ns)
{
	scope_cells_fini(cells);
	scope_cells_init(cells, grid);
	cells->origin_ns = origin_ns;
}

static int find_item(struct scope_cells *cells, const struct scope_item *item, uint32_t *ret_number)
{
	uint64_t key = (uint64_t)item->kind << 32 | item->part;

	*ret_number = pair_map_add(&cells->item_numbers, key, item->index, cells->items,
				   cells->items_capacity, cells->items_count, *item);
	return *ret_number == PAIR_MAP_NONE ? -ENOMEM : 0;
}

static int put_value(struct scope_cells *cells, const struct scope_value *value)
{
	uint32_t number =
		pair_map_add(&cells->value_numbers, value->cell, value->item, cells->values,
			     cells->values_capacity, cells->values_count,
			     (struct scope_value){.cell = value->cell, .item = value->item});

	if (number == PAIR_MAP_NONE)
		return -ENOMEM;
	cells->values[number].value += value->value;
	return 0;
}

static uint64_t twice(uint64_t ns)
{
	return ns > UINT64_MAX / 2 ? UINT64_MAX : 2 * ns;
}

static int join_cells(struct scope_cells *cells)
{
	size_t count = cells->values_count;
	int error = 0;

	cells->grid.row_ns = twice(cells->grid.row_ns);
	cells->values_count = 0;
	pair_map_fini(&cells->value_numbers);
	pair_map_init(&cells->value_numbers);
	for (size_t i = 0; i < count && !error; i++) {
		struct scope_value value = cells->values[i];

		value.cell /= 2;
		error = put_value(cells, &value);
	}
	return error;
}

static uint64_t cell_of(const struct scope_cells *cells, uint64_t time_ns)
{
	return time_ns > cells->origin_ns ? (time_ns - cells->origin_ns) / cells->grid.row_ns : 0;
}

static int make_room(struct scope_cells *cells, uint64_t last_ns)
{
	const size_t most = cells->grid.max_values ? cells->grid.max_values : MAX_SCOPE_VALUES;
	int error = 0;

	while (!error && cells->grid.row_ns < UINT64_MAX &&
	       (cell_of(cells, last_ns) >= MAX_SCOPE_CELLS ||
		(cells->values_count >= most && cell_of(cells, last_ns))))
		error = join_cells(cells);
	return error;
}

/* The part of an amount up to a time. Rounding it together with `before` keeps the sum of all parts
 * exact. */
static uint64_t given_until(const struct scope_amount *amount, uint64_t time_ns)
{
	const unsigned __int128 passed = time_ns - amount->begin;
	const uint64_t length = amount->end - amount->begin;

	if (time_ns >= amount->end)
		return amount->by;
	return (uint64_t)((amount->before + amount->by) * passed / length) -
	       (uint64_t)(amount->before * passed / length);
}

/* The end of a cell; UINT64_MAX if it exceeds 64 bits, because damaged and hostile traces have
 * times close to 2^64. */
static uint64_t end_of_cell(const struct scope_cells *cells, uint32_t cell)
{
	uint64_t end_ns;

	return __builtin_mul_overflow(cell + UINT64_C(1), cells->grid.row_ns, &end_ns) ||
			       __builtin_add_overflow(end_ns, cells->origin_ns, &end_ns)
		       ? UINT64_MAX
		       : end_ns;
}

int scope_cells_add(struct scope_cells *cells, const struct scope_item *item,
		    const struct scope_amount *amount)
{
	const bool is_moment = amount->begin >= amount->end;
	uint64_t given = 0;
	uint32_t number;
	int error = find_item(cells, item, &number);

	for (uint64_t at = amount->begin; !error && given != amount->by;) {
		struct scope_value value = {.item = number};

		error = make_room(cells, is_moment ? at : amount->end - 1);
		value.cell = (uint32_t)cell_of(cells, at);
		at = end_of_cell(cells, value.cell);
		value.value = given_until(amount, at) - given;
		given += value.value;
		if (!error && value.value)
			error = put_value(cells, &value);
	}
	return error;
}

/* Sorts values by cell. The order within a cell is kept, because the page gives remainders of
 * rounding to the first values. */
static int sort_by_cell(struct scope_cells *cells, uint32_t count)
{
	auto_free struct scope_value *sorted = calloc(cells->values_count + 1, sizeof(*sorted));
	auto_free size_t *starts = calloc(count + (size_t)2, sizeof(*starts));

	if (!sorted || !starts)
		return -ENOMEM;
	for (size_t i = 0; i < cells->values_count; i++)
		starts[cells->values[i].cell + 1]++;
	for (uint32_t i = 0; i < count; i++)
		starts[i + 1] += starts[i];
	for (size_t i = 0; i < cells->values_count; i++)
		sorted[starts[cells->values[i].cell]++] = cells->values[i];
	free(cells->values);
	cells->values = take_ptr(sorted);
	cells->values_capacity = cells->values_count + 1;
	return 0;
}

int scope_cells_finish(struct scope_cells *cells, uint64_t end_ns)
{
	int error = make_room(cells, end_ns > cells->origin_ns ? end_ns - 1 : end_ns);

	return error ? error : sort_by_cell(cells, MAX_SCOPE_CELLS);
}
