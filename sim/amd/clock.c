/* SPDX-License-Identifier: MIT
 *
 * sim/amd/clock.c - host time, simulated suspends of the machine, and the GPU's counter
 *
 * Runs in:  a program that uses ROCr
 * Gets:     CLOCK_BOOTTIME
 * Gives:    the same time, KFD's clock, and the GPU's counter at such a time
 * Owns:     the times of simulated suspends
 * Why:      KFD's system clock is CLOCK_BOOTTIME, so the whole simulation uses it. The counter is a
 *           formula of it without state, so the correct value of every timestamp is known to 10 ns.
 */

#include "sim.h"

enum { COUNTER_AT_BOOT = 0x10000000 }; /* the counter counts from some other event than our boot */

static _Atomic uint64_t suspended_at_ns = SIM_NEVER;

static uint64_t read_clock(clockid_t id)
{
	struct timespec time;

	sim_real_clock_gettime(id, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t sim_now(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

/* Returns how much of the simulated suspend has passed at a time. */
static uint64_t suspended_ns(uint64_t now_ns)
{
	const struct sim_options *options = sim_options();
	uint64_t at_ns = suspended_at_ns, monotonic_ns;

	if (options->jump_at_ns && at_ns == SIM_NEVER) {
		monotonic_ns = read_clock(CLOCK_MONOTONIC);
		at_ns = (uint64_t)options->jump_at_ns + (read_clock(CLOCK_BOOTTIME) - monotonic_ns);
		suspended_at_ns = at_ns;
	}
	return now_ns >= at_ns ? (uint64_t)(options->jump_ms * 1e6) : 0;
}

void sim_suspend(uint64_t now_ns)
{
	suspended_at_ns = now_ns;
}

uint64_t sim_system_ns(uint64_t now_ns)
{
	return now_ns + suspended_ns(now_ns);
}

uint64_t sim_ticks(uint64_t now_ns)
{
	int64_t drift_ppb = (int64_t)(sim_options()->drift_ppm * 1000);
	uint64_t time_ns = sim_options()->jump_gpu ? sim_system_ns(now_ns) : now_ns;

	return COUNTER_AT_BOOT + (uint64_t)((__int128)time_ns * (1000000000 + drift_ppb) /
					    1000000000 * SIM_COUNTER_KHZ / 1000000);
}

void sim_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

void sim_nap(uint64_t ns)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}
