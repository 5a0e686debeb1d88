/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/functions.c - the functions and operators in which the launching threads were while
 * a device was idle
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     functions and operators that a tracer recorded, as calls or as ranges, calls of a
 *           runtime inside of them
 * Gives:    idle time outside of calls by the innermost function, with its stack
 * Owns:     each thread's time in functions since the earliest gap that is still open
 * Fails:    -ENOMEM
 * Why the innermost: the outermost function of a Python program is <module>, which lasts as long as
 *           the program. It contains all other functions, so it explains nothing.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"

/* A function's time that is to be added between the times of functions inside of it. */
struct added_function {
	struct thread_call call;
	uint64_t at; /* added up to here */
};

static int append_part(struct thread_called *functions, const struct thread_call *call,
		       uint64_t begin, uint64_t end)
{
	struct thread_call part = *call;

	if (begin >= end)
		return 0;
	part.begin = begin;
	part.end = end;
	part.inside_ns = end - begin;
	return array_append(functions->calls, functions->capacity, functions->count, part);
}

static int append_added(struct thread_called *functions, struct added_function *added,
			uint64_t until)
{
	const uint64_t end = smaller(until, added->call.until_ns);
	int error = append_part(functions, &added->call, added->at, end);

	added->at = larger(added->at, end);
	return error;
}

/* Whether the function of a part encloses another one: the longer of two that begin at one time. */
static bool encloses(const struct thread_call *part, const struct thread_call *call)
{
	return part->from_ns < call->from_ns ||
	       (part->from_ns == call->from_ns && part->until_ns >= call->until_ns);
}

/* Appends again what is left of a part beside the added function. */
static int append_rest(struct thread_called *functions, const struct thread_call *part,
		       struct added_function *added)
{
	const uint64_t begin = added->call.from_ns, end = added->call.until_ns;
	int error;

	if (!encloses(part, &added->call)) {
		error = append_added(functions, added, part->begin);
		added->at = larger(added->at, part->end);
		return error ? error : append_part(functions, part, part->begin, part->end);
	}
	error = append_part(functions, part, part->begin, smaller(part->end, begin));
	if (!error && part->end > end)
		error = append_added(functions, added, UINT64_MAX);
	return error ? error : append_part(functions, part, larger(part->begin, end), part->end);
}

static int add_function(struct sweep *sweep, struct thread_called *functions,
			const struct thread_call *call)
{
	struct thread_called *taken = &sweep->thread_states.taken;
	struct added_function added = {.call = *call, .at = call->from_ns};
	size_t first = functions->count;
	int error = 0;

	while (first && functions->calls[first - 1].end > call->from_ns)
		first--;
	taken->count = 0;
	for (size_t i = first; i < functions->count && !error; i++)
		error = array_append(taken->calls, taken->capacity, taken->count,
				     functions->calls[i]);
	functions->count = first;
	for (size_t i = 0; i < taken->count && !error; i++)
		error = append_rest(functions, &taken->calls[i], &added);
	return error ? error : append_added(functions, &added, UINT64_MAX);
}

int sweep_note_function(struct sweep *sweep, size_t thread, const struct event_api *row)
{
	struct thread_called *functions = &sweep->per_thread.states[thread].functions;
	const struct thread_call call = {.from_ns = row->begin,
					 .until_ns = row->end,
					 .function = row->function_string,
					 .stack = row->stack,
					 .is_own = true,
					 .capture = sweep->per_thread.states[thread].capture};

	if (row->begin >= row->end)
		return 0;
	sweep->analysis->cpu.has_functions = true;
	sweep->analysis->cpu.threads[thread].has_functions = true;
	sweep_compact_called(sweep, functions, row->begin, true);
	return add_function(sweep, functions, &call);
}

int sweep_note_call_inside(struct sweep *sweep, size_t thread, const struct event_api *row)
{
	struct thread_called *functions = &sweep->per_thread.states[thread].functions;
	const struct thread_call call = {
		.from_ns = row->begin, .until_ns = row->end, .is_launch = true};

	if (!functions->count || row->begin >= row->end)
		return 0;
	return add_function(sweep, functions, &call);
}

static bool is_own_frame(const struct model *model, const struct event_range *row)
{
	const struct event_stack *stack = model_stack(model, row->stack);
	const struct event_frame *frame = stack ? model_frame(model, stack->frame) : NULL;

	return frame && frame->name_string && frame->name_string == row->name_string;
}

int sweep_note_range(struct sweep *sweep, const struct event_range *row)
{
	const struct model *model = sweep->analysis->model;
	const size_t thread = entity_index_find(&sweep->entities.threads, row->thread);
	const struct event_api call = {.begin = row->begin,
				       .end = row->end,
				       .function_string = row->name_string,
				       .stack = row->stack};

	if (row->type != RANGE_PUSH || !row->stack || thread == sweep->entities.threads.count ||
	    !model_imported_from(model) || !is_own_frame(model, row))
		return 0;
	return sweep_note_function(sweep, thread, &call);
}

int sweep_on_piece(void *context, const struct account *account, const struct account_piece *piece)
{
	struct sweep *sweep = context;
	const size_t device = sweep_device_of(sweep, account);
	const struct thread_called *functions = &sweep->per_thread.states[piece->thread].functions;
	int error = sweep_on_calls(sweep, device, piece);

	if (!error && piece->rest == CAUSE_HOST)
		error = pair_map_put(&sweep->thread_states.idle_threads, device, piece->thread, 1);
	for (size_t i = 0; i < functions->count && !error; i++) {
		const struct thread_call *call = &functions->calls[i];
		const struct observed_part part =
			thread_call_overlap(call, piece->begin, piece->end);

		if (part.by && (call->function || call->is_dropped))
			error = sweep_add_function(sweep, device, piece, call, part);
	}
	return error;
}
