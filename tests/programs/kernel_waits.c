/* SPDX-License-Identifier: MIT
 *
 * tests/programs/kernel_waits.c - a launching thread that waits for known things
 *
 *	kernel_waits mutex ROUNDS HELD_MS     for a mutex that thread "holder" has, which sleeps with it
 *	kernel_waits baker ROUNDS BAKED_MS    for a condition that thread "baker" makes true, which sleeps before
 *	kernel_waits read ROUNDS FILE         for 64 KiB of a file, past all caches
 *
 * Over the simulated driver. A round is one kernel that is waited for, then the wait. Prints how long the waits took
 * in all, in nanoseconds.
 */
#include "opencl_work.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t baked;
	unsigned int loaves;
	_Atomic unsigned int wanted, held;
	_Atomic int over;
	unsigned int ms;
	int file;
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

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*wait)(unsigned int round);
		void *(*other)(void *argument);
	} ways[] = {{"mutex", wait_for_mutex, hold},
		    {"baker", wait_for_bread, bake},
		    {"read", wait_for_disk, NULL}};
	uint64_t waited_ns = 0, begin_ns;
	size_t way = 0;
	pthread_t thread;
	struct work work;

	while (argc == 4 && way < 3 && strcmp(ways[way].name, argv[1]) != 0)
		way++;
	if (argc != 4 || way == 3)
		return 2;
	shared.ms = (unsigned int)atoi(argv[3]);
	shared.file = way == 2 ? open(argv[3], O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
	if (way == 2 && shared.file < 0) {
		perror(argv[3]);
		return 1;
	}
	work_open(&work);
	if (ways[way].other && pthread_create(&thread, NULL, ways[way].other, NULL))
		return 1;
	for (unsigned int round = 1; round <= (unsigned int)atoi(argv[2]); round++) {
		run_kernel(&work);
		begin_ns = work_now_ns(CLOCK_MONOTONIC);
		ways[way].wait(round);
		waited_ns += work_now_ns(CLOCK_MONOTONIC) - begin_ns;
	}
	run_kernel(&work);
	shared.over = 1;
	if (ways[way].other)
		pthread_join(thread, NULL);
	printf("waited %llu\n", (unsigned long long)waited_ns);
	return 0;
}
