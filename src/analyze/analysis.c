/* SPDX-License-Identifier: MIT
 *
 * analyze/analysis.c - a trace, folded into what a report says
 *
 * Runs in:  the readers
 * Gets:     an open trace and a window   Gives: the account, the ledger, tables, zones, certificates
 * Owns:     its tables; open commands while it sweeps
 * Fails:    -ENOMEM and what the reader fails with; damaged chunks are counted as dropped rows
 * Why one sweep in time order: a gap of a device is explained by what a thread did before it and by
 *           the command after it, and both are at hand only then. Memory grows with kernels,
 *           functions, queues and open commands: 10^7 rows take as much as 10^5.
 */
#include "analyze/analysis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sweep.h"
#include "base/array.h"
#include "base/number.h"

#define EARLY_COUNT 4096

/* Where an idle gap may begin or the window cuts it. */
size_t sweep_list_kept(struct sweep *sweep)
{
	const struct analysis *analysis = sweep->analysis;
	size_t count = 0;

	for (size_t i = 0; i <= analysis->devices_count; i++) {
		if (analysis->devices[i].account.commands)
			sweep->kept[count++] = analysis->devices[i].account.last_end;
	}
	sweep->kept[count++] = analysis->from_ns;
	sweep->kept[count++] = analysis->to_ns;
	return count;
}

static void compact(struct sweep *sweep, struct calls *calls, uint64_t now_ns)
{
	if (calls_is_full(calls))
		calls_compact(calls, sweep->kept, sweep_list_kept(sweep),
			      now_ns > sweep->delay_ns ? now_ns - sweep->delay_ns : 0);
}

/* The last two of the moments are the window's, where no gap begins. */
void sweep_compact_state(struct sweep *sweep, size_t thread, uint64_t now_ns)
{
	struct calls *away = &sweep->states[thread].away;

	if (!calls_is_full(away))
		return;
	compact(sweep, away, now_ns);
	sweep_forget_moments(sweep, thread, sweep->kept, sweep_list_kept(sweep) - 2);
}

static int add_span(struct sweep *sweep, size_t thread, const struct event_api *row, bool is_launch)
{
	int error;

	const bool is_section = row->type == API_TYPE_DUET;

	if (thread == sweep->threads.count)
		return 0;
	error = sweep_come_back(sweep, thread, row->begin, 0);
	if (!error)
		error = sweep_thread_called(sweep, thread, row);
	if (!error)
		error = is_section ? sweep_cut_call(sweep, thread, row)
				   : sweep_note_call(sweep, thread, row, is_launch);
	if (error)
		return error;
	compact(sweep, &sweep->calls[thread], row->begin);
	return calls_add(&sweep->calls[thread], row->begin, row->end,
			 is_section                   ? CALLS_DUET
			 : row->type == API_TYPE_WAIT ? CALLS_WAIT
						      : CALLS_CALL);
}

static int count_zones(struct analysis_queue *queue, const struct event_execution *row)
{
	const uint64_t times[ZONE_COUNT + 1] = {row->queued, row->submitted, row->started,
						row->ended};

	for (unsigned int i = 0; i < ZONE_COUNT; i++) {
		unsigned int both = 3u << i;

		if ((row->valid & both) == both &&
		    quantile_add(&queue->zones[i], times[i + 1] - times[i]))
			return -ENOMEM;
	}
	return 0;
}

/* In a queue that is direct the end of the call says so where no stamp does. */
static void describe_submission(const struct sweep *sweep, const struct joined *joined,
				struct account_command *command)
{
	const struct event_queue *queue = sweep->analysis->queues[joined->queue].queue;
	const struct event_execution *row = joined->row;

	command->has_submitted = row->valid & EXECUTION_SUBMITTED;
	command->submitted = row->submitted;
	if (command->has_submitted || !joined->launch || !queue || !(queue->flags & QUEUE_DIRECT))
		return;
	command->has_submitted = true;
	command->submitted = smaller(joined->launch->exit, row->started);
}

static void describe_way(struct sweep *sweep, const struct joined *joined,
			 struct account_command *command)
{
	const struct event_execution *row = joined->row;
	const struct open_command *launch = joined->launch;

	command->has_queued = row->valid & EXECUTION_QUEUED;
	command->queued = row->queued;
	describe_submission(sweep, joined, command);
	if (!launch)
		return;
	command->has_launch = true;
	command->enter = launch->enter;
	command->exit = launch->exit;
	command->at_enter = launch->at_enter;
	if (launch->thread < sweep->threads.count) {
		command->calls = &sweep->calls[launch->thread];
		command->away = &sweep->states[launch->thread].away;
		command->watched_ns = sweep->states[launch->thread].watched_ns;
		command->thread = launch->thread;
	}
	if (command->has_submitted)
		command->dependency_end = correlate_dependency_end(
			&sweep->correlate, joined->place, command->submitted, row->started);
}

static int account_execution(struct sweep *sweep, const struct joined *joined, uint32_t tag)
{
	struct analysis *analysis = sweep->analysis;
	struct account_command command = {.started = joined->row->started,
					  .ended = joined->row->ended,
					  .process = joined->row->process,
					  .correlation = joined->row->correlation,
					  .class = joined->launch ? analysis_class(joined->type)
								  : ACCOUNT_OTHER,
					  .tag = tag,
					  .tag2 = (uint32_t)joined->process};
	int error;

	describe_way(sweep, joined, &command);
	error = sweep_count_latency(sweep, joined, &command);
	if (!error)
		error = sweep_count_overlap(sweep, joined, &command);
	if (error)
		return error;
	error = account_add(&analysis->devices[joined->device].account, &command);
	if (!error)
		error = account_add(&analysis->queues[joined->queue].account, &command);
	if (!error)
		error = account_add(&analysis->contexts[joined->context].account, &command);
	return error;
}

/* An execution with its launch. */
static int on_match(struct sweep *sweep, const struct joined *joined, uint32_t *ret_tag)
{
	const struct event_execution *row = joined->row;
	bool in_window;
	int error;

	if (joined->is_timed && joined->is_placed)
		in_window = is_in_window(sweep->analysis, row->started, row->ended);
	else
		in_window =
			is_in_window(sweep->analysis, joined->launch->enter, joined->launch->exit);
	error = sweep_count_command(sweep, joined, in_window, ret_tag);
	if (!error)
		error = sweep_find_path(sweep, joined, *ret_tag, ret_tag);
	if (!error && in_window)
		sweep_count_path(sweep, joined, *ret_tag);
	if (!error && in_window)
		sweep_execute_in_ranges(sweep, joined);
	if (!error && in_window)
		error = count_zones(&sweep->analysis->queues[joined->queue], row);
	return error;
}

static void join(struct sweep *sweep, const struct event_execution *row,
		 const struct open_command *launch, uint32_t place, struct joined *ret_joined)
{
	size_t queue = things_index(&sweep->queues, row->queue);

	if (queue == sweep->queues.count && launch)
		queue = launch->queue;
	*ret_joined = (struct joined){.row = row,
				      .launch = launch,
				      .place = place,
				      .process = things_index(&sweep->processes, row->process),
				      .queue = queue,
				      .device = sweep->analysis->queues[queue].device,
				      .context = sweep->analysis->queues[queue].context,
				      .type = launch ? launch->type : COMMAND_OTHER,
				      .is_timed = (row->valid & EXECUTION_STARTED) &&
						  (row->valid & EXECUTION_ENDED),
				      .is_placed = !(row->valid & ORDER_UNPLACED)};
	if (ret_joined->is_timed && !(row->valid & ORDER_IMPOSSIBLE))
		ret_joined->duration_ns = row->ended - row->started;
}

/* Keeps an execution for a launch that may still come. */
static int keep_early(struct sweep *sweep, const struct event_execution *row)
{
	size_t place = sweep->early_next++ % EARLY_COUNT;
	struct event_execution *kept;

	if (!sweep->early)
		sweep->early = calloc(EARLY_COUNT, sizeof(*sweep->early));
	if (!sweep->early)
		return -ENOMEM;
	kept = &sweep->early[place];
	if (pair_map_find(&sweep->early_rows, kept->process, kept->correlation) == place)
		pair_map_remove(&sweep->early_rows, kept->process, kept->correlation);
	*kept = *row;
	return pair_map_put(&sweep->early_rows, row->process, row->correlation, (uint32_t)place);
}

static void count_execution(struct sweep *sweep, const struct joined *joined)
{
	struct analysis *analysis = sweep->analysis;
	const struct event_execution *row = joined->row;
	bool has_span = joined->is_timed && joined->is_placed;
	bool in_window = has_span ? is_in_window(analysis, row->started, row->ended)
				  : is_in_window(analysis, row->seen, row->seen);

	analysis->ledger.executed++;
	analysis->devices[joined->device].all_executions++;
	analysis->devices[joined->device].all_timed += joined->is_timed;
	analysis->devices[joined->device].executions += in_window;
	analysis->queues[joined->queue].executions += in_window;
	analysis->processes[joined->process].executions += in_window;
	analysis->processes[joined->process].has_calls = true;
	note_time(sweep, row->seen);
	if (has_span)
		note_time(sweep, row->ended);
}

static int on_execution(struct sweep *sweep, const struct event_execution *row)
{
	uint32_t place = correlate_find(&sweep->correlate, row->process, row->correlation);
	const struct open_command *launch =
		place == CORRELATE_NONE ? NULL : &sweep->correlate.commands[place];
	struct joined joined;
	uint32_t tag = TAG_NONE;
	int error = 0;

	join(sweep, row, launch, place, &joined);
	count_execution(sweep, &joined);
	if (launch)
		error = sweep_leave_queue(sweep, &joined);
	if (error)
		return error;
	if (launch) {
		ledger_add_match(&sweep->analysis->ledger, row);
		sweep_add_executed(sweep, &joined);
	}
	if (!launch)
		error = keep_early(sweep, row);
	else if (ledger_rejects(row))
		error = sweep_count_failed(sweep, &joined);
	else
		error = on_match(sweep, &joined, &tag);
	if (!error && launch)
		error = sweep_count_outcome(sweep, &joined);
	sweep->analysis->ledger.orphaned += !launch;
	if (!error && launch)
		error = sweep_note_done(sweep, &joined);
	if (!error && is_in_account(&joined)) {
		correlate_expire(&sweep->correlate, row->started);
		sweep_execute_busy(sweep, row->started, row->ended);
		error = sweep_add_busy(sweep, joined.device, row->started, row->ended);
		if (!error && tag == TAG_NONE)
			error = sweep_find_path(sweep, &joined, TAG_NONE, &tag);
		if (!error)
			error = account_execution(sweep, &joined, tag);
	}
	if (!error && launch && is_in_account(&joined) && sweep->has_instructions)
		error = sweep_note_runner(sweep, &joined, tag);
	if (!error && launch && is_in_account(&joined) && sweep->addresses)
		error = sweep_note_ran(sweep, &joined, tag);
	if (!error && launch && !ledger_rejects(row) && sweep->windows)
		error = sweep_note_window_run(sweep, &joined, tag);
	if (!error)
		error = sweep_tell_command(sweep, &joined, tag);
	if (error || !launch)
		return error;
	return correlate_done(&sweep->correlate, place, is_in_account(&joined) ? row->ended : 0);
}

/* The launch of an execution that came first. */
static int match_early(struct sweep *sweep, uint32_t process, uint64_t correlation, uint32_t place)
{
	uint32_t index = pair_map_remove(&sweep->early_rows, process, correlation);
	const struct event_execution *row;
	struct joined joined;
	uint32_t tag;
	int error = 0;

	if (index == PAIR_MAP_NONE)
		return 0;
	row = &sweep->early[index];
	join(sweep, row, &sweep->correlate.commands[place], place, &joined);
	sweep->analysis->ledger.orphaned--;
	ledger_add_match(&sweep->analysis->ledger, row);
	error = sweep_count_outcome(sweep, &joined);
	if (!error)
		error = sweep_leave_queue(sweep, &joined);
	if (error)
		return error;
	if (ledger_rejects(row))
		error = sweep_count_failed(sweep, &joined);
	else
		error = on_match(sweep, &joined, &tag);
	sweep_unlink_open(sweep, place);
	return error ? error : correlate_done(&sweep->correlate, place, 0);
}

/* Its parts come next. */
static void remember_batch(struct thread_state *state, const struct event_launch *row,
			   uint32_t command)
{
	if (command != COMMAND_BATCH)
		return;
	state->batch_enter = row->enter;
	/* One without times never has any for its parts. */
	state->batch_correlation = row->flags & LAUNCH_UNTIMED ? 0 : row->correlation;
}

static int open_launch(struct sweep *sweep, const struct event_launch *row, size_t thread)
{
	struct analysis *analysis = sweep->analysis;
	size_t process_index = sweep->thread_process[thread];
	size_t queue = things_index(&sweep->queues, row->queue);
	const struct event_process *process = analysis->processes[process_index].process;
	struct open_command *command;
	uint32_t replaced, place = 0;
	int error;

	analysis->ledger.launched++;
	analysis->devices[analysis->queues[queue].device].all_launches++;
	if (is_in_window(analysis, row->enter, row->exit)) {
		analysis->processes[process_index].launches++;
		analysis->queues[queue].launches++;
		analysis->devices[analysis->queues[queue].device].launches++;
	}
	replaced = correlate_find(&sweep->correlate, process ? process->id : 0, row->correlation);
	error = replaced == CORRELATE_NONE ? 0 : sweep_replace_open(sweep, replaced, row->enter);
	if (!error)
		error = correlate_launch(&sweep->correlate, process ? process->id : 0, row, &place);
	if (error)
		return error;
	command = &sweep->correlate.commands[place];
	command->thread = (uint32_t)thread;
	command->queue = (uint32_t)queue;
	command->number = sweep->launches;
	command->type = analysis_launch_command(analysis->model, row);
	command->stack = row->stack;
	command->function = row->function_string;
	command->over_by = UINT64_MAX;
	command->passes_ns = unexecuted_add_launch(&sweep->unexecuted, row->queue, row->enter);
	remember_batch(&sweep->states[thread], row, command->type);
	if (sweep->addresses && sweep_note_launched(sweep, command, 0))
		return -ENOMEM;
	sweep_measure_groups(sweep, row, command);
	error = sweep_launch_in_ranges(sweep, command,
				       is_in_window(analysis, row->enter, row->exit));
	if (error)
		return error;
	sweep_link_open(sweep, place);
	error = sweep_enter_queue(sweep, command);
	if (!error)
		error = sweep_count_launch(sweep, place);
	if (error)
		return error;
	command = &sweep->correlate.commands[place];
	if (thread < sweep->threads.count)
		command->at_enter = calls_until(&sweep->calls[thread], row->enter);
	if (!sweep->early_rows.count)
		return 0;
	return match_early(sweep, command->process, command->correlation, place);
}

/* For samples of its instructions; batch: as of sweep_note_launched. */
static int note_launcher(struct sweep *sweep, const struct event_launch *row, uint64_t batch)
{
	const size_t thread = things_index(&sweep->threads, row->thread);
	const struct event_thread *known = things_row(&sweep->threads, thread);
	const struct open_command command = {
		.enter = row->enter,
		.process = known ? known->process : 0,
		.thread = (uint32_t)thread,
		.queue = (uint32_t)things_index(&sweep->queues, row->queue),
		.kernel = row->kernel,
		.stack = row->stack,
		.function = row->function_string,
		.flags = row->flags};

	return sweep_note_launched(sweep, &command, batch);
}

/* It did not execute: it is a call and a line of the ledger. A kernel may have run without a record, and then samples of it
 * are this launch's. */
static int skip_launch(struct sweep *sweep, const struct event_launch *row, size_t thread)
{
	struct analysis *analysis = sweep->analysis;
	const size_t queue = things_index(&sweep->queues, row->queue);

	analysis->ledger.launched++;
	analysis->ledger.passed++;
	analysis->devices[analysis->queues[queue].device].all_launches++;
	if (is_in_window(analysis, row->enter, row->exit))
		analysis->processes[sweep->thread_process[thread]].launches++;
	remember_batch(&sweep->states[thread], row, analysis_launch_command(analysis->model, row));
	return note_launcher(sweep, row, 0);
}

static int on_api(struct sweep *sweep, const struct event_api *row)
{
	size_t thread = things_index(&sweep->threads, row->thread);
	int error;

	if (row->type == API_TYPE_DUET) {
		sweep_count_section(sweep, row);
		return add_span(sweep, thread, row, false);
	}
	error = sweep_count_call(sweep, sweep->thread_process[thread], row, false);
	sweep->analysis->processes[sweep->thread_process[thread]].has_calls = true;

	if (error)
		return error;
	sweep_note_finished(sweep, row);
	unexecuted_add_call(&sweep->unexecuted, row);
	if (row->type == API_TYPE_WAIT)
		sweep_note_wait(sweep, thread, row);
	return add_span(sweep, thread, row, false);
}

/* It has no execution of its own, and is no command: its batch is. */
static int note_part(struct sweep *sweep, const struct event_launch *row)
{
	const size_t thread = things_index(&sweep->threads, row->thread);
	const struct thread_state *state = &sweep->states[thread];

	if (row->result || sweep->is_scouting)
		return 0;
	return note_launcher(sweep, row,
			     state->batch_enter == row->enter ? state->batch_correlation : 0);
}

static int on_launch(struct sweep *sweep, const struct event_launch *row)
{
	size_t thread = things_index(&sweep->threads, row->thread);
	bool is_wait = row->flags & LAUNCH_BLOCKING;
	struct event_api call = {.begin = row->enter,
				 .end = row->exit,
				 .function_string = row->function_string,
				 .result = row->result,
				 .type = is_wait ? API_TYPE_WAIT : API_TYPE_CALL,
				 .stack = row->stack};
	int error = 0;

	if (row->flags & LAUNCH_PART)
		return note_part(sweep, row);
	if (!(row->flags & LAUNCH_FURTHER))
		error = sweep_count_call(sweep, sweep->thread_process[thread], &call, true);
	sweep->analysis->processes[sweep->thread_process[thread]].has_calls = true;

	if (!error && row->result == 0)
		error = sweep_is_skipped(sweep) ? skip_launch(sweep, row, thread)
						: open_launch(sweep, row, thread);
	if (error)
		return error;
	if (is_wait)
		sweep_note_wait(sweep, thread, &call);
	return add_span(sweep, thread, &call, true);
}

/* What will be thrown away is not counted: the first of two sweeps takes two thirds of the second. */
static int scout_execution(struct sweep *sweep, const struct event_execution *row)
{
	uint32_t place = correlate_find(&sweep->correlate, row->process, row->correlation);
	struct joined joined;
	int error;

	if (place == CORRELATE_NONE)
		return keep_early(sweep, row);
	join(sweep, row, &sweep->correlate.commands[place], place, &joined);
	sweep_add_executed(sweep, &joined);
	error = sweep_note_done(sweep, &joined);
	return error ? error : correlate_done(&sweep->correlate, place, 0);
}

static int scout_launch(struct sweep *sweep, const struct event_launch *row)
{
	struct event_launch launch = *row;

	if (row->result || (row->flags & LAUNCH_PART))
		return 0;
	launch.handle = 0; /* who waited for it is not asked */
	return open_launch(sweep, &launch, things_index(&sweep->threads, row->thread));
}

static int scout_item(struct sweep *sweep, const struct order_item *item)
{
	switch (item->kind) {
	case EVENT_API:
		sweep_note_finished(sweep, item->row);
		unexecuted_add_call(&sweep->unexecuted, item->row);
		return 0;
	case EVENT_LAUNCH:
		return scout_launch(sweep, item->row);
	case EVENT_EXECUTION:
		return scout_execution(sweep, item->row);
	default:
		return 0;
	}
}

static int on_sample(struct sweep *sweep, const struct event_cpu_sample *row)
{
	int error = sweep_count_sample(sweep, row);

	sweep->has_states = true;
	if (!error)
		error = sweep_sample_in_ranges(sweep, row);
	if (!error)
		error = sweep_thread_sampled(sweep, row);
	return error ? error : sweep_take_sample(sweep, row);
}

static int on_switch(struct sweep *sweep, const struct event_switch *row)
{
	int error = sweep_thread_switched(sweep, row);

	sweep->has_states = true;
	return error ? error : sweep_take_switch(sweep, row);
}

static int on_item(struct sweep *sweep, const struct order_item *item)
{
	int error;

	if (sweep->is_scouting)
		return scout_item(sweep, item);
	if (item->kind != EVENT_EXECUTION && item->kind != EVENT_INSTRUCTION_SAMPLE)
		note_time(sweep, item->time_ns);
	sweep_release_sampled(sweep, item->time_ns);
	error = sweep_release_addresses(sweep, item->time_ns);
	if (!error)
		error = sweep_release_windows(sweep, item->time_ns);
	if (error)
		return error;
	switch (item->kind) {
	case EVENT_API:
		return on_api(sweep, item->row);
	case EVENT_LAUNCH:
		return on_launch(sweep, item->row);
	case EVENT_DEPENDENCY:
		return correlate_dependency(&sweep->correlate, item->row);
	case EVENT_EXECUTION:
		return on_execution(sweep, item->row);
	case EVENT_CPU_SAMPLE:
		return on_sample(sweep, item->row);
	case EVENT_SWITCH:
		return on_switch(sweep, item->row);
	case EVENT_INSTRUCTION_SAMPLE:
		return sweep_take_instruction(sweep, item->row);
	case EVENT_RANGE:
		return sweep_take_range(sweep, item->row);
	case EVENT_COUNTER:
		return sweep_count_in_ranges(sweep, item->row);
	default:
		return 0;
	}
}

static bool is_part(const struct order_item *item)
{
	const struct event_launch *launch = item->row;

	return item->kind == EVENT_LAUNCH && (launch->flags & LAUNCH_PART);
}

static int run(struct sweep *sweep)
{
	struct order_item item;
	int status;

	while ((status = order_next(sweep->order, &item)) > 0) {
		int error;

		sweep->launches += item.kind == EVENT_LAUNCH && !is_part(&item);
		error = on_item(sweep, &item);
		if (!error && !is_part(&item))
			error = sweep_tell_row(sweep, &item);
		if (error)
			return error;
		sweep->analysis->rows++;
	}
	return status;
}

static int add_loss(struct sweep *sweep, uint32_t kind, uint32_t reason, uint64_t count)
{
	struct analysis *analysis = sweep->analysis;
	size_t i;

	ledger_add_lost(&analysis->ledger, kind, count);
	for (i = 0; i < analysis->losses_count; i++) {
		if (analysis->losses[i].kind == kind && analysis->losses[i].reason == reason)
			break;
	}
	if (i == analysis->losses_count) {
		if (array_grow(analysis->losses, sweep->losses_capacity, i + 1))
			return -ENOMEM;
		analysis->losses_count++;
		analysis->losses[i] = (struct analysis_loss){.kind = kind, .reason = reason};
	}
	analysis->losses[i].count += count;
	analysis->losses[i].uncounted += count == LOSS_COUNT_UNKNOWN;
	return 0;
}

/* Those that the recorder knew of. */
static int count_losses(struct sweep *sweep)
{
	const struct event_loss *losses = NULL;
	size_t count = trace_reader_losses(sweep->analysis->model->reader, &losses);

	for (size_t i = 0; i < count; i++) {
		if (add_loss(sweep, losses[i].kind, losses[i].reason, losses[i].count))
			return -ENOMEM;
	}
	return 0;
}

/* Those of chunks that turned out to be damaged. */
static int count_damaged(struct sweep *sweep)
{
	static const enum event_kind kinds[] = {
		EVENT_API,        EVENT_LAUNCH, EVENT_DEPENDENCY,         EVENT_EXECUTION,
		EVENT_CPU_SAMPLE, EVENT_SWITCH, EVENT_INSTRUCTION_SAMPLE, EVENT_COUNTER,
		EVENT_RANGE};

	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		uint64_t rows = order_damaged_rows(sweep->order, kinds[i]);

		if (rows && add_loss(sweep, kinds[i], 0, rows))
			return -ENOMEM;
	}
	return 0;
}

/* A device that got commands none of which says when it ran has no account: all of it is unknown. So has one that is
 * known by its counters or the samples of its instructions alone. And so is what comes after the last command of a file
 * that ends early: what ran then may have been lost with its end. */
static int close_device(struct analysis_device *device, uint64_t to_ns, bool ends_early)
{
	bool got_commands = device->all_launches || device->all_executions;
	/* Counters and samples are of a device whoever uses it: that nobody was seen to says nothing. */
	bool is_watched = device->has_queue || !device->is_counted;

	device->is_measured = device->account.commands || (!got_commands && is_watched);
	if (!device->is_measured || ends_early)
		account_in_flight(&device->account, 0);
	return account_finish(&device->account, to_ns);
}

static void find_counted(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	const void *things;
	const struct event_series *series;
	size_t count = model_things(analysis->model, EVENT_SERIES, &things);

	series = things;
	for (size_t i = 0; i < count; i++)
		if (series[i].device)
			analysis->devices[things_index(&sweep->devices, series[i].device)]
				.is_counted = true;
	for (size_t i = 0; i < analysis->queues_count; i++)
		analysis->devices[analysis->queues[i].device].has_queue = true;
}

static int close_accounts(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	uint64_t to = analysis->to_ns;
	bool ends_early = analysis_ends_early(analysis);

	find_counted(sweep);
	for (size_t i = 0; i <= analysis->devices_count; i++) {
		int error = close_device(&analysis->devices[i], to, ends_early);

		if (error)
			return error;
		analysis->inexact += !account_is_exact(&analysis->devices[i].account);
	}
	for (size_t i = 0; i <= analysis->queues_count; i++) {
		account_finish(&analysis->queues[i].account, to);
		analysis->inexact += !account_is_exact(&analysis->queues[i].account);
	}
	for (size_t i = 0; i <= analysis->contexts_count; i++) {
		account_finish(&analysis->contexts[i].account, to);
		analysis->inexact += !account_is_exact(&analysis->contexts[i].account);
	}
	analysis->is_exact = !analysis->inexact;
	analysis->ledger.contradictions += analysis->inexact;
	return 0;
}

static void close_window(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;

	if (analysis->end_ns == UINT64_MAX)
		analysis->end_ns =
			sweep->last_ns > analysis->begin_ns ? sweep->last_ns : analysis->begin_ns;
	if (analysis->to_ns > analysis->end_ns)
		analysis->to_ns = analysis->end_ns;
	analysis->from_ns = smaller(analysis->from_ns, analysis->end_ns);
	if (analysis->to_ns < analysis->from_ns)
		analysis->to_ns = analysis->from_ns;
}

static void find_window(struct sweep *sweep, const struct analysis_options *options)
{
	struct analysis *analysis = sweep->analysis;
	const void *hosts = NULL;

	if (model_things(analysis->model, EVENT_HOST, &hosts))
		analysis->host = hosts;
	model_window(analysis->model, sweep->order, &analysis->begin_ns, &analysis->end_ns);
	analysis->dropped_before_ns = model_dropped_ns(analysis->model);
	analysis->from_ns = analysis->begin_ns;
	analysis->to_ns = analysis->end_ns;
	analysis->has_window = options && (options->has_from || options->has_to);
	if (options && options->has_from)
		analysis->from_ns = smaller(add_saturated(analysis->begin_ns, options->from_ns),
					    analysis->end_ns);
	if (options && options->has_to)
		analysis->to_ns = smaller(add_saturated(analysis->begin_ns, options->to_ns),
					  analysis->end_ns);
}

/* Whether every call of every thread is in the trace, as far as anybody can know. */
static bool knows_calls(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->losses_count; i++)
		if (analysis->losses[i].kind == EVENT_API ||
		    analysis->losses[i].kind == EVENT_LAUNCH)
			return false;
	return model_is_whole(analysis->model, &analysis->damage);
}

static void forget_host(struct analysis *analysis)
{
	for (size_t i = 0; i <= analysis->devices_count; i++)
		account_forget_host(analysis->devices[i].account.causes);
	for (size_t i = 0; i < analysis->paths_count; i++)
		account_forget_host(analysis->paths[i].causes);
}

/* The kernel counts what it could not write, and not of which kind it was. */
static bool has_lost_switches(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->losses_count; i++)
		if (analysis->losses[i].kind == EVENT_SWITCH &&
		    analysis->losses[i].reason != LOSS_UNSEEN)
			return true;
	return false;
}

static void forget_switches(struct analysis *analysis)
{
	for (size_t i = 0; i <= analysis->devices_count; i++)
		account_forget_switches(analysis->devices[i].account.causes);
	for (size_t i = 0; i < analysis->paths_count; i++)
		account_forget_switches(analysis->paths[i].causes);
	analysis->gils_count = 0;
}

/* What the losses and the damage that were found so far leave unknown. */
static struct sweep_lost find_lost(struct analysis *analysis)
{
	struct sweep_lost lost = {.is_told = true};

	trace_reader_damage(analysis->model->reader, &analysis->damage);
	lost.host = !knows_calls(analysis);
	lost.switches = lost.host || has_lost_switches(analysis);
	return lost;
}

static void forget_lost(struct sweep *sweep)
{
	struct sweep_lost lost = find_lost(sweep->analysis);

	if (lost.switches)
		forget_switches(sweep->analysis);
	if (lost.host)
		forget_host(sweep->analysis);
	lost.is_told = lost.host == sweep->lost->host && lost.switches == sweep->lost->switches;
	*sweep->lost = lost;
}

static int finish(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	int error;

	error = count_damaged(sweep);
	if (!error)
		error = sweep_find_unexecuted(sweep);
	if (error)
		return error;
	if (sweep->is_scouting)
		return sweep_note_all_in_flight(sweep);
	error = sweep_release_addresses(sweep, UINT64_MAX);
	if (!error)
		error = sweep_release_windows(sweep, UINT64_MAX);
	if (error)
		return error;
	close_window(sweep);
	trace_reader_damage(analysis->model->reader, &analysis->damage);
	sweep_close_contradictions(sweep, model_is_whole(analysis->model, &analysis->damage));
	ledger_close(&analysis->ledger,
		     !analysis->ledger.passed || unexecuted_is_whole(analysis->model));
	error = sweep_note_all_in_flight(sweep);
	if (error)
		return error;
	trace_reader_damage(analysis->model->reader, &analysis->damage);
	error = close_accounts(sweep);
	if (error)
		return error;
	sweep_close_queues(sweep);
	error = sweep_close_samples(sweep);
	if (error)
		return error;
	analysis->knows_switches = sweep->has_switches && !has_lost_switches(analysis);
	forget_lost(sweep);
	error = sweep_close_paths(sweep);
	if (!error)
		error = sweep_close_states(sweep);
	if (!error)
		error = sweep_close_threads(sweep);
	if (!error)
		error = sweep_close_metrics(sweep);
	if (error)
		return error;
	sweep_close_ranges(sweep);
	sweep_close_idle(sweep);
	sweep_sort_tables(analysis);
	/* the rows are there twice for a moment */
	sweep_addresses_fini(sweep);
	error = sweep_sort_instructions(analysis);
	/* Without rows of CPUs, nothing but its OpenCL brought a process here. */
	for (size_t i = 0; i < analysis->processes_count; i++) {
		analysis->processes[i].has_calls |=
			!sweep->has_states && !model_has(analysis->model, EVENT_COUNTER);
		analysis->processes_called += analysis->processes[i].has_calls;
	}
	analysis->peak_rows = order_peak_rows(sweep->order);
	analysis->peak_commands = sweep->correlate.count;
	return error;
}

static void sweep_fini(struct sweep *sweep)
{
	for (size_t i = 0; sweep->calls && i <= sweep->threads.count; i++)
		calls_fini(&sweep->calls[i]);
	sweep_states_fini(sweep);
	sweep_samples_fini(sweep);
	sweep_instructions_fini(sweep);
	sweep_addresses_fini(sweep);
	sweep_windows_fini(sweep);
	sweep_contradictions_fini(sweep);
	sweep_ranges_fini(sweep);
	sweep_metrics_fini(sweep);
	free(sweep->calls);
	free(sweep->times);
	free(sweep->thread_process);
	free(sweep->early);
	free(sweep->kept);
	free(sweep->lists);
	free(sweep->lasts);
	pair_map_fini(&sweep->gil_rows);
	pair_map_fini(&sweep->kernel_rows);
	pair_map_fini(&sweep->copy_rows);
	pair_map_fini(&sweep->call_rows);
	pair_map_fini(&sweep->path_rows);
	pair_map_fini(&sweep->launches_rows);
	pair_map_fini(&sweep->whom_rows);
	pair_map_fini(&sweep->failure_rows);
	pair_map_fini(&sweep->wait_rows);
	pair_map_fini(&sweep->sample_rows);
	pair_map_fini(&sweep->away_rows);
	pair_map_fini(&sweep->state_rows);
	pair_map_fini(&sweep->wait_numbers);
	pair_map_fini(&sweep->waker_numbers);
	pair_map_fini(&sweep->holding_rows);
	pair_map_fini(&sweep->early_rows);
	correlate_fini(&sweep->correlate);
	unexecuted_fini(&sweep->unexecuted);
	order_free(sweep->order);
}

static void clear_device(struct analysis_device *device)
{
	account_fini(&device->account);
	overlap_fini(&device->overlap);
}

static void clear_queue(struct analysis_queue *queue)
{
	account_fini(&queue->account);
	for (unsigned int zone = 0; zone < ZONE_COUNT; zone++)
		quantile_fini(&queue->zones[zone]);
	quantile_fini(&queue->latency);
	quantile_fini(&queue->prompt);
	depth_fini(&queue->depth);
}

static void clear(struct analysis *analysis)
{
	for (size_t i = 0; analysis->devices && i <= analysis->devices_count; i++)
		clear_device(&analysis->devices[i]);
	for (size_t i = 0; analysis->contexts && i <= analysis->contexts_count; i++)
		account_fini(&analysis->contexts[i].account);
	for (size_t i = 0; analysis->queues && i <= analysis->queues_count; i++)
		clear_queue(&analysis->queues[i]);
	free(analysis->devices);
	free(analysis->queues);
	free(analysis->contexts);
	free(analysis->processes);
	free(analysis->kernels);
	free(analysis->copies);
	free(analysis->calls);
	free(analysis->losses);
	free(analysis->launches);
	free(analysis->failures);
	free(analysis->waits);
	free(analysis->samples);
	free(analysis->threads);
	free(analysis->aways);
	free(analysis->states);
	free(analysis->wakers);
	free(analysis->gils);
	free(analysis->holdings);
	free(analysis->paths);
	free(analysis->instructions);
	free(analysis->ranges);
	free(analysis->range_metrics);
}

/* What a sweep finds that the next one over the same trace must know from its first row on. */
struct sweep_findings {
	struct dark *darks;           /* owned; by device index */
	struct sweep_skipped skipped; /* owned */
	struct sweep_lost lost;
	bool is_used; /* a sweep has been over */
};

static int sweep_once(struct analysis *analysis, const struct analysis_options *options,
		      struct sweep_findings *findings)
{
	struct order_options order = {.kinds = ANALYSIS_ORDER_KINDS};
	struct sweep sweep = {.analysis = analysis,
			      .darks = findings->darks,
			      .uses_darks = findings->is_used,
			      .skipped = &findings->skipped,
			      .lost = &findings->lost,
			      .observer = options ? options->observer : NULL,
			      .by_thread = options && options->by_thread,
			      .waiting_most = options ? options->waiting_most : 0,
			      .stacks_dense =
				      2 * trace_reader_stack_count(analysis->model->reader) + 64};
	int error;

	correlate_init(&sweep.correlate);
	sweep.has_instructions = model_has(analysis->model, EVENT_INSTRUCTION_SAMPLE);
	sweep.has_launches = model_has(analysis->model, EVENT_LAUNCH);
	order.parts = sweep.has_instructions;
	sweep.has_switches = model_has(analysis->model, EVENT_SWITCH);
	analysis->clock_error_ns = clocks_device_error_ns(analysis->model->clocks);
	sweep.delay_ns = order.execution_delay_ns = analysis->clock_error_ns;
	error = model_order(analysis->model, &order, &sweep.order);
	if (!error) {
		find_window(&sweep, options);
		error = sweep_make_tables(&sweep);
	}
	if (!error)
		error = unexecuted_init(&sweep.unexecuted, analysis->model);
	if (!error)
		error = sweep_make_addresses(&sweep);
	if (!error)
		error = sweep_make_windows(&sweep);
	if (!error)
		error = sweep_make_contradictions(&sweep);
	if (!error)
		error = count_losses(&sweep);
	if (!error && findings->lost.is_told)
		findings->lost = find_lost(analysis);
	if (!error)
		sweep_mark_launchers(&sweep);
	if (!error)
		error = sweep_tell_begin(&sweep);
	if (!error)
		error = run(&sweep);
	if (!error)
		error = finish(&sweep);
	sweep_fini(&sweep);
	return error;
}

/* Whether an account was made without knowing that commands without times were under way, or that launches did not
 * execute. */
static bool needs_findings(const struct analysis *analysis, struct sweep_findings *findings)
{
	bool needs = findings->skipped.count;

	for (size_t i = 0; i <= analysis->devices_count; i++) {
		dark_close(&findings->darks[i]);
		needs |= analysis->devices[i].account.commands && findings->darks[i].count;
	}
	return needs;
}

static bool needs_sweep(const struct analysis *analysis, const struct analysis_options *options,
			struct sweep_findings *findings)
{
	if (!findings->is_used && needs_findings(analysis, findings))
		return true;
	return options && options->observer && !findings->lost.is_told;
}

/* A gap is explained when the next command starts, and then nobody can know yet whether what is open
 * will turn out to have no times. Few traces have such commands; those are read twice, which costs
 * less than holding every gap back until all that was open in it is over. So are, for an observer, those in
 * which damage is found on the way that changes what is known of threads. */
static int analyze(struct analysis *analysis, const struct analysis_options *options)
{
	const struct model *model = analysis->model;
	const void *things = NULL;
	size_t count = model_things(model, EVENT_DEVICE, &things) + 1;
	struct sweep_findings findings = {.darks = calloc(count, sizeof(*findings.darks)),
					  .lost = {.is_told = true}};
	int error = findings.darks ? sweep_once(analysis, options, &findings) : -ENOMEM;

	while (!error && needs_sweep(analysis, options, &findings)) {
		findings.is_used = true;
		clear(analysis);
		*analysis = (struct analysis){.model = model};
		error = sweep_once(analysis, options, &findings);
	}
	for (size_t i = 0; findings.darks && i < count; i++)
		dark_fini(&findings.darks[i]);
	free(findings.darks);
	free(findings.skipped.numbers);
	return error;
}

int analysis_new(const struct model *model, const struct analysis_options *options,
		 struct analysis **ret_analysis)
{
	struct analysis *analysis = calloc(1, sizeof(*analysis));
	int error;

	if (!analysis)
		return -ENOMEM;
	analysis->model = model;
	error = analyze(analysis, options);
	if (error) {
		analysis_free(analysis);
		return error;
	}
	*ret_analysis = analysis;
	return 0;
}

void analysis_free(struct analysis *analysis)
{
	if (!analysis)
		return;
	clear(analysis);
	free(analysis);
}

bool analysis_ends_early(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->losses_count; i++)
		if (analysis->losses[i].reason == LOSS_DISK)
			return true;
	return analysis->damage.truncated;
}

bool analysis_has_launches(const struct analysis *analysis)
{
	return analysis->ledger.is_complete && model_is_whole(analysis->model, &analysis->damage);
}

bool analysis_is_complete(const struct analysis *analysis)
{
	return analysis_has_launches(analysis) && !analysis->ledger.contradictions;
}

const char *analysis_device_label(const struct analysis *analysis, size_t device, char *ret_label,
				  size_t size)
{
	const struct analysis_device *row = &analysis->devices[device];
	bool is_repeated = false;

	for (size_t i = 0; i < analysis->devices_count && !is_repeated; i++)
		is_repeated = i != device && strcmp(analysis->devices[i].name, row->name) == 0;
	if (is_repeated && *row->key)
		snprintf(ret_label, size, "%s %s", row->name, row->key);
	else
		snprintf(ret_label, size, "%s", row->name);
	return ret_label;
}

/* A launch that names no known queue and did not execute is no proof of one more device. */
static bool is_rest_shown(uint64_t launches, uint64_t executions, size_t described)
{
	return executions || (launches && !described);
}

size_t analysis_devices_shown(const struct analysis *analysis)
{
	const struct analysis_device *rest = &analysis->devices[analysis->devices_count];

	return analysis->devices_count +
	       is_rest_shown(rest->launches, rest->executions, analysis->devices_count);
}

size_t analysis_queues_shown(const struct analysis *analysis)
{
	const struct analysis_queue *rest = &analysis->queues[analysis->queues_count];

	return analysis->queues_count +
	       is_rest_shown(rest->launches, rest->executions, analysis->queues_count);
}
