/* SPDX-License-Identifier: MIT
 *
 * tests/programs/kernel_waits.c - a launching thread that waits for known things
 *
 *	kernel_waits mutex ROUNDS HELD_MS     for a mutex that thread "holder" has, which sleeps
 *	                                      with it
 *	kernel_waits baker ROUNDS BAKED_MS    for a condition that thread "baker" makes true, which
 *	                                      sleeps before
 *	kernel_waits convoy ROUNDS HELD_MS    for a mutex that three threads "walker" take in turn,
 *	                                      and sleep with
 *	kernel_waits pipe ROUNDS WRITTEN_MS   for a byte of a pipe, which thread "writer" writes,
 *	                                      and sleeps before
 *	kernel_waits eventfd ROUNDS WRITTEN_MS   the same with an eventfd
 *	kernel_waits terminal ROUNDS WRITTEN_MS  the same with a terminal
 *	kernel_waits read ROUNDS FILE         for 64 KiB of a file, past all caches
 *	kernel_waits fault ROUNDS FILE        for 16 pages of a file that is mapped, one by one
 *
 * Over the simulated driver. A round is one kernel that is waited for, then the wait. Prints how
 * long the waits took in all, in nanoseconds.
 */
#include "opencl_work.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10, PAGE_BYTES = 4096, MAPPED_BYTES = 8 << 20, WALKERS = 3 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t baked;
	unsigned int loaves;
	_Atomic unsigned int wanted, held;
	_Atomic int over;
	unsigned int ms;
	int file, ends[2];
	volatile const char *mapped;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER, .baked = PTHREAD_COND_INITIALIZER};

static void sleep_ms(unsigned int ms)
{
	const struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&time, NULL);
}

/* Takes the mutex before each round and sleeps with it. */
static void *hold(void *argument)
{
	unsigned int round = 0;

	prctl(PR_SET_NAME, "holder");
	while (!shared.over) {
		if (shared.wanted == round) {
			sleep_ms(1);
			continue;
		}
		round++;
		pthread_mutex_lock(&shared.lock);
		shared.held = round;
		sleep_ms(shared.ms);
		pthread_mutex_unlock(&shared.lock);
	}
	return argument;
}

static void *bake(void *argument)
{
	unsigned int round = 0;

	prctl(PR_SET_NAME, "baker");
	while (!shared.over) {
		if (shared.wanted == round) {
			sleep_ms(1);
			continue;
		}
		round++;
		sleep_ms(shared.ms);
		pthread_mutex_lock(&shared.lock);
		shared.loaves++;
		pthread_cond_signal(&shared.baked);
		pthread_mutex_unlock(&shared.lock);
	}
	return argument;
}

static void *walk(void *argument)
{
	prctl(PR_SET_NAME, "walker");
	while (!shared.over) {
		pthread_mutex_lock(&shared.lock);
		shared.held++;
		sleep_ms(shared.ms);
		pthread_mutex_unlock(&shared.lock);
		/* or it would take it again before any other has it */
		sleep_ms(1);
	}
	return argument;
}

static void *write_bytes(void *argument)
{
	const uint64_t one = 1;
	unsigned int round = 0;

	prctl(PR_SET_NAME, "writer");
	while (!shared.over) {
		if (shared.wanted == round) {
			sleep_ms(1);
			continue;
		}
		round++;
		sleep_ms(shared.ms);
		if (write(shared.ends[1], &one, sizeof(one)) != sizeof(one))
			perror("write");
	}
	return argument;
}

__attribute__((noinline)) static void wait_in_convoy(unsigned int round)
{
	pthread_mutex_lock(&shared.lock);
	pthread_mutex_unlock(&shared.lock);
}

__attribute__((noinline)) static void wait_for_bytes(unsigned int round)
{
	uint64_t bytes;

	shared.wanted = round;
	if (read(shared.ends[0], &bytes, sizeof(bytes)) != sizeof(bytes))
		perror("read");
}

__attribute__((noinline)) static void wait_for_pages(unsigned int round)
{
	for (size_t i = 0; i < READ_BYTES; i += PAGE_BYTES)
		(void)shared.mapped[(size_t)round * READ_BYTES + i];
}

__attribute__((noinline)) static void wait_for_mutex(unsigned int round)
{
	shared.wanted = round;
	while (shared.held != round)
		sched_yield();
	pthread_mutex_lock(&shared.lock);
	pthread_mutex_unlock(&shared.lock);
}

__attribute__((noinline)) static void wait_for_bread(unsigned int round)
{
	shared.wanted = round;
	pthread_mutex_lock(&shared.lock);
	while (shared.loaves < round)
		pthread_cond_wait(&shared.baked, &shared.lock);
	pthread_mutex_unlock(&shared.lock);
}

__attribute__((noinline)) static void wait_for_disk(unsigned int round)
{
	static _Alignas(4096) char bytes[READ_BYTES];

	if (pread(shared.file, bytes, sizeof(bytes), (off_t)round * READ_BYTES) != READ_BYTES)
		perror("pread");
}

static void run_kernel(struct work *work)
{
	size_t size = 64;

	work_check(clEnqueueNDRangeKernel(work->queue, work->kernel, 1, NULL, &size, NULL, 0, NULL,
					  NULL),
		   "launch");
	work_check(clFinish(work->queue), "finish");
}

static const struct {
	const char *name;
	void (*wait)(unsigned int round);
	void *(*other)(void *argument); /* NULL: a file is waited for */
	int others;
} ways[] = {{"mutex", wait_for_mutex, hold, 1},
	    {"baker", wait_for_bread, bake, 1},
	    {"convoy", wait_in_convoy, walk, WALKERS},
	    {"pipe", wait_for_bytes, write_bytes, 1},
	    {"eventfd", wait_for_bytes, write_bytes, 1},
	    {"terminal", wait_for_bytes, write_bytes, 1},
	    {"read", wait_for_disk, NULL, 0},
	    {"fault", wait_for_pages, NULL, 0}};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* Whether the file is there. Nothing of it is read ahead. */
static int open_file(const char *path, int is_mapped)
{
	void *mapped;

	shared.file = open(path, O_RDONLY | O_CLOEXEC | (is_mapped ? 0 : O_DIRECT));
	if (shared.file < 0) {
		perror(path);
		return 0;
	}
	if (!is_mapped)
		return 1;
	mapped = mmap(NULL, MAPPED_BYTES, PROT_READ, MAP_SHARED, shared.file, 0);
	if (mapped == MAP_FAILED || madvise(mapped, MAPPED_BYTES, MADV_RANDOM)) {
		perror(path);
		return 0;
	}
	shared.mapped = mapped;
	return 1;
}

static int open_terminal(void)
{
	struct termios modes;

	shared.ends[1] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (shared.ends[1] < 0 || grantpt(shared.ends[1]) || unlockpt(shared.ends[1]))
		return 0;
	shared.ends[0] = open(ptsname(shared.ends[1]), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (shared.ends[0] < 0 || tcgetattr(shared.ends[0], &modes))
		return 0;
	cfmakeraw(&modes);
	return tcsetattr(shared.ends[0], TCSANOW, &modes) == 0;
}

static int open_ends(const char *way)
{
	if (strcmp(way, "terminal") == 0)
		return open_terminal();
	if (strcmp(way, "eventfd") != 0)
		return pipe(shared.ends) == 0;
	shared.ends[0] = shared.ends[1] = eventfd(0, EFD_CLOEXEC);
	return shared.ends[0] >= 0;
}

int main(int argc, char **argv)
{
	uint64_t waited_ns = 0, begin_ns;
	size_t way = 0;
	pthread_t threads[WALKERS];
	struct work work;

	while (argc == 4 && way < WAYS && strcmp(ways[way].name, argv[1]) != 0)
		way++;
	if (argc != 4 || way == WAYS)
		return 2;
	if (!ways[way].other && !open_file(argv[3], ways[way].wait == wait_for_pages))
		return 1;
	shared.ms = (unsigned int)atoi(argv[3]);
	work_open(&work);
	if (!open_ends(ways[way].name))
		return 1;
	for (int i = 0; i < ways[way].others; i++)
		if (pthread_create(&threads[i], NULL, ways[way].other, NULL))
			return 1;
	for (unsigned int round = 1; round <= (unsigned int)atoi(argv[2]); round++) {
		run_kernel(&work);
		begin_ns = work_now_ns(CLOCK_MONOTONIC);
		ways[way].wait(round);
		waited_ns += work_now_ns(CLOCK_MONOTONIC) - begin_ns;
	}
	run_kernel(&work);
	shared.over = 1;
	for (int i = 0; i < ways[way].others; i++)
		pthread_join(threads[i], NULL);
	printf("waited %llu\n", (unsigned long long)waited_ns);
	return 0;
}
