/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/major_fault.c - a mapped file is read from the disk, page by page
 */
#include "diagnosis.h"

#include <fcntl.h>
#include <sys/mman.h>

static void map_weights(void);
static void look_up_weights(uint64_t ns);

PLANT(.name = "major_fault", .kinds = "page_fault file_read", .words = "look_up_weights fault read",
      .prepare = map_weights, .act = look_up_weights);

enum { SIZE = 32 << 20, PAGE = 4096 };

static int file;
static volatile char *weights;
static volatile char sum;

static void map_weights(void)
{
	file = open_scratch(SIZE, 0);
	weights = (volatile char *)mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);
	check(weights != MAP_FAILED, "mmap");
	madvise((void *)weights, SIZE, MADV_RANDOM);
}

NOINLINE static void look_up_weights(uint64_t ns)
{
	static size_t at;

	PLANT_BEGIN();
	while (planted_ns() < ns) {
		at = (at + 997 * (size_t)PAGE) % SIZE;
		sum = (char)(sum + weights[at]);
		if (at < 997 * (size_t)PAGE) {
			madvise((void *)weights, SIZE, MADV_DONTNEED);
			posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
		}
	}
	PLANT_END();
}
