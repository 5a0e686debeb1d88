/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/moments.c - removes from the lists of threads all entries before the earliest time
 * at which an idle gap may begin
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     calls, samples and intervals of threads
 * Gives:    shorter lists of them
 * Owns:     nothing
 * Fails:    -ENOMEM
 */
#include "analyze/sweep/sweep.h"

#include <string.h>

#include "base/array.h"

/* Moments kept per thread: 20 s of samples. In a longer gap the last ones represent all of them. */
#define MAX_MOMENTS ((size_t)1 << 12)

static void forget_first(struct thread_state *state, size_t count)
{
	state->moments_first += count;
	if (state->moments_first * 2 < state->moments_count)
		return;
	state->moments_count -= state->moments_first;
	if (state->moments_count)
		memmove(state->moments, state->moments + state->moments_first,
			state->moments_count * sizeof(*state->moments));
	state->moments_first = 0;
}

int sweep_keep_moment(struct thread_state *state, const struct thread_moment *moment)
{
	if (state->moments_count - state->moments_first >= MAX_MOMENTS)
		forget_first(state, MAX_MOMENTS / 2);
	return array_append(state->moments, state->moments_capacity, state->moments_count, *moment);
}

size_t sweep_first_moment(const struct thread_state *state, uint64_t time_ns)
{
	size_t low = state->moments_first, high = state->moments_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (state->moments[middle].end < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* kept: the times at which a gap may begin. None: no device has run a command yet, so the first gap
 * begins before all moments. */
static void forget_moments(struct sweep_per_thread *per_thread, size_t thread, const uint64_t *kept,
			   size_t count)
{
	struct thread_state *state = &per_thread->states[thread];
	uint64_t earliest = UINT64_MAX;
	size_t old = 0, all = state->moments_count - state->moments_first;

	if (!count)
		return;
	for (size_t i = 0; i < count; i++)
		if (kept[i] < earliest)
			earliest = kept[i];
	while (old < all && state->moments[state->moments_first + old].end < earliest)
		old++;
	forget_first(state, old);
}

/* A gap may begin at the last end of each device. The window, the steady part and the slowest
 * iteration may cut it. */
size_t sweep_list_kept(struct sweep *sweep)
{
	const struct analysis *analysis = sweep->analysis;
	size_t count = 0;

	for (size_t i = 0; i <= analysis->devices_count; i++) {
		if (analysis->devices[i].account.commands)
			sweep->per_thread.kept[count++] = analysis->devices[i].account.last_end;
	}
	sweep->per_thread.kept[count++] = analysis->from_ns;
	sweep->per_thread.kept[count++] = analysis->to_ns;
	sweep->per_thread.kept[count++] = analysis->devices[0].account.steady.from;
	sweep->per_thread.kept[count++] = analysis->devices[0].account.steady.to;
	sweep->per_thread.kept[count++] = analysis->devices[0].account.slowest.from;
	sweep->per_thread.kept[count++] = analysis->devices[0].account.slowest.to;
	return count;
}

void sweep_compact_calls(struct sweep *sweep, struct calls *calls, uint64_t now_ns)
{
	if (calls_is_full(calls))
		calls_compact(calls, sweep->per_thread.kept, sweep_list_kept(sweep),
			      now_ns > sweep->delay_ns ? now_ns - sweep->delay_ns : 0);
}

/* The last entries of `kept` are the ends of the window, of the steady part and of the slowest
 * iteration, where no gap begins. */
void sweep_compact_state(struct sweep *sweep, size_t thread, uint64_t now_ns)
{
	struct calls *away = &sweep->per_thread.states[thread].away;

	if (!calls_is_full(away))
		return;
	sweep_compact_calls(sweep, away, now_ns);
	forget_moments(&sweep->per_thread, thread, sweep->per_thread.kept,
		       sweep_list_kept(sweep) - 6);
}
