/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_own_memory.c - what counts as the recorder's memory
 */
#include "collect/proc.h"

#include <string.h>
#include <sys/mman.h>

#include "harness.h"

enum { BYTES = 64 << 20 };

/* How much more it is with so much in RAM. */
static uint64_t measure(int flags)
{
	const uint64_t before = own_memory_bytes();
	uint8_t *bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
	uint64_t after;

	if (bytes == MAP_FAILED)
		return 0;
	memset(bytes, 1, BYTES);
	after = own_memory_bytes();
	munmap(bytes, BYTES);
	return before && after > before ? after - before : 0;
}

TEST(what_others_may_map_too_is_not_own)
{
	CHECK(measure(MAP_PRIVATE) > BYTES / 4 * 3);
/* ThreadSanitizer notes beside all memory, in memory of its own, who wrote it. */
#ifndef __SANITIZE_THREAD__
	CHECK(measure(MAP_SHARED) < BYTES / 4);
#endif
}

int main(void)
{
	RUN(what_others_may_map_too_is_not_own);
	return harness_end();
}
