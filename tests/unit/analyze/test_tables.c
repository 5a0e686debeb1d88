/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_tables.c - pair_map, quantile and correlate against plain arrays
 */
#include <stdlib.h>

#include "analyze/join/correlate.h"
#include "base/order/quantile.h"
#include "harness.h"

TEST(pair_map_agrees_with_an_array)
{
	static uint32_t model[64][64];
	struct pair_map map;
	size_t count = 0, wrong = 0;

	memset(model, 0xff, sizeof(model));
	pair_map_init(&map);
	srand(1);
	CHECK_EQUAL(pair_map_find(&map, 0, 0), PAIR_MAP_NONE);
	for (uint32_t turn = 0; turn < 200000; turn++) {
		unsigned int first = (unsigned int)rand() % 64, second = (unsigned int)rand() % 64;
		uint64_t key = (uint64_t)second << 32;

		wrong += pair_map_find(&map, first, key) != model[first][second];
		if (rand() % 2) {
			wrong += pair_map_put(&map, first, key, turn) != 0;
			count += model[first][second] == PAIR_MAP_NONE;
			model[first][second] = turn;
		} else {
			wrong += pair_map_remove(&map, first, key) != model[first][second];
			count -= model[first][second] != PAIR_MAP_NONE;
			model[first][second] = PAIR_MAP_NONE;
		}
		wrong += map.count != count;
	}
	CHECK_EQUAL(wrong, 0);
	pair_map_fini(&map);
}

TEST(quantile_exact)
{
	struct quantile quantile;

	quantile_init(&quantile);
	CHECK_EQUAL(quantile_get(&quantile, 50, 100), 0);
	for (uint64_t i = 1; i <= 100; i++)
		CHECK_EQUAL(quantile_add(&quantile, 101 - i), 0);
	CHECK_EQUAL(quantile_get(&quantile, 50, 100), 50);
	CHECK_EQUAL(quantile_get(&quantile, 99, 100), 99);
	CHECK_EQUAL(quantile_get(&quantile, 100, 100), 100);
	CHECK_EQUAL(quantile_get(&quantile, 0, 100), 1);
	CHECK_EQUAL(quantile.sum, 5050);
	quantile_fini(&quantile);
}

TEST(quantile_bounded)
{
	struct quantile quantile;

	quantile_init(&quantile);
	for (uint64_t i = 1; i <= 1000000; i++)
		CHECK_EQUAL(quantile_add(&quantile, i * 1000), 0);
	for (unsigned int q = 1; q <= 99; q++) {
		double want = q * 1e7, got = (double)quantile_get(&quantile, q, 100);

		CHECK(got > want * 0.996 && got < want * 1.004);
	}
	CHECK_EQUAL(quantile_add(&quantile, UINT64_MAX), 0);
	CHECK_EQUAL(quantile_get(&quantile, 1, 1), UINT64_MAX);
	quantile_fini(&quantile);
}

TEST(quantile_merged)
{
	/* numbers of values: exact with exact, exact with classes, both ways */
	static const uint64_t counts[][2] = {
		{100, 50}, {1000, 900}, {5000, 10}, {10, 5000}, {0, 9}};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct quantile merged = {.min = UINT64_MAX}, other = {.min = UINT64_MAX},
				whole = {.min = UINT64_MAX};

		for (uint64_t j = 0; j < counts[i][0] + counts[i][1]; j++) {
			const uint64_t value = j * 7919 % 100003;

			CHECK_EQUAL(quantile_add(j < counts[i][0] ? &merged : &other, value), 0);
			CHECK_EQUAL(quantile_add(&whole, value), 0);
		}
		CHECK_EQUAL(quantile_merge(&merged, &other), 0);
		CHECK_EQUAL(merged.count, whole.count);
		CHECK_EQUAL(merged.sum, whole.sum);
		CHECK_EQUAL(merged.min, whole.min);
		CHECK_EQUAL(merged.max, whole.max);
		for (unsigned int q = 0; q <= 100; q += 5)
			CHECK_EQUAL(quantile_get(&merged, q, 100), quantile_get(&whole, q, 100));
		quantile_fini(&merged);
		quantile_fini(&other);
		quantile_fini(&whole);
	}
}

static uint32_t launch(struct correlate *correlate, uint64_t correlation, uint64_t enter,
		       uint64_t handle)
{
	struct event_launch row = {
		.correlation = correlation, .enter = enter, .exit = enter + 1, .handle = handle};
	uint32_t place = CORRELATE_NONE;

	CHECK_EQUAL(correlate_launch(correlate, 1, &row, &place), 0);
	return place;
}

static void depend(struct correlate *correlate, uint64_t correlation, uint64_t time,
		   uint64_t handle)
{
	struct event_dependency row = {
		.process = 1, .correlation = correlation, .time = time, .handle = handle};

	CHECK_EQUAL(correlate_dependency(correlate, &row), 0);
}

static uint64_t end_of_dependency(const struct correlate *correlate, uint32_t place, uint64_t after,
				  uint64_t until)
{
	const uint32_t last = correlate_dependency_last(correlate, place, after, until);

	return last == CORRELATE_NONE ? 0 : correlate->commands[last].ended;
}

TEST(a_handle_means_its_latest_launch)
{
	struct correlate correlate;
	uint32_t one, two, three;

	correlate_init(&correlate);
	one = launch(&correlate, 1, 10, 0xa);
	two = launch(&correlate, 2, 20, 0xa); /* the handle again */
	depend(&correlate, 3, 30, 0xa);       /* before its launch: same moment */
	depend(&correlate, 3, 30, 0xb);       /* of nobody */
	three = launch(&correlate, 3, 30, 0xa);
	CHECK_EQUAL(correlate_done(&correlate, one, 500), 0);
	CHECK_EQUAL(end_of_dependency(&correlate, three, 40, 1000), 0);
	CHECK_EQUAL(correlate_done(&correlate, two, 600), 0);
	CHECK_EQUAL(end_of_dependency(&correlate, three, 40, 1000), 600);
	CHECK_EQUAL(end_of_dependency(&correlate, three, 600, 1000), 0);
	CHECK_EQUAL(end_of_dependency(&correlate, three, 40, 599), 0);
	CHECK_EQUAL(correlate_done(&correlate, three, 700), 0);
	correlate_expire(&correlate, 700);
	CHECK_EQUAL(correlate.open.count, 0);
	CHECK_EQUAL(correlate.handles.count, 0);
	CHECK_EQUAL(correlate.free_count, correlate.count);
	correlate_fini(&correlate);
}

static void set_event(struct correlate *correlate, uint64_t begin, uint64_t handle)
{
	const struct event_api row = {.begin = begin, .argument = handle, .stack = 9};

	correlate_signal(correlate, 1, 7, &row);
}

TEST(an_event_that_the_program_sets_ends_a_wait)
{
	struct correlate correlate;
	uint32_t one, two, last;

	correlate_init(&correlate);
	depend(&correlate, 1, 10, 0xe);
	one = launch(&correlate, 1, 10, 0);
	depend(&correlate, 2, 20, 0xe); /* the same event */
	two = launch(&correlate, 2, 20, 0);
	CHECK_EQUAL(end_of_dependency(&correlate, one, 11, 1000), 0);
	set_event(&correlate, 500, 0xe);
	set_event(&correlate, 600, 0xe); /* it is set only once */
	set_event(&correlate, 600, 0xf); /* no command waits for it */
	last = correlate_dependency_last(&correlate, one, 11, 1000);
	REQUIRE(last != CORRELATE_NONE);
	CHECK(correlate.commands[last].is_event);
	CHECK_EQUAL(correlate.commands[last].ended, 500);
	CHECK_EQUAL(correlate.commands[last].thread, 7);
	CHECK_EQUAL(correlate.commands[last].stack, 9);
	CHECK_EQUAL(end_of_dependency(&correlate, two, 21, 1000), 500);
	CHECK_EQUAL(correlate_done(&correlate, one, 700), 0);
	CHECK_EQUAL(correlate_done(&correlate, two, 700), 0);
	CHECK_EQUAL(correlate.free_count, correlate.count);
	correlate_fini(&correlate);
}

TEST(an_event_that_is_never_set_is_kept_for_its_commands_only)
{
	struct correlate correlate;
	uint32_t place;

	correlate_init(&correlate);
	for (uint64_t i = 1; i <= 1000; i++) {
		depend(&correlate, i, i, 0xe);
		place = launch(&correlate, i, i, 0);
		CHECK_EQUAL(correlate_done(&correlate, place, i + 5), 0);
	}
	CHECK_EQUAL(correlate.handles.count, 0);
	CHECK_EQUAL(correlate.free_count, correlate.count);
	CHECK(correlate.count <= 2);
	correlate_fini(&correlate);
}

TEST(memory_is_of_open_commands_only)
{
	struct correlate correlate;

	correlate_init(&correlate);
	for (uint64_t i = 1; i <= 100000; i++) {
		uint32_t place;

		if (i > 1)
			depend(&correlate, i, 10 * i, 0x1000 + i - 1);
		place = launch(&correlate, i, 10 * i, 0x1000 + i);
		correlate_expire(&correlate, 10 * i + 2);
		CHECK_EQUAL(correlate_done(&correlate, place, 10 * i + 5), 0);
	}
	CHECK(correlate.count < 8);
	CHECK(correlate.waits_count < 8);
	correlate_fini(&correlate);
}

int main(void)
{
	RUN(pair_map_agrees_with_an_array);
	RUN(quantile_exact);
	RUN(quantile_bounded);
	RUN(quantile_merged);
	RUN(a_handle_means_its_latest_launch);
	RUN(an_event_that_the_program_sets_ends_a_wait);
	RUN(an_event_that_is_never_set_is_kept_for_its_commands_only);
	RUN(memory_is_of_open_commands_only);
	return harness_end();
}
