/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/holders.c - the threads for which a launching thread waits
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     waits of launching threads while a device is idle, moments of all threads
 * Gives:    rows of the stacks of the other threads
 * Owns:     nothing; the rows belong to the analysis
 * Fails:    -ENOMEM
 * Why threads behind the first: a pool's own thread only passes the results of its workers on. The
 *           user's code runs in the worker that woke it.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>

/* Threads between the launching thread and the one that it waits for in the end. */
enum { MAX_BEHIND = 3 };

/* In the key of a row, a thread instead of a wait. */
#define KEY_THREAD    UINT64_C(0x80000000)
#define KEY_PREEMPTED UINT64_C(0x40000000)
#define KEY_AWAY      UINT64_C(0x20000000) /* in both: the other thread itself was preempted */

/* Instead of the text of a wait: the thread waited for several things there. */
#define SEVERAL_WAITS UINT32_MAX

/* The thread for which a wait lasts: the holder of the lock, otherwise the thread that ended the
 * wait. 0: not known. */
static uint32_t awaited(const struct sweep *sweep, uint32_t wait)
{
	const struct state_wait *about = &sweep->thread_states.waits[wait];

	if (!wait)
		return 0;
	return analysis_awaited_thread(&sweep->analysis->cpu, about->holder, about->waker);
}

static void count_weight(const struct sweep_holding *part, uint64_t *weight, uint64_t *away)
{
	*weight = add_saturated(*weight, part->weight);
	if (part->is_away)
		*away = add_saturated(*away, part->weight);
}

int sweep_add_holding(struct sweep *sweep, const struct sweep_waiter *waiter,
		      struct sweep_holding part)
{
	static const struct state_wait none;
	const struct state_wait *about =
		waiter->behind || !waiter->wait ? &none : &sweep->thread_states.waits[waiter->wait];
	const uint64_t rank = KEY_THREAD | (waiter->is_preempted ? KEY_PREEMPTED : 0) | part.thread;
	const uint64_t who =
		(waiter->wait ? waiter->wait : rank) | (part.is_preempted ? KEY_AWAY : 0);
	struct analysis_cpu *cpu = &sweep->analysis->cpu;
	struct analysis_holding *row;
	uint32_t index = sweep_rows_add(
		&sweep->thread_states.holdings, (uint64_t)waiter->device << 32 | who,
		(uint64_t)waiter->behind << 32 | part.stack, cpu->holdings, cpu->holdings_count,
		(struct analysis_holding){.device = waiter->device,
					  .wait = waiter->wait,
					  .behind = waiter->behind,
					  .is_preempted = waiter->is_preempted,
					  .is_away_preempted = part.is_preempted,
					  .wait_string = about->string,
					  .holder = about->holder,
					  .thread = part.thread,
					  .stack = part.stack});
	const struct state_wait *own = part.wait ? &sweep->thread_states.waits[part.wait] : &none;

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	row = &cpu->holdings[index];
	if (!row->own_wait_string)
		row->own_wait_string = own->string;
	else if (own->string && own->string != row->own_wait_string)
		row->own_wait_string = SEVERAL_WAITS;
	count_weight(&part, &row->weight, &row->away);
	if (waiter->is_slowest)
		count_weight(&part, &row->slowest_weight, &row->slowest_away);
	if (waiter->is_steady)
		count_weight(&part, &row->steady_weight, &row->steady_away);
	return 0;
}

static int count_thread(struct sweep *sweep, const struct sweep_waiter *waiter, uint32_t id,
			const struct thread_moment *wait, uint64_t begin, uint64_t end,
			unsigned int depth);

/* The other thread waited, too: counts what the thread did that ended its wait. */
static int count_behind(struct sweep *sweep, struct sweep_waiter waiter, uint32_t id,
			const struct thread_moment *moment, uint64_t begin, uint64_t end,
			unsigned int depth)
{
	const uint32_t behind = moment->is_preempted ? 0 : awaited(sweep, moment->wait);

	if (!behind || behind == id || depth >= MAX_BEHIND)
		return 0;
	waiter.behind = moment->stack;
	return count_thread(sweep, &waiter, behind, moment, larger(begin, moment->begin),
			    smaller(end, moment->end), depth + 1);
}

static int count_moment(struct sweep *sweep, const struct sweep_waiter *waiter, uint32_t id,
			const struct thread_moment *moment, uint64_t begin, uint64_t end,
			unsigned int depth)
{
	const bool is_in = moment->begin >= begin && moment->begin < end;
	const bool is_away = moment->begin != moment->end;
	const uint64_t weight = is_away ? thread_moment_overlap(moment, begin, end)
				: is_in ? moment->weight
					: 0;
	int error;

	if (!weight || !moment->stack)
		return 0;
	error = sweep_add_holding(
		sweep, waiter,
		(struct sweep_holding){.thread = id,
				       .stack = moment->stack,
				       .weight = weight,
				       .is_away = is_away,
				       .wait = moment->is_preempted ? 0 : moment->wait,
				       .is_preempted = is_away && moment->is_preempted});
	if (error || !is_away)
		return error;
	return count_behind(sweep, *waiter, id, moment, begin, end, depth);
}

/* Counts what a thread did in [begin, end), while another one waited for it. A woken thread may get
 * its processor later. If the one that woke it blocks before that, it has released the lock. */
static int count_thread(struct sweep *sweep, const struct sweep_waiter *waiter, uint32_t id,
			const struct thread_moment *wait, uint64_t begin, uint64_t end,
			unsigned int depth)
{
	size_t thread = entity_index_find(&sweep->entities.threads, id);
	const struct thread_state *state = &sweep->per_thread.states[thread];
	size_t i = sweep_first_moment(state, begin);
	int error = 0;

	if (thread == sweep->entities.threads.count)
		return 0;
	for (; i < state->moments_count && state->moments[i].begin < end && !error; i++) {
		const struct thread_moment *moment = &state->moments[i];

		if (!wait->is_woken || moment->begin == moment->end || moment->end < wait->end)
			error = count_moment(sweep, waiter, id, moment, begin, end, depth);
	}
	if (!error && !wait->is_woken && state->since_ns < end && state->stack &&
	    !state->is_preempted)
		error = sweep_add_holding(
			sweep, waiter,
			(struct sweep_holding){id, state->stack,
					       end - larger(state->since_ns, begin), true,
					       state->wait});
	return error;
}

int sweep_count_holder(struct sweep *sweep, const struct sweep_waiter *waiter,
		       const struct thread_moment *wait, uint64_t begin, uint64_t end)
{
	return count_thread(sweep, waiter, awaited(sweep, waiter->wait), wait, begin, end, 0);
}
