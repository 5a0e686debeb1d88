/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/real_clock.h - CLOCK_REALTIME that never goes back
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Time that real_clock may be ahead of the machine's clock without a message. */
#define REAL_CLOCK_AHEAD_NS INT64_C(1000000000)

struct real_clock {
	int64_t offset_ns;  /* to add to CLOCK_MONOTONIC */
	bool has_gone_back; /* the machine's clock was set back, and a message said so */
};

/* Reads the machine's clocks for the first time. */
void real_clock_init(struct real_clock *clock);
/* Follows the machine's clock forwards, and stays where it is when that was set back.
 * difference_ns: real_clock_difference_ns. True: it was set back by more than REAL_CLOCK_AHEAD_NS
 * since the last message; *ret_ahead_ns: by how much this clock is ahead. */
bool real_clock_follow(struct real_clock *clock, int64_t difference_ns, int64_t *ret_ahead_ns);
/* The present difference. */
int64_t real_clock_difference_ns(void);
/* The time of a moment of CLOCK_MONOTONIC. */
uint64_t real_clock_at(const struct real_clock *clock, uint64_t monotonic_ns);
