/* SPDX-License-Identifier: MIT
 *
 * tests/unit/clock/synthetic.h - clocks whose relation to the host is known, and a random source
 */
#pragma once

#include <stdint.h>

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static inline uint64_t random_below(uint64_t limit)
{
	return random_next() % limit;
}

/* A clock that shows `start` when the host shows `epoch_ns` and counts
 * frequency_hz * (1 + drift / 10^9) ticks per host second. */
struct synthetic {
	uint64_t start, epoch_ns, frequency_hz;
	int64_t drift_ppb;
};

/* What the clock shows at a host time, rounded down as a counter does. */
static inline uint64_t synthetic_show(const struct synthetic *clock, uint64_t host_ns)
{
	__int128 ticks = (__int128)(host_ns - clock->epoch_ns) * clock->frequency_hz;

	ticks = ticks / 1000000 * (1000000000 + clock->drift_ppb) / 1000000000 / 1000;
	return clock->start + (uint64_t)ticks;
}

static inline uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}
