/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_array.c - arrays and arenas
 */
#include "harness.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/array.h"

TEST(array_grows_and_zeroes)
{
	int *items = NULL;
	size_t capacity = 0;

	for (size_t i = 0; i < 1000; i++) {
		REQUIRE(array_grow(items, capacity, i + 1) == 0);
		CHECK(items[i] == 0);
		items[i] = (int)i;
	}
	for (size_t i = 0; i < 1000; i++)
		CHECK(items[i] == (int)i);
	free(items);
}

TEST(array_refuses_what_overflows)
{
	uint64_t *items = NULL;
	size_t capacity = 0;

	REQUIRE(array_grow(items, capacity, 1) == 0);
	items[0] = 7;
	CHECK_EQUAL(array_grow(items, capacity, SIZE_MAX), -ENOMEM);
	CHECK_EQUAL(array_grow(items, capacity, SIZE_MAX / 8 + 2), -ENOMEM);
	CHECK(items[0] == 7);
	CHECK_EQUAL(capacity, 8);
	free(items);
}

TEST(ring_keeps_its_order)
{
	int *items = NULL, next = 0, oldest = 0;
	size_t capacity = 0, first = 0, count = 0;

	/* three in, one out: the ring grows with its first item at many places */
	for (size_t i = 0; i < 1000; i++) {
		for (size_t j = 0; j < 3; j++) {
			REQUIRE(array_grow_ring(items, capacity, first, count) == 0);
			items[(first + count++) & (capacity - 1)] = next++;
		}
		CHECK(items[first] == oldest++);
		first = (first + 1) & (capacity - 1);
		count--;
	}
	for (; count; count--) {
		CHECK(items[first] == oldest++);
		first = (first + 1) & (capacity - 1);
	}
	CHECK_EQUAL(oldest, next);
	free(items);
}

TEST(arena_keeps_what_it_gave)
{
	struct arena arena;
	uint64_t *numbers[5000];
	char *texts[5000];

	arena_init(&arena);
	for (size_t i = 0; i < 5000; i++) {
		numbers[i] = arena_alloc(&arena, sizeof(uint64_t) * (i % 100 + 1));
		REQUIRE(numbers[i]);
		CHECK((uintptr_t)numbers[i] % _Alignof(max_align_t) == 0);
		numbers[i][i % 100] = i;
		texts[i] = arena_copy(&arena, "a\0b", i % 4);
		REQUIRE(texts[i]);
	}
	for (size_t i = 0; i < 5000; i++) {
		CHECK(numbers[i][i % 100] == i);
		CHECK(memcmp(texts[i], "a\0b", i % 4) == 0 && texts[i][i % 4] == '\0');
	}
	CHECK(arena_alloc(&arena, (size_t)10 << 20) != NULL);
	CHECK(arena_alloc(&arena, SIZE_MAX) == NULL);
	CHECK(arena_copy(&arena, "", SIZE_MAX) == NULL);
	CHECK(arena_alloc(&arena, 0) != NULL);
	arena_fini(&arena);
	arena_fini(NULL);
}

int main(void)
{
	RUN(array_grows_and_zeroes);
	RUN(array_refuses_what_overflows);
	RUN(ring_keeps_its_order);
	RUN(arena_keeps_what_it_gave);
	return harness_end();
}
