/* SPDX-License-Identifier: MIT
 *
 * live/present.c - what launching threads do now, while their device has no command
 *
 * Runs in:  our own process, in duet top
 * Gets:     launches, calls, switches and samples of successive intervals
 * Gives:    the causes of idle time that no command has ended yet
 * Owns:     threads and devices of earlier looks; the states of the present one
 * Fails:    -ENOMEM; above MAX_SEGMENTS states of one look, the later ones are left out
 * Why not in the account: an idle gap of the report always belongs to the command that ends it.
 *           These numbers are provisional, and the account has none
 */
#include "live/present.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/order.h"
#include "base/array.h"
#include "base/number.h"

enum { MAX_THREADS = 256, MAX_LAUNCHERS = 256, MAX_SEGMENTS = 1 << 16 };

void live_present_fini(struct live_present *present)
{
	free(present->threads);
	free(present->threads_before);
	free(present->launchers);
	free(present->segments);
	free(present->calls);
	*present = (struct live_present){0};
}

void live_present_clear(struct live_present *present)
{
	present->threads_count = present->before_count = present->launchers_count = 0;
}

/* Numbers of stacks and strings are those of one look. */
int live_present_begin(struct live_present *present, uint64_t from_ns, uint64_t to_ns)
{
	const bool is_again = present->from_ns == from_ns && present->to_ns == to_ns;

	if (!is_again) {
		if (array_grow(present->threads_before, present->before_capacity,
			       present->threads_count))
			return -ENOMEM;
		present->before_count = present->threads_count;
		for (size_t i = 0; i < present->threads_count; i++) {
			present->threads_before[i] = present->threads[i];
			present->threads_before[i].stack = 0;
			present->threads_before[i].wait_string = 0;
		}
	}
	present->threads_count = present->before_count;
	for (size_t i = 0; i < present->before_count; i++)
		present->threads[i] = present->threads_before[i];
	present->segments_count = present->calls_count = 0;
	present->from_ns = from_ns;
	present->to_ns = to_ns;
	return 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct live_thread *find_thread(const struct live_present *present, uint32_t id)
{
	for (size_t i = 0; id && i < present->threads_count; i++)
		if (present->threads[i].id == id)
			return &present->threads[i];
	return NULL;
}

static int add_segment(struct live_segment **list, size_t *capacity, size_t *count,
		       const struct live_segment *segment)
{
	if (segment->begin >= segment->end || *count >= MAX_SEGMENTS)
		return 0;
	if (array_grow(*list, *capacity, *count + 1))
		return -ENOMEM;
	(*list)[(*count)++] = *segment;
	return 0;
}

static int keep_state(struct live_present *present, const struct live_thread *thread,
		      enum account_cause doing, uint64_t begin, uint64_t end)
{
	const struct live_segment segment = {.thread = thread->id,
					     .stack = thread->stack,
					     .begin = larger(begin, present->from_ns),
					     .end = smaller(end, present->to_ns),
					     .doing = doing};

	return add_segment(&present->segments, &present->segments_capacity,
			   &present->segments_count, &segment);
}

/* The thread has another state from `time` on. A state that is known from a later look says nothing
 * about the time before `time`: a thread that leaves its processor was on it, and otherwise it was
 * not. */
static int change_state(struct live_present *present, struct live_thread *thread, uint64_t time,
			enum account_cause doing)
{
	const bool is_known = thread->since_ns < time;
	const enum account_cause before = is_known                ? thread->doing
					  : doing == CAUSE_ON_CPU ? CAUSE_UNKNOWN
								  : CAUSE_ON_CPU;
	const bool is_same = thread->since_ns == time && thread->doing == doing;
	const int error = keep_state(present, thread, before,
				     is_known ? thread->since_ns : present->from_ns, time);

	thread->doing = doing;
	thread->since_ns = time;
	thread->stack = thread->wait_string = 0;
	thread->is_named &= is_same;
	return error;
}

static int leave(struct live_present *present, const struct event_switch *row)
{
	struct live_thread *thread = find_thread(present, row->previous);
	int error;

	if (!thread)
		return 0;
	error = change_state(present, thread, row->time,
			     row->reason == SWITCH_PREEMPTED ? CAUSE_PREEMPTED
			     : row->reason == SWITCH_EXITED  ? CAUSE_NOTHING_TO_DO
							     : CAUSE_BLOCKED);
	thread->stack = row->stack;
	thread->wait_string = row->wait_string;
	thread->has_ended |= row->reason == SWITCH_EXITED;
	return error;
}

static int enter(struct live_present *present, uint32_t id, uint64_t time)
{
	struct live_thread *thread = find_thread(present, id);

	if (!thread || (thread->doing == CAUSE_ON_CPU && thread->since_ns < time))
		return 0;
	return change_state(present, thread, time, CAUSE_ON_CPU);
}

static int take_sample(struct live_present *present, const struct event_cpu_sample *row)
{
	struct live_thread *thread = find_thread(present, row->thread);
	const int error = enter(present, row->thread, row->time);

	if (thread && row->stack) {
		thread->stack = row->stack;
		thread->is_named = false;
	}
	return error;
}

static int take_call(struct live_present *present, const struct event_api *row)
{
	const struct live_segment call = {.thread = row->thread,
					  .stack = row->stack,
					  .begin = larger(row->begin, present->from_ns),
					  .end = smaller(row->end, present->to_ns),
					  .doing = row->type == API_TYPE_WAIT ? CAUSE_API_WAIT
									      : CAUSE_API_CALL};

	if ((row->type != API_TYPE_WAIT && row->type != API_TYPE_CALL) ||
	    !find_thread(present, row->thread))
		return 0;
	return add_segment(&present->calls, &present->calls_capacity, &present->calls_count, &call);
}

/* ---- launches -------------------------------------------------------------------------------- */

static struct live_launcher *find_launcher(struct live_present *present, uint32_t device,
					   uint32_t thread)
{
	for (size_t i = 0; i < present->launchers_count; i++)
		if (present->launchers[i].device == device &&
		    present->launchers[i].thread == thread)
			return &present->launchers[i];
	return NULL;
}

static int add_thread(struct live_present *present, uint32_t id, uint32_t process)
{
	const struct live_thread thread = {.id = id, .process = process, .doing = CAUSE_UNKNOWN};

	if (find_thread(present, id) || present->threads_count == MAX_THREADS)
		return 0;
	return array_append(present->threads, present->threads_capacity, present->threads_count,
			    thread);
}

/* Later launches are those of the next look. */
static int take_launch(struct live_present *present, const struct event_launch *row,
		       const struct live_owner *owner)
{
	struct live_launcher *launcher = find_launcher(present, owner->device, row->thread);

	if (!owner->device || !row->thread)
		return 0;
	if (add_thread(present, row->thread, owner->process))
		return -ENOMEM;
	if (launcher)
		launcher->enter = larger(launcher->enter, row->enter);
	else if (present->launchers_count < MAX_LAUNCHERS &&
		 array_append(present->launchers, present->launchers_capacity,
			      present->launchers_count,
			      (struct live_launcher){.device = owner->device,
						     .thread = row->thread,
						     .enter = row->enter}))
		return -ENOMEM;
	return present->has_switches ? enter(present, row->thread, row->enter) : 0;
}

int live_present_row(struct live_present *present, const struct order_item *item,
		     const struct live_owner *owner)
{
	const struct event_switch *row = item->row;
	int error;

	if (item->time_ns >= present->to_ns)
		return 0;
	switch (item->kind) {
	case EVENT_LAUNCH:
		return take_launch(present, item->row, owner);
	case EVENT_API:
		return take_call(present, item->row);
	case EVENT_CPU_SAMPLE:
		return take_sample(present, item->row);
	case EVENT_SWITCH:
		present->has_switches = true;
		error = leave(present, row);
		return error ? error : enter(present, row->next, row->time);
	default:
		return 0;
	}
}

void live_present_command(struct live_present *present, uint32_t device, uint64_t ended)
{
	for (size_t i = 0; i < present->launchers_count; i++)
		if (present->launchers[i].device == device && ended <= present->to_ns)
			present->launchers[i].ended = larger(present->launchers[i].ended, ended);
}

/* ---- the end of a look ----------------------------------------------------------------------- */

/* A thread's end is in its row, or in that of its process. */
static bool has_ended(const struct analysis *analysis, const struct live_thread *thread)
{
	const struct analysis_thread *known = analysis_find_thread(analysis, thread->id);
	const struct event_thread *row = known ? known->thread : NULL;

	if (row && row->end_ns && row->end_ns <= analysis->to_ns)
		return true;
	for (size_t i = 0; i < analysis->processes_count; i++) {
		const struct event_process *process = analysis->processes[i].process;

		if (process && process->id == thread->process)
			return process->end_ns && process->end_ns <= analysis->to_ns;
	}
	return false;
}

int live_present_close(struct live_present *present, const struct analysis *analysis)
{
	int error = 0;

	for (size_t i = 0; i < present->threads_count && !error; i++) {
		struct live_thread *thread = &present->threads[i];

		thread->has_ended |= has_ended(analysis, thread);
		error = keep_state(present, thread, thread->doing, thread->since_ns,
				   present->to_ns);
	}
	return error;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

/* The thread that launched on the device last, of those that still run; NULL: none. */
static const struct live_launcher *last_launcher(const struct live_present *present,
						 uint32_t device)
{
	const struct live_launcher *last = NULL;

	for (size_t i = 0; i < present->launchers_count; i++) {
		const struct live_launcher *launcher = &present->launchers[i];
		const struct live_thread *thread = find_thread(present, launcher->thread);

		if (launcher->device == device && launcher->enter < present->to_ns && thread &&
		    !thread->has_ended && (!last || launcher->enter > last->enter))
			last = launcher;
	}
	return last;
}

/* Time of the thread's calls in [begin, end). `*at` is the first call that may overlap; calls and
 * states come in the order of time. */
static uint64_t add_calls(const struct live_present *present, uint32_t thread, uint64_t begin,
			  uint64_t end, size_t *at, uint64_t causes[CAUSE_COUNT])
{
	uint64_t sum = 0;

	for (size_t i = *at; i < present->calls_count && present->calls[i].begin < end; i++) {
		const struct live_segment *call = &present->calls[i];
		const uint64_t from = larger(call->begin, begin), to = smaller(call->end, end);

		if (call->end <= begin && i == *at)
			++*at;
		if (call->thread != thread || from >= to)
			continue;
		causes[call->doing] += to - from;
		sum += to - from;
	}
	return sum;
}

static enum account_cause largest_of(const uint64_t causes[CAUSE_COUNT])
{
	enum account_cause largest = CAUSE_UNKNOWN;

	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++)
		if (causes[cause] > causes[largest])
			largest = (enum account_cause)cause;
	return largest;
}

static void find_stack(const struct live_present *present, uint64_t begin,
		       struct live_open_gap *gap)
{
	const enum account_cause largest = largest_of(gap->causes);
	uint64_t longest_ns = 0;

	for (size_t i = 0; i < present->segments_count; i++) {
		const struct live_segment *segment = &present->segments[i];
		const uint64_t from = larger(segment->begin, begin);

		if (segment->thread == gap->thread->id && segment->doing == largest &&
		    segment->end > from && segment->end - from > longest_ns) {
			longest_ns = segment->end - from;
			gap->stack = segment->stack;
		}
	}
}

void live_present_find_gap(const struct live_present *present, uint32_t device, uint64_t begin_ns,
			   struct live_open_gap *ret_gap)
{
	const struct live_launcher *launcher = last_launcher(present, device);
	const uint64_t since_ns =
		launcher ? larger(begin_ns, larger(launcher->ended, launcher->enter)) : 0;
	const uint64_t begin = larger(since_ns, present->from_ns);
	uint64_t known_ns = 0;
	size_t at = 0;

	*ret_gap = (struct live_open_gap){0};
	if (!launcher || begin >= present->to_ns)
		return;
	ret_gap->ns = present->to_ns - begin;
	ret_gap->so_far_ns = present->to_ns - since_ns;
	ret_gap->thread = find_thread(present, launcher->thread);
	for (size_t i = 0; i < present->segments_count; i++) {
		const struct live_segment *segment = &present->segments[i];
		const uint64_t from = larger(segment->begin, begin);
		uint64_t in_calls;

		if (segment->thread != launcher->thread || segment->end <= from)
			continue;
		in_calls = add_calls(present, launcher->thread, from, segment->end, &at,
				     ret_gap->causes);
		in_calls = smaller(in_calls, segment->end - from);
		ret_gap->causes[segment->doing] += segment->end - from - in_calls;
		known_ns += segment->end - from;
	}
	ret_gap->causes[CAUSE_UNKNOWN] += ret_gap->ns - smaller(known_ns, ret_gap->ns);
	find_stack(present, begin, ret_gap);
}
