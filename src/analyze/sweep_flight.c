/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_flight.c - commands of which nobody knows when they ran
 *
 * Runs in:  the readers
 * Gets:     launches, executions, waits   Gives: dark time of each device, what is in flight
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why bounds: one execution row that was lost would else make all idle time behind it unknown. A queue
 *           that starts commands in order, or a call that waited for all of it, says that it was over.
 */
#include "analyze/sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* NULL: nobody knows which queue it is. */
static struct queue_list *list_of(const struct sweep *sweep, uint32_t queue)
{
	return sweep->analysis->queues[queue].queue ? &sweep->lists[queue] : NULL;
}

void sweep_link_open(struct sweep *sweep, uint32_t place)
{
	struct open_command *commands = sweep->correlate.commands;
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
	struct open_command *commands = sweep->correlate.commands, *command = &commands[place];
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

/* What an in-order queue was given before this command was over when it started. */
static void note_started(struct sweep *sweep, uint32_t place, uint64_t started)
{
	struct open_command *commands = sweep->correlate.commands;
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

/* Whatever a queue was given before a call that waits for all of it is over when that returns. What
 * was over before it began is not looked at again: nothing later can be earlier. */
void sweep_note_finished(struct sweep *sweep, const struct event_api *row)
{
	struct open_command *commands = sweep->correlate.commands;
	size_t queue = things_index(&sweep->queues, (uint32_t)row->argument);
	struct queue_list *list;
	uint32_t next;

	if (row->type != API_TYPE_WAIT || row->result != 0 || row->argument > UINT32_MAX ||
	    !(list = list_of(sweep, (uint32_t)queue)))
		return;
	for (uint32_t place = list->first; place != CORRELATE_NONE; place = next) {
		next = commands[place].next;
		if (commands[place].over_by <= row->begin)
			sweep_unlink_open(sweep, place);
		else if (commands[place].exit <= row->begin)
			note_over(&commands[place], row->end);
	}
}

static int add_dark(struct sweep *sweep, size_t device, uint64_t begin, uint64_t end)
{
	if (sweep->uses_darks)
		return 0;
	if (!sweep->is_scouting && begin < end &&
	    sweep->analysis->devices[device].account.commands) {
		sweep->is_scouting = true;
		order_narrow(sweep->order);
	}
	return dark_add(&sweep->darks[device], begin, end);
}

/* A launch leaves the table of open commands. */
int sweep_note_done(struct sweep *sweep, const struct joined *joined)
{
	int error = 0;

	if (is_in_account(joined))
		note_started(sweep, joined->place, joined->row->started);
	else
		error = add_dark(sweep, joined->device, joined->launch->enter, joined->row->seen);
	sweep_unlink_open(sweep, joined->place);
	return error;
}

/* ---- launches that never executed -------------------------------------------------------------- */

static uint32_t queue_of(const struct sweep *sweep, const struct open_command *command)
{
	const struct event_queue *queue = sweep->analysis->queues[command->queue].queue;

	return queue ? queue->id : 0;
}

void sweep_add_executed(struct sweep *sweep, const struct joined *joined)
{
	unexecuted_add_execution(&sweep->unexecuted, joined->row, queue_of(sweep, joined->launch),
				 joined->launch->process, joined->launch);
}

static bool is_passed(const struct sweep *sweep, const struct open_command *command)
{
	return command->state == OPEN_LAUNCHED &&
	       unexecuted_is_passed(&sweep->unexecuted, queue_of(sweep, command), command->process,
				    command->enter, command->exit);
}

/* All but copies and fills may have run without a record, as kernels do in CUPTI's range mode: the device is not known to
 * have been idle then. */
static int skip_launch(struct sweep *sweep, const struct open_command *command)
{
	struct sweep_skipped *skipped = sweep->skipped;

	if (array_grow(skipped->numbers, skipped->capacity, skipped->count + 1))
		return -ENOMEM;
	skipped->numbers[skipped->count++] = command->number;
	if (analysis_class(command->type) == ACCOUNT_COPY)
		return 0;
	return dark_add(&sweep->darks[sweep->analysis->queues[command->queue].device],
			command->enter, command->over_by);
}

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static int skip_passed(struct sweep *sweep)
{
	int error = 0;

	for (size_t i = 0; i < sweep->correlate.count && !error; i++) {
		struct open_command *command = &sweep->correlate.commands[i];

		if (!is_passed(sweep, command))
			continue;
		error = skip_launch(sweep, command);
		command->state = OPEN_EXPECTED; /* it is open no longer */
	}
	if (sweep->skipped->count)
		qsort(sweep->skipped->numbers, sweep->skipped->count, sizeof(uint64_t),
		      compare_numbers);
	return error;
}

int sweep_find_unexecuted(struct sweep *sweep)
{
	struct analysis_ledger *ledger = &sweep->analysis->ledger;
	uint64_t passed = 0;

	for (size_t i = 0; i < sweep->correlate.count; i++)
		passed += is_passed(sweep, &sweep->correlate.commands[i]);
	ledger->passed += passed;
	if (!passed || sweep->uses_darks || !unexecuted_is_certain(sweep->analysis->model, ledger))
		return 0;
	return skip_passed(sweep);
}

bool sweep_is_skipped(struct sweep *sweep)
{
	const struct sweep_skipped *skipped = sweep->skipped;

	if (!sweep->uses_darks || sweep->skipped_next == skipped->count ||
	    skipped->numbers[sweep->skipped_next] != sweep->launches)
		return false;
	sweep->skipped_next++;
	return true;
}

/* ---- in flight --------------------------------------------------------------------------------- */

static int note_in_flight(struct sweep *sweep, const struct open_command *command)
{
	size_t device = sweep->analysis->queues[command->queue].device;

	account_in_flight(&sweep->analysis->devices[device].account, command->enter);
	return add_dark(sweep, device, command->enter, command->over_by);
}

/* Its correlation id is used again: no execution can be joined to it any more, and nothing else says when it was over. */
int sweep_replace_open(struct sweep *sweep, uint32_t place, uint64_t enter)
{
	struct open_command *command = &sweep->correlate.commands[place];
	int error = sweep_end_queued(sweep, command, enter);

	sweep_unlink_open(sweep, place);
	note_over(command, enter);
	return error ? error : note_in_flight(sweep, command);
}

static void note_longest(struct sweep *sweep, const struct open_command *command)
{
	struct analysis_in_flight *longest = &sweep->analysis->longest_in_flight;
	uint32_t id;

	if (longest->name && longest->enter <= command->enter)
		return;
	longest->name = sweep_launch_name(sweep, command, command->type, &id);
	longest->enter = command->enter;
	longest->stack = command->stack;
}

/* What was launched and never executed may run to the end of the recording. */
int sweep_note_all_in_flight(struct sweep *sweep)
{
	int error = 0;

	for (size_t i = 0; i < sweep->correlate.count && !error; i++) {
		const struct open_command *command = &sweep->correlate.commands[i];

		if (command->state != OPEN_LAUNCHED)
			continue;
		note_longest(sweep, command);
		error = note_in_flight(sweep, command);
	}
	return error;
}
