/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/executions.c - counts executions, each with its launch if the launch is known
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     execution rows
 * Gives:    commands to the tables, the paths and the accounts
 * Owns:     nothing
 * Fails:    -ENOMEM, errors of the observer
 */
#include "analyze/sweep/sweep.h"
#include "analyze/sweep/waited_launches.h"

#include <errno.h>
#include <string.h>

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

/* Without a timestamp of the submission, the end of the launching call stands for it if the queue
 * is direct. */
static void describe_submission(const struct analysis *analysis, const struct joined *joined,
				struct account_command *command)
{
	const struct event_queue *queue = analysis->queues[joined->queue].queue;
	const struct event_execution *row = joined->row;

	command->has_submitted = row->valid & EXECUTION_SUBMITTED;
	command->submitted = row->submitted;
	if (command->has_submitted || !joined->launch || !queue || !(queue->flags & QUEUE_DIRECT))
		return;
	command->has_submitted = true;
	command->submitted = smaller(joined->launch->exit, row->started);
}

/* Adds the command or event of its wait list that ended last, and that it may have waited for. */
static int describe_dependency(struct sweep *sweep, const struct joined *joined, uint32_t path,
			       struct account_command *command)
{
	const struct open_command *launch = joined->launch;
	uint32_t on;

	if (!launch || !command->has_submitted)
		return 0;
	on = correlate_dependency_last(&sweep->join.correlate, joined->place,
				       smaller(command->submitted, launch->exit),
				       joined->row->started);
	if (on == CORRELATE_NONE)
		return 0;
	command->dependency_end = sweep->join.correlate.commands[on].ended;
	return sweep_find_dependency(sweep, path, &sweep->join.correlate.commands[on],
				     &command->awaited);
}

static void describe_way(struct sweep *sweep, const struct joined *joined,
			 struct account_command *command)
{
	const struct event_execution *row = joined->row;
	const struct open_command *launch = joined->launch;

	command->has_queued = row->valid & EXECUTION_QUEUED;
	command->queued = row->queued;
	describe_submission(sweep->analysis, joined, command);
	if (!launch)
		return;
	if (sweep_is_absent(sweep, launch)) {
		command->has_call = command->has_queued;
		return;
	}
	command->has_launch = true;
	command->has_call = launch->function != 0;
	command->enter = launch->enter;
	command->exit = launch->exit;
	command->full_begin = launch->full_begin;
	command->full_end = launch->full_end;
	command->at_enter = launch->at_enter;
	if (launch->thread < sweep->entities.threads.count) {
		command->calls = &sweep->per_thread.calls[launch->thread];
		command->away = &sweep->per_thread.states[launch->thread].away;
		if (sweep->per_thread.states[launch->thread].overheads.count)
			command->overheads = &sweep->per_thread.states[launch->thread].overheads;
		command->watched_ns = sweep->per_thread.states[launch->thread].watched_ns;
		command->thread = launch->thread;
	}
}

/* Before the command is in the accounts: its waiting times follow from the commands before it. */
static int count_waits(struct sweep *sweep, const struct joined *joined,
		       const struct account_command *command)
{
	int error = sweep_count_latency(sweep->analysis, joined, command);

	return error ? error : sweep_count_overlap(sweep, joined, command);
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
	error = describe_dependency(sweep, joined, tag, &command);
	if (!error)
		error = sweep_find_waited(sweep, joined, tag, &command);
	if (!error && !sweep->options->is_brief)
		error = count_waits(sweep, joined, &command);
	if (error)
		return error;
	error = account_add(&analysis->devices[joined->device].account, &command);
	if (error || sweep->options->is_brief)
		return error;
	error = account_add(&analysis->queues[joined->queue].account, &command);
	if (!error)
		error = account_add(&analysis->contexts[joined->context].account, &command);
	return error;
}

/* Counts an execution in the row of its class, in its path and in the waiting times of its queue.
 * */
static int count_match(struct sweep *sweep, const struct joined *joined, uint32_t *ret_tag)
{
	const struct event_execution *row = joined->row;
	bool in_window;
	int error;

	if (joined->is_timed && joined->is_placed)
		in_window = analysis_shows(sweep->analysis, row->started, row->ended);
	else
		in_window = analysis_shows(sweep->analysis, joined->launch->enter,
					   joined->launch->exit);
	error = sweep_count_command(sweep, joined, in_window, ret_tag);
	if (!error)
		error = sweep_find_path(sweep, joined, *ret_tag, ret_tag);
	if (!error && in_window)
		sweep_count_path(sweep->analysis, joined, *ret_tag);
	if (!error && in_window)
		sweep_execute_in_ranges(sweep, joined);
	if (!error && in_window && !sweep->options->is_brief)
		error = count_zones(&sweep->analysis->queues[joined->queue], row);
	return error;
}

static void describe_joined(struct sweep *sweep, const struct event_execution *row, uint32_t place,
			    struct joined *ret_joined)
{
	const struct open_command *launch =
		place == CORRELATE_NONE ? NULL : &sweep->join.correlate.commands[place];
	size_t queue = entity_index_find(&sweep->entities.queues, row->queue);

	if (queue == sweep->entities.queues.count && launch)
		queue = launch->queue;
	*ret_joined = (struct joined){
		.row = row,
		.launch = launch,
		.place = place,
		.process = entity_index_find(&sweep->entities.processes, row->process),
		.queue = queue,
		.device = sweep->analysis->queues[queue].device,
		.context = sweep->analysis->queues[queue].context,
		.type = launch ? launch->type : COMMAND_OTHER,
		.is_timed = (row->valid & EXECUTION_STARTED) && (row->valid & EXECUTION_ENDED),
		.is_placed = !(row->valid & ORDER_UNPLACED)};
	if (ret_joined->is_timed && !(row->valid & ORDER_IMPOSSIBLE))
		ret_joined->duration_ns = row->ended - row->started;
}

static void count_execution(struct sweep *sweep, const struct joined *joined)
{
	struct analysis *analysis = sweep->analysis;
	const struct event_execution *row = joined->row;
	bool has_span = joined->is_timed && joined->is_placed;
	bool in_window = has_span ? analysis_shows(analysis, row->started, row->ended)
				  : analysis_shows(analysis, row->seen, row->seen);

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

/* Counts a launch and its execution, in whichever order the two came. */
static int match_launch(struct sweep *sweep, const struct joined *joined, uint32_t *ret_path)
{
	int error = sweep_leave_queue(sweep, joined);

	if (error)
		return error;
	ledger_add_match(&sweep->analysis->ledger, joined->row);
	if (ledger_rejects(joined->row))
		error = sweep_count_failed(sweep, joined);
	else
		error = count_match(sweep, joined, ret_path);
	return error ? error : sweep_count_outcome(sweep, joined);
}

/* Keeps an execution whose launch may still come. */
static int keep_early(struct sweep *sweep, const struct event_execution *row)
{
	sweep->analysis->ledger.orphaned++;
	return join_keep_early(&sweep->join, row);
}

/* Ends the launch, and with it the commands that its queue ran before. */
static int end_launch(struct sweep *sweep, const struct joined *joined)
{
	join_add_executed(&sweep->join, joined->row, joined->place);
	return sweep_note_done(sweep, joined);
}

static int add_to_account(struct sweep *sweep, const struct joined *joined, uint32_t *path)
{
	const struct event_execution *row = joined->row;
	int error;

	if (!is_in_account(joined))
		return 0;
	correlate_expire(&sweep->join.correlate, row->started);
	sweep_execute_busy(sweep, row->started, row->ended);
	error = sweep_add_busy(sweep, joined->device, row->started, row->ended);
	if (!error && *path == TAG_NONE)
		error = sweep_find_path(sweep, joined, TAG_NONE, path);
	return error ? error : account_execution(sweep, joined, *path);
}

/* Notes the command for the instruction samples, which are attributed to commands that ran. */
static int note_run(struct sweep *sweep, const struct joined *joined, uint32_t path)
{
	int error = 0;

	if (!joined->launch)
		return 0;
	if (is_in_account(joined) && sweep->trace.has_instructions)
		error = sweep_note_runner(sweep, joined, path);
	if (!error && is_in_account(joined) && sweep->addresses)
		error = sweep_note_ran(sweep, joined, path);
	if (!error && !ledger_rejects(joined->row) && sweep->windows)
		error = sweep_note_window_run(sweep, joined, path);
	return error;
}

/* The order is a contract: 1. The row is counted first, so that the ledger contains it in all
 * cases. 2. The launch is matched. This finds the path, which all later steps use. 3. The launch
 * ends, and with it the commands that its queue ran before. If its run time is unknown, the sweep
 * continues as a scouting one, which gives the observer nothing more: a second sweep repeats it
 * all. 4. The account adds the command and gives the observer the spans before it. Latencies are
 * counted just before, because they need the end of the previous command. 5. The command is noted
 * for the instruction samples. 6. The observer gets the command, after the spans that precede it.
 * 7. The launch leaves the join: `joined` points into it until then. */
int sweep_take_execution(struct sweep *sweep, const struct event_execution *row)
{
	const uint32_t place = join_find(&sweep->join, row->process, row->correlation);
	struct joined joined;
	uint32_t path = TAG_NONE;
	int error;

	describe_joined(sweep, row, place, &joined);
	count_execution(sweep, &joined);
	error = joined.launch ? match_launch(sweep, &joined, &path) : keep_early(sweep, row);
	if (!error && joined.launch)
		error = end_launch(sweep, &joined);
	if (!error)
		error = add_to_account(sweep, &joined, &path);
	if (!error)
		error = note_run(sweep, &joined, path);
	if (!error)
		error = sweep_observe_command(sweep, &joined, path);
	if (error || !joined.launch)
		return error;
	return correlate_done(&sweep->join.correlate, place,
			      is_in_account(&joined) ? row->ended : 0);
}

/* The account already contains the execution, as a command without a launch. */
int sweep_match_early(struct sweep *sweep, uint32_t place)
{
	const struct open_command *launch = &sweep->join.correlate.commands[place];
	const struct event_execution *row =
		join_take_early(&sweep->join, launch->process, launch->correlation);
	struct joined joined;
	uint32_t path;
	int error;

	if (!row)
		return 0;
	describe_joined(sweep, row, place, &joined);
	sweep->analysis->ledger.orphaned--;
	error = match_launch(sweep, &joined, &path);
	sweep_unlink_open(sweep, place);
	return error ? error : correlate_done(&sweep->join.correlate, place, 0);
}

/* The scouting sweep counts nothing, since its results are dropped. It takes two thirds of the
 * second sweep's time. */
int sweep_scout_execution(struct sweep *sweep, const struct event_execution *row)
{
	const uint32_t place = join_find(&sweep->join, row->process, row->correlation);
	struct joined joined;
	int error;

	if (place == CORRELATE_NONE)
		return join_keep_early(&sweep->join, row);
	describe_joined(sweep, row, place, &joined);
	error = end_launch(sweep, &joined);
	return error ? error : correlate_done(&sweep->join.correlate, place, 0);
}
