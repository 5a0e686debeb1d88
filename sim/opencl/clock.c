/* SPDX-License-Identifier: MIT
 *
 * sim/opencl/clock.c - host time, and the simulated device clock
 *
 * Runs in:  the test program
 * Gets:     CLOCK_MONOTONIC
 * Gives:    the same time, and device timestamps
 * Owns:     the latest reading of another host clock next to CLOCK_MONOTONIC, under sim_lock
 * Why:      the whole simulation uses host time, so the correct value of every timestamp is known.
 *           A timestamp is a formula of it with the parameters of SIM_OPENCL. If the device shows
 *           another host clock, that clock is read next to ours (shortest of 8 readings, at most 40
 *           ns wide).
 */
#include <errno.h>
#include <time.h>

#include "sim.h"

static struct {
	uint64_t at, shown; /* CLOCK_MONOTONIC and the other clock at one moment */
	uint64_t first_at, first_shown;
} reading;

static uint64_t read_clock(clockid_t id)
{
	struct timespec time;

	clock_gettime(id, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t sim_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

void sim_sleep_until(uint64_t host_ns)
{
	struct timespec until = {(time_t)(host_ns / 1000000000), (long)(host_ns % 1000000000)};

	if (host_ns == SIM_NEVER)
		until = (struct timespec){1, 0};
	while (clock_nanosleep(CLOCK_MONOTONIC, host_ns == SIM_NEVER ? 0 : TIMER_ABSTIME, &until,
			       NULL) == EINTR ||
	       host_ns == SIM_NEVER)
		;
}

void sim_spin(int64_t ns)
{
	uint64_t end = ns > 0 ? sim_now() + (uint64_t)ns : 0;

	while (end && sim_now() < end)
		;
}

static uint64_t read_other(void)
{
	switch (sim_options.clock) {
	case SIM_CLOCK_RAW:
		return read_clock(CLOCK_MONOTONIC_RAW);
	case SIM_CLOCK_BOOTTIME:
		return read_clock(CLOCK_BOOTTIME);
	case SIM_CLOCK_REALTIME:
		return read_clock(CLOCK_REALTIME);
#if defined(__x86_64__) || defined(__i386__)
	case SIM_CLOCK_TSC:
		return __builtin_ia32_rdtsc();
#endif
	default:
		return sim_now();
	}
}

static void read_both(void)
{
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t before = sim_now(), other = read_other(), after = sim_now();

		if (after - before >= narrowest)
			continue;
		narrowest = after - before;
		reading.at = before + narrowest / 2;
		reading.shown = other;
	}
}

/* A rate needs two readings; a command's end lies ahead of the latest one by its duration only, so
 * a rate from 10 ms places it to a nanosecond. */
static uint64_t stamp_of_host_clock(uint64_t host_ns)
{
	int64_t distance;

	if (!reading.first_at) {
		read_both();
		reading.first_at = reading.at;
		reading.first_shown = reading.shown;
		if (sim_options.clock == SIM_CLOCK_TSC) {
			sim_spin(10000000);
			read_both();
		}
	}
	if (host_ns > reading.at + 1000000)
		read_both();
	distance = (int64_t)(host_ns - reading.at);
	if (sim_options.clock == SIM_CLOCK_TSC)
		distance = (int64_t)((__int128)distance * (reading.shown - reading.first_shown) /
				     (reading.at - reading.first_at));
	return reading.shown + (uint64_t)distance;
}

static uint64_t stamp_of_device(uint64_t host_ns)
{
	__int128 time = (__int128)host_ns + sim_options.offset_ns +
			(__int128)host_ns * sim_options.drift_ppb / 1000000000;
	double reads_ns = sim_options.tick_reads_ns;
	int64_t picoseconds = (int64_t)(sim_options.tick_ns * 1000 + 0.5);

	if (picoseconds <= 0)
		return (uint64_t)time;
	reads_ns = reads_ns > 0 ? reads_ns : sim_options.tick_ns;
	return (uint64_t)(time * 1000 / picoseconds * (int64_t)(reads_ns * 1000 + 0.5) / 1000);
}

uint64_t sim_stamp(uint64_t host_ns)
{
	if (host_ns == SIM_NEVER)
		return 0;
	switch (sim_options.clock) {
	case SIM_CLOCK_DEVICE:
		return stamp_of_device(host_ns);
	case SIM_CLOCK_MONOTONIC:
		return host_ns;
	default:
		return stamp_of_host_clock(host_ns);
	}
}
