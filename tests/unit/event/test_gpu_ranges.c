/* SPDX-License-Identifier: MIT
 *
 * tests/unit/event/test_gpu_ranges.c - ranges of an address space in buckets, beside a list of all
 * pages
 *
 * As src/bpf/xe.bpf.c puts them there, with an array in the hash table's place.
 */
#define GPU_RANGES_FUNCTION static
#include "bpf/gpu_ranges.bpf.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "harness.h"

enum { PAGE = 4096, PAGES = 3 << 14, BUCKETS = 4096, STEPS = 20000, LOOKS = 16 };
/* Across a border of buckets of three levels. */
#define BEGIN (UINT64_C(0x80000000) - (UINT64_C(1) << 26))

static struct gpu_bucket_key keys[BUCKETS];
static struct gpu_bucket buckets[BUCKETS];
static size_t buckets_count;
static struct gpu_range model[PAGES]; /* of each page; object 0: nothing */

static uint64_t random_number(void)
{
	static uint64_t value = 88172645463325252;

	value ^= value << 13;
	value ^= value >> 7;
	value ^= value << 17;
	return value;
}

static struct gpu_bucket *bucket_of(uint32_t level, uint64_t number, bool make)
{
	for (size_t i = 0; i < buckets_count; i++)
		if (keys[i].level == level && keys[i].number == number)
			return &buckets[i];
	if (!make || buckets_count == BUCKETS)
		return NULL;
	keys[buckets_count] = (struct gpu_bucket_key){.number = number, .level = level};
	return &buckets[buckets_count++];
}

static void cut(uint64_t begin, uint64_t end)
{
	for (uint32_t level = 0; level < GPU_RANGE_LEVELS; level++) {
		const uint64_t count = gpu_range_buckets(begin, end, level);

		for (uint64_t i = 0; i < count; i++)
			gpu_bucket_cut(
				bucket_of(level, (begin >> gpu_range_shift(level)) + i, false),
				begin, end);
	}
}

static void put(const struct gpu_range *range)
{
	const uint32_t level = gpu_range_level(range->end - range->begin);
	const uint64_t first = range->begin >> gpu_range_shift(level);
	const uint64_t count = gpu_range_buckets(range->begin, range->end, level);

	CHECK(count <= 2);
	for (uint64_t i = 0; i < count; i++) {
		struct gpu_range part = *range;

		gpu_range_clip(&part, first + i, level);
		gpu_bucket_put(bucket_of(level, first + i, true), &part);
	}
}

/* How many levels know the address; the last one's range. */
static uint32_t find(uint64_t address, struct gpu_range *ret_range)
{
	uint32_t found = 0;

	for (uint32_t level = 0; level < GPU_RANGE_LEVELS; level++)
		found += gpu_bucket_find(bucket_of(level, address >> gpu_range_shift(level), false),
					 address, ret_range) != 0;
	return found;
}

static void change(uint64_t number)
{
	static const uint32_t sizes[] = {1, 4, 64, 600, 20000};
	const uint64_t most = sizes[random_number() % 5];
	const uint64_t pages = 1 + random_number() % most, at = random_number() % (PAGES - pages);
	const struct gpu_range range = {.begin = BEGIN + at * PAGE,
					.end = BEGIN + (at + pages) * PAGE,
					.object = random_number() % 4,
					.offset = (random_number() % 16) * PAGE,
					.number = number};

	cut(range.begin, range.end);
	if (range.object)
		put(&range);
	for (uint64_t i = 0; i < pages; i++) {
		model[at + i] = range;
		model[at + i].offset += i * PAGE;
	}
}

static uint32_t lost(void)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < buckets_count; i++)
		sum += buckets[i].lost;
	return sum;
}

TEST(as_all_pages_say)
{
	uint32_t known = 0, unknown = 0;

	for (uint64_t step = 1; step <= STEPS && !harness_failed; step++) {
		change(step);
		for (int i = 0; i < LOOKS; i++) {
			const uint64_t page = random_number() % PAGES;
			const uint64_t address = BEGIN + page * PAGE + random_number() % PAGE;
			const struct gpu_range *want = &model[page];
			struct gpu_range got = {0};
			const uint32_t found = find(address, &got);

			CHECK(found <= 1);
			if (!want->object) {
				CHECK_EQUAL(found, 0);
				continue;
			}
			known += found;
			unknown += !found;
			if (!found)
				continue;
			CHECK_EQUAL(got.object, want->object);
			CHECK_EQUAL(got.number, want->number);
			CHECK_EQUAL(got.offset + (address - got.begin),
				    want->offset + address % PAGE);
		}
	}
	CHECK(known > STEPS);
	if (!lost())
		CHECK_EQUAL(unknown, 0);
	printf("# %u known, %u not, %u parts without room\n", known, unknown, lost());
}

TEST(levels_are_by_size)
{
	CHECK_EQUAL(gpu_range_level(1), 0);
	CHECK_EQUAL(gpu_range_level(2 << 20), 0);
	CHECK_EQUAL(gpu_range_level((2 << 20) + 1), 1);
	CHECK_EQUAL(gpu_range_level(UINT64_C(64) << 30), 3);
	CHECK_EQUAL(gpu_range_level((UINT64_C(64) << 30) + 1), GPU_RANGE_LEVELS);
}

TEST(what_has_no_room_is_counted)
{
	static struct gpu_bucket bucket;
	struct gpu_range range = {.object = 1}, got;

	for (uint64_t i = 0; i < GPU_RANGES_A_BUCKET; i++) {
		range.begin = 16 * i * PAGE;
		range.end = range.begin + 3 * PAGE;
		CHECK(gpu_bucket_put(&bucket, &range));
	}
	CHECK(!gpu_bucket_put(&bucket, &range));
	CHECK_EQUAL(bucket.lost, 1);
	/* the rest behind the cut has none either, and is not there */
	gpu_bucket_cut(&bucket, PAGE, 2 * PAGE);
	CHECK_EQUAL(bucket.lost, 2);
	CHECK(gpu_bucket_find(&bucket, 0, &got));
	CHECK(!gpu_bucket_find(&bucket, PAGE, &got));
	CHECK(!gpu_bucket_find(&bucket, 2 * PAGE, &got));
}

TEST(what_was_there_is_said)
{
	static struct gpu_bucket bucket;
	struct gpu_range range = {.begin = 4 * PAGE, .end = 8 * PAGE, .object = 3}, got = {0};

	CHECK(!gpu_bucket_cut(&bucket, 0, 16 * PAGE));
	gpu_bucket_put(&bucket, &range);
	CHECK(!gpu_bucket_cut(&bucket, 0, 4 * PAGE));
	CHECK(!gpu_bucket_cut(&bucket, 8 * PAGE, 9 * PAGE));
	CHECK(gpu_bucket_cut(&bucket, 7 * PAGE, 9 * PAGE));
	/* the place is the first one; of no other object anything is taken */
	CHECK(!gpu_bucket_take(&bucket, 0, 4, &got));
	CHECK(!gpu_bucket_take(&bucket, 1, 3, &got));
	CHECK(gpu_bucket_take(&bucket, 0, 3, &got));
	CHECK_EQUAL(got.begin, 4 * PAGE);
	CHECK_EQUAL(got.end, 7 * PAGE);
	CHECK(!gpu_bucket_take(&bucket, 0, 3, &got));
	CHECK(!gpu_bucket_find(&bucket, 5 * PAGE, &got));
}

int main(void)
{
	RUN(as_all_pages_say);
	RUN(levels_are_by_size);
	RUN(what_has_no_room_is_counted);
	RUN(what_was_there_is_said);
	return harness_end();
}
