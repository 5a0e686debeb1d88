/* SPDX-License-Identifier: MIT
 *
 * collect/start/lookup_budget.h - limits the recorder's time for files that one user's programs
 * name
 *
 * These files are /proc/PID/maps, perf maps and jitdumps. The program decides how long reading them
 * takes. All processes of a user together get 1/50 of the time. A limited user may overdraw that by
 * at most LOOKUP_BUDGET_AHEAD, which corresponds to 200 ms of reading.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LOOKUP_BUDGET_SHARE 50
#define LOOKUP_BUDGET_AHEAD ((uint64_t)LOOKUP_BUDGET_SHARE * 200000000) /* ns */

/* The budget of one user; all users without a limit share one. All zero: not limited, nothing
 * spent. */
struct lookup_budget {
	/* when the spent time will be 1/50 of the elapsed time; CLOCK_MONOTONIC */
	uint64_t until_ns;
	bool is_limited;
};

/* Whether there is time for work that can also be done later. */
static inline bool lookup_budget_is_due(const struct lookup_budget *time, uint64_t now_ns)
{
	return now_ns >= time->until_ns;
}

/* Whether there is time for work that cannot be done later. */
static inline bool lookup_budget_is_left(const struct lookup_budget *time, uint64_t now_ns)
{
	return !time->is_limited || now_ns + LOOKUP_BUDGET_AHEAD >= time->until_ns;
}

static inline void lookup_budget_spend(struct lookup_budget *time, uint64_t begin_ns,
				       uint64_t end_ns)
{
	uint64_t from_ns = time->until_ns > end_ns ? time->until_ns : end_ns;

	time->until_ns = from_ns + LOOKUP_BUDGET_SHARE * (end_ns - begin_ns);
}
