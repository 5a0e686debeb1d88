/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/wakers.c - numbers the reasons of waits and the chains of wakers
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     switches
 * Gives:    a number for each wait (reason, holder, waker) and for each chain of wakers
 * Owns:     nothing; the lists belong to the sweep and the analysis
 * Fails:    -ENOMEM; a new chain beyond ANALYSIS_WAKERS_KEPT chains gets the number 0 (unknown)
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>

#include "base/array.h"

/* The number of a wait or a call; 0: not known. */
int sweep_find_wait(struct sweep *sweep, const struct state_wait *wait, uint32_t *ret_wait)
{
	const uint64_t first = (uint64_t)wait->string << 32 | wait->holder;
	/* a call has no waker, and a wait no device and no capture */
	const uint32_t kind = wait->device << 4 | wait->is_dropped << 3 |
			      (wait->capture != 0) << 2 | wait->is_full << 1 | wait->is_own;
	const uint64_t second = (uint64_t)kind << 32 | wait->waker | wait->capture;
	uint32_t number = pair_map_find(&sweep->thread_states.wait_numbers, first, second);

	*ret_wait = 0;
	if (!first && !wait->waker && !wait->capture && !wait->is_dropped)
		return 0;
	if (number == PAIR_MAP_NONE) {
		number = (uint32_t)(sweep->thread_states.waits_count
					    ? sweep->thread_states.waits_count
					    : 1);
		if (array_grow(sweep->thread_states.waits, sweep->thread_states.waits_capacity,
			       number + (size_t)1) ||
		    pair_map_put(&sweep->thread_states.wait_numbers, first, second, number))
			return -ENOMEM;
		sweep->thread_states.waits[0] = (struct state_wait){0};
		sweep->thread_states.waits[number] = *wait;
		sweep->thread_states.waits_count = number + (size_t)1;
	}
	*ret_wait = number;
	return 0;
}

/* The number of a chain that begins with this link; 0: the limit of chains is reached. */
static int add_waker(struct sweep *sweep, uint32_t thread, uint32_t name_string, uint32_t before,
		     uint32_t *ret_waker)
{
	struct analysis *analysis = sweep->analysis;
	const uint64_t who = (uint64_t)thread << 32 | name_string;
	uint32_t number = pair_map_find(&sweep->thread_states.wakers.rows, who, before);

	*ret_waker = 0;
	if (number == PAIR_MAP_NONE && analysis->cpu.wakers_count == ANALYSIS_WAKERS_KEPT)
		return 0;
	if (number == PAIR_MAP_NONE) {
		if (array_append(
			    analysis->cpu.wakers, sweep->thread_states.wakers.capacity,
			    analysis->cpu.wakers_count,
			    (struct analysis_waker){
				    .thread = thread,
				    .name_string = name_string,
				    .before = before,
				    .depth = before ? analysis->cpu.wakers[before - 1].depth + 1
						    : 1}))
			return -ENOMEM;
		number = (uint32_t)analysis->cpu.wakers_count;
		if (pair_map_put(&sweep->thread_states.wakers.rows, who, before, number))
			return -ENOMEM;
	}
	*ret_waker = number;
	return 0;
}

/* Cuts the last link of a chain, which is farthest from the woken thread. */
static int cut_wakers(struct sweep *sweep, uint32_t *waker)
{
	struct analysis_waker links[MAX_ANALYSIS_WAKERS];
	size_t count = 0;
	int error = 0;

	while (*waker && count < MAX_ANALYSIS_WAKERS) {
		links[count] = sweep->analysis->cpu.wakers[*waker - 1];
		*waker = links[count++].before;
	}
	*waker = 0;
	for (size_t i = count - 1; i-- > 0 && !error;)
		error = add_waker(sweep, links[i].thread, links[i].name_string, *waker, waker);
	return error;
}

/* The waker of a thread that left its processor at since_ns. If the waker itself was woken after
 * that, its wakers follow in the chain. */
int sweep_find_waker(struct sweep *sweep, const struct event_switch *row, uint64_t since_ns,
		     uint32_t *ret_waker)
{
	const size_t thread = entity_index_find(&sweep->entities.threads, row->waker);
	uint32_t before = 0;

	*ret_waker = 0;
	if (!row->waker && !row->waker_string)
		return 0;
	if (thread < sweep->entities.threads.count &&
	    sweep->per_thread.states[thread].woken_until > since_ns)
		before = sweep->per_thread.states[thread].waker;
	if (before && sweep->analysis->cpu.wakers[before - 1].depth == MAX_ANALYSIS_WAKERS &&
	    cut_wakers(sweep, &before))
		return -ENOMEM;
	return add_waker(sweep, row->waker, row->waker_string, before, ret_waker);
}
