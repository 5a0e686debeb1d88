/* SPDX-License-Identifier: MIT
 *
 * collect/host_clocks.c - pairs of each host clock and CLOCK_MONOTONIC
 *
 * Runs in:  the recorder
 * Gets:     nothing
 * Gives:    clock domains and pairs in the trace
 * Owns:     nothing
 * Fails:    with the writer's errors
 * Why:      A clock is read between two readings of CLOCK_MONOTONIC. The narrowest of several such
 *           windows is used; it was 40 ns on our machines. An interrupt may widen a single window
 *           to milliseconds.
 */
#include "collect/host_clocks.h"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "collect/time_namespace.h"

enum { TRIES = 16 };

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Read once, because a process stays in its time namespace. */
static int64_t own_shift_ns;
static pthread_once_t own_shift_once = PTHREAD_ONCE_INIT;

static void read_own_shift(void)
{
	own_shift_ns = time_namespace_shift_ns(0);
}

uint64_t host_clocks_now_ns(void)
{
	pthread_once(&own_shift_once, read_own_shift);
	return read_clock(CLOCK_MONOTONIC) - (uint64_t)own_shift_ns;
}

uint64_t host_clocks_deadline_ns(uint64_t host_ns)
{
	pthread_once(&own_shift_once, read_own_shift);
	return host_ns + (uint64_t)own_shift_ns;
}

uint64_t host_clocks_own_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t host_clocks_now_tsc(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

static bool kernel_trusts_tsc(void)
{
	auto_free char *text = NULL;

	return read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", 256,
			 &text, NULL) == 0 &&
	       strncmp(text, "tsc", 3) == 0;
}

bool host_clocks_have_tsc(void)
{
#if defined(__x86_64__)
	unsigned int a = 0, b = 0, c = 0, d = 0;

	/* Leaf 0x80000007, EDX bit 8: invariant TSC. Some virtual machines hide the bit. There the
	 * TSC is used if the kernel uses it as its clock source, because the kernel has then
	 * checked it. */
	return (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8)) || kernel_trusts_tsc();
#else
	return false;
#endif
}

static const struct {
	uint32_t id, type;
	clockid_t clock;
	const char *name;
} domains[] = {
	{HOST_CLOCK_RAW, CLOCK_TYPE_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW, "CLOCK_MONOTONIC_RAW"},
	{HOST_CLOCK_BOOTTIME, CLOCK_TYPE_BOOTTIME, CLOCK_BOOTTIME, "CLOCK_BOOTTIME"},
	{HOST_CLOCK_REALTIME, CLOCK_TYPE_REALTIME, CLOCK_REALTIME, "CLOCK_REALTIME"},
	{HOST_CLOCK_TSC, CLOCK_TYPE_TSC, -1, "TSC"},
};

enum { DOMAINS = sizeof(domains) / sizeof(domains[0]) };

static struct event_clock_pair narrowest_pair(clockid_t clock)
{
	struct event_clock_pair best = {.host_upper_ns = UINT64_MAX};

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = host_clocks_now_ns();
		uint64_t time = clock < 0 ? host_clocks_now_tsc() : read_clock(clock);
		uint64_t after = host_clocks_now_ns();

		if (after - before < best.host_upper_ns - best.host_lower_ns)
			best = (struct event_clock_pair){time, before, after};
	}
	return best;
}

/* Estimates ticks per second within 0.2 ms. The recording's clock pairs give the exact rate. */
static uint64_t tsc_frequency(void)
{
	struct event_clock_pair first = narrowest_pair(-1), last;
	uint64_t ns;

	do {
		last = narrowest_pair(-1);
		ns = last.host_lower_ns - first.host_lower_ns;
	} while (ns < 200000);
	return (uint64_t)((unsigned __int128)(last.time - first.time) * 1000000000u / ns);
}

int host_clocks_describe(struct trace_writer *writer, bool tsc)
{
	uint64_t now = host_clocks_now_ns();
	struct event_clock clock = {
		.id = CLOCK_ID_MONOTONIC,
		.type = CLOCK_TYPE_MONOTONIC,
		.frequency_hz = 1000000000,
		.begin_ns = now,
	};
	int error = trace_writer_entity(writer, EVENT_CLOCK, &clock);

	for (int i = 0; i < DOMAINS && !error; i++) {
		if (domains[i].type == CLOCK_TYPE_TSC && !tsc)
			continue;
		clock.id = domains[i].id;
		clock.type = domains[i].type;
		clock.frequency_hz =
			domains[i].type == CLOCK_TYPE_TSC ? tsc_frequency() : 1000000000;
		error = trace_writer_entity(writer, EVENT_CLOCK, &clock);
	}
	return error;
}

struct event_clock_pair host_clocks_read_tsc(void)
{
	return narrowest_pair(-1);
}

int host_clocks_read(struct trace_writer *writer, bool tsc, struct event_clock_pair *ret_tsc)
{
	for (int i = 0; i < DOMAINS; i++) {
		struct trace_source source = {.clock = domains[i].id};
		struct event_clock_pair pair;
		int error;

		if (domains[i].type == CLOCK_TYPE_TSC && !tsc)
			continue;
		pair = narrowest_pair(domains[i].clock);
		if (domains[i].type == CLOCK_TYPE_TSC)
			*ret_tsc = pair;
		error = trace_writer_row(writer, EVENT_CLOCK_PAIR, &source, &pair);
		if (error)
			return error;
	}
	return 0;
}
