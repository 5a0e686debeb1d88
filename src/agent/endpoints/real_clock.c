/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/real_clock.c - CLOCK_REALTIME that never goes back
 *
 * Runs in:  our own process, the agent's child for endpoints
 * Gets:     the machine's clocks
 * Gives:    times of points
 * Owns:     nothing
 * Fails:    never
 * Why:      the points of a series must have growing times, and a start before them. A receiver
 *           drops or misreads others. So after the machine's clock was set back, points stay ahead
 *           of it until the process is replaced, which starts new series
 */
#include "agent/endpoints/real_clock.h"

#include "base/clock_ns.h"

int64_t real_clock_difference_ns(void)
{
	return (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC));
}

void real_clock_init(struct real_clock *clock)
{
	*clock = (struct real_clock){.offset_ns = real_clock_difference_ns()};
}

bool real_clock_follow(struct real_clock *clock, int64_t difference_ns, int64_t *ret_ahead_ns)
{
	const bool had_gone_back = clock->has_gone_back;

	if (difference_ns > clock->offset_ns)
		clock->offset_ns = difference_ns;
	*ret_ahead_ns = clock->offset_ns - difference_ns;
	clock->has_gone_back = *ret_ahead_ns > REAL_CLOCK_AHEAD_NS;
	return clock->has_gone_back && !had_gone_back;
}

uint64_t real_clock_at(const struct real_clock *clock, uint64_t monotonic_ns)
{
	return monotonic_ns + (uint64_t)clock->offset_ns;
}
