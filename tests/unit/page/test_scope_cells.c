/* SPDX-License-Identifier: MIT
 *
 * tests/unit/export/test_scope_cells.c - values by cell: what lasts, what is shared, cells that are
 * joined
 */
#include "page/scope/cells.h"
#include "harness.h"

#define ROW_NS UINT64_C(1000)

static const struct scope_item one = {DRAWN_PATH, 7, 0}, two = {DRAWN_PATH, 8, 0};

static void begin(struct scope_cells *cells, uint64_t origin_ns)
{
	*cells = (struct scope_cells){0};
	scope_cells_clear(cells, &(struct scope_grid){.row_ns = ROW_NS, .rows = 50}, origin_ns);
}

static void add(struct scope_cells *cells, const struct scope_item *item, uint64_t from,
		uint64_t to, uint64_t by)
{
	const struct scope_amount amount = {.begin = from, .end = to, .by = by};

	CHECK_EQUAL(scope_cells_add(cells, item, &amount), 0);
}

/* Of all items together. */
static uint64_t in_cell(const struct scope_cells *cells, uint32_t cell)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < cells->values_count; i++)
		sum += cells->values[i].cell == cell ? cells->values[i].value : 0;
	return sum;
}

static uint64_t sum_of(const struct scope_cells *cells)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < cells->values_count; i++)
		sum += cells->values[i].value;
	return sum;
}

TEST(what_lasts_is_spread_evenly)
{
	struct scope_cells cells;

	begin(&cells, 5000);
	add(&cells, &one, 5500, 8500, 3000);
	add(&cells, &one, 5500, 8500, 1000);
	add(&cells, &two, 6000, 6000, 9);
	CHECK_EQUAL(scope_cells_finish(&cells, 9000), 0);
	CHECK_EQUAL(in_cell(&cells, 0), 500 + 166);
	CHECK_EQUAL(in_cell(&cells, 1), 1000 + 334 + 9);
	CHECK_EQUAL(in_cell(&cells, 2), 1000 + 333);
	CHECK_EQUAL(in_cell(&cells, 3), 500 + 167);
	scope_cells_fini(&cells);
}

TEST(parts_of_a_stretch_add_up_in_each_cell)
{
	struct scope_cells cells;
	const uint64_t length = 4321, share = length / 3;

	begin(&cells, 0);
	for (uint32_t i = 0; i < 3; i++) {
		const struct scope_item item = {DRAWN_PATH, i, 0};
		const struct scope_amount amount = {.begin = 100,
						    .end = 100 + length,
						    .by = i < 2 ? share : length - 2 * share,
						    .before = i * share};

		CHECK_EQUAL(scope_cells_add(&cells, &item, &amount), 0);
	}
	CHECK_EQUAL(scope_cells_finish(&cells, 5000), 0);
	CHECK_EQUAL(in_cell(&cells, 0), 900);
	for (uint32_t cell = 1; cell < 4; cell++)
		CHECK_EQUAL(in_cell(&cells, cell), 1000);
	CHECK_EQUAL(in_cell(&cells, 4), 421);
	scope_cells_fini(&cells);
}

TEST(what_is_taken_back_leaves_nothing)
{
	struct scope_cells cells;

	begin(&cells, 0);
	add(&cells, &one, 10, 10, 1);
	add(&cells, &two, 20, 20, 1);
	add(&cells, &one, 10, 10, (uint64_t)-1);
	CHECK_EQUAL(sum_of(&cells), 1);
	scope_cells_fini(&cells);
}

TEST(cells_that_are_too_many_are_joined)
{
	struct scope_cells cells;
	const uint64_t last = (uint64_t)MAX_SCOPE_CELLS * ROW_NS * 3;

	begin(&cells, 0);
	add(&cells, &one, 500, 500, 3);
	add(&cells, &one, 1500, 1500, 4);
	add(&cells, &two, 0, last, last);
	CHECK_EQUAL(scope_cells_finish(&cells, last), 0);
	CHECK_EQUAL(cells.grid.row_ns, 4 * ROW_NS);
	CHECK_EQUAL(in_cell(&cells, 0), 4 * ROW_NS + 7);
	CHECK_EQUAL(sum_of(&cells), last + 7);
	scope_cells_fini(&cells);
}

TEST(an_end_without_values_joins_too)
{
	struct scope_cells cells;

	begin(&cells, 0);
	add(&cells, &one, 1500, 1500, 4);
	CHECK_EQUAL(scope_cells_finish(&cells, MAX_SCOPE_CELLS * ROW_NS + 1), 0);
	CHECK_EQUAL(cells.grid.row_ns, 2 * ROW_NS);
	CHECK_EQUAL(in_cell(&cells, 0), 4);
	scope_cells_fini(&cells);
}

TEST(values_that_are_too_many_join_cells)
{
	struct scope_cells cells;
	const uint32_t items = 250, moments = MAX_SCOPE_VALUES / items + 1000;

	begin(&cells, 0);
	for (uint32_t i = 0; i < moments; i++)
		for (uint32_t j = 0; j < items; j++)
			add(&cells, &(struct scope_item){DRAWN_SAMPLE, j, 0}, i * ROW_NS,
			    i * ROW_NS, 2);
	CHECK_EQUAL(scope_cells_finish(&cells, moments * ROW_NS), 0);
	CHECK_EQUAL(cells.grid.row_ns, 2 * ROW_NS);
	CHECK(cells.values_count <= MAX_SCOPE_VALUES);
	CHECK_EQUAL(in_cell(&cells, 0), 4 * items);
	CHECK_EQUAL(sum_of(&cells), (uint64_t)2 * items * moments);
	scope_cells_fini(&cells);
}

/* All of it is in the first and the last cell of a recording that ends where 64 bits end; before
 * this test a wrapped end of a cell divided by zero, or the loop did not end. */
TEST(the_last_cell_of_64_bits_has_an_end)
{
	struct scope_cells cells;
	const uint64_t last = UINT64_MAX;

	begin(&cells, 500);
	add(&cells, &one, last - 10, last, 10);
	add(&cells, &one, last - 1, last, 3);
	add(&cells, &two, last, last, 7);
	add(&cells, &two, 0, last, last);
	add(&cells, &two, last, 600, 5); /* ends before it begins */
	CHECK_EQUAL(scope_cells_finish(&cells, last), 0);
	CHECK_EQUAL(sum_of(&cells), last + 25);
	for (size_t i = 0; i < cells.values_count; i++)
		CHECK(cells.values[i].cell < MAX_SCOPE_CELLS);
	scope_cells_fini(&cells);
}

/* As above, with an origin from which the last cell would end beyond 64 bits. */
TEST(a_late_origin_has_cells)
{
	struct scope_cells cells;

	begin(&cells, UINT64_MAX - 10);
	add(&cells, &one, UINT64_MAX - 5, UINT64_MAX - 2, 3);
	add(&cells, &two, UINT64_MAX - 4, UINT64_MAX - 4, 4);
	CHECK_EQUAL(scope_cells_finish(&cells, UINT64_MAX), 0);
	CHECK_EQUAL(in_cell(&cells, 0), 7);
	scope_cells_fini(&cells);
}

int main(void)
{
	RUN(the_last_cell_of_64_bits_has_an_end);
	RUN(a_late_origin_has_cells);
	RUN(what_lasts_is_spread_evenly);
	RUN(parts_of_a_stretch_add_up_in_each_cell);
	RUN(what_is_taken_back_leaves_nothing);
	RUN(cells_that_are_too_many_are_joined);
	RUN(an_end_without_values_joins_too);
	RUN(values_that_are_too_many_join_cells);
	return harness_end();
}
