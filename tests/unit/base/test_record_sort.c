/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_record_sort.c - records come in order, in memory and from a temporary file
 */
#include "harness.h"

#include <stdint.h>

#include "base/order/number_stream.h"
#include "base/order/record_sort.h"

/* 16 MB: four runs of a buffer of 4 MiB. */
enum { MANY = 1000000, FEW = 100 };

struct record {
	uint32_t number, payload[3];
};

static void sort_and_check(uint32_t count)
{
	struct record_sort *sort;
	const void *next;

	REQUIRE(record_sort_new(sizeof(struct record), number_stream_compare, &sort) == 0);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t number = (uint32_t)((uint64_t)i * 7919 % count);

		REQUIRE(record_sort_add(sort, &(struct record){number, {number + 1, 2, 3}}) == 0);
	}
	REQUIRE(record_sort_finish(sort) == 0);
	for (uint32_t i = 0; i < count; i++) {
		const struct record *record;

		REQUIRE(record_sort_next(sort, &next) == 0);
		record = next;
		REQUIRE(record && record->number == i && record->payload[0] == i + 1);
	}
	REQUIRE(record_sort_next(sort, &next) == 0);
	CHECK(!next);
	record_sort_free(sort);
}

TEST(sorts_in_memory)
{
	sort_and_check(FEW);
}

TEST(sorts_more_than_fits_into_memory)
{
	sort_and_check(MANY);
}

TEST(finds_the_records_of_some_numbers)
{
	struct number_stream stream = {0};
	const void *found;

	REQUIRE(record_sort_new(sizeof(uint32_t), number_stream_compare, &stream.sort) == 0);
	for (uint32_t i = 0; i < FEW; i++)
		REQUIRE(record_sort_add(stream.sort, &(uint32_t){2 * (FEW - 1 - i)}) == 0);
	REQUIRE(record_sort_finish(stream.sort) == 0);
	for (uint32_t i = 0; i < 2 * FEW + 5; i++) {
		REQUIRE(number_stream_find(&stream, i, &found) == 0);
		CHECK_EQUAL(found != NULL, i % 2 == 0 && i < 2 * FEW);
	}
	record_sort_free(stream.sort);
}

int main(void)
{
	RUN(sorts_in_memory);
	RUN(sorts_more_than_fits_into_memory);
	RUN(finds_the_records_of_some_numbers);
	return harness_end();
}
