/* SPDX-License-Identifier: MIT
 *
 * tests/unit/import/test_open_slices.c - stacks of open slices: order, shared places, the limit.
 */
#include <errno.h>

#include "import/common/open_slices.h"
#include "harness.h"

static int push(struct open_slices *open, uint32_t *stack, uint64_t value)
{
	return open_slices_push(open, stack, &value);
}

static uint64_t pop(struct open_slices *open, uint32_t *stack)
{
	const uint64_t value = *(uint64_t *)open_slices_top(open, *stack);

	open_slices_pop(open, stack);
	return value;
}

TEST(the_innermost_first_of_each_stack)
{
	struct open_slices open;
	uint32_t stacks[3] = {0};

	open_slices_init(&open, sizeof(uint64_t), 0);
	for (uint64_t i = 0; i < 3000; i++)
		CHECK(push(&open, &stacks[i % 3], i) == 0);
	for (uint64_t i = 3000; i-- > 0;)
		CHECK(pop(&open, &stacks[i % 3]) == i);
	CHECK(!stacks[0] && !stacks[1] && !stacks[2]);
	open_slices_fini(&open);
}

TEST(places_are_used_again)
{
	struct open_slices open;
	uint32_t one = 0, other = 0;

	open_slices_init(&open, sizeof(uint64_t), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		CHECK(push(&open, &one, i) == 0 && push(&open, &other, ~i) == 0);
		CHECK(pop(&open, &one) == i);
		CHECK(push(&open, &one, i + 1) == 0);
		CHECK(pop(&open, &other) == ~i && pop(&open, &one) == i + 1);
	}
	CHECK(open.count == 2);
	open_slices_fini(&open);
}

TEST(a_limit_holds_for_all_stacks_together)
{
	struct open_slices open;
	uint32_t one = 0, other = 0;

	open_slices_init(&open, sizeof(uint64_t), 2);
	CHECK(!open_slices_is_full(&open));
	CHECK(push(&open, &one, 1) == 0 && push(&open, &other, 2) == 0);
	CHECK(open_slices_is_full(&open) && push(&open, &one, 3) == -ENOMEM);
	CHECK(pop(&open, &one) == 1 && !one && !open_slices_is_full(&open));
	CHECK(push(&open, &other, 3) == 0 && open_slices_is_full(&open));
	CHECK(pop(&open, &other) == 3 && pop(&open, &other) == 2 && !other);
	open_slices_fini(&open);
}

int main(void)
{
	RUN(the_innermost_first_of_each_stack);
	RUN(places_are_used_again);
	RUN(a_limit_holds_for_all_stacks_together);
	return harness_end();
}
