/* SPDX-License-Identifier: MIT
 *
 * bench/busy.c - threads with the same work to do whatever is beside them: bench/cpu.py times them
 *
 *	busy THREADS LOOPS      each thread makes LOOPS times 1000 random numbers, in calls 1 to 12
 *	                        deep
 *	busy turns LOOPS        two threads on one processor let each other go on, LOOPS times each
 *
 * Prints "work NS": from when all threads stand ready to when the last one is done.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static int there[2], back[2]; /* pipes */

static void *answer(void *argument)
{
	char byte;

	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		;
	return argument;
}

/* Each turn is a switch to the other thread: both have the processor they are on now. */
static int take_turns(uint64_t loops)
{
	cpu_set_t one;
	pthread_t other;
	uint64_t begin_ns;
	char byte = 0;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pipe(there) || pipe(back) ||
	    pthread_create(&other, NULL, answer, NULL))
		return 1;
	begin_ns = now_ns();
	for (uint64_t i = 0; i < loops; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
	printf("work %llu\n", (unsigned long long)(now_ns() - begin_ns));
	close(there[1]);
	pthread_join(other, NULL);
	return 0;
}

static int compute_in(unsigned int count, uint64_t loops)
{
	pthread_t *threads = calloc(count, sizeof(*threads));
	uint64_t begin_ns;

	if (!threads)
		return 1;
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

int main(int argc, char **argv)
{
	uint64_t loops = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;

	if (loops && !strcmp(argv[1], "turns"))
		return take_turns(loops);
	if (loops && atoi(argv[1]) > 0)
		return compute_in((unsigned int)atoi(argv[1]), loops);
	return 2;
}
