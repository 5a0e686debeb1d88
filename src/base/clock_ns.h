/* SPDX-License-Identifier: MIT
 *
 * base/clock_ns.h - read a clock of the system
 */
#pragma once

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock that every process may read: CLOCK_MONOTONIC, CLOCK_REALTIME, … */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
