/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/launches.c - calls of the program, and the commands that they launch
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     rows of calls and launches, overheads of a profiler
 * Gives:    open commands to the join, calls to their threads
 * Owns:     the overheads of each thread since the earliest gap that is still open
 * Fails:    -ENOMEM, errors of the observer
 */
#include "analyze/sweep/sweep.h"
#include "analyze/sweep/waited_launches.h"

#include <errno.h>
#include <string.h>

/* Calls of a runtime are inside of functions and operators. */
static bool is_function(const struct event_api *row)
{
	return row->type == API_TYPE_FUNCTION || row->type == API_TYPE_OPERATOR;
}

/* section: CALLS_OUTSIDE for calls and launches. */
static int add_span(struct sweep *sweep, size_t thread, const struct event_api *row, bool is_launch,
		    enum calls_state section)
{
	const bool is_section = section != CALLS_OUTSIDE;
	int error;

	if (thread == sweep->entities.threads.count)
		return 0;
	error = sweep_state_called(sweep, thread, row->begin);
	if (!error && section != CALLS_PROFILER)
		error = sweep_thread_called(sweep, thread, row);
	if (error || is_function(row))
		return error ? error : sweep_note_function(sweep, thread, row);
	error = sweep_note_call_inside(sweep, thread, row);
	if (!error && !is_section && !is_launch)
		error = sweep_begin_capture(sweep, thread, row);
	if (!error)
		error = is_section ? sweep_cut_call(&sweep->per_thread, thread, row)
				   : sweep_note_call(sweep, thread, row, is_launch);
	if (!error && !is_section && !is_launch)
		error = sweep_end_capture(sweep, thread, row);
	if (error)
		return error;
	sweep_compact_calls(sweep, &sweep->per_thread.calls[thread], row->begin);
	return calls_add(&sweep->per_thread.calls[thread], row->begin, row->end,
			 is_section                   ? section
			 : row->type == API_TYPE_WAIT ? CALLS_WAIT
						      : CALLS_CALL);
}

/* Remembers a batch, because the launches of its parts come next. */
static void remember_batch(struct thread_state *state, const struct event_launch *row,
			   uint32_t command)
{
	if (command != COMMAND_BATCH)
		return;
	state->batch_enter = row->enter;
	/* A batch without times has no times for its parts either. */
	state->batch_correlation = row->flags & LAUNCH_UNTIMED ? 0 : row->correlation;
}

/* Notes a launch for instruction samples. batch: as for sweep_note_launched. */
static int note_for_samples(struct sweep *sweep, const struct open_command *command, uint64_t batch)
{
	int error = sweep_note_window_launch(sweep, command);

	return error ? error : sweep_note_launched(sweep, command, batch);
}

/* A launch counts at the time of its enter, so that it is in one interval of several that follow
 * each other. */
static bool is_counted(const struct analysis *analysis, const struct event_launch *row)
{
	return analysis_shows(analysis, row->enter, row->enter);
}

static int open_launch(struct sweep *sweep, const struct event_launch *row, size_t thread,
		       uint32_t *ret_place)
{
	struct analysis *analysis = sweep->analysis;
	size_t process_index = sweep->entities.thread_process[thread];
	size_t queue = entity_index_find(&sweep->entities.queues, row->queue);
	const struct event_process *process = analysis->processes[process_index].process;
	struct open_command *command;
	uint32_t replaced, place = 0;
	int error;

	analysis->ledger.launched++;
	analysis->ledger.stacks_carried += row->stack_carried != 0;
	analysis->devices[analysis->queues[queue].device].all_launches++;
	if (is_counted(analysis, row)) {
		analysis->processes[process_index].launches++;
		analysis->queues[queue].launches++;
		analysis->devices[analysis->queues[queue].device].launches++;
	}
	replaced = join_find(&sweep->join, process ? process->id : 0, row->correlation);
	error = replaced == CORRELATE_NONE ? 0 : sweep_replace_open(sweep, replaced, row->enter);
	if (!error)
		error = join_open(&sweep->join, process ? process->id : 0, row, &place);
	if (error)
		return error;
	*ret_place = place;
	command = &sweep->join.correlate.commands[place];
	command->thread = (uint32_t)thread;
	command->number = sweep->launches;
	command->type = analysis_launch_command(analysis->model, row);
	command->stack = row->stack;
	command->function = row->function_string;
	command->over_by = UINT64_MAX;
	remember_batch(&sweep->per_thread.states[thread], row, command->type);
	if (note_for_samples(sweep, command, 0))
		return -ENOMEM;
	sweep_measure_groups(sweep, row, command);
	error = sweep_launch_in_ranges(sweep, command, is_counted(analysis, row));
	if (error)
		return error;
	sweep_link_open(sweep, place);
	error = sweep_enter_queue(sweep, command);
	if (!error)
		error = sweep_count_launch(sweep, place);
	if (error)
		return error;
	command = &sweep->join.correlate.commands[place];
	if (thread < sweep->entities.threads.count)
		command->at_enter = calls_until(&sweep->per_thread.calls[thread], row->enter);
	return sweep_match_early(sweep, place);
}

static int note_launcher(struct sweep *sweep, const struct event_launch *row, uint64_t batch)
{
	const size_t thread = entity_index_find(&sweep->entities.threads, row->thread);
	const struct event_thread *known = entity_index_row(&sweep->entities.threads, thread);
	const struct open_command command = {
		.enter = row->enter,
		.process = known ? known->process : 0,
		.thread = (uint32_t)thread,
		.queue = (uint32_t)entity_index_find(&sweep->entities.queues, row->queue),
		.kernel = row->kernel,
		.stack = row->stack,
		.function = row->function_string,
		.flags = row->flags};

	return note_for_samples(sweep, &command, batch);
}

/* Counts a launch that did not execute, as a call and in the ledger only. A kernel may have run
 * without a record; its samples are then attributed to this launch. */
static int skip_launch(struct sweep *sweep, const struct event_launch *row, size_t thread)
{
	struct analysis *analysis = sweep->analysis;
	const size_t queue = entity_index_find(&sweep->entities.queues, row->queue);

	analysis->ledger.launched++;
	analysis->ledger.stacks_carried += row->stack_carried != 0;
	analysis->ledger.passed++;
	analysis->devices[analysis->queues[queue].device].all_launches++;
	if (is_counted(analysis, row))
		analysis->processes[sweep->entities.thread_process[thread]].launches++;
	remember_batch(&sweep->per_thread.states[thread], row,
		       analysis_launch_command(analysis->model, row));
	return note_launcher(sweep, row, 0);
}

/* Overheads kept per thread. In a gap with more, the first ones inside of the launching call are
 * not known: their time is that of the call. */
enum { MAX_OVERHEADS = 1 << 16 };

static void count_overhead(struct analysis *analysis, const struct event_range *row,
			   bool has_thread)
{
	struct analysis_profiler *profiler = &analysis->program.profiler;
	const uint64_t begin = larger(row->begin, analysis->from_ns);
	const uint64_t end = smaller(row->end, analysis->to_ns);

	if (begin >= end)
		return;
	*(has_thread ? &profiler->count : &profiler->threadless) += 1;
	*(has_thread ? &profiler->ns : &profiler->threadless_ns) += end - begin;
}

static bool is_overhead(const struct model *model, const struct event_range *row)
{
	return row->category_string && row->type == RANGE_START && !(row->flags & RANGE_OPEN) &&
	       strcmp(model_text(model, row->category_string, ""), RANGE_CATEGORY_PROFILER) == 0 &&
	       strcmp(model_text(model, row->domain_string, ""), "CUPTI") == 0;
}

/* Without a thread it is not known which launches waited for it. */
int sweep_take_profiler(struct sweep *sweep, const struct event_range *row)
{
	const size_t thread = entity_index_find(&sweep->entities.threads, row->thread);
	const bool has_thread = thread < sweep->entities.threads.count;
	const struct event_api section = {.begin = row->begin, .end = row->end};
	struct calls *overheads = &sweep->per_thread.states[thread].overheads;
	int error;

	if (!is_overhead(sweep->analysis->model, row))
		return 0;
	count_overhead(sweep->analysis, row, has_thread);
	if (!has_thread || row->begin >= row->end)
		return 0;
	if (calls_is_full(overheads))
		calls_drop(overheads, sweep_earliest_gap(sweep->analysis));
	if (overheads->count >= MAX_OVERHEADS)
		calls_drop(overheads, overheads->spans[overheads->count / 2].end);
	error = calls_add(overheads, row->begin, row->end, CALLS_PROFILER);
	return error ? error : add_span(sweep, thread, &section, false, CALLS_PROFILER);
}

int sweep_take_call(struct sweep *sweep, const struct event_api *row)
{
	size_t thread = entity_index_find(&sweep->entities.threads, row->thread);
	int error;

	if (row->type == API_TYPE_DUET) {
		sweep_count_section(sweep, row);
		return add_span(sweep, thread, row, false, CALLS_DUET);
	}
	error = sweep_count_call(sweep, sweep->entities.thread_process[thread], row, false);
	sweep->analysis->processes[sweep->entities.thread_process[thread]].has_calls = true;

	if (!error)
		error = sweep_note_finished(sweep, row);
	if (error)
		return error;
	unexecuted_add_call(&sweep->join.unexecuted, row);
	if (row->type == API_TYPE_WAIT) {
		sweep_note_wait(sweep, thread, row);
		sweep_count_waited(sweep, thread, row);
	}
	if (row->type == API_TYPE_SIGNAL)
		correlate_signal(&sweep->join.correlate,
				 model_process_of(sweep->analysis->model, row->thread),
				 (uint32_t)thread, row);
	return add_span(sweep, thread, row, false, CALLS_OUTSIDE);
}

/* A part of a batch has no execution of its own and does not count as a command: the batch does. */
static int note_part(struct sweep *sweep, const struct event_launch *row)
{
	const size_t thread = entity_index_find(&sweep->entities.threads, row->thread);
	const struct thread_state *state = &sweep->per_thread.states[thread];

	if (row->result || sweep->is_scouting)
		return 0;
	return note_launcher(sweep, row,
			     state->batch_enter == row->enter ? state->batch_correlation : 0);
}

int sweep_take_launch(struct sweep *sweep, const struct event_launch *row)
{
	size_t thread = entity_index_find(&sweep->entities.threads, row->thread);
	bool is_wait = row->flags & LAUNCH_BLOCKING;
	struct event_api call = {.begin = row->enter,
				 .end = row->exit,
				 .function_string = row->function_string,
				 .result = row->result,
				 .type = is_wait ? API_TYPE_WAIT : API_TYPE_CALL,
				 .argument = is_wait ? row->queue : 0,
				 .stack = row->stack};
	uint32_t place = CORRELATE_NONE;
	int error = 0;

	if (row->flags & LAUNCH_PART)
		return note_part(sweep, row);
	if (!(row->flags & LAUNCH_FURTHER))
		error = sweep_count_call(sweep, sweep->entities.thread_process[thread], &call,
					 true);
	sweep->analysis->processes[sweep->entities.thread_process[thread]].has_calls = true;

	if (!error && row->result == 0)
		error = sweep_is_skipped(sweep) ? skip_launch(sweep, row, thread)
						: open_launch(sweep, row, thread, &place);
	if (error)
		return error;
	if (is_wait) {
		sweep_note_wait(sweep, thread, &call);
		sweep_count_waited(sweep, thread, &call);
	}
	error = model_is_nobodys(sweep->analysis->model, row)
			? sweep_state_continues(sweep, thread, row->enter)
			: add_span(sweep, thread, &call, true, CALLS_OUTSIDE);
	return error ? error : sweep_note_launch(sweep, thread, row, place);
}

int sweep_scout_launch(struct sweep *sweep, const struct event_launch *row)
{
	struct event_launch launch = *row;
	uint32_t place;

	if (row->result || (row->flags & LAUNCH_PART))
		return 0;
	launch.handle = 0; /* the scouting sweep needs no dependencies */
	return open_launch(sweep, &launch, entity_index_find(&sweep->entities.threads, row->thread),
			   &place);
}
