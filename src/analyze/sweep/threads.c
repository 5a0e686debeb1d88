/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/threads.c - the time of each thread: on a processor, blocked, preempted
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     switches, samples and the starts of calls
 * Gives:    sums for each thread; its time away by stack and reason
 * Owns:     nothing; the rows belong to the analysis
 * Fails:    -ENOMEM
 * Why not in thread_states.c: that file leaves time inside of a call to the call, and keeps only
 *           time in which a device was idle. In this file all time of a thread counts, whatever it
 *           called, also in programs without devices.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>

#include "base/array.h"
#include "base/number.h"

static uint64_t inside(const struct analysis *analysis, uint64_t begin, uint64_t end)
{
	begin = larger(begin, analysis->from_ns);
	end = smaller(end, analysis->to_ns);
	return begin < end ? end - begin : 0;
}

/* The trace describes the thread. */
static struct analysis_whom whom_of(const struct sweep *sweep, size_t thread)
{
	const struct event_thread *row = entity_index_row(&sweep->entities.threads, thread);

	return sweep->options->by_thread
		       ? (struct analysis_whom){.process = row->process, .thread = row->id}
		       : (struct analysis_whom){0};
}

static int add_away(struct sweep *sweep, size_t thread, uint64_t since_ns, uint64_t away_ns)
{
	const struct thread_time *time = &sweep->per_thread.times[thread];
	struct analysis_cpu *cpu = &sweep->analysis->cpu;
	struct analysis_whom whom = whom_of(sweep, thread);
	uint32_t index = sweep_rows_add(
		&sweep->thread_states.aways, (uint64_t)whom.thread << 32 | time->stack,
		(uint64_t)time->wait_string << 1 | time->is_preempted, cpu->aways, cpu->aways_count,
		(struct analysis_away){.whom = whom,
				       .stack = time->stack,
				       .wait_string = time->wait_string,
				       .is_preempted = time->is_preempted});

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	cpu->aways[index].count++;
	cpu->aways[index].away_ns = add_saturated(cpu->aways[index].away_ns, away_ns);
	return sweep_observe_part(sweep, &(struct observed_part){.table = OBSERVED_AWAY,
								 .row = index,
								 .begin = since_ns,
								 .end = since_ns + away_ns,
								 .by = away_ns});
}

/* Ends the interval in which a thread was away, at `now_ns`. */
static int end_away(struct sweep *sweep, size_t thread, uint64_t now_ns)
{
	struct analysis_thread *sums = &sweep->analysis->cpu.threads[thread];
	struct thread_time *time = &sweep->per_thread.times[thread];
	uint64_t since_ns = larger(time->away_since_ns, sweep->analysis->from_ns);
	uint64_t away_ns = inside(sweep->analysis, since_ns, now_ns);

	time->away_since_ns = UINT64_MAX;
	if (!away_ns)
		return 0;
	*(time->is_preempted ? &sums->preempted_ns : &sums->blocked_ns) += away_ns;
	return add_away(sweep, thread, since_ns, away_ns);
}

/* Ends what is known of a thread where a loss of switches begins. *ret_is_inside: the row is inside
 * of a loss. */
static int pass_losses(struct sweep *sweep, size_t thread, const struct thread_row *row,
		       bool *ret_is_inside)
{
	struct thread_time *time = &sweep->per_thread.times[thread];
	struct switch_gap gap = {0};
	int error = 0;

	*ret_is_inside = false;
	if (!sweep->switch_losses.count || thread == sweep->entities.threads.count ||
	    time->has_exited)
		return 0;
	gap = sweep_pass_losses(sweep, &time->losses, row);
	*ret_is_inside = gap.is_inside;
	if (!gap.has_any || time->first_ns == UINT64_MAX)
		return 0;
	if (time->away_since_ns != UINT64_MAX)
		error = end_away(sweep, thread, gap.from);
	sweep->analysis->cpu.threads[thread].unknown_ns +=
		inside(sweep->analysis, larger(gap.from, time->first_ns), gap.until);
	time->last_ns = row->time;
	if (gap.until == row->time || !row->is_entry)
		return error;
	time->away_since_ns = gap.until;
	time->is_preempted = false;
	time->stack = time->wait_string = 0;
	return error;
}

static int come_back(struct sweep *sweep, size_t thread, uint64_t now_ns)
{
	struct thread_time *time = &sweep->per_thread.times[thread];

	if (time->first_ns == UINT64_MAX || time->has_exited)
		return 0;
	time->last_ns = now_ns;
	return time->away_since_ns == UINT64_MAX ? 0 : end_away(sweep, thread, now_ns);
}

int sweep_thread_called(struct sweep *sweep, size_t thread, const struct event_api *row)
{
	bool is_inside;
	int error =
		pass_losses(sweep, thread, &(struct thread_row){.time = row->begin}, &is_inside);

	if (row->stack) {
		sweep->analysis->cpu.threads[thread].stack = row->stack;
		sweep->per_thread.times[thread].has_called_stack = true;
	}
	return error ? error : come_back(sweep, thread, row->begin);
}

/* A row shows the thread on a processor. */
static int note_on_cpu(struct sweep *sweep, size_t thread, const struct thread_row *row,
		       uint32_t stack)
{
	struct thread_time *time = &sweep->per_thread.times[thread];
	const uint64_t now_ns = row->time;
	bool is_inside;
	int error = pass_losses(sweep, thread, row, &is_inside);

	if (error || thread == sweep->entities.threads.count)
		return error;
	if (time->first_ns == UINT64_MAX)
		time->first_ns = now_ns;
	if (stack && !time->has_called_stack)
		sweep->analysis->cpu.threads[thread].stack = stack;
	return come_back(sweep, thread, now_ns);
}

int sweep_thread_sampled(struct sweep *sweep, const struct event_cpu_sample *row)
{
	size_t thread = entity_index_find(&sweep->entities.threads, row->thread);

	if (thread < sweep->entities.threads.count &&
	    analysis_shows(sweep->analysis, row->time, row->time) &&
	    sweep_source_is_time(sweep, row->source_string))
		sweep->analysis->cpu.threads[thread].samples++;
	return note_on_cpu(sweep, thread, &(struct thread_row){.time = row->time}, row->stack);
}

/* If a thread leaves twice without a return in between, it is away since the first time. */
static int go_away(struct sweep *sweep, size_t thread, const struct event_switch *row)
{
	struct thread_time *time = &sweep->per_thread.times[thread];
	const struct thread_row left = {.time = row->time};
	bool is_inside;
	int error = pass_losses(sweep, thread, &left, &is_inside);

	if (error || thread == sweep->entities.threads.count)
		return error;
	if (is_inside && row->reason != SWITCH_EXITED)
		return note_on_cpu(sweep, thread, &left, row->stack);
	if (row->reason != SWITCH_EXITED && time->away_since_ns != UINT64_MAX) {
		time->last_ns = row->time;
		return 0;
	}
	error = note_on_cpu(sweep, thread, &left, row->stack);
	time->has_exited |= row->reason == SWITCH_EXITED;
	if (error || time->has_exited)
		return error;
	time->away_since_ns = row->time;
	time->is_preempted = row->reason == SWITCH_PREEMPTED;
	time->stack = row->stack;
	time->wait_string = row->wait_string;
	return 0;
}

/* The thread that ran longest while this one was preempted. */
static void name_rival(struct sweep *sweep, size_t thread, const struct event_switch *row)
{
	struct thread_time *time = &sweep->per_thread.times[thread];

	if (!row->previous && row->wait_string && thread < sweep->entities.threads.count &&
	    time->is_preempted)
		time->wait_string = row->wait_string;
}

int sweep_thread_switched(struct sweep *sweep, const struct event_switch *row)
{
	const size_t next = entity_index_find(&sweep->entities.threads, row->next);
	const struct thread_row entry = {
		.time = row->time, .is_entry = true, .is_woken = row->waker || row->waker_string};
	int error = go_away(sweep, entity_index_find(&sweep->entities.threads, row->previous), row);

	name_rival(sweep, next, row);
	return error ? error : note_on_cpu(sweep, next, &entry, 0);
}

/* A thread whose exit is not in the trace lasts until the end of its process or of the recording.
 * */
static uint64_t end_of(const struct sweep *sweep, size_t thread)
{
	const struct event_thread *row = sweep->analysis->cpu.threads[thread].thread;
	const struct thread_time *time = &sweep->per_thread.times[thread];
	uint64_t end_ns = row->end_ns ? row->end_ns : sweep->analysis->to_ns;

	return time->has_exited || end_ns < time->last_ns ? time->last_ns : end_ns;
}

static int close_thread(struct sweep *sweep, size_t thread)
{
	struct analysis_thread *sums = &sweep->analysis->cpu.threads[thread];
	struct thread_time *time = &sweep->per_thread.times[thread];
	uint64_t end_ns;
	bool is_inside;
	int error;

	if (time->first_ns == UINT64_MAX)
		return 0;
	end_ns = end_of(sweep, thread);
	error = pass_losses(sweep, thread, &(struct thread_row){.time = end_ns, .is_entry = true},
			    &is_inside);
	if (!error && time->away_since_ns != UINT64_MAX)
		error = end_away(sweep, thread, end_ns);
	sums->has_times = true;
	sums->on_cpu_ns = inside(sweep->analysis, time->first_ns, end_ns) - sums->blocked_ns -
			  sums->preempted_ns - sums->unknown_ns;
	return error;
}

static void sum_processes(struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->cpu.threads_count; i++) {
		const struct analysis_thread *thread = &analysis->cpu.threads[i];
		struct analysis_process *process = &analysis->processes[thread->process];

		process->threads++;
		process->samples += thread->samples;
		process->has_times |= thread->has_times;
		process->on_cpu_ns = add_saturated(process->on_cpu_ns, thread->on_cpu_ns);
		process->blocked_ns = add_saturated(process->blocked_ns, thread->blocked_ns);
		process->preempted_ns = add_saturated(process->preempted_ns, thread->preempted_ns);
		process->unknown_ns = add_saturated(process->unknown_ns, thread->unknown_ns);
	}
}

static void forget_thread(struct analysis_thread *sums)
{
	sums->blocked_ns = sums->preempted_ns = sums->unknown_ns = 0;
}

int sweep_close_threads(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis->cpu.threads_count && !error; i++) {
		if (analysis->cpu.knows_switches)
			error = close_thread(sweep, i);
		else
			forget_thread(&analysis->cpu.threads[i]);
	}
	if (!analysis->cpu.knows_switches)
		analysis->cpu.aways_count = 0;
	sum_processes(sweep->analysis);
	return error;
}

const struct analysis_thread *analysis_find_thread(const struct analysis *analysis, uint32_t id)
{
	size_t low = LOWER_BOUND(analysis->cpu.threads_count, i,
				 analysis->cpu.threads[i].thread->id < id);

	return low < analysis->cpu.threads_count && analysis->cpu.threads[low].thread->id == id
		       ? &analysis->cpu.threads[low]
		       : NULL;
}
