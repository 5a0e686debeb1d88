/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/gil.c - threads that wait for Python's global interpreter lock (GIL): their wakers,
 * and holders that wait for a device meanwhile
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     calls that wait for a device, switches with the reason of the wait
 * Gives:    one row for each function and stack of the holder; the waker of a chain of waits
 * Owns:     nothing; the rows belong to the analysis
 * Fails:    -ENOMEM
 * Why the holder is looked up only at a switch: a thread that waits for the GIL wakes up every 5 ms
 *           (the interpreter's switch interval). So each interval off the processor has one holder.
 *           If the holder waits for a device when the interval begins, it does so until the
 *           interval or the holder's call ends.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>

enum { CHAIN_NS = 1000000 }; /* max time between two timed waits of one wait for the lock */

/* ---- chains of timed waits ------------------------------------------------------------------- */

bool sweep_waits_for_gil(const struct sweep *sweep, const struct thread_state *state)
{
	const uint32_t string = state->wait ? sweep->thread_states.waits[state->wait].string : 0;

	return string && analysis_is_gil(model_text(sweep->analysis->model, string, ""));
}

void sweep_name_gil_chain(struct sweep *sweep, struct thread_state *state)
{
	const struct state_wait *last = &sweep->thread_states.waits[state->wait];
	uint64_t begin = state->since_ns;

	for (size_t i = state->moments_count; i-- > state->moments_first && last->waker;) {
		struct thread_moment *moment = &state->moments[i];
		const struct state_wait *wait = &sweep->thread_states.waits[moment->wait];

		if (moment->begin == moment->end) /* a sample */
			continue;
		if (moment->end + CHAIN_NS < begin || moment->is_preempted || !moment->wait ||
		    wait->string != last->string || wait->holder || wait->waker)
			return;
		moment->wait = state->wait;
		begin = moment->begin;
	}
}

/* ---- holders that wait for a device ---------------------------------------------------------- */

void sweep_note_wait(struct sweep *sweep, size_t thread, const struct event_api *row)
{
	struct thread_state *state;

	if (thread == sweep->entities.threads.count)
		return;
	state = &sweep->per_thread.states[thread];
	state->wait_end = row->end;
	state->wait_function = row->function_string;
	state->wait_stack = row->stack;
}

void sweep_await_gil(struct sweep *sweep, size_t thread, const struct event_switch *row)
{
	struct thread_state *state = &sweep->per_thread.states[thread];
	size_t holder = entity_index_find(&sweep->entities.threads, row->holder);
	const struct thread_state *other = &sweep->per_thread.states[holder];

	state->gil_until = 0;
	if (!row->wait_string || holder == sweep->entities.threads.count || holder == thread ||
	    other->wait_end <= row->time ||
	    sweep->entities.thread_process[holder] != sweep->entities.thread_process[thread] ||
	    !analysis_is_gil(model_text(sweep->analysis->model, row->wait_string, "")))
		return;
	state->gil_until = other->wait_end;
	state->gil_function = other->wait_function;
	state->gil_stack = other->wait_stack;
}

static int find_row(struct sweep *sweep, uint32_t function, uint32_t stack,
		    struct analysis_gil **ret_row)
{
	const struct model *model = sweep->analysis->model;
	struct analysis_cpu *cpu = &sweep->analysis->cpu;
	uint32_t index = sweep_rows_add(
		&sweep->thread_states.gils, function, stack, cpu->gils, cpu->gils_count,
		(struct analysis_gil){.name = model_text(model, function, "[unknown function]"),
				      .stack = stack});

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	*ret_row = &cpu->gils[index];
	return 0;
}

int sweep_count_gil(struct sweep *sweep, size_t thread, uint64_t since_ns, uint64_t until_ns)
{
	const struct analysis *analysis = sweep->analysis;
	struct thread_state *state = &sweep->per_thread.states[thread];
	uint64_t end = smaller(smaller(until_ns, state->gil_until), analysis->to_ns);
	uint64_t begin = since_ns > analysis->from_ns ? since_ns : analysis->from_ns;
	struct analysis_gil *row;

	state->gil_until = 0;
	if (begin >= end)
		return 0;
	if (find_row(sweep, state->gil_function, state->gil_stack, &row))
		return -ENOMEM;
	row->count++;
	row->blocked_ns += end - begin;
	return 0;
}
