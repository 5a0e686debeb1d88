/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/clock.c - host time, the simulated GPU clock, and the GPU's identity
 *
 * Runs in:  a program that uses CUDA, in each of the three libraries
 * Gets:     CLOCK_MONOTONIC
 * Gives:    the same time, and the GPU timer's value at such a time
 * Why:      the whole simulation uses host time, so the correct time of every record is known. The
 *           GPU's timer is a formula of it without state, so the three libraries agree on it.
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
