/* SPDX-License-Identifier: MIT
 *
 * tests/programs/idle_causes.c - a device that idles for known reasons
 *
 *	idle_causes ROUNDS SLEEP_MS COMPUTE_MS
 *
 * Over the simulated driver, whose kernels last as long as it is told. A round is one kernel that
 * is waited for, then a sleep below sleep_a, then processor time below compute_b. Prints how long
 * each took in all, in nanoseconds.
 */
#include "opencl_work.h"

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

NOINLINE static uint64_t sleep_a(uint64_t ms)
{
	const struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000 * 1000000)};
	uint64_t begin = work_now_ns(CLOCK_MONOTONIC);

	nanosleep(&time, NULL);
	return work_now_ns(CLOCK_MONOTONIC) - begin;
}

NOINLINE static uint64_t compute_b(uint64_t ms)
{
	uint64_t begin = work_now_ns(CLOCK_THREAD_CPUTIME_ID), taken;

	do {
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i;
		taken = work_now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	} while (taken < ms * 1000000);
	return taken;
}

NOINLINE static uint64_t run_kernel(struct work *work)
{
	uint64_t begin = work_now_ns(CLOCK_MONOTONIC);
	size_t size = 64;

	work_check(clEnqueueNDRangeKernel(work->queue, work->kernel, 1, NULL, &size, NULL, 0, NULL,
					  NULL),
		   "launch");
	work_check(clFinish(work->queue), "finish");
	return work_now_ns(CLOCK_MONOTONIC) - begin;
}

int main(int argc, char **argv)
{
	uint64_t kernel_ns = 0, sleep_ns = 0, compute_ns = 0;
	struct work work;

	if (argc != 4)
		return 2;
	work_open(&work);
	for (int i = 0; i < atoi(argv[1]); i++) {
		kernel_ns += run_kernel(&work);
		sleep_ns += sleep_a((uint64_t)atoi(argv[2]));
		compute_ns += compute_b((uint64_t)atoi(argv[3]));
	}
	run_kernel(&work);
	printf("run_kernel %llu\nsleep_a %llu\ncompute_b %llu\n", (unsigned long long)kernel_ns,
	       (unsigned long long)sleep_ns, (unsigned long long)compute_ns);
	return 0;
}
