/* SPDX-License-Identifier: MIT
 *
 * inject/clock_reads.h - schedule paired readings of a device's clock and the host's, and record
 * them
 */
#pragma once

#include "inject/guest.h"

/* Often at first, for short programs; later about once a second whatever the unit of the host
 * clock. */
#define CLOCK_READS_FIRST (UINT64_C(1) << 20)
static inline uint64_t clock_reads_longest(const struct guest_thread *thread)
{
	return thread->clock == RING_CLOCK_TSC ? UINT64_C(1) << 32 : UINT64_C(1) << 30;
}

/* For a clock that all threads read; all 0 at first. Host time. */
struct clock_reads {
	_Atomic uint64_t next, interval;
};

/* Whether the thread is to read the clock now: it is due, and no other thread reads it. is_end:
 * always. */
static inline bool clock_reads_take(struct guest_thread *thread, struct clock_reads *reads,
				    bool is_end)
{
	const uint64_t now = guest_now(thread);
	uint64_t due = atomic_load(&reads->next), interval = atomic_load(&reads->interval);

	if (now < due && !is_end)
		return false;
	if (!interval)
		interval = CLOCK_READS_FIRST;
	if (!atomic_compare_exchange_strong(&reads->next, &due, now + interval) && !is_end)
		return false;
	atomic_store(&reads->interval,
		     interval < clock_reads_longest(thread) ? 2 * interval : interval);
	return true;
}

/* Records that the device's clock was at `time` between two readings of the host's. False: the ring
 * is full. */
static inline bool clock_reads_put(struct guest_thread *thread, uint32_t device, uint64_t time,
				   uint64_t before, uint64_t after)
{
	struct record_clock_pair *record =
		guest_reserve(thread, EVENT_CLOCK_PAIR, sizeof(*record), 0);

	if (!record)
		return false;
	record->time = time;
	record->before = before;
	record->after = after;
	record->device = device;
	record->reserved = 0;
	ring_commit(&thread->writer);
	return true;
}
