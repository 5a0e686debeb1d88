/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/fifo.c - a read of a FIFO that another process fills slowly
 */
#include "diagnosis.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void open_fifo(void);
static void read_sensor(uint64_t ns);

PLANT(.name = "fifo", .kinds = "pipe", .words = "read_sensor pipe FIFO", .prepare = open_fifo,
      .act = read_sensor);

static int peer, fifo;

static void open_fifo(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/diagnosis-%d.fifo", (int)getpid());
	check(mkfifo(path, 0600) == 0, path);
	fifo = open(path, O_RDWR);
	check(fifo >= 0, path);
	unlink(path);
	peer = start_slow_peer(fifo);
}

NOINLINE static void read_sensor(uint64_t ns)
{
	char value;

	PLANT_BEGIN();
	ask_slow_peer(peer, ns);
	check(read(fifo, &value, 1) == 1, "read");
	PLANT_END();
}
