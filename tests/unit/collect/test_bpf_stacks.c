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
	struct kernel_python_stack *python;
	struct kernel_stack *first;
	size_t left = 0;

	if (watch.sent_fd < 0)
		SKIP("only root may make tables inside the kernel");
	for (uint64_t key = 1; key < KEYS; key++)
		take_stack(&watch, key);
	CHECK_EQUAL(watch.stacks.count, DROPPED);
	/* who is asked for is not dropped: what was made of it is kept elsewhere */
	first = kernel_watch_take_user_stack(&watch, 1, &python);
	REQUIRE(first != NULL);
	CHECK(python == NULL);
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
	hash_map_fini(&watch.python_stacks);
	close(watch.sent_fd);
}

static uint64_t sample_ns;

static void on_sample(void *context, const struct kernel_python_stack *copied)
{
	(void)context;
	sample_ns = copied->time_ns;
}

TEST(python_frames_come_with_their_stack)
{
	static struct kernel_python_stack sent = {.user_stack = 7, .tid = 3, .count = 2};
	const size_t size = offsetof(struct kernel_python_stack, frames) + 2 * sizeof(*sent.frames);
	struct kernel_watch watch = {.sent_fd = -1, .options.on_python = on_sample};
	struct kernel_python_stack *python;
	struct kernel_stack *stack;

	sent.frames[1].code = 99;
	on_stack(&watch, &sent, size);
	take_stack(&watch, 7);
	take_stack(&watch, 8);
	stack = kernel_watch_take_user_stack(&watch, 7, &python);
	REQUIRE(stack && python);
	CHECK_EQUAL(python->tid, 3);
	CHECK_EQUAL(python->frames[1].code, 99);
	free(stack);
	free(python);
	stack = kernel_watch_take_user_stack(&watch, 8, &python);
	CHECK(stack && !python);
	free(stack);
	/* frames that are missing at its end */
	on_stack(&watch, &sent, size - 1);
	CHECK_EQUAL(watch.python_stacks.count, 0);
	/* a sample has no stack here */
	sent.time_ns = 1000;
	on_stack(&watch, &sent, size);
	CHECK_EQUAL(sample_ns, 1000);
	CHECK_EQUAL(watch.python_stacks.count, 0);
	hash_map_fini(&watch.stacks);
	hash_map_fini(&watch.python_stacks);
}

int main(void)
{
	RUN(the_dropped_may_come_again);
	RUN(python_frames_come_with_their_stack);
	return harness_end();
}
