/* SPDX-License-Identifier: MIT
 *
 * tests/programs/paced.c - small writes at a steady rate, from two call sites
 *
 *	paced COUNT PER_SECOND [THREADS [WORK [RANGE]]]
 *
 * Each thread has a queue and launches COUNT writes: nine of ten of 4 bytes in write_often, the
 * tenth of 3 bytes in write_seldom. PER_SECOND 0: as fast as possible. It waits for the queue after
 * every 1024th write. WORK: rounds of arithmetic before each launch, whose time does not depend on
 * the launches. RANGE: number of launches of a thread in a range "step" of NVTX. Prints the number
 * of launched commands, as counts.c does, and "elapsed NS" and "cpu NS" of the first thread's
 * launches.
 */
#include <pthread.h>

#include "opencl_work.h"
#include <nvtx3/nvToolsExt.h>

enum { MAX_THREADS = 16 };

static struct {
	uint64_t count, rate, rounds, range;
	struct work work;
} paced;

static __attribute__((noinline)) void write_often(cl_command_queue queue, cl_mem buffer)
{
	static const char bytes[4];

	work_check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 4, bytes, 0, NULL, NULL),
		   "clEnqueueWriteBuffer");
}

static __attribute__((noinline)) void write_seldom(cl_command_queue queue, cl_mem buffer)
{
	static const char bytes[4];

	work_check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 4, 3, bytes, 0, NULL, NULL),
		   "clEnqueueWriteBuffer");
}

/* Spins, because a sleep would add its own delay to each launch. */
static void wait_until(uint64_t until_ns)
{
	while (work_now_ns(CLOCK_MONOTONIC) < until_ns)
		;
}

static void compute(uint64_t rounds)
{
	uint64_t value = rounds;

	for (uint64_t i = 0; i < rounds; i++) {
		value = value * UINT64_C(6364136223846793005) + 1;
		__asm__ volatile("" : "+r"(value));
	}
}

static void *launch(void *unused)
{
	cl_int status;
	cl_command_queue queue =
		clCreateCommandQueue(paced.work.context, paced.work.device, 0, &status);
	cl_mem buffer = clCreateBuffer(paced.work.context, CL_MEM_READ_WRITE, 64, NULL, NULL);
	const uint64_t begin_ns = work_now_ns(CLOCK_MONOTONIC);

	work_check(status, "clCreateCommandQueue");
	for (uint64_t i = 0; i < paced.count; i++) {
		if (paced.rate)
			wait_until(begin_ns + i * 1000000000 / paced.rate);
		if (paced.range && i % paced.range == 0)
			nvtxRangePushA("step");
		compute(paced.rounds);
		if (i % 10 == 9)
			write_seldom(queue, buffer);
		else
			write_often(queue, buffer);
		if (paced.range && i % paced.range == paced.range - 1)
			nvtxRangePop();
		if (i % 1024 == 1023)
			work_check(clFinish(queue), "clFinish");
	}
	work_check(clFinish(queue), "clFinish");
	return unused;
}

int main(int argc, char **argv)
{
	const int threads = argc > 3 ? atoi(argv[3]) : 1;
	pthread_t others[MAX_THREADS];
	uint64_t begin_ns, cpu_ns, end_ns;

	paced.count = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
	paced.rate = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	paced.rounds = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	paced.range = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
	if (!paced.count || threads < 1 || threads > MAX_THREADS)
		return 2;
	work_open(&paced.work);
	begin_ns = work_now_ns(CLOCK_MONOTONIC);
	cpu_ns = work_now_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 1; i < threads; i++)
		pthread_create(&others[i], NULL, launch, NULL);
	launch(NULL);
	cpu_ns = work_now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	end_ns = work_now_ns(CLOCK_MONOTONIC);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	printf("launched %llu\nelapsed %llu\ncpu %llu\n",
	       (unsigned long long)paced.count * (unsigned)threads,
	       (unsigned long long)(end_ns - begin_ns), (unsigned long long)cpu_ns);
	return 0;
}
