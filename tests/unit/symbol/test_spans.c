/* SPDX-License-Identifier: MIT
 *
 * Flat tables against a search of the whole list, nested properly and not.
 */
#include <stdint.h>

#include "harness.h"
#include "symbol/interval_map.h"

static uint64_t state = 1;

static uint64_t random_below(uint64_t limit)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % limit;
}

static bool is_better(const struct interval *a, const struct interval *b)
{
	if (!b || a->depth != b->depth)
		return !b || a->depth > b->depth;
	if (a->start != b->start)
		return a->start > b->start;
	if (a->end != b->end)
		return a->end < b->end;
	return a->value > b->value;
}

static void compare(size_t count, uint64_t limit, uint32_t depths)
{
	struct span_table table = {0};
	int wrong = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t start = random_below(limit);

		REQUIRE(span_table_add(&table, &(struct interval){start, start + random_below(20),
								  (uint32_t)random_below(depths),
								  (uint32_t)i}) == 0);
	}
	REQUIRE(span_table_build(&table) == 0);
	for (uint64_t address = 0; address < limit + 30; address++) {
		const struct interval *best = NULL, *found = span_table_find(&table, address);

		for (size_t i = 0; i < table.interval_count; i++) {
			const struct interval *interval = &table.intervals[i];

			if (interval->start <= address && address < interval->end &&
			    is_better(interval, best))
				best = interval;
		}
		wrong += found != best;
	}
	CHECK_EQUAL(wrong, 0);
	span_table_fini(&table);
}

TEST(random_intervals)
{
	for (int i = 0; i < 200; i++) {
		compare(random_below(60), 100, 1);
		compare(random_below(60), 100, 4);
		compare(random_below(60), 1000, 60);
	}
}

TEST(nested)
{
	struct span_table table = {0};
	const struct interval *found;

	CHECK(!span_table_find(&table, 0));
	/* a function, two calls inlined into it, one into the first of them */
	CHECK(span_table_add(&table, &(struct interval){100, 200, 1, 0}) == 0);
	CHECK(span_table_add(&table, &(struct interval){110, 150, 2, 1}) == 0);
	CHECK(span_table_add(&table, &(struct interval){110, 120, 3, 2}) == 0);
	CHECK(span_table_add(&table, &(struct interval){150, 160, 2, 3}) == 0);
	CHECK(span_table_add(&table, &(struct interval){170, 170, 9, 4}) == 0);
	CHECK(span_table_add(&table, &(struct interval){190, 180, 9, 5}) == 0);
	CHECK(span_table_add(&table, &(struct interval){UINT64_MAX - 1, UINT64_MAX, 0, 6}) == 0);
	REQUIRE(span_table_build(&table) == 0);
	CHECK(!span_table_find(&table, 99));
	for (uint64_t address = 100; address < 200; address++) {
		uint32_t want = address >= 150 && address < 160   ? 3
				: address >= 110 && address < 120 ? 2
				: address >= 110 && address < 150 ? 1
								  : 0;

		found = span_table_find(&table, address);
		CHECK(found && found->value == want);
	}
	CHECK(!span_table_find(&table, 200));
	found = span_table_find(&table, UINT64_MAX - 1);
	CHECK(found && found->value == 6);
	CHECK(!span_table_find(&table, UINT64_MAX));
	span_table_fini(&table);
}

int main(void)
{
	RUN(random_intervals);
	RUN(nested);
	return harness_end();
}
