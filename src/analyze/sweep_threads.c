/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_threads.c - the time of each thread: on a processor, blocked, preempted
 *
 * Runs in:  the readers
 * Gets:     switches, samples and the begins of calls   Gives: sums of each thread; of what it was away for, by stack
 * Owns:     nothing; the rows are the analysis's
 * Fails:    -ENOMEM
 * Why apart from sweep_states.c: there a thread's time inside of a call is the call's, and only what a device idled for
 *           is kept. Here it is asked where a thread was, whatever it called, and programs without devices have that too.
 */
#include "analyze/sweep.h"

#include <errno.h>

#include "base/array.h"
#include "base/number.h"

static uint64_t inside(const struct analysis *analysis, uint64_t begin, uint64_t end)
{
	begin = larger(begin, analysis->from_ns);
	end = smaller(end, analysis->to_ns);
	return begin < end ? end - begin : 0;
}

/* Of a thread that is described. */
static struct analysis_whom whom_of(const struct sweep *sweep, size_t thread)
{
	const struct event_thread *row = things_row(&sweep->threads, thread);

	return sweep->by_thread ? (struct analysis_whom){.process = row->process, .thread = row->id}
				: (struct analysis_whom){0};
}

static int add_away(struct sweep *sweep, size_t thread, uint64_t since_ns, uint64_t away_ns)
{
	const struct thread_time *time = &sweep->times[thread];
	struct analysis *analysis = sweep->analysis;
	struct analysis_whom whom = whom_of(sweep, thread);
	uint64_t first = (uint64_t)whom.thread << 32 | time->stack;
	uint64_t second = (uint64_t)time->wait_string << 1 | time->is_preempted;
	uint32_t index = pair_map_find(&sweep->away_rows, first, second);

	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)analysis->aways_count;
		if (array_grow(analysis->aways, sweep->aways_capacity, index + (size_t)1) ||
		    pair_map_put(&sweep->away_rows, first, second, index))
			return -ENOMEM;
		analysis->aways[index] = (struct analysis_away){.whom = whom,
								.stack = time->stack,
								.wait_string = time->wait_string,
								.is_preempted = time->is_preempted};
		analysis->aways_count++;
	}
	analysis->aways[index].count++;
	analysis->aways[index].away_ns = add_saturated(analysis->aways[index].away_ns, away_ns);
	return sweep_tell_part(sweep, &(struct observed_part){.table = OBSERVED_AWAY,
							      .row = index,
							      .begin = since_ns,
							      .end = since_ns + away_ns,
							      .by = away_ns});
}

/* It was away up to `now_ns`. */
static int end_away(struct sweep *sweep, size_t thread, uint64_t now_ns)
{
	struct analysis_thread *sums = &sweep->analysis->threads[thread];
	struct thread_time *time = &sweep->times[thread];
	uint64_t since_ns = larger(time->away_since_ns, sweep->analysis->from_ns);
	uint64_t away_ns = inside(sweep->analysis, since_ns, now_ns);

	time->away_since_ns = UINT64_MAX;
	if (!away_ns)
		return 0;
	*(time->is_preempted ? &sums->preempted_ns : &sums->blocked_ns) += away_ns;
	return add_away(sweep, thread, since_ns, away_ns);
}

static int come_back(struct sweep *sweep, size_t thread, uint64_t now_ns)
{
	struct thread_time *time = &sweep->times[thread];

	if (time->first_ns == UINT64_MAX || time->has_exited)
		return 0;
	time->last_ns = now_ns;
	return time->away_since_ns == UINT64_MAX ? 0 : end_away(sweep, thread, now_ns);
}

int sweep_thread_called(struct sweep *sweep, size_t thread, const struct event_api *row)
{
	if (row->stack) {
		sweep->analysis->threads[thread].stack = row->stack;
		sweep->times[thread].has_called_stack = true;
	}
	return come_back(sweep, thread, row->begin);
}

/* It is there. */
static int see(struct sweep *sweep, size_t thread, uint64_t now_ns, uint32_t stack)
{
	struct thread_time *time = &sweep->times[thread];

	if (thread == sweep->threads.count)
		return 0;
	if (time->first_ns == UINT64_MAX)
		time->first_ns = now_ns;
	if (stack && !time->has_called_stack)
		sweep->analysis->threads[thread].stack = stack;
	return come_back(sweep, thread, now_ns);
}

int sweep_thread_sampled(struct sweep *sweep, const struct event_cpu_sample *row)
{
	size_t thread = things_index(&sweep->threads, row->thread);

	if (thread < sweep->threads.count && is_in_window(sweep->analysis, row->time, row->time) &&
	    sweep_tells_time(sweep, row->source_string))
		sweep->analysis->threads[thread].samples++;
	return see(sweep, thread, row->time, row->stack);
}

/* Gone twice without a return in between: since the first time. */
static int go_away(struct sweep *sweep, size_t thread, const struct event_switch *row)
{
	struct thread_time *time = &sweep->times[thread];
	int error;

	if (thread == sweep->threads.count)
		return 0;
	if (row->reason != SWITCH_EXITED && time->away_since_ns != UINT64_MAX) {
		time->last_ns = row->time;
		return 0;
	}
	error = see(sweep, thread, row->time, row->stack);
	time->has_exited |= row->reason == SWITCH_EXITED;
	if (error || time->has_exited)
		return error;
	time->away_since_ns = row->time;
	time->is_preempted = row->reason == SWITCH_PREEMPTED;
	time->stack = row->stack;
	time->wait_string = row->wait_string;
	return 0;
}

int sweep_thread_switched(struct sweep *sweep, const struct event_switch *row)
{
	int error = go_away(sweep, things_index(&sweep->threads, row->previous), row);

	return error ? error : see(sweep, things_index(&sweep->threads, row->next), row->time, 0);
}

/* Where it was not seen to exit, nothing says that it did before its process's end, or the recording's. */
static uint64_t end_of(const struct sweep *sweep, size_t thread)
{
	const struct event_thread *row = sweep->analysis->threads[thread].thread;
	const struct thread_time *time = &sweep->times[thread];
	uint64_t end_ns = row->end_ns ? row->end_ns : sweep->analysis->to_ns;

	return time->has_exited || end_ns < time->last_ns ? time->last_ns : end_ns;
}

static int close_thread(struct sweep *sweep, size_t thread)
{
	struct analysis_thread *sums = &sweep->analysis->threads[thread];
	struct thread_time *time = &sweep->times[thread];
	uint64_t end_ns;
	int error = 0;

	if (time->first_ns == UINT64_MAX)
		return 0;
	end_ns = end_of(sweep, thread);
	if (time->away_since_ns != UINT64_MAX)
		error = end_away(sweep, thread, end_ns);
	sums->has_times = true;
	sums->on_cpu_ns = inside(sweep->analysis, time->first_ns, end_ns) - sums->blocked_ns -
			  sums->preempted_ns;
	return error;
}

static void sum_processes(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;

	for (size_t i = 0; i < analysis->threads_count; i++) {
		const struct analysis_thread *thread = &analysis->threads[i];
		struct analysis_process *process = &analysis->processes[thread->process];

		process->threads++;
		process->samples += thread->samples;
		process->has_times |= thread->has_times;
		process->on_cpu_ns = add_saturated(process->on_cpu_ns, thread->on_cpu_ns);
		process->blocked_ns = add_saturated(process->blocked_ns, thread->blocked_ns);
		process->preempted_ns = add_saturated(process->preempted_ns, thread->preempted_ns);
	}
}

static void forget_thread(struct analysis_thread *sums)
{
	sums->blocked_ns = sums->preempted_ns = 0;
}

int sweep_close_threads(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis->threads_count && !error; i++) {
		if (analysis->knows_switches)
			error = close_thread(sweep, i);
		else
			forget_thread(&analysis->threads[i]);
	}
	if (!analysis->knows_switches)
		analysis->aways_count = 0;
	sum_processes(sweep);
	return error;
}

const struct analysis_thread *analysis_find_thread(const struct analysis *analysis, uint32_t id)
{
	size_t low = 0, high = analysis->threads_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (analysis->threads[middle].thread->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < analysis->threads_count && analysis->threads[low].thread->id == id
		       ? &analysis->threads[low]
		       : NULL;
}
