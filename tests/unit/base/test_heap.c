/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_heap.c - items leave a heap in order, whatever the order in which they came
 */
#include "harness.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/order/heap.h"

enum { ITEMS = 1000 };

TEST(gives_the_smallest_first)
{
	unsigned int *items = NULL, last = 0;
	size_t capacity = 0, count = 0;

	for (unsigned int i = 0; i < ITEMS; i++) {
		REQUIRE(array_append(items, capacity, count, i * 7919u % 541u) == 0);
		HEAP_LIFT(items, count, *a < *b);
	}
	for (size_t left = ITEMS; left-- > 0;) {
		unsigned int first = HEAP_POP(items, count, *a < *b);

		CHECK(first >= last);
		CHECK_EQUAL(count, left);
		last = first;
	}
	free(items);
}

TEST(moves_a_replaced_first_item)
{
	int items[] = {1, 3, 2, 5};

	items[0] = 4;
	HEAP_SINK(items, ARRAY_COUNT(items), *a < *b);
	CHECK_EQUAL(items[0], 2);
	CHECK_EQUAL(items[2], 4);
}

int main(void)
{
	RUN(gives_the_smallest_first);
	RUN(moves_a_replaced_first_item);
	return harness_end();
}
