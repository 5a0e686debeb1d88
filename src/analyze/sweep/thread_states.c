/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/thread_states.c - when threads were away from their processors
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     switches and samples of threads
 * Gives:    intervals in which a thread was away from its processor; samples of it
 * Owns:     each thread's intervals and samples since the earliest idle gap that is still open
 * Fails:    -ENOMEM
 */
#include "analyze/sweep/sweep.h"

#include <stdlib.h>

/* A thread that is preempted without a stack still runs the code of its last sample, if it has not
 * run for longer since then, and has not waited. */
#define LATELY_NS 10000000u

/* A return this much after the end of the call was seen by a poll. Records of switches are exact.
 */
#define LATE_NS 100000u

/* Whether the states of a thread are needed. Launching threads explain idle time. The others only
 * explain their waits. */
static bool is_followed(const struct sweep *sweep, size_t thread)
{
	return !sweep->options->is_brief || sweep->per_thread.states[thread].has_launched;
}

/* Calls do not overlap and come in order of time, so only the last one can contain a moment at or
 * after its begin. */
static bool is_in_call(const struct sweep_per_thread *per_thread, size_t thread, uint64_t time_ns)
{
	const struct calls *calls = &per_thread->calls[thread];

	return calls->count && calls->spans[calls->count - 1].end > time_ns;
}

/* Watches a thread only if the trace has switches: samples alone, as in imported traces, do not
 * show that the thread stayed on its processor. */
static void mark_watched(struct sweep *sweep, size_t thread, uint64_t time_ns)
{
	if (sweep->trace.has_switches && thread < sweep->entities.threads.count &&
	    sweep->per_thread.states[thread].watched_ns == UINT64_MAX)
		sweep->per_thread.states[thread].watched_ns = time_ns;
}

/* Adds the waker to a wait, unless the holder is known: the holder is the waker then. */
static int add_wait_waker(struct sweep *sweep, struct thread_state *state, uint32_t waker)
{
	struct state_wait wait = {.waker = waker};

	if (!waker || (state->wait && sweep->thread_states.waits[state->wait].holder))
		return 0;
	/* An interval without a reason stays without one: its time is divided among the intervals
	 * with stacks. */
	if (!state->wait)
		return 0;
	wait.string = sweep->thread_states.waits[state->wait].string;
	return sweep_find_wait(sweep, &wait, &state->wait);
}

/* A thread that waits for the GIL wakes up every 5 ms and waits again. Only the thread that ends
 * the last of these waits is the waker. */
static int find_waker(struct sweep *sweep, struct thread_state *state,
		      const struct event_switch *row, uint32_t *ret_waker)
{
	int error;

	if (!row->waker && sweep_waits_for_gil(sweep, state))
		return 0;
	error = sweep_find_waker(sweep, row, state->since_ns, ret_waker);
	state->woken_until = row->time;
	state->waker = *ret_waker;
	return error;
}

/* The thread is on a processor again. waker: number of the chain that woke it; 0: not known. */
static int come_back(struct sweep *sweep, size_t thread, uint64_t time_ns, uint32_t waker)
{
	const bool is_woken = waker && sweep->analysis->cpu.wakers[waker - 1].thread;
	struct thread_state *state = &sweep->per_thread.states[thread];
	uint64_t since_ns = state->since_ns;
	struct thread_moment moment;
	int error = 0;

	if (thread == sweep->entities.threads.count || since_ns == UINT64_MAX)
		return 0;
	state->sampled_ns += time_ns - since_ns;
	if (!state->is_preempted)
		error = add_wait_waker(sweep, state, waker);
	if (waker && sweep_waits_for_gil(sweep, state))
		sweep_name_gil_chain(sweep, state);
	state->since_ns = UINT64_MAX;
	sweep_compact_state(sweep, thread, time_ns);
	moment = (struct thread_moment){since_ns,
					time_ns,
					time_ns - since_ns,
					state->stack,
					state->wait,
					state->is_preempted,
					.is_woken = is_woken};
	if (!error && (!state->is_preempted || state->wait || state->stack))
		error = sweep_keep_moment(state, &moment);
	if (!error && !state->is_preempted && state->gil_until)
		error = sweep_count_gil(sweep, thread, since_ns, time_ns);
	return error ? error
		     : calls_add(&state->away, since_ns, time_ns,
				 state->is_preempted ? CALLS_WAIT : CALLS_CALL);
}

/* Ends what is known of a thread where a loss of switches begins. A thread that was woken after the
 * loss was blocked from its end on. *ret_is_inside: the row is inside of a loss and shows the state
 * of that moment alone. */
static int pass_losses(struct sweep *sweep, size_t thread, const struct thread_row *row,
		       bool *ret_is_inside)
{
	struct thread_state *state = &sweep->per_thread.states[thread];
	struct switch_gap gap;
	int error;

	*ret_is_inside = false;
	if (!sweep->switch_losses.count || thread == sweep->entities.threads.count)
		return 0;
	gap = sweep_pass_losses(sweep, &state->losses, row);
	*ret_is_inside = gap.is_inside;
	if (!gap.has_any)
		return 0;
	error = come_back(sweep, thread, gap.from, 0);
	if (!error)
		error = calls_add(&state->away, gap.from, gap.until, CALLS_DUET);
	if (gap.until == row->time || !row->is_entry)
		return error;
	state->since_ns = gap.until;
	state->is_preempted = false;
	state->stack = state->wait = state->sampled_stack = 0;
	return error;
}

/* A thread that went away inside of a call came back before the call's end. A later return is that
 * of a polled thread, whose state since the end is not known. */
static int return_late(struct sweep *sweep, size_t thread, uint64_t time_ns)
{
	struct thread_state *state = &sweep->per_thread.states[thread];
	const uint64_t left_until = state->left_until;

	state->left_until = 0;
	if (!left_until || time_ns < left_until + LATE_NS || state->since_ns != UINT64_MAX)
		return 0;
	sweep_compact_state(sweep, thread, time_ns);
	return calls_add(&state->away, left_until, time_ns, CALLS_DUET);
}

int sweep_state_called(struct sweep *sweep, size_t thread, uint64_t time_ns)
{
	bool is_inside;
	int error = pass_losses(sweep, thread, &(struct thread_row){.time = time_ns}, &is_inside);

	if (!error)
		error = return_late(sweep, thread, time_ns);
	return error ? error : come_back(sweep, thread, time_ns, 0);
}

/* Whether the thread that got the processor belongs to the process of the thread that lost it. */
static bool is_own(const struct sweep_entities *entities, const struct event_switch *row)
{
	const struct event_thread *thread = entity_index_get(&entities->threads, row->previous);
	const struct event_thread *next = entity_index_get(&entities->threads, row->holder);

	return thread && next && thread->process == next->process;
}

int sweep_state_continues(struct sweep *sweep, size_t thread, uint64_t time_ns)
{
	struct thread_state *state = &sweep->per_thread.states[thread];
	bool is_inside;
	int error = pass_losses(sweep, thread, &(struct thread_row){.time = time_ns}, &is_inside);

	if (error || thread == sweep->entities.threads.count || state->since_ns == UINT64_MAX)
		return error;
	error = come_back(sweep, thread, time_ns, 0);
	state->since_ns = time_ns;
	return error;
}

/* A thread that leaves its processor inside of a call also returns inside of it, so that time
 * belongs to the call. */
static int go_away(struct sweep *sweep, size_t thread, const struct event_switch *row)
{
	struct thread_state *state = &sweep->per_thread.states[thread];

	if (thread == sweep->entities.threads.count || state->since_ns != UINT64_MAX)
		return 0;
	if (is_in_call(&sweep->per_thread, thread, row->time)) {
		const struct calls *calls = &sweep->per_thread.calls[thread];
		const struct calls_span *last = &calls->spans[calls->count - 1];

		/* sections have times of other clocks */
		if (!last->is_merged && (last->state == CALLS_WAIT || last->state == CALLS_CALL))
			state->left_until = last->end;
		return sweep_see_in_call(sweep, thread, row->time, row->stack);
	}
	sweep_see_rank(sweep, thread, row->stack);
	state->since_ns = row->time;
	state->is_preempted = row->reason == SWITCH_PREEMPTED;
	state->stack = row->stack;
	if (!state->is_preempted)
		state->sampled_stack = 0;
	else if (!state->stack && row->time - state->sampled_ns < LATELY_NS)
		state->stack = state->sampled_stack;
	sweep_await_gil(sweep, thread, row);
	return sweep_find_wait(sweep,
			       &(struct state_wait){.string = row->wait_string,
						    .holder = row->holder,
						    .is_own = state->is_preempted &&
							      is_own(&sweep->entities, row)},
			       &state->wait);
}

/* A thread that was preempted has its processor again. The row names the thread that ran longest
 * meanwhile; the row before named the one that ran first. */
static int name_rival(struct sweep *sweep, struct thread_state *state,
		      const struct event_switch *row)
{
	const struct event_switch pair = {.previous = row->next, .holder = row->holder};

	if (row->previous || !state->is_preempted || (!row->holder && !row->wait_string))
		return 0;
	return sweep_find_wait(sweep,
			       &(struct state_wait){.string = row->wait_string,
						    .holder = row->holder,
						    .is_own = is_own(&sweep->entities, &pair)},
			       &state->wait);
}

static int leave(struct sweep *sweep, size_t thread, const struct event_switch *row)
{
	bool is_inside;
	int error;

	if (!is_followed(sweep, thread))
		return 0;
	mark_watched(sweep, thread, row->time);
	error = pass_losses(sweep, thread, &(struct thread_row){.time = row->time}, &is_inside);
	return error || is_inside ? error : go_away(sweep, thread, row);
}

/* The thread that got the processor is on it from here on. */
static int enter(struct sweep *sweep, size_t next, const struct event_switch *row)
{
	const struct thread_row entry = {
		.time = row->time, .is_entry = true, .is_woken = row->waker || row->waker_string};
	struct thread_state *state = &sweep->per_thread.states[next];
	uint32_t waker = 0;
	bool is_inside;
	int error;

	if (!is_followed(sweep, next))
		return 0;
	error = pass_losses(sweep, next, &entry, &is_inside);
	if (!error)
		error = return_late(sweep, next, row->time);
	/* A preempted thread did not wait, so its previous waker stays. */
	if (!error && next < sweep->entities.threads.count && state->since_ns != UINT64_MAX)
		error = state->is_preempted ? name_rival(sweep, state, row)
					    : find_waker(sweep, state, row, &waker);
	return error ? error : come_back(sweep, next, row->time, waker);
}

int sweep_take_switch(struct sweep *sweep, const struct event_switch *row)
{
	const size_t previous = entity_index_find(&sweep->entities.threads, row->previous);
	const size_t next = entity_index_find(&sweep->entities.threads, row->next);
	int error;

	mark_watched(sweep, next, row->time);
	error = leave(sweep, previous, row);
	return error ? error : enter(sweep, next, row);
}

int sweep_take_sample(struct sweep *sweep, const struct event_cpu_sample *row)
{
	size_t thread = entity_index_find(&sweep->entities.threads, row->thread);
	struct thread_state *state = &sweep->per_thread.states[thread];
	uint32_t wait;
	bool is_inside;
	int error;

	if (!is_followed(sweep, thread))
		return 0;
	error = pass_losses(sweep, thread, &(struct thread_row){.time = row->time}, &is_inside);
	mark_watched(sweep, thread, row->time);
	if (error || thread == sweep->entities.threads.count ||
	    !sweep_source_is_time(sweep, row->source_string))
		return error;
	if (is_in_call(&sweep->per_thread, thread, row->time))
		return sweep_see_in_call(sweep, thread, row->time, row->stack);
	if (is_inside)
		return 0;
	sweep_see_rank(sweep, thread, row->stack);
	state->sampled_ns = row->time;
	state->sampled_stack = row->stack;
	error = sweep_find_wait(sweep, &(struct state_wait){.capture = state->capture}, &wait);
	if (error)
		return error;
	return sweep_keep_moment(state, &(struct thread_moment){row->time, row->time, row->weight,
								row->stack, wait, false});
}

void sweep_states_fini(struct sweep *sweep)
{
	struct sweep_thread_states *states = &sweep->thread_states;

	for (size_t i = 0; sweep->per_thread.states && i <= sweep->entities.threads.count; i++) {
		calls_fini(&sweep->per_thread.states[i].away);
		calls_fini(&sweep->per_thread.states[i].overheads);
		free(sweep->per_thread.states[i].moments);
		free(sweep->per_thread.states[i].called.calls);
		free(sweep->per_thread.states[i].functions.calls);
	}
	free(sweep->per_thread.states);
	free(states->waits);
	free(states->taken.calls);
	pair_map_fini(&states->states.rows);
	pair_map_fini(&states->holdings.rows);
	pair_map_fini(&states->wakers.rows);
	pair_map_fini(&states->aways.rows);
	pair_map_fini(&states->gils.rows);
	pair_map_fini(&states->wait_numbers);
	pair_map_fini(&states->called_stacks);
	pair_map_fini(&states->idle_threads);
	pair_map_fini(&states->captures);
}
