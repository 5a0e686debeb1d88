/* SPDX-License-Identifier: MIT
 *
 * bench/busy.c - threads with the same work to do whatever is beside them: bench/cpu.py times them
 *
 *	busy THREADS LOOPS
 *
 * Each thread makes LOOPS random numbers in calls 1 to 12 deep. Prints "work NS": from when all threads stand ready to
 * when the last one is done.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_barrier_t ready;
static volatile uint64_t sink;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static uint64_t compute(uint64_t state, unsigned int depth)
{
	if (depth)
		return compute(state, depth - 1) + (sink == 1);
	for (int i = 0; i < 1000; i++)
		state = state * 6364136223846793005u + 1442695040888963407u;
	return state;
}

static void *run(void *argument)
{
	uint64_t loops = *(const uint64_t *)argument, state = 1;

	pthread_barrier_wait(&ready);
	for (uint64_t i = 0; i < loops; i++)
		state = compute(state, (unsigned int)(state >> 60) % 12);
	sink += state;
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int count = argc == 3 ? (unsigned int)atoi(argv[1]) : 0;
	uint64_t loops = argc == 3 ? strtoull(argv[2], NULL, 10) : 0, begin_ns;
	pthread_t *threads = calloc(count ? count : 1, sizeof(*threads));

	if (!count || !loops || !threads)
		return 2;
	pthread_barrier_init(&ready, NULL, count + 1);
	for (unsigned int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, &loops))
			return 1;
	begin_ns = now_ns();
	pthread_barrier_wait(&ready);
	for (unsigned int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("work %llu\n", (unsigned long long)(now_ns() - begin_ns));
	free(threads);
	return 0;
}
