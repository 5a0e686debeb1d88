/* SPDX-License-Identifier: MIT
 *
 * tests/programs/slow_iteration.c - a loop in which one iteration is slow, and its times by the
 * program's own clock
 *
 *	slow_iteration N PAUSE_US SLOW SLOW_MS FILE [STATUS]
 *
 * N iterations of a write, a kernel and a blocking read, and PAUSE_US of sleep after them.
 *Iteration SLOW, from 0, sleeps for SLOW_MS instead; N or more: none does. FILE gets the begin of
 *each iteration and the end of the last one: N + 1 numbers of 64 bits, ns of CLOCK_MONOTONIC. It is
 * mapped, so that it is complete when the program is killed. The program exits with STATUS.
 */
#include "opencl_work.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static void sleep_ns(uint64_t ns)
{
	const struct timespec pause = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	if (ns)
		nanosleep(&pause, NULL);
}

static uint64_t *map_times(const char *path, size_t count)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	void *times = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, (off_t)(count * sizeof(uint64_t))))
		times = mmap(NULL, count * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			     0);
	if (times == MAP_FAILED) {
		perror("slow_iteration");
		exit(99);
	}
	close(fd);
	return times;
}

int main(int argc, char **argv)
{
	unsigned long count, slow;
	uint64_t pause_ns, slow_ns, *times;
	struct work work;

	if (argc < 6) {
		fprintf(stderr, "slow_iteration N PAUSE_US SLOW SLOW_MS FILE [STATUS]\n");
		return 2;
	}
	count = strtoul(argv[1], NULL, 10);
	pause_ns = strtoul(argv[2], NULL, 10) * 1000;
	slow = strtoul(argv[3], NULL, 10);
	slow_ns = strtoul(argv[4], NULL, 10) * 1000000;
	times = map_times(argv[5], count + 1);
	work_open(&work);
	for (unsigned long i = 0; i < count; i++) {
		times[i] = work_now_ns(CLOCK_MONOTONIC);
		work_step(&work);
		sleep_ns(i == slow ? slow_ns : pause_ns);
	}
	times[count] = work_now_ns(CLOCK_MONOTONIC);
	work_close(&work);
	return argc > 6 ? atoi(argv[6]) : 0;
}
