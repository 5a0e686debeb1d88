/* SPDX-License-Identifier: MIT
 *
 * tests/programs/loads.c - loads whose size the program itself knows: the tests of counters run it
 *
 *	loads threads COUNT MS     so many threads that each use MS of processor time; the first one
 *	                           sleeps meanwhile
 *	loads leader COUNT MS      the same, and the first one is one of them
 *	loads churn MS             threads that use 1 ms and end, one after the other, until MS are
 *	                           used
 *	loads idle COUNT           so many threads that wait until standard input ends
 *
 * At its end it prints "cpu NS": the processor time of all its threads.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *burn(void *argument)
{
	const uint64_t *ns = argument;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < *ns)
		;
	return NULL;
}

static void *wait_for_end(void *argument)
{
	pthread_mutex_lock(argument);
	pthread_mutex_unlock(argument);
	return NULL;
}

static int burn_together(uint64_t count, uint64_t ns, int is_leader)
{
	pthread_t *threads = calloc(count + 1, sizeof(*threads));

	if (!threads)
		return 1;
	for (uint64_t i = is_leader; i < count; i++)
		if (pthread_create(&threads[i], NULL, burn, &ns))
			return 1;
	if (is_leader)
		burn(&ns);
	for (uint64_t i = is_leader; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}

static int burn_by_turns(uint64_t ns)
{
	uint64_t one = MS;

	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < ns) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, burn, &one))
			return 1;
		pthread_join(thread, NULL);
	}
	return 0;
}

static int idle(uint64_t count)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_attr_t attributes;
	char byte;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	pthread_mutex_lock(&lock);
	for (uint64_t i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attributes, wait_for_end, &lock))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t second = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	int status = 2;

	if (argc > 3 && strcmp(argv[1], "threads") == 0)
		status = burn_together(first, second * MS, 0);
	else if (argc > 3 && strcmp(argv[1], "leader") == 0)
		status = burn_together(first, second * MS, 1);
	else if (argc > 2 && strcmp(argv[1], "churn") == 0)
		status = burn_by_turns(first * MS);
	else if (argc > 2 && strcmp(argv[1], "idle") == 0)
		status = idle(first);
	printf("cpu %" PRIu64 "\n", now_ns(CLOCK_PROCESS_CPUTIME_ID));
	return status;
}
