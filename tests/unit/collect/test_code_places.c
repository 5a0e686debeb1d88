/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_code_places.c - kernels by where they lie: found, taken out, and how much
 * that costs
 */
#include "collect/intel/code_places.h"

#include <stdlib.h>
#include <time.h>

#include "harness.h"

enum { PAGE = 4096 };

static struct code_places places;

static void put(uint64_t vm, uint64_t address, uint32_t process, uint32_t device, uint32_t id)
{
	const struct code_place place = {vm, address, process, device};

	if (code_places_find(&places, &place) || code_places_put(&places, &place, id))
		abort();
}

static uint32_t find(uint64_t vm, uint64_t address, uint32_t process, uint32_t device)
{
	const struct code_place place = {vm, address, process, device};

	return code_places_find(&places, &place);
}

TEST(each_part_of_a_place_tells_it_from_others)
{
	code_places_init(&places);
	put(1, PAGE, 3, 4, 10);
	put(2, PAGE, 3, 4, 11);
	put(1, PAGE, 5, 4, 12);
	put(1, PAGE, 3, 6, 13);
	put(1, UINT64_MAX, 3, 4, 14);
	put(1, 0, 3, 4, 15);
	CHECK_EQUAL(find(1, PAGE, 3, 4), 10);
	CHECK_EQUAL(find(2, PAGE, 3, 4), 11);
	CHECK_EQUAL(find(1, PAGE, 5, 4), 12);
	CHECK_EQUAL(find(1, PAGE, 3, 6), 13);
	CHECK_EQUAL(find(1, UINT64_MAX, 3, 4), 14);
	CHECK_EQUAL(find(1, 0, 3, 4), 15);
	CHECK_EQUAL(find(1, PAGE + 1, 3, 4), 0);
	CHECK_EQUAL(places.count, 6);
	code_places_fini(&places);
}

TEST(a_range_has_what_begins_in_it)
{
	uint32_t sum = 0, id;

	code_places_init(&places);
	for (uint32_t i = 1; i <= 8; i++)
		put(7, (uint64_t)i * PAGE, 1, 1, i);
	put(7, 4 * PAGE, 2, 1, 100);
	put(8, 4 * PAGE, 1, 1, 200);
	CHECK_EQUAL(code_places_take(&places, 7, 4 * PAGE, 4 * PAGE), 0);
	CHECK_EQUAL(code_places_take(&places, 7, 4 * PAGE + 1, 5 * PAGE), 0);
	CHECK_EQUAL(code_places_take(&places, 9, 0, UINT64_MAX), 0);
	while ((id = code_places_take(&places, 7, 3 * PAGE, 5 * PAGE)))
		sum += id;
	CHECK_EQUAL(sum, 3 + 4 + 100);
	CHECK_EQUAL(find(7, 5 * PAGE, 1, 1), 5);
	CHECK_EQUAL(find(8, 4 * PAGE, 1, 1), 200);
	CHECK_EQUAL(find(7, 4 * PAGE, 1, 1), 0);
	CHECK_EQUAL(places.count, 7);
	code_places_fini(&places);
}

TEST(a_process_takes_its_own_with_it)
{
	uint32_t sum = 0, id;

	code_places_init(&places);
	for (uint32_t i = 1; i <= 6; i++)
		put(7, (uint64_t)i * PAGE, 1 + i % 2, 1, i);
	CHECK_EQUAL(code_places_take(&places, 7, 3 * PAGE, 4 * PAGE), 3);
	while ((id = code_places_take_of(&places, 2)))
		sum += id;
	CHECK_EQUAL(sum, 1 + 5);
	sum = 0;
	while ((id = code_places_take_any(&places)))
		sum += id;
	CHECK_EQUAL(sum, 2 + 4 + 6);
	CHECK_EQUAL(places.count, 0);
	CHECK(!places.tree);
	code_places_fini(&places);
}

/* Against a plain list of all. */
TEST(as_a_list_would_have_it)
{
	enum { SLOTS = 64, ROUNDS = 20000 };
	uint32_t list[3][SLOTS] = {0}, seed = 1, next = 0;

	code_places_init(&places);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t vm, slot, end, id;

		seed = seed * 1664525 + 1013904223;
		vm = (seed >> 8) % 3;
		slot = (seed >> 12) % SLOTS;
		end = slot + (seed >> 20) % 8;
		if (seed >> 30) {
			if (!list[vm][slot])
				put(vm, slot * PAGE, vm + 1, 1, list[vm][slot] = ++next);
			continue;
		}
		while ((id = code_places_take(&places, vm, slot * PAGE, (uint64_t)end * PAGE))) {
			uint32_t at = slot;

			while (at < end && at < SLOTS && list[vm][at] != id)
				at++;
			REQUIRE(at < end && at < SLOTS);
			list[vm][at] = 0;
		}
		for (uint32_t i = slot; i < end && i < SLOTS; i++)
			CHECK_EQUAL(list[vm][i], 0);
	}
	for (uint32_t vm = 0; vm < 3; vm++)
		for (uint32_t i = 0; i < SLOTS; i++)
			CHECK_EQUAL(find(vm, i * PAGE, vm + 1, 1), list[vm][i]);
	code_places_fini(&places);
}

/* To go through all for each range would be 10^10 steps: minutes. */
TEST(a_range_costs_no_look_at_all_others)
{
	enum { CODES = 100000, RANGES = 100000, MAX_SECONDS = 10 };
	const clock_t begin = clock();
	uint32_t found = 0;

	code_places_init(&places);
	for (uint32_t i = 0; i < CODES; i++)
		put(i % 100, (uint64_t)i << 16, 1, 1, i + 1);
	for (uint32_t i = 0; i < RANGES; i++)
		found += code_places_take(&places, i % 100, ((uint64_t)i << 16) + 1,
					  (uint64_t)(i + 1) << 16) != 0;
	CHECK_EQUAL(found, 0);
	CHECK_EQUAL(places.count, CODES);
	CHECK((clock() - begin) / CLOCKS_PER_SEC < MAX_SECONDS);
	while (code_places_take_of(&places, 1))
		found++;
	CHECK_EQUAL(found, CODES);
	code_places_fini(&places);
}

int main(void)
{
	RUN(each_part_of_a_place_tells_it_from_others);
	RUN(a_range_has_what_begins_in_it);
	RUN(a_process_takes_its_own_with_it);
	RUN(as_a_list_would_have_it);
	RUN(a_range_costs_no_look_at_all_others);
	return harness_end();
}
