/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_gil.c - threads that wait for Python's lock while who has it waits for a device
 *
 * Runs in:  the readers
 * Gets:     calls that wait, switches with what they wait for   Gives: one row for each function and stack
 * Owns:     nothing; the rows are the analysis's
 * Fails:    -ENOMEM
 * Why looked at when it goes: a thread that waits for the lock looks up every 5 ms (the interpreter's switch
 *           interval), so that each interval has one holder, and what it was doing then it does to the end of it
 *           or of its call
 */
#include "analyze/sweep.h"

#include <errno.h>

#include "base/array.h"

void sweep_note_wait(struct sweep *sweep, size_t thread, const struct event_api *row)
{
	struct thread_state *state;

	if (thread == sweep->threads.count)
		return;
	state = &sweep->states[thread];
	state->wait_end = row->end;
	state->wait_function = row->function_string;
	state->wait_stack = row->stack;
}

void sweep_await_gil(struct sweep *sweep, size_t thread, const struct event_switch *row)
{
	struct thread_state *state = &sweep->states[thread];
	size_t holder = things_index(&sweep->threads, row->holder);
	const struct thread_state *other = &sweep->states[holder];

	state->gil_until = 0;
	if (!row->wait_string || holder == sweep->threads.count || holder == thread ||
	    other->wait_end <= row->time ||
	    sweep->thread_process[holder] != sweep->thread_process[thread] ||
	    !analysis_is_gil(model_text(sweep->analysis->model, row->wait_string, "")))
		return;
	state->gil_until = other->wait_end;
	state->gil_function = other->wait_function;
	state->gil_stack = other->wait_stack;
}

static int find_row(struct sweep *sweep, uint32_t function, uint32_t stack,
		    struct analysis_gil **ret_row)
{
	struct analysis *analysis = sweep->analysis;
	uint32_t index = pair_map_find(&sweep->gil_rows, function, stack);

	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)analysis->gils_count;
		if (array_grow(analysis->gils, sweep->gils_capacity, index + (size_t)1) ||
		    pair_map_put(&sweep->gil_rows, function, stack, index))
			return -ENOMEM;
		analysis->gils[index] = (struct analysis_gil){
			.name = model_text(analysis->model, function, "[unknown function]"),
			.stack = stack};
		analysis->gils_count++;
	}
	*ret_row = &analysis->gils[index];
	return 0;
}

int sweep_count_gil(struct sweep *sweep, size_t thread, uint64_t since_ns, uint64_t until_ns)
{
	const struct analysis *analysis = sweep->analysis;
	struct thread_state *state = &sweep->states[thread];
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
