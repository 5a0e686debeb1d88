/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_bpf_stacks.c - stacks that the kernel told and the recorder dropped may
 * be told again
 */
#include "harness.h"

#include "collect/kernel/watch.c"

enum { DROPPED = MAX_STACKS, KEYS = DROPPED + 1 };

static bool is_told(const struct kernel_watch *watch, uint64_t key)
{
	uint8_t value;

	return bpf_map_lookup_elem(watch->sent_fd, &key, &value) == 0;
}

static void take_stack(struct kernel_watch *watch, uint64_t key)
{
	static struct kernel_stack stack;
	const uint8_t one = 1;

	bpf_map_update_elem(watch->sent_fd, &key, &one, BPF_ANY);
	stack.user_stack = key;
	stack.bytes = 8;
	on_stack(watch, &stack, sizeof(stack));
}

TEST(the_dropped_may_come_again)
{
	struct kernel_watch watch = {
		.sent_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "told", 8, 1, 2 * KEYS, NULL)};
	struct kernel_stack *first;
	size_t left = 0;

	if (watch.sent_fd < 0)
		SKIP("only root may make tables inside the kernel");
	for (uint64_t key = 1; key < KEYS; key++)
		take_stack(&watch, key);
	CHECK_EQUAL(watch.stacks.count, DROPPED);
	/* who is asked for is not dropped: what was made of it is kept elsewhere */
	first = kernel_watch_take_user_stack(&watch, 1);
	REQUIRE(first != NULL);
	CHECK_EQUAL(first->user_stack, 1);
	free(first);
	take_stack(&watch, KEYS);
	CHECK_EQUAL(watch.stacks.count, DROPPED);
	take_stack(&watch, KEYS + 1);
	CHECK_EQUAL(watch.stacks.count, 1);
	for (uint64_t key = 2; key <= KEYS; key++)
		left += is_told(&watch, key);
	CHECK_EQUAL(left, 0);
	CHECK(is_told(&watch, 1) && is_told(&watch, KEYS + 1));
	free_stacks(&watch);
	hash_map_fini(&watch.stacks);
	close(watch.sent_fd);
}

int main(void)
{
	RUN(the_dropped_may_come_again);
	return harness_end();
}
