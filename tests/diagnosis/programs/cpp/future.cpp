/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/cpp/future.cpp - std::async computes what the launching thread needs next
 */
#include "diagnosis.h"

#include <future>

static void next_tile(uint64_t ns);

PLANT(.name = "future", .kinds = "thread_wait", .words = "thread decode_tile", .act = next_tile);

static volatile uint32_t pixels;

NOINLINE static int decode_tile(uint64_t ns)
{
	GUILTY_BEGIN();
	for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;)
		for (int i = 0; i < 4096; i++)
			pixels = pixels * 1664525 + 1013904223;
	GUILTY_END();
	return 1;
}

NOINLINE static void next_tile(uint64_t ns)
{
	std::future<int> tile = std::async(std::launch::async, decode_tile, ns);

	WAIT_BEGIN();
	tile.get();
	WAIT_END();
}
