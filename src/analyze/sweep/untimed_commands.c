/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/untimed_commands.c - commands without run times
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     launches, executions, waits
 * Gives:    untimed intervals of each device; commands in flight
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why an untimed interval is bounded: otherwise one lost execution row would make all later idle
 *           time unknown. An in-order queue that starts the next command, or a call that waited for
 *           the whole queue, shows that the command had ended.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/number.h"

/* A device that runs nothing for that long after an interval without launches had no command left.
 */
#define LEFT_OUT_MAX_NS UINT64_C(1000000000)

/* NULL: the trace does not describe the queue. */
static struct queue_list *list_of(const struct sweep *sweep, uint32_t queue)
{
	return sweep->analysis->queues[queue].queue ? &sweep->untimed.lists[queue] : NULL;
}

void sweep_link_open(struct sweep *sweep, uint32_t place)
{
	struct open_command *commands = sweep->join.correlate.commands;
	struct queue_list *list = list_of(sweep, commands[place].queue);

	commands[place].previous = commands[place].next = CORRELATE_NONE;
	if (!list)
		return;
	commands[place].previous = list->last;
	if (list->last == CORRELATE_NONE)
		list->first = place;
	else
		commands[list->last].next = place;
	list->last = place;
}

void sweep_unlink_open(struct sweep *sweep, uint32_t place)
{
	struct open_command *commands = sweep->join.correlate.commands, *command = &commands[place];
	struct queue_list *list = list_of(sweep, command->queue);

	if (!list || (command->previous == CORRELATE_NONE && list->first != place))
		return;
	if (command->previous == CORRELATE_NONE)
		list->first = command->next;
	else
		commands[command->previous].next = command->next;
	if (command->next == CORRELATE_NONE)
		list->last = command->previous;
	else
		commands[command->next].previous = command->previous;
	command->previous = command->next = CORRELATE_NONE;
}

static void note_over(struct open_command *command, uint64_t over_by)
{
	if (over_by < command->over_by)
		command->over_by = over_by;
}

/* In an in-order queue all earlier commands had ended when this one started. */
static void note_started(struct sweep *sweep, uint32_t place, uint64_t started)
{
	struct open_command *commands = sweep->join.correlate.commands;
	struct queue_list *list = list_of(sweep, commands[place].queue);

	if (!list ||
	    (sweep->analysis->queues[commands[place].queue].queue->flags & QUEUE_OUT_OF_ORDER))
		return;
	while (list->first != CORRELATE_NONE &&
	       commands[list->first].enter < commands[place].enter) {
		note_over(&commands[list->first], started);
		sweep_unlink_open(sweep, list->first);
	}
}

/* A second sweep is certain if a device has both, commands and untimed intervals. */
static void begin_scouting(struct sweep *sweep, size_t device)
{
	if (sweep->is_scouting || !sweep->analysis->devices[device].account.commands ||
	    !sweep->untimed.intervals[device].count)
		return;
	sweep->is_scouting = true;
	order_narrow(sweep->order);
}

static int add_untimed(struct sweep *sweep, size_t device, uint64_t begin, uint64_t end)
{
	int error;

	if (sweep->untimed.uses_intervals)
		return 0;
	error = untimed_intervals_add(&sweep->untimed.intervals[device], begin, end);
	begin_scouting(sweep, device);
	return error;
}

/* Ends the intervals before enter_ns of a device: until over_ns it may have run commands that were
 * launched in them. */
static int end_left_out(struct sweep *sweep, uint32_t process, size_t device, uint64_t enter_ns,
			uint64_t over_ns)
{
	struct sweep_untimed *untimed = &sweep->untimed;
	int error = 0;

	for (size_t i = untimed->left_out_first;
	     i < untimed->left_out_count && !error && untimed->left_out[i].end <= enter_ns; i++) {
		struct left_out_end *end = &untimed->left_out[i];
		const bool is_same = end->device == device && end->process == process;

		if (!end->is_over && is_same && over_ns > end->end)
			error = add_untimed(sweep, device, end->end, over_ns);
		end->is_over |= is_same || enter_ns - end->end > LEFT_OUT_MAX_NS;
		if (end->is_over && i == untimed->left_out_first)
			untimed->left_out_first++;
	}
	return error;
}

/* When a call that waits for a whole queue returns, all commands launched before the call have
 * ended. Commands that had ended before the call leave the list: no later bound can be earlier. */
int sweep_note_finished(struct sweep *sweep, const struct event_api *row)
{
	struct open_command *commands = sweep->join.correlate.commands;
	size_t queue = entity_index_find(&sweep->entities.queues, (uint32_t)row->argument);
	struct queue_list *list;
	uint32_t next;

	if (row->type != API_TYPE_WAIT || row->result != 0 || row->argument > UINT32_MAX ||
	    !(list = list_of(sweep, (uint32_t)queue)))
		return 0;
	for (uint32_t place = list->first; place != CORRELATE_NONE; place = next) {
		next = commands[place].next;
		if (commands[place].over_by <= row->begin)
			sweep_unlink_open(sweep, place);
		else if (commands[place].exit <= row->begin)
			note_over(&commands[place], row->end);
	}
	return end_left_out(sweep, sweep->analysis->queues[queue].queue->process,
			    sweep->analysis->queues[queue].device, row->begin, row->end);
}

static int add_left_out_end(struct sweep_untimed *untimed, const struct left_out_end *end)
{
	for (size_t i = untimed->left_out_count; i-- > 0 && untimed->left_out[i].end == end->end;)
		if (untimed->left_out[i].device == end->device)
			return 0; /* the device has several queues */
	return array_append(untimed->left_out, untimed->left_out_capacity, untimed->left_out_count,
			    *end)
		       ? -ENOMEM
		       : 0;
}

/* The devices of the process may have run commands in that time. */
static int add_left_out(struct sweep *sweep, const struct event_loss *loss)
{
	const struct analysis *analysis = sweep->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis->queues_count && !error; i++) {
		const struct event_queue *queue = analysis->queues[i].queue;
		const struct left_out_end end = {loss->end, loss->process,
						 analysis->queues[i].device, false};

		if (!queue || queue->process != loss->process)
			continue;
		error = add_untimed(sweep, end.device, loss->begin, loss->end);
		if (!error)
			error = add_left_out_end(&sweep->untimed, &end);
	}
	return error;
}

static int compare_ends(const void *left, const void *right)
{
	const struct left_out_end *a = left, *b = right;

	return (a->end > b->end) - (a->end < b->end);
}

/* Intervals in which --max-overhead left out all launches. */
static int make_left_out(struct sweep *sweep)
{
	const struct event_loss *losses = NULL;
	const size_t count = trace_reader_losses(sweep->analysis->model->reader, &losses);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		if (losses[i].reason == LOSS_LIMIT && losses[i].kind == EVENT_LAUNCH &&
		    losses[i].begin < losses[i].end)
			error = add_left_out(sweep, &losses[i]);
	if (sweep->untimed.left_out_count)
		qsort(sweep->untimed.left_out, sweep->untimed.left_out_count,
		      sizeof(*sweep->untimed.left_out), compare_ends);
	return error;
}

int sweep_make_untimed(struct sweep *sweep)
{
	const struct analysis *analysis = sweep->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis->queues_count && !error; i++) {
		const struct analysis_queue *queue = &analysis->queues[i];
		const struct event_process *process =
			queue->queue
				? analysis->processes[entity_index_find(&sweep->entities.processes,
									queue->queue->process)]
					  .process
				: NULL;

		if (process && process->guest_begin_ns && sweep_is_older(analysis, process))
			error = add_untimed(sweep, queue->device, analysis->begin_ns,
					    process->guest_begin_ns);
	}
	return error ? error : make_left_out(sweep);
}

static int note_user(struct sweep *sweep, const struct joined *joined)
{
	return sweep_is_absent(sweep, joined->launch)
		       ? 0
		       : sweep_unplaced_note_user(&sweep->untimed.unplaced, joined->row->process,
						  joined->device, joined->launch->enter);
}

/* The run time bounds the commands before it. A launch without one makes an untimed interval. */
int sweep_note_done(struct sweep *sweep, const struct joined *joined)
{
	int error = 0;

	if (!sweep->untimed.uses_intervals)
		begin_scouting(sweep, joined->device);
	if (is_in_account(joined)) {
		note_started(sweep, joined->place, joined->row->started);
		error = note_user(sweep, joined);
		if (!error)
			error = end_left_out(sweep, joined->row->process, joined->device,
					     joined->launch->enter, joined->row->started);
	} else {
		error = add_untimed(sweep, joined->device, joined->launch->enter,
				    joined->row->seen);
	}
	sweep_unlink_open(sweep, joined->place);
	return error;
}

/* ---- launches that never executed ------------------------------------------------------------ */

/* All commands but copies and fills may have run without a record, as kernels do in CUPTI's range
 * mode. The device was then perhaps not idle, so that time is untimed. */
static int skip_launch(struct sweep *sweep, const struct open_command *command)
{
	struct sweep_skipped *skipped = sweep->untimed.skipped;

	if (array_append(skipped->numbers, skipped->capacity, skipped->count, command->number))
		return -ENOMEM;
	if (analysis_class(command->type) == ACCOUNT_COPY)
		return 0;
	return untimed_intervals_add(
		&sweep->untimed.intervals[sweep->analysis->queues[command->queue].device],
		command->enter, command->over_by);
}

static int skip_passed(struct sweep *sweep)
{
	int error = 0;

	for (size_t i = 0; i < sweep->join.correlate.count && !error; i++) {
		struct open_command *command = &sweep->join.correlate.commands[i];

		if (!join_is_passed(&sweep->join, (uint32_t)i))
			continue;
		error = skip_launch(sweep, command);
		command->state = OPEN_EXPECTED; /* no longer open */
	}
	if (sweep->untimed.skipped->count)
		qsort(sweep->untimed.skipped->numbers, sweep->untimed.skipped->count,
		      sizeof(uint64_t), compare_u64);
	return error;
}

int sweep_find_unexecuted(struct sweep *sweep)
{
	struct analysis_ledger *ledger = &sweep->analysis->ledger;
	uint64_t passed = 0;

	for (size_t i = 0; i < sweep->join.correlate.count; i++)
		passed += join_is_passed(&sweep->join, (uint32_t)i);
	ledger->passed += passed;
	if (!passed || sweep->untimed.uses_intervals ||
	    !unexecuted_is_certain(sweep->analysis->model, ledger))
		return 0;
	return skip_passed(sweep);
}

bool sweep_is_skipped(struct sweep *sweep)
{
	const struct sweep_skipped *skipped = sweep->untimed.skipped;

	if (!sweep->untimed.uses_intervals || sweep->untimed.skipped_next == skipped->count ||
	    skipped->numbers[sweep->untimed.skipped_next] != sweep->launches)
		return false;
	sweep->untimed.skipped_next++;
	return true;
}

/* ---- in flight ------------------------------------------------------------------------------- */

static int note_in_flight(struct sweep *sweep, const struct open_command *command)
{
	size_t device = sweep->analysis->queues[command->queue].device;

	account_in_flight(&sweep->analysis->devices[device].account, command->enter);
	return add_untimed(sweep, device, command->enter, command->over_by);
}

/* A new launch uses the correlation id again, so no execution can be joined to this one. Its end is
 * not known better than that. */
int sweep_replace_open(struct sweep *sweep, uint32_t place, uint64_t enter)
{
	struct open_command *command = &sweep->join.correlate.commands[place];
	int error = sweep_end_queued(sweep, command, enter);

	sweep_unlink_open(sweep, place);
	note_over(command, enter);
	return error ? error : note_in_flight(sweep, command);
}

static void note_longest(struct sweep *sweep, const struct open_command *command)
{
	struct analysis_in_flight *longest = &sweep->analysis->longest_in_flight;
	const struct event_process *process =
		model_entity(sweep->analysis->model, EVENT_PROCESS, command->process);
	uint32_t id;

	longest->ended += process && process->end_ns;
	if (longest->name && longest->enter <= command->enter)
		return;
	longest->name = sweep_launch_name(sweep, command, command->type, &id);
	longest->enter = command->enter;
	longest->stack = command->stack;
}

/* A launch without an execution may run to the end of the recording. */
int sweep_note_all_in_flight(struct sweep *sweep)
{
	int error = 0;

	for (size_t i = 0; i < sweep->join.correlate.count && !error; i++) {
		const struct open_command *command = &sweep->join.correlate.commands[i];

		if (command->state != OPEN_LAUNCHED)
			continue;
		note_longest(sweep, command);
		error = note_in_flight(sweep, command);
		if (!error && command->over_by == UINT64_MAX)
			error = sweep_observe_open(sweep, command);
		if (!error && !list_of(sweep, command->queue))
			error = sweep_unplaced_add(&sweep->untimed.unplaced, command->process,
						   command->enter);
	}
	if (!error)
		sweep_unplaced_place(&sweep->untimed.unplaced, sweep->analysis);
	return error;
}
