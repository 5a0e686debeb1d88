/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/clock.c - host time, the clock that the GPU pretends to have, and who the GPU is
 *
 * Runs in:  a program that uses CUDA, in each of the three libraries
 * Gets:     CLOCK_MONOTONIC   Gives: the same, and what a GPU's timer shows at such a time
 * Why:      all of the simulation is in host time, so that the truth about every record is known; the GPU's
 *           timer is a formula of it without memory, so that the three libraries agree on it.
 */
#include <errno.h>
#include <time.h>

#include "sim.h"

enum { GPU_AT_BOOT_S = 86400 }; /* the GPU's timer counts from some other event than our boot */

static uint64_t read_clock(clockid_t id)
{
	struct timespec time;

	clock_gettime(id, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t sim_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t sim_realtime(void)
{
	return read_clock(CLOCK_REALTIME);
}

void sim_sleep_until(uint64_t host_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(host_ns / 1000000000u),
				       .tv_nsec = (long)(host_ns % 1000000000u)};

	if (sim_now() >= host_ns)
		return;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

uint64_t sim_gpu_clock(uint64_t host_ns)
{
	int64_t drift_ppb = (int64_t)(sim_options()->drift_ppm * 1000);

	return GPU_AT_BOOT_S * UINT64_C(1000000000) + host_ns +
	       (uint64_t)((__int128)host_ns * drift_ppb / 1000000000);
}
