/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/page_fault.c - fresh memory is touched in each iteration
 */
#include "diagnosis.h"

#include <sys/mman.h>

static void map_arena(void);
static void clear_arena(uint64_t ns);

PLANT(.name = "page_fault", .kinds = "page_fault", .words = "clear_arena fault",
      .prepare = map_arena, .act = clear_arena);

enum { SIZE = 2 << 20, PAGE = 4096 };

static char *arena;

static void map_arena(void)
{
	arena = (char *)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	check(arena != MAP_FAILED, "mmap");
	madvise(arena, SIZE, MADV_NOHUGEPAGE);
}

NOINLINE static void clear_arena(uint64_t ns)
{
	PLANT_BEGIN();
	for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;) {
		for (size_t at = 0; at < SIZE; at += PAGE)
			((volatile char *)arena)[at] = 0;
		madvise(arena, SIZE, MADV_DONTNEED);
	}
	PLANT_END();
}
