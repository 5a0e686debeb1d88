/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/captures.c - when threads captured a stream into a graph
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     calls that begin and end captures, by the names of their functions
 * Gives:    marks on the calls and samples of a thread in between
 * Owns:     the meaning of each function's name
 * Fails:    -ENOMEM
 * Why by thread: CUDA and HIP end a capture on the thread that began it, unless it was begun in
 *           the relaxed mode. An end on another thread ends the capture of a thread of its process.
 */
#include <string.h>

#include "analyze/sweep/sweep.h"

enum capture_function { CAPTURE_NONE, CAPTURE_BEGINS, CAPTURE_ENDS };

static int find_function(struct sweep *sweep, uint32_t string, uint32_t *ret_function)
{
	struct pair_map *map = &sweep->thread_states.captures;
	const char *name;

	*ret_function = pair_map_find(map, string, 0);
	if (*ret_function != PAIR_MAP_NONE)
		return 0;
	name = model_text(sweep->analysis->model, string, "");
	*ret_function = strstr(name, "StreamBeginCapture") ? CAPTURE_BEGINS
			: strstr(name, "StreamEndCapture") ? CAPTURE_ENDS
							   : CAPTURE_NONE;
	return pair_map_put(map, string, 0, *ret_function);
}

static int mark_capture(struct thread_state *state, uint64_t time_ns)
{
	int error = sweep_mark_capture(&state->called, time_ns, state->capture);

	return error ? error : sweep_mark_capture(&state->functions, time_ns, state->capture);
}

int sweep_begin_capture(struct sweep *sweep, size_t thread, const struct event_api *row)
{
	struct thread_state *state = &sweep->per_thread.states[thread];
	uint32_t function;
	int error = find_function(sweep, row->function_string, &function);

	if (error || function != CAPTURE_BEGINS || row->result || state->captures++)
		return error;
	state->capture = row->stack + 1;
	return mark_capture(state, row->begin);
}

/* The thread whose capture a call ends; its own if there is none. A call that fails ends no other
 * thread's. */
static size_t find_capturing(const struct sweep *sweep, size_t thread, bool has_failed)
{
	const uint32_t *processes = sweep->entities.thread_process;

	if (sweep->per_thread.states[thread].captures || has_failed)
		return thread;
	for (size_t i = 0; i < sweep->entities.threads.count; i++)
		if (sweep->per_thread.states[i].captures && processes[i] == processes[thread])
			return i;
	return thread;
}

/* A call that fails ends the capture, too: the graph is invalid then. */
int sweep_end_capture(struct sweep *sweep, size_t thread, const struct event_api *row)
{
	struct thread_state *state;
	uint32_t function;
	int error = find_function(sweep, row->function_string, &function);

	if (error || function != CAPTURE_ENDS)
		return error;
	state = &sweep->per_thread.states[find_capturing(sweep, thread, row->result)];
	if (!state->captures || --state->captures)
		return 0;
	state->capture = 0;
	return mark_capture(state, row->end);
}
