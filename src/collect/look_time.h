/* SPDX-License-Identifier: MIT
 *
 * collect/look_time.h - how much of the recorder's time goes into files that one user's programs point to
 *
 * Mappings in /proc, perf maps and dumps of code: how long one takes to read is up to the program. Whatever a user's
 * processes are, and however many, they take a fiftieth of the time; a user who is limited may at most be AHEAD by
 * what 200 ms of reading have to be followed by.
 */
#ifndef COLLECT_LOOK_TIME_H
#define COLLECT_LOOK_TIME_H

#include <stdbool.h>
#include <stdint.h>

#define LOOK_TIME_SHARE 50
#define LOOK_TIME_AHEAD ((uint64_t)LOOK_TIME_SHARE * 200000000) /* ns */

/* Of one user; those who are not limited have one together. All zero: not limited, nothing spent. */
struct look_time {
	uint64_t until_ns; /* when what was spent is a fiftieth of the time; CLOCK_MONOTONIC */
	bool is_limited;
};

/* Whether it is time for what can be done later as well. */
static inline bool look_time_is_due(const struct look_time *time, uint64_t now_ns)
{
	return now_ns >= time->until_ns;
}

/* Whether there is time for what is now or never. */
static inline bool look_time_is_left(const struct look_time *time, uint64_t now_ns)
{
	return !time->is_limited || now_ns + LOOK_TIME_AHEAD >= time->until_ns;
}

static inline void look_time_spend(struct look_time *time, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t from_ns = time->until_ns > end_ns ? time->until_ns : end_ns;

	time->until_ns = from_ns + LOOK_TIME_SHARE * (end_ns - begin_ns);
}

#endif
