/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/queues.c - how queues feed their device
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     launches and executions
 * Gives:    commands in flight, latencies, overlap of commands
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why two latencies, of all launches and of launches on an idle device: if a queue has a backlog,
 *           the time from enter to start is mostly that backlog. Only on an idle device is it the
 *           latency of the launch alone.
 */
#include "analyze/sweep/sweep.h"

/* Later rows may be earlier than now_ns by at most the error of the device's clock. */
static uint64_t certain(const struct sweep *sweep, uint64_t now_ns)
{
	return now_ns > sweep->delay_ns ? now_ns - sweep->delay_ns : 0;
}

int sweep_enter_queue(struct sweep *sweep, const struct open_command *command)
{
	struct depth *depth = &sweep->analysis->queues[command->queue].depth;
	int error;

	if (sweep->is_scouting)
		return 0;
	depth_advance(depth, certain(sweep, command->enter));
	error = depth_enter(depth, command->enter);
	return error ? error : sweep_observe_flight(sweep, command, command->enter, 1);
}

int sweep_end_queued(struct sweep *sweep, const struct open_command *command, uint64_t end)
{
	int error;

	if (sweep->is_scouting)
		return 0;
	end = end < command->enter ? command->enter : end;
	error = depth_leave(&sweep->analysis->queues[command->queue].depth, end);
	return error ? error : sweep_observe_flight(sweep, command, end, -1);
}

/* A command that is not in the account ends at the time when its end was seen. */
int sweep_leave_queue(struct sweep *sweep, const struct joined *joined)
{
	const struct event_execution *row = joined->row;

	return sweep_end_queued(sweep, joined->launch,
				is_in_account(joined) ? row->ended : row->seen);
}

int sweep_count_latency(struct analysis *analysis, const struct joined *joined,
			const struct account_command *command)
{
	struct analysis_queue *queue = &analysis->queues[joined->queue];
	const struct account *account = &analysis->devices[joined->device].account;
	const struct open_command *launch = joined->launch;
	uint64_t latency_ns;
	int error;

	if (!command->has_launch ||
	    !analysis_shows(analysis, joined->row->started, joined->row->ended))
		return 0;
	latency_ns = command->started > launch->enter ? command->started - launch->enter : 0;
	error = quantile_add(&queue->latency, latency_ns);
	if (error || account->last_end > launch->enter || launch->waits != CORRELATE_NONE)
		return error;
	return quantile_add(&queue->prompt, latency_ns);
}

/* Counts a command that waited for a command of another queue although it was ready: the two could
 * have run together. */
static void count_serial(struct sweep *sweep, const struct joined *joined)
{
	struct analysis *analysis = sweep->analysis;
	struct analysis_serial *serial = &analysis->devices[joined->device].serial;
	const struct device_last *last = &sweep->lasts[joined->device];
	const struct open_command *launch = joined->launch;
	uint64_t ready;

	if (!last->ended || last->queue == joined->queue || !launch ||
	    !analysis_shows(analysis, joined->row->started, joined->row->ended))
		return;
	serial->switches++;
	ready = launch->exit;
	if (ready < analysis->queues[joined->queue].account.last_end)
		ready = analysis->queues[joined->queue].account.last_end;
	if (launch->waits != CORRELATE_NONE || ready >= last->ended ||
	    joined->row->started < last->ended)
		return;
	serial->count++;
	serial->waited_ns += last->ended - (ready > last->started ? ready : last->started);
}

/* The time from which no command of its own queue and no dependency delayed it. */
static uint64_t ready_since(const struct analysis *analysis, const struct joined *joined,
			    const struct account_command *command)
{
	const uint64_t queue_end = analysis->queues[joined->queue].account.last_end;

	return larger(larger(joined->launch->exit, queue_end), command->dependency_end);
}

int sweep_count_overlap(struct sweep *sweep, const struct joined *joined,
			const struct account_command *command)
{
	struct overlap *overlap = &sweep->analysis->devices[joined->device].overlap;
	struct device_last *last = &sweep->lasts[joined->device];
	int error = 0;

	count_serial(sweep, joined);
	if (command->ended >= last->ended)
		*last = (struct device_last){command->started, command->ended,
					     (uint32_t)joined->queue};
	if (joined->launch)
		error = overlap_wait(overlap, ready_since(sweep->analysis, joined, command),
				     command->started, (uint32_t)joined->process);
	if (error)
		return error;
	return overlap_add(overlap, command->started, command->ended, command->class,
			   (uint32_t)joined->process);
}

/* Whether all ends are known: a launch whose execution was lost may have ended or not. */
static bool knows_ends(const struct sweep *sweep)
{
	const struct analysis_ledger *ledger = &sweep->analysis->ledger;

	return !ledger->dropped_launches && !ledger->lost_executions &&
	       !ledger->commands_uncounted && analysis_has_launches(sweep->analysis);
}

void sweep_close_queues(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;

	for (size_t i = 0; i <= analysis->devices_count; i++)
		overlap_finish(&analysis->devices[i].overlap, analysis->to_ns);
	for (size_t i = 0; i <= analysis->queues_count; i++) {
		struct analysis_queue *queue = &analysis->queues[i];

		depth_finish(&queue->depth, analysis->to_ns);
		queue->has_depth = queue->launches && queue->account.commands && knows_ends(sweep);
	}
}
