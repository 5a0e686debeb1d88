/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/read.c - samples are read from a disk, past the page cache
 */
#include "diagnosis.h"

#include <fcntl.h>
#include <unistd.h>

static void open_samples(void);
static void read_samples(uint64_t ns);

PLANT(.name = "read", .kinds = "file_read", .words = "read_samples read", .prepare = open_samples,
      .act = read_samples);

enum { SIZE = 1 << 18, BLOCKS = 128 };

static int file;
static _Alignas(4096) char samples[SIZE];

static void open_samples(void)
{
	file = open_scratch(SIZE * BLOCKS, O_DIRECT);
}

NOINLINE static void read_samples(uint64_t ns)
{
	static unsigned block;

	PLANT_BEGIN();
	for (; planted_ns() < ns; block += 37)
		check(pread(file, samples, SIZE, (off_t)(block % BLOCKS) * SIZE) == SIZE, "pread");
	PLANT_END();
}
