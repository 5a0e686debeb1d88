/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/observer.c - passes rows, commands and spans of a sweep to its observer
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     rows, commands and spans of the account
 * Gives:    the same to the observer, if there is one
 * Owns:     nothing
 * Fails:    errors of the observer
 * Why this file may change the cause of an idle span: lost rows make the states of threads, and so
 *           some causes, unknown. Only the end of a sweep shows whether rows were lost. If they
 *           were, the sweep is repeated for the observer, with the losses of the first one.
 */
#include "analyze/sweep/sweep.h"

static const struct analysis_observer *observer_of(const struct sweep *sweep)
{
	return sweep->is_scouting ? NULL : sweep->options->observer;
}

static int on_span(void *context, const struct account *account, const struct account_span *span)
{
	struct sweep *sweep = context;
	const struct analysis_observer *observer = observer_of(sweep);
	uint64_t causes[CAUSE_COUNT] = {0};
	struct account_span told = *span;

	if (!observer)
		return 0;
	if (!span->is_busy && (sweep->lost->host || sweep->lost->switches)) {
		causes[span->cause] = 1;
		if (sweep->lost->switches)
			account_forget_switches(causes);
		if (sweep->lost->host)
			account_forget_host(causes);
		for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++)
			told.cause = causes[cause] ? (enum account_cause)cause : told.cause;
	}
	return observer->on_span(observer->context, sweep_device_of(sweep, account), &told);
}

int sweep_observe_begin(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;

	if (!sweep->options->observer)
		return 0;
	for (size_t i = 0; i <= analysis->devices_count; i++)
		analysis->devices[i].account.on_span = on_span;
	return sweep->options->observer->on_begin(sweep->options->observer->context, analysis);
}

int sweep_observe_row(struct sweep *sweep, const struct order_item *item)
{
	const struct analysis_observer *observer = observer_of(sweep);

	switch (item->kind) {
	case EVENT_API:
	case EVENT_LAUNCH:
	case EVENT_CPU_SAMPLE:
	case EVENT_SWITCH:
	case EVENT_RANGE:
	case EVENT_COUNTER:
		return observer && observer->on_row
			       ? observer->on_row(observer->context, item, sweep->launches)
			       : 0;
	default:
		return 0;
	}
}

int sweep_observe_flight(struct sweep *sweep, const struct open_command *command, uint64_t time_ns,
			 int by)
{
	const struct analysis_observer *observer = observer_of(sweep);
	size_t device = sweep->analysis->queues[command->queue].device;

	return observer && observer->on_flight
		       ? observer->on_flight(observer->context, device, time_ns, by)
		       : 0;
}

int sweep_observe_open(struct sweep *sweep, const struct open_command *command)
{
	const struct analysis_observer *observer = observer_of(sweep);
	const struct analysis_queue *queue = &sweep->analysis->queues[command->queue];
	const struct event_device *device = sweep->analysis->devices[queue->device].device;
	const struct observed_open open = {.enter = command->enter,
					   .correlation = command->correlation,
					   .process = command->process,
					   .device = device ? device->id : 0,
					   .queue = queue->queue ? queue->queue->id : 0};

	return observer && observer->on_open ? observer->on_open(observer->context, &open) : 0;
}

int sweep_observe_part(struct sweep *sweep, const struct observed_part *part)
{
	const struct analysis_observer *observer = observer_of(sweep);

	return observer && observer->on_part ? observer->on_part(observer->context, part) : 0;
}

int sweep_observe_command(struct sweep *sweep, const struct joined *joined, uint32_t path)
{
	const struct analysis_observer *observer = observer_of(sweep);
	const struct open_command *launch = joined->launch;
	struct observed_command command = {.row = joined->row,
					   .path = path,
					   .device = joined->device,
					   .context = joined->context,
					   .queue = joined->queue,
					   .is_in_account = is_in_account(joined),
					   .is_rejected = ledger_rejects(joined->row)};
	uint32_t id;

	if (!observer || !observer->on_command)
		return 0;
	if (command.is_rejected)
		command.name = sweep_command_name(sweep, joined, &id);
	if (launch) {
		command.launch = launch->number;
		command.enter = launch->enter;
		command.stack = launch->stack;
		command.bytes = launch->bytes;
		command.work_items = launch->groups * launch->items;
	}
	return observer->on_command(observer->context, &command);
}
