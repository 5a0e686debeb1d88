/* SPDX-License-Identifier: MIT
 *
 * collect/guest/detail.c - how much a guest records: the recorder changes it, and counts what was
 * left out
 *
 * Runs in:  the recorder, in the thread that reads the rings
 * Gets:     a level (enum ring_detail); counts in the guest's rings
 * Gives:    sums for collect/limit, loss rows with LOSS_LIMIT
 * Owns:     nothing; the state belongs to struct injected
 * Fails:    never; a count that cannot be true is written as one loss with LOSS_RING_BROKEN
 * Why:      A call that began before a change of the level counts after it. Such late counts belong
 *           to the interval that has just ended. An interval of their own would hide a whole second
 *           of the device's idle time for one launch.
 */
#include "collect/guest/injected.h"

#include <stdatomic.h>

#include "collect/host_clocks.h"

/* The guest measures its own time in one call of this number (guest_is_timed). */
enum { TIMED_OF = 256 };

static uint64_t sum_of(const struct injected *injected, size_t offset)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < injected->round.rings_seen; i++) {
		const char *control = (const char *)injected->rings[i].reader.control;

		sum += atomic_load_explicit((const _Atomic uint64_t *)(control + offset),
					    memory_order_relaxed);
	}
	return sum;
}

uint64_t injected_launches(const struct injected *injected)
{
	return sum_of(injected, offsetof(struct ring_control, launches));
}

uint64_t injected_ring_launches(const struct injected_ring *ring)
{
	return atomic_load_explicit(&ring->reader.control->launches, memory_order_relaxed);
}

uint64_t injected_guest_ns(const struct injected *injected)
{
	const _Atomic uint64_t *trouble = injected->region.shared->trouble;
	const uint64_t ticks = atomic_load(&trouble[RING_TROUBLE_SECTIONS_TICKS]) +
			       TIMED_OF * atomic_load(&trouble[RING_TROUBLE_TIMED_TICKS]);

	return recording_ticks_ns(injected->recording, ticks);
}

uint64_t injected_long_ns(const struct injected *injected)
{
	return recording_ticks_ns(injected->recording, injected->harvest_ticks);
}

static void put_left_out(struct injected *injected, uint32_t kind, uint64_t count,
			 uint64_t *inout_written)
{
	const struct guest_left_out *left = &injected->left_out;
	const struct trace_source source = {.source = injected->process->row.id,
					    .clock = CLOCK_ID_MONOTONIC};
	const uint64_t more = count > *inout_written ? count - *inout_written : 0;
	/* One launch per ns and ring at most; a higher count is corrupt. */
	const bool is_possible = more / injected->region.ring_count <= left->end_ns;
	const struct event_loss row = {
		.begin = left->begin_ns,
		.end = left->end_ns,
		.process = injected->process->row.id,
		.kind = is_possible ? kind : EVENT_PADDING,
		.reason = is_possible ? LOSS_LIMIT : LOSS_RING_BROKEN,
		.count = is_possible ? more : 1,
		.bounded = 1,
	};

	*inout_written = count;
	if (more)
		trace_writer_row(injected->recording->writer, EVENT_LOSS, &source, &row);
}

void injected_count_left_out(struct injected *injected, uint64_t now_ns)
{
	struct guest_left_out *left = &injected->left_out;

	if (left->is_off)
		left->end_ns = now_ns;
	put_left_out(injected, EVENT_LAUNCH,
		     sum_of(injected, offsetof(struct ring_control, launches_left_out)),
		     &left->launches);
	put_left_out(injected, EVENT_API,
		     sum_of(injected, offsetof(struct ring_control, calls_left_out)), &left->calls);
	if (left->is_off)
		left->begin_ns = now_ns;
}

void injected_set_detail(struct injected *injected, uint32_t detail, uint64_t now_ns)
{
	struct guest_left_out *left = &injected->left_out;
	const bool is_off = (detail & RING_DETAIL_LEVEL) >= RING_DETAIL_COUNTERS;

	atomic_store_explicit(&injected->region.shared->detail, detail, memory_order_relaxed);
	if (is_off == left->is_off)
		return;
	if (!is_off)
		injected_count_left_out(injected, now_ns);
	left->is_off = is_off;
	if (is_off)
		left->begin_ns = left->end_ns = now_ns;
}
