/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/write.c - results are written without the page cache
 */
#include "diagnosis.h"

#include <fcntl.h>
#include <unistd.h>

static void open_results(void);
static void write_results(uint64_t ns);

PLANT(.name = "write", .kinds = "file_write", .words = "write_results writ",
      .prepare = open_results, .act = write_results);

enum { SIZE = 1 << 18, BLOCKS = 16 };

static int file;
static _Alignas(4096) char results[SIZE];

static void open_results(void)
{
	file = open_scratch(SIZE * BLOCKS, O_DIRECT | O_DSYNC);
}

NOINLINE static void write_results(uint64_t ns)
{
	static unsigned block;

	PLANT_BEGIN();
	for (; planted_ns() < ns; block++)
		check(pwrite(file, results, SIZE, (off_t)(block % BLOCKS) * SIZE) == SIZE,
		      "pwrite");
	PLANT_END();
}
