/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_cuda_slots.c - whose command a record of CUPTI's is, and how long one is
 * waited for
 *
 * The clock is the test's.
 */
#include <stdlib.h>
#include <time.h>

#include "harness.h"
#include "inject/nvidia/cuda.h"

enum { MODE = 1, SLOTS = 1 << 18 };

static uint64_t now_ms = 1000;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	(void)clock;
	*ret_time = (struct timespec){(time_t)(now_ms / 1000), (long)(now_ms % 1000) * 1000000};
	return 0;
}

void *guest_memory(size_t bytes)
{
	return calloc(1, bytes);
}

TEST(a_command_is_its_calls)
{
	CHECK(cuda_slot_open(5, MODE, false));
	CHECK(!cuda_slot_open(5, MODE, false)); /* a part of the same call */
	CHECK(cuda_slots_are_open());
	CHECK_EQUAL(cuda_slot_take(5, MODE), CUDA_SLOT_FIRST);
	CHECK(!cuda_slots_are_open());
	CHECK_EQUAL(cuda_slot_take(5, MODE), CUDA_SLOT_NODE);
	CHECK_EQUAL(cuda_slot_take(6, MODE), CUDA_SLOT_NONE);
	CHECK_EQUAL(cuda_slot_take(5, MODE + 1), CUDA_SLOT_OTHERS);
	CHECK_EQUAL(cuda_slot_take(0, MODE), CUDA_SLOT_NONE);
	CHECK(cuda_slot_open(7, MODE, false));
	cuda_slot_close(7);
	CHECK(!cuda_slots_are_open());
	CHECK(cuda_slot_open(5 + SLOTS, MODE, false));
	CHECK_EQUAL(cuda_slot_take(5, MODE), CUDA_SLOT_NONE);
	CHECK_EQUAL(cuda_slot_take(5 + SLOTS, MODE), CUDA_SLOT_FIRST);
}

TEST(what_another_attachment_launched_is_no_loss)
{
	CHECK(cuda_slot_open(20, MODE, false)); /* nothing comes of it in its attachment */
	CHECK(cuda_slots_are_awaited());
	cuda_slots_begin();
	CHECK(!cuda_slots_are_awaited());
	CHECK(cuda_slot_open(30, MODE + 1, false));
	cuda_slot_pass(30); /* a part of that call */
	cuda_slot_pass(31);
	CHECK(cuda_slots_are_awaited());
	CHECK_EQUAL(cuda_slot_take(20, MODE + 1), CUDA_SLOT_OTHERS);
	CHECK_EQUAL(cuda_slot_take(29, MODE + 1), CUDA_SLOT_OTHERS);
	CHECK_EQUAL(cuda_slot_take(30, MODE + 1), CUDA_SLOT_FIRST);
	CHECK_EQUAL(cuda_slot_take(31, MODE + 1), CUDA_SLOT_OTHERS);
	CHECK_EQUAL(cuda_slot_take(32, MODE + 1), CUDA_SLOT_NONE);
	CHECK(!cuda_slots_are_awaited());
}

TEST(a_graph_is_waited_for_to_the_end)
{
	CHECK(!cuda_slots_have_graphs());
	CHECK(cuda_slot_open(9, MODE, true));
	CHECK_EQUAL(cuda_slot_take(9, MODE), CUDA_SLOT_NODE);
	CHECK(cuda_slots_are_open());
	now_ms += 3600 * 1000; /* a kernel that takes an hour */
	CHECK(!cuda_slots_are_open());
	CHECK(cuda_slots_have_graphs());
	CHECK_EQUAL(cuda_slot_take(9, MODE), CUDA_SLOT_NODE);
	CHECK(cuda_slots_are_open());
	cuda_slots_reset();
	CHECK(!cuda_slots_are_open());
	CHECK(!cuda_slots_have_graphs());
}

int main(void)
{
	CHECK(cuda_slots_init());
	RUN(a_command_is_its_calls);
	RUN(what_another_attachment_launched_is_no_loss);
	RUN(a_graph_is_waited_for_to_the_end);
	return harness_end();
}
