/* SPDX-License-Identifier: MIT
 *
 * tests/programs/gate_work.c - a loop whose wall time and launches are chosen by the caller
 *
 *	gate_work ITERATIONS PAUSE_US [LAUNCHES]
 *
 * Each iteration launches the kernel `twice` LAUNCHES times (1), waits for it, and sleeps until
 * PAUSE_US after its start, so that the wall time hardly depends on the load of the machine.
 * GATE_WORK_PAUSE_US and GATE_WORK_LAUNCHES in the environment win over the arguments, and
 * GATE_WORK_STATUS is the exit status.
 */
#include "opencl_work.h"

static long number_of(const char *name, const char *argument, long otherwise)
{
	const char *value = getenv(name);

	return value ? atol(value) : argument ? atol(argument) : otherwise;
}

static void sleep_until(uint64_t end_ns)
{
	const struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u),
				     .tv_nsec = (long)(end_ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL))
		;
}

int main(int argc, char **argv)
{
	const long iterations = argc > 1 ? atol(argv[1]) : 20;
	const long pause_us = number_of("GATE_WORK_PAUSE_US", argc > 2 ? argv[2] : NULL, 1000);
	const long launches = number_of("GATE_WORK_LAUNCHES", argc > 3 ? argv[3] : NULL, 1);
	struct work work;

	work_open(&work);
	printf("working\n");
	for (long i = 0; i < iterations; i++) {
		const uint64_t start_ns = work_now_ns(CLOCK_MONOTONIC);
		const size_t items = 64;

		for (long k = 0; k < launches; k++)
			work_check(clEnqueueNDRangeKernel(work.queue, work.kernel, 1, NULL, &items,
							  NULL, 0, NULL, NULL),
				   "clEnqueueNDRangeKernel");
		work_check(clFinish(work.queue), "clFinish");
		sleep_until(start_ns + (uint64_t)pause_us * 1000u);
	}
	return (int)number_of("GATE_WORK_STATUS", NULL, 0);
}
