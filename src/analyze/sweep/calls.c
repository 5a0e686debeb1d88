/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/calls.c - the calls in which the launching threads were while a device was idle
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     calls of threads, stacks of samples and switches inside of them; idle gaps of devices
 *           from the account
 * Gives:    rows of the called functions, with the stack of the call
 * Owns:     each thread's calls since the earliest gap that is still open
 * Fails:    -ENOMEM
 * Why merged: a gap may last as long as 10^7 calls of a polling thread. It can begin only where the
 *           last command of a device ended, and end only where the thread launched. Calls from one
 *           place between two possible starts or ends of a gap are merged to one sum.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Calls kept per thread. The list is compacted each time it has doubled. In a gap with more than
 * MAX_CALLED calls the last ones represent all of them. */
enum { MIN_CALLED = 64, MAX_CALLED = 1024 };

static bool is_between(const uint64_t *moments, size_t count, uint64_t after, uint64_t before)
{
	for (size_t i = 0; i < count; i++)
		if (moments[i] > after && moments[i] < before)
			return true;
	return false;
}

static bool is_one_place(const struct thread_call *a, const struct thread_call *b)
{
	return a->function == b->function && a->stack == b->stack && a->device == b->device &&
	       a->is_own == b->is_own && a->is_wait == b->is_wait && a->capture == b->capture &&
	       a->is_full == b->is_full && a->is_dropped == b->is_dropped;
}

/* An earlier call from the same place, with no moment between the two at which a gap may begin or
 * end; NULL: none. */
static struct thread_call *find_earlier(struct thread_call *calls, size_t count,
					const struct thread_call *call, const uint64_t *kept,
					size_t kept_count)
{
	for (size_t i = count; i-- > 0;) {
		if (calls[i].is_launch || is_between(kept, kept_count, calls[i].begin, call->end))
			return NULL;
		if (is_one_place(&calls[i], call))
			return &calls[i];
	}
	return NULL;
}

/* No later sample or switch can fall into calls that end by `floor`, so these can be merged. */
static void merge(struct thread_called *called, const uint64_t *kept, size_t kept_count,
		  uint64_t floor)
{
	size_t count = 0;

	for (size_t i = 0; i < called->count; i++) {
		const struct thread_call call = called->calls[i];
		struct thread_call *earlier = NULL;

		if (call.end <= floor && !call.is_launch)
			earlier = find_earlier(called->calls, count, &call, kept, kept_count);
		if (earlier) {
			earlier->end = call.end;
			earlier->inside_ns += call.inside_ns;
		} else {
			called->calls[count++] = call;
		}
	}
	called->count = count;
}

uint64_t sweep_earliest_gap(const struct analysis *analysis)
{
	uint64_t earliest = UINT64_MAX;

	for (size_t i = 0; i < analysis->devices_count; i++) {
		const struct account *account = &analysis->devices[i].account;

		earliest = smaller(earliest,
				   account->commands ? account->last_end : analysis->from_ns);
	}
	return earliest;
}

static void drop_old(struct thread_called *called, uint64_t earliest)
{
	size_t count = 0;

	for (size_t i = 0; i < called->count; i++)
		if (called->calls[i].end > earliest)
			called->calls[count++] = called->calls[i];
	called->count = count;
}

static void drop_half(struct thread_called *called)
{
	size_t half = called->count / 2;

	memmove(called->calls, called->calls + half,
		(called->count - half) * sizeof(*called->calls));
	called->count -= half;
}

/* The rest of the functions cannot represent the older half: its time is that of functions whose
 * names are not known. */
static void join_half(struct thread_called *functions)
{
	const size_t half = functions->count / 2;
	struct thread_call joined = {.is_dropped = true,
				     .begin = functions->calls[0].begin,
				     .end = functions->calls[half - 1].end};

	joined.from_ns = joined.begin;
	joined.until_ns = joined.end;
	for (size_t i = 0; i < half; i++)
		if (functions->calls[i].function || functions->calls[i].is_dropped)
			joined.inside_ns += functions->calls[i].inside_ns;
	drop_half(functions);
	memmove(functions->calls + 1, functions->calls,
		functions->count * sizeof(*functions->calls));
	functions->calls[0] = joined;
	functions->count++;
}

void sweep_compact_called(struct sweep *sweep, struct thread_called *called, uint64_t now,
			  bool is_functions)
{
	size_t kept_count = sweep_list_kept(sweep);

	if (called->count < (called->limit ? called->limit : MIN_CALLED))
		return;
	drop_old(called, sweep_earliest_gap(sweep->analysis));
	merge(called, sweep->per_thread.kept, kept_count,
	      now > sweep->delay_ns ? now - sweep->delay_ns : 0);
	if (called->count >= MAX_CALLED && is_functions)
		join_half(called);
	else if (called->count >= MAX_CALLED)
		drop_half(called);
	called->limit = called->count > MIN_CALLED / 2 ? 2 * called->count : MIN_CALLED;
}

uint32_t sweep_awaited_device(const struct sweep *sweep, const struct event_api *row)
{
	const size_t queue =
		row->type == API_TYPE_WAIT && row->argument <= UINT32_MAX
			? entity_index_find(&sweep->entities.queues, (uint32_t)row->argument)
			: sweep->entities.queues.count;

	const size_t device = queue < sweep->entities.queues.count
				      ? sweep->analysis->queues[queue].device
				      : sweep->analysis->devices_count;

	return device < sweep->analysis->devices_count ? (uint32_t)device + 1 : 0;
}

/* A short call without a stack of its own is seldom seen by a sample. Until the next sample it has
 * the stack that was seen last inside of a call of the same function: so each place has the time
 * that is in proportion to its samples. 0: not known. */
static uint32_t earlier_stack(const struct sweep *sweep, size_t thread, const struct event_api *row)
{
	const uint32_t stack =
		pair_map_find(&sweep->thread_states.called_stacks, thread, row->function_string);

	return stack == PAIR_MAP_NONE ? 0 : stack;
}

/* A graph has a launch for each of its thousands of commands, all of one call. */
static bool is_separated(const struct thread_called *called, uint64_t moment)
{
	const struct thread_call *last = called->count ? &called->calls[called->count - 1] : NULL;

	return last && last->is_launch && last->end == moment;
}

/* If calls overlap, the call that began first counts, as in the account. A launch without duration
 * is kept too, because it separates the calls before it from those after it. */
int sweep_note_call(struct sweep *sweep, size_t thread, const struct event_api *row, bool is_launch)
{
	struct thread_called *called = &sweep->per_thread.states[thread].called;
	uint64_t begin = row->begin > called->last_end ? row->begin : called->last_end;
	uint64_t end = row->end > begin ? row->end : begin;
	uint32_t stack;

	if (begin == end && (!is_launch || is_separated(called, end)))
		return 0;
	sweep_compact_called(sweep, called, row->begin, false);
	stack = row->stack ? row->stack : earlier_stack(sweep, thread, row);
	if (array_append(called->calls, called->capacity, called->count,
			 (struct thread_call){.begin = begin,
					      .end = end,
					      .inside_ns = end - begin,
					      .function = row->function_string,
					      .stack = stack,
					      .device = sweep_awaited_device(sweep, row),
					      .is_own = row->stack != 0,
					      .is_earlier = stack && !row->stack,
					      .is_wait = row->type == API_TYPE_WAIT,
					      .capture = sweep->per_thread.states[thread].capture,
					      .is_launch = is_launch}))
		return -ENOMEM;
	called->last_end = end;
	return 0;
}

static void shorten_call(struct thread_call *call, uint64_t begin, uint64_t end)
{
	call->begin = begin;
	call->end = larger(begin, end);
	call->inside_ns = smaller(call->inside_ns, call->end - call->begin);
}

/* Inserts the part of a call that lies after the section that splits the call. */
static int insert_rest(struct thread_called *called, size_t i, uint64_t begin, uint64_t end)
{
	if (begin >= end)
		return 0;
	if (array_grow(called->calls, called->capacity, called->count + 1))
		return -ENOMEM;
	memmove(&called->calls[i + 2], &called->calls[i + 1],
		(called->count - i - 1) * sizeof(*called->calls));
	called->calls[i + 1] = called->calls[i];
	called->count++;
	called->calls[i + 1].inside_ns = UINT64_MAX;
	shorten_call(&called->calls[i + 1], begin, end);
	return 0;
}

/* Subtracts a section (a guest's, or an overhead of a profiler) from the calls around it. */
int sweep_cut_call(struct sweep_per_thread *per_thread, size_t thread, const struct event_api *row)
{
	struct thread_called *called = &per_thread->states[thread].called;
	int error = 0;

	called->last_end = larger(called->last_end, row->end);
	for (size_t i = called->count; i-- > 0 && called->calls[i].end > row->begin && !error;) {
		const uint64_t begin = called->calls[i].begin, end = called->calls[i].end;

		error = insert_rest(called, i, larger(begin, row->end), end);
		shorten_call(&called->calls[i], begin, smaller(end, row->begin));
	}
	return error;
}

/* Splits the call around a moment; *ret_index: the first call from then on. */
static int split_at(struct thread_called *called, uint64_t time_ns, size_t *ret_index)
{
	size_t i = called->count;
	int error = 0;

	while (i && called->calls[i - 1].begin >= time_ns)
		i--;
	if (i && called->calls[i - 1].end > time_ns) {
		error = insert_rest(called, i - 1, time_ns, called->calls[i - 1].end);
		shorten_call(&called->calls[i - 1], called->calls[i - 1].begin, time_ns);
	}
	*ret_index = i;
	return error;
}

int sweep_mark_capture(struct thread_called *called, uint64_t time_ns, uint32_t capture)
{
	size_t first;
	int error = split_at(called, time_ns, &first);

	for (size_t i = first; !error && i < called->count; i++)
		called->calls[i].capture = capture;
	return error;
}

int sweep_note_full(struct sweep *sweep, size_t thread, uint64_t begin, uint64_t end)
{
	struct thread_state *state = &sweep->per_thread.states[thread];
	size_t first, last;
	int error = split_at(&state->called, begin, &first);

	if (!error)
		error = split_at(&state->called, end, &last);
	for (size_t i = first; !error && i < last; i++) {
		struct thread_call *call = &state->called.calls[i];

		call->is_full = true;
		call->function = state->launch.function;
		call->stack = state->launch.stack ? state->launch.stack : call->stack;
		call->is_own |= state->launch.stack != 0;
	}
	return error;
}

/* Whether the outermost frames are missing. A call of a compiler can be deeper than the part of the
 * stack that a sample copies. */
static bool is_cut(const struct analysis *analysis, uint32_t stack)
{
	const struct trace_reader *reader = analysis->model->reader;
	const struct event_stack *node;
	const struct event_frame *frame = NULL;

	for (; stack && (node = trace_reader_stack(reader, stack)); stack = node->caller)
		if (!node->caller)
			frame = trace_reader_frame(reader, node->frame);
	return frame && frame->type == FRAME_TRUNCATED;
}

/* A call without a stack of its own gets the first complete stack seen inside of it. */
int sweep_see_in_call(struct sweep *sweep, size_t thread, uint64_t time_ns, uint32_t stack)
{
	struct thread_called *called = &sweep->per_thread.states[thread].called;
	struct thread_call *last = called->count ? &called->calls[called->count - 1] : NULL;

	if (!stack || !last || last->is_own || last->begin > time_ns || time_ns >= last->end ||
	    is_cut(sweep->analysis, stack))
		return 0;
	if (!last->stack || last->is_earlier)
		last->stack = stack;
	last->is_earlier = false;
	return pair_map_put(&sweep->thread_states.called_stacks, thread, last->function, stack);
}

struct observed_part thread_call_overlap(const struct thread_call *call, uint64_t begin,
					 uint64_t end)
{
	struct observed_part part = {.begin = larger(call->begin, begin),
				     .end = smaller(call->end, end)};

	if (part.begin < part.end)
		part.by = smaller(part.end - part.begin, call->inside_ns);
	return part;
}

int sweep_on_calls(struct sweep *sweep, size_t device, const struct account_piece *piece)
{
	const struct thread_called *called = &sweep->per_thread.states[piece->thread].called;
	int error = 0;

	for (size_t i = 0; i < called->count && !error; i++) {
		const struct thread_call *call = &called->calls[i];
		const struct observed_part part =
			thread_call_overlap(call, piece->begin, piece->end);

		if (part.by)
			error = sweep_add_call(sweep, device, piece, call, part);
	}
	return error;
}
