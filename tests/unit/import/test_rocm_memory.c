/* SPDX-License-Identifier: MIT
 *
 * tests/unit/import/test_rocm_memory.c - allocations of a process need memory only until their free
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"
#include "import/importer.h"
#include "import/rocm/memory.h"
#include "import/target.h"

enum { ROUNDS = 1000, ADDRESSES = 3 };

static int write_one(struct rocm_memory *memory, uint64_t time, uint64_t address, bool is_free)
{
	const struct rocm_allocation allocation = {
		.address = address, .bytes = 64, .is_free = is_free};

	return rocm_memory_write(memory, 1, time, &allocation);
}

TEST(rounds)
{
	char path[] = "/tmp/duet-rocm-memory.XXXXXX";
	struct rocm_memory memory = {0};
	uint64_t time = 0;
	int error, fd = mkstemp(path);

	REQUIRE(fd >= 0);
	close(fd);
	error = import_target_open(path, &memory.target);
	for (uint64_t round = 0; round < ROUNDS && !error; round++) {
		for (uint64_t i = 0; i < ADDRESSES && !error; i++)
			error = write_one(&memory, ++time, 4096 * (round + i), false);
		for (uint64_t i = 0; i < ADDRESSES && !error; i++)
			error = write_one(&memory, ++time, 4096 * (round + i), true);
	}
	CHECK_EQUAL(error, 0);
	CHECK_EQUAL(memory.live_count, ADDRESSES);
	CHECK_EQUAL(memory.levels[0].bytes, 0);
	/* an address whose free the file lacks */
	CHECK_EQUAL(write_one(&memory, ++time, 8, false), 0);
	CHECK_EQUAL(write_one(&memory, ++time, 8, false), 0);
	CHECK_EQUAL(memory.live_count, ADDRESSES);
	import_target_abandon(memory.target);
	rocm_memory_fini(&memory);
	unlink(path);
}

int main(void)
{
	RUN(rounds);
	return harness_end();
}
