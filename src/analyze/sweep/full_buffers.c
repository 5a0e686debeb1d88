/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/full_buffers.c - launches that wait because the driver's command buffer is full
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     launches; ranges that CUPTI reports, also from PyTorch's traces
 * Gives:    marks on the launching calls, and the sum of the waits
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why by time: PyTorch does not name the thread of an overhead. Its time lies in the
 *           launch (198 of 198 in a recording of two H100). A runtime that reports no such times
 *           shows them by a launch that lasts long while its queue is deep: a launch takes some 10
 *           us, and the buffers hold about 1000 commands. That is an estimate.
 */
#include <string.h>
#include <strings.h>

#include "analyze/sweep/sweep.h"

/* A launch that lasts FULL_NS or more while its queue has more commands is estimated to wait. */
enum { FULL_NS = 100000, FULL_COMMANDS = 1000 };

static uint64_t inside_window(const struct analysis *analysis, uint64_t begin, uint64_t end)
{
	begin = larger(begin, analysis->from_ns);
	end = smaller(end, analysis->to_ns);
	return begin < end ? end - begin : 0;
}

static void count_wait(struct analysis *analysis, struct thread_state *thread, uint64_t begin,
		       uint64_t end)
{
	struct analysis_full *full = &analysis->program.full;
	const uint64_t ns = inside_window(analysis, begin, end);

	if (!ns)
		return;
	if (ns > full->longest_ns) {
		full->longest_ns = ns;
		full->stack = thread->launch.stack;
	}
	full->launches++;
	full->ns += ns;
	thread->full_ns += ns;
	full->thread_ns = larger(full->thread_ns, thread->full_ns);
}

static int mark_wait(struct sweep *sweep, size_t thread, uint64_t begin, uint64_t end)
{
	struct thread_state *state = &sweep->per_thread.states[thread];
	const struct thread_launch *launch = &state->launch;
	struct open_command *command = launch->place == CORRELATE_NONE
					       ? NULL
					       : &sweep->join.correlate.commands[launch->place];

	end = smaller(end, launch->exit);
	count_wait(sweep->analysis, state, begin, end);
	if (command && command->number == launch->number) {
		command->full_begin = begin;
		command->full_end = end;
	}
	return sweep_note_full(sweep, thread, begin, end);
}

static bool is_around(const struct sweep *sweep, size_t thread, const struct event_range *row)
{
	const struct analysis_process *process =
		&sweep->analysis->processes[sweep->entities.thread_process[thread]];
	const struct thread_launch *launch = &sweep->per_thread.states[thread].launch;

	return launch->enter <= row->begin && row->begin < launch->exit &&
	       (!row->process || (process->process && process->process->id == row->process));
}

/* The thread whose launch ends nearest to the end of a range that begins in it: the launch goes on
 * when there is room. Two ranks on one host wait at the same time. */
static size_t find_launching(const struct sweep *sweep, const struct event_range *row)
{
	const size_t count = sweep->entities.threads.count;
	size_t found = count;
	uint64_t nearest_ns = UINT64_MAX;

	for (size_t i = 0; i < count; i++) {
		const uint64_t exit = sweep->per_thread.states[i].launch.exit;
		const uint64_t apart_ns = larger(exit, row->end) - smaller(exit, row->end);

		if (!is_around(sweep, i, row) || apart_ns >= nearest_ns)
			continue;
		nearest_ns = apart_ns;
		found = i;
	}
	return found;
}

static void forget_estimates(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->entities.threads.count; i++)
		sweep->per_thread.states[i].full_ns = 0;
	sweep->analysis->program.full = (struct analysis_full){.is_reported = true};
}

int sweep_take_overhead(struct sweep *sweep, const struct event_range *row)
{
	const struct model *model = sweep->analysis->model;
	struct analysis_full *full = &sweep->analysis->program.full;
	size_t thread;

	if (row->type != RANGE_START ||
	    strcmp(model_text(model, row->domain_string, ""), "CUPTI") != 0 ||
	    strcasecmp(model_range_name(model, row), "command buffer full") != 0)
		return 0;
	if (!full->is_reported)
		forget_estimates(sweep);
	thread = find_launching(sweep, row);
	return thread < sweep->entities.threads.count
		       ? mark_wait(sweep, thread, row->begin, row->end)
		       : 0;
}

/* The queue had these commands when the call began, apart from the call's own. */
static bool is_deep(const struct sweep *sweep, uint32_t id)
{
	const struct analysis *analysis = sweep->analysis;
	const struct analysis_queue *queue =
		&analysis->queues[entity_index_find(&sweep->entities.queues, id)];
	const struct event_device *device = analysis->devices[queue->device].device;

	return queue->depth.count > FULL_COMMANDS && device && device->type != DEVICE_CPU;
}

static uint32_t device_of(const struct sweep *sweep, const struct event_launch *row)
{
	const size_t queue = entity_index_find(&sweep->entities.queues, row->queue);

	return (uint32_t)sweep->analysis->queues[queue].device;
}

/* Whether a later call may be the first one that waits for this launch. */
static bool is_awaitable(const struct sweep *sweep, const struct event_launch *row)
{
	const uint32_t command = analysis_launch_command(sweep->analysis->model, row);

	return !row->result && !(row->flags & LAUNCH_BLOCKING) &&
	       analysis_class(command) != ACCOUNT_COPY;
}

int sweep_note_launch(struct sweep *sweep, size_t thread, const struct event_launch *row,
		      uint32_t place)
{
	if (thread == sweep->entities.threads.count)
		return 0;
	sweep->per_thread.states[thread].launch =
		(struct thread_launch){.enter = row->enter,
				       .exit = row->exit,
				       .number = sweep->launches,
				       .place = place,
				       .function = row->function_string,
				       .stack = row->stack,
				       .device = device_of(sweep, row),
				       .is_awaitable = is_awaitable(sweep, row)};
	if (sweep->analysis->program.full.is_reported || row->result ||
	    (row->flags & LAUNCH_BLOCKING) || row->exit - row->enter < FULL_NS ||
	    !is_deep(sweep, row->queue))
		return 0;
	return mark_wait(sweep, thread, row->enter, row->exit);
}
