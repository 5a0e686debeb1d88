/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/waited_launches.c - launches that waited until the device had done everything
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     commands before the account adds them, calls that wait for a device
 * Gives:    one row for each path and each call that waited, with the idle time of its gaps
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why not by the account's causes: the end of a wait, the launch and its latency are three causes.
 *           A program that waits after each launch loses a little time to each of them, and none of
 *           them is large. Together they are what the program saves if it waits less often.
 */
#include "analyze/sweep/waited_launches.h"

#include <errno.h>

#include "base/number.h"

/* The end of a wait and a launch take 8 us in Gaussian of Rodinia, and 895 us once of 8189 times;
 * on a busy machine the thread is woken milliseconds later. In a longer gap the device may have run
 * commands without a record. A copy that waits moves data through the host's memory at its end. A
 * call that waits for an unknown device may wait for another one. A command that starts later than
 * MAX_LATENCY_NS after its call may wait for an event of another queue. */
enum { MAX_GAP_NS = 10000000, MAX_UNSURE_NS = 100000, MAX_LATENCY_NS = 200000 };

/* The thread's last wait before its launch, if that ended after the device had; for this device or
 * for one that is not known. A short command may end before the wait for it begins. */
static const struct thread_call *find_wait(const struct thread_called *called, size_t device,
					   uint64_t begin, uint64_t enter)
{
	for (size_t i = called->count; i-- > 0 && called->calls[i].end > begin;) {
		const struct thread_call *call = &called->calls[i];

		if (call->is_wait && call->begin < enter)
			return !call->device || call->device == device + 1 ? call : NULL;
	}
	return NULL;
}

/* Whether the wait, or its end, may be for something else than the device's commands. */
static bool is_unsure(const struct sweep *sweep, const struct thread_call *wait)
{
	return wait->is_launch || (!wait->device && sweep->analysis->devices_count > 1);
}

/* Whether the end of the wait and the launch took three quarters of the gap. */
static bool is_launching(const struct sweep *sweep, const struct account_command *command,
			 uint64_t begin, const struct thread_call *wait)
{
	const uint64_t wait_ns =
		command->at_enter.wait_ns - calls_until(command->calls, begin).wait_ns;
	const uint64_t gap_ns = command->started - begin;

	if (wait_ns > MAX_UNSURE_NS && is_unsure(sweep, wait))
		return false;
	return gap_ns - gap_ns / 4 <= wait_ns + (command->started - command->enter);
}

/* Whether the gap before the command ends with a launch that no event and no full buffer delays. */
static bool is_plain(const struct account_command *command, uint64_t begin)
{
	return command->has_launch && command->has_call && command->calls &&
	       command->class != ACCOUNT_COPY && command->enter >= begin && !command->full_end &&
	       !command->dependency_end &&
	       command->started <= add_saturated(command->exit, MAX_LATENCY_NS);
}

/* Whether a gap that begins then counts for this part of the window. */
static bool is_inside(const struct account *account, const struct account_steady *part,
		      uint64_t begin)
{
	return begin >= account->from && begin < account->to && begin >= part->from &&
	       begin < part->to;
}

int sweep_find_waited(struct sweep *sweep, const struct joined *joined, uint32_t path,
		      struct account_command *command)
{
	struct analysis_program *program = &sweep->analysis->program;
	const struct account *account = &sweep->analysis->devices[joined->device].account;
	const uint64_t begin = account->last_end;
	const struct thread_call *wait;
	const struct event_thread *thread =
		entity_index_row(&sweep->entities.threads, command->thread);
	struct analysis_waited *row;
	uint32_t index;

	if (!account->commands || begin >= command->started ||
	    command->started - begin > MAX_GAP_NS || !is_plain(command, begin))
		return 0;
	wait = find_wait(&sweep->per_thread.states[command->thread].called, joined->device, begin,
			 command->enter);
	if (!wait || !is_launching(sweep, command, begin, wait))
		return 0;
	index = sweep_rows_add(&sweep->paths.waited, (uint64_t)path << 32 | wait->stack,
			       (uint64_t)wait->function << 32 | command->thread, program->waited,
			       program->waited_count,
			       (struct analysis_waited){.path = path,
							.thread = thread ? thread->id : 0,
							.function_string = wait->function,
							.stack = wait->stack});
	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	row = &program->waited[index];
	row->count += is_inside(account, &account->steady, begin);
	row->slowest_count += is_inside(account, &account->slowest, begin);
	command->waited = index + 1;
	return 0;
}

void sweep_add_waited(struct analysis_waited *row, const struct account_idle *idle)
{
	if (idle->is_steady)
		row->steady[idle->finer] += idle->ns;
	if (idle->is_slowest)
		row->slowest[idle->finer] += idle->ns;
}

void sweep_count_waited(struct sweep *sweep, size_t thread, const struct event_api *row)
{
	struct thread_launch *launch;
	uint32_t device = sweep_awaited_device(sweep, row);

	if (thread == sweep->entities.threads.count)
		return;
	launch = &sweep->per_thread.states[thread].launch;
	if (!launch->is_awaitable || (device && device != launch->device + 1))
		return;
	launch->is_awaitable = false;
	if (analysis_shows(sweep->analysis, row->begin, row->end))
		sweep->analysis->devices[launch->device].waited_launches++;
}
