/* SPDX-License-Identifier: MIT
 *
 * tests/programs/cpu_work.c - a program whose processor time is known, for the tests of CPU samples
 *
 *	cpu_work shares MS      spins 7 parts below path_a and 3 below path_b, MS of processor time
 *	                        in all
 *	cpu_work threads N MS   N threads, each spinning MS below path_a
 *	cpu_work sleeps MS      spins MS below path_a, and sleeps as long below path_b
 *	cpu_work forks N        N children that do nothing, one after the other
 *
 * Prints one line for each path: its name and the nanoseconds of processor time below it.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns what it took. The clock is asked once in some 100 us. */
__attribute__((noinline)) static uint64_t spin(uint64_t ns)
{
	uint64_t begin = cpu_ns(), now;

	do {
		for (int i = 0; i < 100000; i++)
			sink += (uint64_t)i;
		now = cpu_ns();
	} while (now - begin < ns);
	return now - begin;
}

/* The sum is not a tail call, so that each is on the stack. */
__attribute__((noinline)) static uint64_t path_a(uint64_t ns)
{
	return spin(ns) + (sink == 1);
}

__attribute__((noinline)) static uint64_t path_b(uint64_t ns)
{
	return spin(ns) + (sink == 1);
}

__attribute__((noinline)) static int rest_b(uint64_t ns)
{
	const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	return nanosleep(&time, NULL) + (sink == 1);
}

static void tell(const char *path, uint64_t ns)
{
	printf("%s %llu\n", path, (unsigned long long)ns);
}

/* 0.5 to 1.5 of a length: what repeats every 10 ms would be in step with a sampler of 200 Hz. */
static uint64_t around(uint64_t ns)
{
	static uint64_t state = 88172645463325252u;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return ns / 2 + ns * (state >> 33) / ((uint64_t)1 << 31);
}

static int shares(uint64_t ms)
{
	uint64_t a = 0, b = 0;

	while (a + b < ms * 1000000) {
		a += path_a(around(7000000));
		b += path_b(around(3000000));
	}
	tell("path_a", a);
	tell("path_b", b);
	return 0;
}

static void *run_thread(void *argument)
{
	uint64_t *ns = argument;

	*ns = path_a(*ns);
	return NULL;
}

static int threads(int count, uint64_t ms)
{
	pthread_t *ids = calloc((size_t)count, sizeof(*ids));
	uint64_t *ns = calloc((size_t)count, sizeof(*ns)), sum = 0;

	for (int i = 0; i < count; i++) {
		ns[i] = ms * 1000000;
		if (pthread_create(&ids[i], NULL, run_thread, &ns[i]))
			return 1;
	}
	for (int i = 0; i < count; i++) {
		pthread_join(ids[i], NULL);
		sum += ns[i];
	}
	tell("path_a", sum);
	free(ids);
	free(ns);
	return 0;
}

static int sleeps(uint64_t ms)
{
	uint64_t a = path_a(ms * 1000000);

	rest_b(ms * 1000000);
	tell("path_a", a);
	return 0;
}

static int forks(int count)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "shares") && argc == 3)
		return shares(strtoull(argv[2], NULL, 10));
	if (!strcmp(what, "threads") && argc == 4)
		return threads(atoi(argv[2]), strtoull(argv[3], NULL, 10));
	if (!strcmp(what, "sleeps") && argc == 3)
		return sleeps(strtoull(argv[2], NULL, 10));
	if (!strcmp(what, "forks") && argc == 3)
		return forks(atoi(argv[2]));
	return 2;
}
