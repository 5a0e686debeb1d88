/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/fsync.c - a checkpoint that is synchronised with the disk
 */
#include "diagnosis.h"

#include <unistd.h>

static void open_checkpoint(void);
static void save_checkpoint(uint64_t ns);

PLANT(.name = "fsync", .kinds = "file_sync file_write", .words = "fsync save_checkpoint",
      .prepare = open_checkpoint, .act = save_checkpoint);

static int file;
static char state[1 << 16];

static void open_checkpoint(void)
{
	file = open_scratch(1 << 20, 0);
}

NOINLINE static void save_checkpoint(uint64_t ns)
{
	PLANT_BEGIN();
	while (planted_ns() < ns) {
		state[0]++;
		check(pwrite(file, state, sizeof(state), 0) == sizeof(state), "pwrite");
		check(fsync(file) == 0, "fsync");
	}
	PLANT_END();
}
