/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/crossing.c - commands and calls that are still running at the end of an interval
 *
 * Runs in:  our own process, the agent's child for endpoints
 * Gets:     rows of an analysis
 * Gives:    corrections of a snapshot
 * Owns:     a list of the rows that cross the end
 * Fails:    -ENOMEM
 * Why the end and not the start: the row of a command is written when the command ends. A kernel of
 *           five seconds would be missed if the interval of its start counted it.
 */
#include "agent/endpoints/crossing.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/string.h"
#include "live/snapshot.h"

enum { NO_PATH = UINT32_MAX };

enum crossing_type { CROSSING_COMMAND, CROSSING_LAUNCH, CROSSING_CALL };

struct crossing {
	enum crossing_type type;
	uint32_t process; /* id */
	size_t device;    /* index into the analysis */
	uint32_t path;    /* CROSSING_COMMAND: index into the analysis; NO_PATH: in no table of
			     commands */
	uint64_t duration_ns, bytes;
};

void crossings_fini(struct crossings *crossings)
{
	free(crossings->all);
	crossings->all = NULL;
	crossings->count = crossings->capacity = 0;
}

/* ---- collect ---- */

static int on_begin(void *context, const struct analysis *analysis)
{
	struct crossings *crossings = context;

	crossings->analysis = analysis;
	crossings->count = 0;
	return 0;
}

static int on_span(void *context, size_t device, const struct account_span *span)
{
	(void)context;
	(void)device;
	(void)span;
	return 0;
}

static int add_crossing(struct crossings *crossings, const struct crossing *crossing)
{
	return array_append(crossings->all, crossings->capacity, crossings->count, *crossing);
}

/* As analysis_shows: a window contains what starts before its end and ends after its start. */
static bool crosses_end(const struct crossings *crossings, uint64_t begin_ns, uint64_t end_ns)
{
	return begin_ns < crossings->end_ns && end_ns > crossings->end_ns;
}

static int on_command(void *context, const struct observed_command *command)
{
	struct crossings *crossings = context;
	const struct event_execution *row = command->row;
	const uint32_t timed = EXECUTION_STARTED | EXECUTION_ENDED;

	if ((row->valid & (timed | ORDER_UNPLACED)) != timed ||
	    !crosses_end(crossings, row->started, row->ended))
		return 0;
	return add_crossing(crossings,
			    &(struct crossing){.type = CROSSING_COMMAND,
					       .process = row->process,
					       .device = command->device,
					       .path = command->is_in_account && command->launch
							       ? command->path
							       : NO_PATH,
					       .duration_ns = row->ended - row->started,
					       .bytes = command->bytes});
}

static size_t device_of(const struct analysis *analysis, uint32_t queue)
{
	for (size_t i = 0; i < analysis->queues_count; i++)
		if (analysis->queues[i].queue && analysis->queues[i].queue->id == queue)
			return analysis->queues[i].device;
	return SIZE_MAX;
}

static int on_launch(struct crossings *crossings, const struct event_launch *row)
{
	if (!crosses_end(crossings, row->enter, row->exit))
		return 0;
	return add_crossing(
		crossings,
		&(struct crossing){
			.type = CROSSING_LAUNCH,
			.process = model_process_of(crossings->analysis->model, row->thread),
			.device =
				row->result ? SIZE_MAX : device_of(crossings->analysis, row->queue),
			.duration_ns = row->exit - row->enter});
}

static int on_call(struct crossings *crossings, const struct event_api *row)
{
	if (row->type == API_TYPE_DUET ||
	    analysis_call_class_of(row->type) != ANALYSIS_CALL_RUNTIME ||
	    !crosses_end(crossings, row->begin, row->end))
		return 0;
	return add_crossing(crossings,
			    &(struct crossing){.type = CROSSING_CALL,
					       .process = model_process_of(
						       crossings->analysis->model, row->thread),
					       .device = SIZE_MAX,
					       .duration_ns = row->end - row->begin});
}

static int on_row(void *context, const struct order_item *item, uint64_t launches)
{
	(void)launches;
	if (item->kind == EVENT_LAUNCH)
		return on_launch(context, item->row);
	return item->kind == EVENT_API ? on_call(context, item->row) : 0;
}

struct analysis_observer crossings_observer(struct crossings *crossings)
{
	return (struct analysis_observer){.context = crossings,
					  .on_begin = on_begin,
					  .on_row = on_row,
					  .on_command = on_command,
					  .on_span = on_span};
}

/* ---- subtract ---- */

/* A sum that the crossing is not a part of, by a rule that is not known here, stays as it is. */
static void subtract(uint64_t *sum, uint64_t part)
{
	*sum -= *sum < part ? 0 : part;
}

/* Whether the process contains the crossing: a program that another one replaced by exec has the
 * same pid and start. */
static bool contains(const struct live_process *process, const struct crossing *crossing)
{
	return crossing->type == CROSSING_COMMAND ? process->executions > 0
						  : process->calls_ns >= crossing->duration_ns;
}

static struct live_process *find_process(const struct crossings *crossings,
					 const struct crossing *crossing,
					 struct live_snapshot *snapshot)
{
	const struct model *model = crossings->analysis->model;
	const struct event_process *row = model_entity(model, EVENT_PROCESS, crossing->process);

	for (size_t i = 0; row && i < snapshot->processes_count; i++) {
		struct live_process *process = &snapshot->processes[i];

		if (process->pid == (int32_t)row->pid &&
		    process->start_ns == model_process_started_ns(model, row) &&
		    contains(process, crossing))
			return process;
	}
	return NULL;
}

/* Names in a snapshot are printable, and short names are cut. */
static bool is_name(const char *shown, const char *name)
{
	size_t size = strlen(name) + 8;
	char *printable = malloc(size);
	bool is_same =
		printable && strcmp(string_make_printable(name, printable, size), shown) == 0;

	free(printable);
	return is_same;
}

static void subtract_kernel(const struct crossing *crossing, const char *name,
			    struct live_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->kernels_count; i++) {
		struct live_kernel *kernel = &snapshot->kernels[i];

		if (kernel->device != crossing->device || !is_name(kernel->name, name))
			continue;
		subtract(&kernel->count, 1);
		subtract(&kernel->total_ns, crossing->duration_ns);
		return;
	}
}

static void subtract_copy(const struct crossing *crossing, const char *name,
			  struct live_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->copies_count; i++) {
		struct live_copy *copy = &snapshot->copies[i];

		if (copy->device != crossing->device || !is_name(copy->name, name))
			continue;
		subtract(&copy->count, 1);
		subtract(&copy->bytes, crossing->bytes);
		subtract(&copy->total_ns, crossing->duration_ns);
		return;
	}
}

static void subtract_command(const struct crossings *crossings, const struct crossing *crossing,
			     struct live_snapshot *snapshot, struct live_process *process)
{
	const struct analysis_path *path;

	if (crossing->device < snapshot->devices_count)
		subtract(&snapshot->devices[crossing->device].executions, 1);
	if (process)
		subtract(&process->executions, 1);
	if (crossing->path == NO_PATH)
		return;
	path = &crossings->analysis->paths[crossing->path];
	if (path->name && path->class == ACCOUNT_KERNEL)
		subtract_kernel(crossing, path->name, snapshot);
	else if (path->name)
		subtract_copy(crossing, path->name, snapshot);
}

static void subtract_call(const struct crossing *crossing, struct live_snapshot *snapshot,
			  struct live_process *process)
{
	bool is_launch = crossing->type == CROSSING_LAUNCH;

	if (is_launch && crossing->device < snapshot->devices_count)
		subtract(&snapshot->devices[crossing->device].launches, 1);
	if (!process)
		return;
	subtract(&process->calls, 1);
	subtract(&process->calls_ns, crossing->duration_ns);
	if (is_launch && crossing->device != SIZE_MAX)
		subtract(&process->launches, 1);
}

void crossings_subtract(const struct crossings *crossings, struct live_snapshot *snapshot)
{
	for (size_t i = 0; i < crossings->count; i++) {
		const struct crossing *crossing = &crossings->all[i];
		struct live_process *process = find_process(crossings, crossing, snapshot);

		if (crossing->type == CROSSING_COMMAND)
			subtract_command(crossings, crossing, snapshot, process);
		else
			subtract_call(crossing, snapshot, process);
	}
}
