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
#include <stdlib.h>
#include <string.h>

#include "analyze/correlate.h"
#include "analyze/model.h"
#include "analyze/order.h"
#include "analyze/pair_map.h"
#include "analyze/things.h"
#include "base/array.h"

#define EARLY_COUNT 4096
#define TAG_COPY    0x80000000u
#define TAG_NONE    UINT32_MAX

/* The open commands of a queue that nothing is known to have ended. */
struct queue_list {
	uint32_t first, last; /* places, CORRELATE_NONE: empty */
};

/* While it sweeps. */
struct sweep {
	struct analysis *analysis;
	struct order *order;
	struct things devices, queues, contexts, processes, threads, codes;
	uint32_t *thread_process; /* thread index -> process index */
	struct calls *calls;      /* by thread index */
	struct correlate correlate;
	struct pair_map kernel_rows; /* (name string, device index) -> index */
	struct pair_map copy_rows;   /* (command, device index) -> index */
	struct pair_map call_rows;   /* (function string, is_launch) -> index */
	size_t kernels_capacity, copies_capacity, calls_capacity, losses_capacity;
	/* Executions that came before their launch (a clock off by more than it says): the latest. */
	struct event_execution *early;
	size_t early_next;
	struct pair_map early_rows;
	uint64_t *kept;           /* moments that may be asked of calls */
	struct queue_list *lists; /* by queue index: open commands in the order of their enter */
	struct dark *darks;       /* by device index; found in a first sweep, used in a second */
	bool uses_darks;
	bool is_scouting; /* a second sweep is certain: only what it needs is looked for */
	uint64_t delay_ns;
	uint64_t last_ns; /* the latest moment in any row */
	uint64_t launch_rows, lost_launches, lost_executions;
};

/* What is known of one execution. */
struct joined {
	const struct event_execution *row;
	const struct open_command *launch; /* NULL: none */
	uint32_t place;
	size_t process, queue, device, context;
	uint32_t type;
	bool is_timed, is_placed;
	uint64_t duration_ns;
};

static void note_time(struct sweep *sweep, uint64_t time_ns)
{
	if (time_ns > sweep->last_ns)
		sweep->last_ns = time_ns;
}

/* Without --from and --to every row is: the tables hold what was recorded, also a call that was not
 * over when the recording was. */
static bool is_in_window(const struct analysis *analysis, uint64_t begin, uint64_t end)
{
	if (!analysis->has_window)
		return true;
	if (begin == end)
		return begin >= analysis->from_ns && begin < analysis->to_ns;
	return begin < analysis->to_ns && end > analysis->from_ns;
}

static int call_row(struct sweep *sweep, uint32_t function, bool is_launch,
		    struct analysis_call **ret_call)
{
	struct analysis *analysis = sweep->analysis;
	uint32_t index = pair_map_find(&sweep->call_rows, function, is_launch);

	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)analysis->calls_count;
		if (array_grow(analysis->calls, sweep->calls_capacity, index + 1) ||
		    pair_map_put(&sweep->call_rows, function, is_launch, index))
			return -ENOMEM;
		analysis->calls_count++;
		analysis->calls[index] = (struct analysis_call){
			.name = trace_reader_string(analysis->model->reader, function, NULL),
			.is_launch = is_launch};
	}
	*ret_call = &analysis->calls[index];
	return 0;
}

/* Where an idle gap may begin or the window cuts it. */
static size_t list_kept(struct sweep *sweep)
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

static int add_span(struct sweep *sweep, size_t thread, uint64_t begin, uint64_t end, bool is_wait)
{
	struct calls *calls;

	if (thread == sweep->threads.count)
		return 0;
	calls = &sweep->calls[thread];
	if (calls_is_full(calls))
		calls_compact(calls, sweep->kept, list_kept(sweep),
			      begin > sweep->delay_ns ? begin - sweep->delay_ns : 0);
	return calls_add(calls, begin, end, is_wait);
}

static int count_call(struct sweep *sweep, size_t process, const struct event_api *row,
		      bool is_launch)
{
	struct analysis *analysis = sweep->analysis;
	struct analysis_call *call;
	int error;

	note_time(sweep, row->end);
	if (!is_in_window(analysis, row->begin, row->end))
		return 0;
	error = call_row(sweep, row->function_string, is_launch, &call);
	if (error)
		return error;
	call->count++;
	call->failed += row->result != 0;
	call->total_ns += row->end - row->begin;
	call->is_wait |= row->type == API_TYPE_WAIT;
	analysis->processes[process].calls++;
	analysis->processes[process].calls_ns += row->end - row->begin;
	return 0;
}

static int kernel_row(struct sweep *sweep, const struct open_command *launch, size_t device,
		      uint32_t *ret_index)
{
	struct analysis *analysis = sweep->analysis;
	const struct event_code *code =
		things_row(&sweep->codes, things_index(&sweep->codes, launch->kernel));
	uint32_t name = code ? code->name_string : 0;
	uint32_t index = pair_map_find(&sweep->kernel_rows, name, device);

	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)analysis->kernels_count;
		if (array_grow(analysis->kernels, sweep->kernels_capacity, index + 1) ||
		    pair_map_put(&sweep->kernel_rows, name, device, index))
			return -ENOMEM;
		analysis->kernels_count++;
		analysis->kernels[index] = (struct analysis_kernel){
			.name = model_text(analysis->model, name, "[unknown kernel]"),
			.device = device,
			.min_ns = UINT64_MAX};
	}
	*ret_index = index;
	return 0;
}

static int copy_row(struct sweep *sweep, uint32_t type, size_t device, uint32_t *ret_index)
{
	struct analysis *analysis = sweep->analysis;
	uint32_t index = pair_map_find(&sweep->copy_rows, type, device);

	if (index == PAIR_MAP_NONE) {
		index = (uint32_t)analysis->copies_count;
		if (array_grow(analysis->copies, sweep->copies_capacity, index + 1) ||
		    pair_map_put(&sweep->copy_rows, type, device, index))
			return -ENOMEM;
		analysis->copies_count++;
		analysis->copies[index] = (struct analysis_copy){.command = type, .device = device};
	}
	*ret_index = index;
	return 0;
}

static void count_kernel(struct analysis_kernel *kernel, const struct joined *joined)
{
	kernel->count++;
	if (!joined->is_timed)
		return;
	kernel->timed++;
	kernel->total_ns += joined->duration_ns;
	if (joined->duration_ns < kernel->min_ns)
		kernel->min_ns = joined->duration_ns;
	if (joined->duration_ns > kernel->max_ns)
		kernel->max_ns = joined->duration_ns;
}

/* What a CPU device maps is where it is: no byte moves, and bytes by time would be no rate. */
static bool moves_bytes(const struct analysis_device *device, uint32_t command)
{
	return (command != COMMAND_MAP && command != COMMAND_UNMAP) || !device->device ||
	       device->device->type != DEVICE_CPU;
}

static void count_copy(struct analysis_copy *copy, const struct analysis_device *device,
		       const struct joined *joined)
{
	copy->count++;
	copy->bytes += joined->launch->bytes;
	if (!joined->is_timed)
		return;
	copy->timed++;
	copy->total_ns += joined->duration_ns;
	if (!joined->launch->bytes || !moves_bytes(device, copy->command))
		return;
	copy->moved_bytes += joined->launch->bytes;
	copy->moved_ns += joined->duration_ns;
}

static void count_small(struct analysis_device *device, const struct joined *joined)
{
	const struct open_command *launch = joined->launch;
	struct analysis_transfers *small = &device->small;

	if (!joined->is_timed || !launch->bytes || launch->bytes > ANALYSIS_SMALL_BYTES ||
	    (joined->type != COMMAND_READ && joined->type != COMMAND_WRITE &&
	     joined->type != COMMAND_COPY))
		return;
	small->count++;
	small->bytes += launch->bytes;
	small->total_ns += joined->duration_ns;
	small->calls_ns += launch->exit - launch->enter;
}

/* Counts a matched execution in the table of its class and says which row it was. */
static int count_command(struct sweep *sweep, const struct joined *joined, bool in_window,
			 uint32_t *ret_tag)
{
	struct analysis *analysis = sweep->analysis;
	enum account_class class = analysis_class(joined->type);
	uint32_t index = 0;
	int error = 0;

	*ret_tag = TAG_NONE;
	if (!in_window)
		return 0;
	if (class == ACCOUNT_KERNEL) {
		error = kernel_row(sweep, joined->launch, joined->device, &index);
		if (!error)
			count_kernel(&analysis->kernels[index], joined);
	} else {
		struct analysis_device *device = &analysis->devices[joined->device];

		error = copy_row(sweep, joined->type, joined->device, &index);
		if (!error)
			count_copy(&analysis->copies[index], device, joined);
		count_small(device, joined);
	}
	*ret_tag = class == ACCOUNT_KERNEL ? index : index | TAG_COPY;
	return error;
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

static void on_share(void *context, uint32_t tag, uint32_t process, uint64_t share_ns)
{
	struct analysis *analysis = context;

	analysis->processes[process].share_ns += share_ns;
	if (tag == TAG_NONE)
		return;
	if (tag & TAG_COPY)
		analysis->copies[tag & ~TAG_COPY].share_ns += share_ns;
	else
		analysis->kernels[tag].share_ns += share_ns;
}

static void describe_way(struct sweep *sweep, const struct joined *joined,
			 struct account_command *command)
{
	const struct event_execution *row = joined->row;
	const struct open_command *launch = joined->launch;

	command->has_queued = row->valid & EXECUTION_QUEUED;
	command->queued = row->queued;
	command->has_submitted = row->valid & EXECUTION_SUBMITTED;
	command->submitted = row->submitted;
	if (!launch)
		return;
	command->has_launch = true;
	command->enter = launch->enter;
	command->exit = launch->exit;
	command->at_enter = launch->at_enter;
	if (launch->thread < sweep->threads.count)
		command->calls = &sweep->calls[launch->thread];
	if (command->has_submitted)
		command->dependency_end = correlate_dependency_end(&sweep->correlate, joined->place,
								   row->submitted, row->started);
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
	struct analysis_ledger *ledger = &sweep->analysis->ledger;
	const struct event_execution *row = joined->row;
	bool in_window;
	int error;

	ledger->matched++;
	ledger->untimed += !joined->is_timed;
	ledger->unplaced += joined->is_timed && !joined->is_placed;
	if (joined->is_timed && joined->is_placed)
		in_window = is_in_window(sweep->analysis, row->started, row->ended);
	else
		in_window =
			is_in_window(sweep->analysis, joined->launch->enter, joined->launch->exit);
	error = count_command(sweep, joined, in_window, ret_tag);
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

static bool is_rejected(const struct event_execution *row)
{
	return row->status < 0 || (row->valid & ORDER_IMPOSSIBLE);
}

static bool is_in_account(const struct joined *joined)
{
	return joined->is_timed && joined->is_placed && !is_rejected(joined->row);
}

/* ---- commands without times ---- */

/* NULL: nobody knows which queue it is. */
static struct queue_list *list_of(const struct sweep *sweep, uint32_t queue)
{
	return sweep->analysis->queues[queue].queue ? &sweep->lists[queue] : NULL;
}

static void link_open(struct sweep *sweep, uint32_t place)
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

static void unlink_open(struct sweep *sweep, uint32_t place)
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
		unlink_open(sweep, list->first);
	}
}

/* Whatever a queue was given before a call that waits for all of it is over when that returns. What
 * was over before it began is not looked at again: nothing later can be earlier. */
static void note_finished(struct sweep *sweep, const struct event_api *row)
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
			unlink_open(sweep, place);
		else if (commands[place].exit <= row->begin)
			note_over(&commands[place], row->end);
	}
}

static int add_dark(struct sweep *sweep, size_t device, uint64_t begin, uint64_t end)
{
	if (sweep->uses_darks)
		return 0;
	sweep->is_scouting |= begin < end && sweep->analysis->devices[device].account.commands;
	return dark_add(&sweep->darks[device], begin, end);
}

/* A launch leaves the table of open commands. */
static int note_done(struct sweep *sweep, const struct joined *joined)
{
	int error = 0;

	if (is_in_account(joined))
		note_started(sweep, joined->place, joined->row->started);
	else
		error = add_dark(sweep, joined->device, joined->launch->enter, joined->row->seen);
	unlink_open(sweep, joined->place);
	return error;
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
	if (!launch)
		error = keep_early(sweep, row);
	else if (is_rejected(row))
		sweep->analysis->ledger.rejected++;
	else
		error = on_match(sweep, &joined, &tag);
	sweep->analysis->ledger.orphaned += !launch;
	if (!error && launch)
		error = note_done(sweep, &joined);
	if (!error && is_in_account(&joined)) {
		correlate_expire(&sweep->correlate, row->started);
		error = account_execution(sweep, &joined, tag);
	}
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
	if (is_rejected(row))
		sweep->analysis->ledger.rejected++;
	else
		error = on_match(sweep, &joined, &tag);
	if (!error)
		error = note_done(sweep, &joined);
	return error ? error : correlate_done(&sweep->correlate, place, 0);
}

static int note_in_flight(struct sweep *sweep, const struct open_command *command)
{
	size_t device = sweep->analysis->queues[command->queue].device;

	account_in_flight(&sweep->analysis->devices[device].account, command->enter);
	return add_dark(sweep, device, command->enter, command->over_by);
}

/* Its correlation id is used again: no execution can be joined to it any more. */
static int replace_open(struct sweep *sweep, uint32_t place)
{
	unlink_open(sweep, place);
	return note_in_flight(sweep, &sweep->correlate.commands[place]);
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

	sweep->launch_rows++;
	analysis->devices[analysis->queues[queue].device].all_launches++;
	if (is_in_window(analysis, row->enter, row->exit)) {
		analysis->processes[process_index].launches++;
		analysis->queues[queue].launches++;
		analysis->devices[analysis->queues[queue].device].launches++;
	}
	replaced = correlate_find(&sweep->correlate, process ? process->id : 0, row->correlation);
	error = replaced == CORRELATE_NONE ? 0 : replace_open(sweep, replaced);
	if (!error)
		error = correlate_launch(&sweep->correlate, process ? process->id : 0, row, &place);
	if (error)
		return error;
	command = &sweep->correlate.commands[place];
	command->thread = (uint32_t)thread;
	command->queue = (uint32_t)queue;
	command->type = analysis_launch_command(analysis->model, row);
	command->over_by = UINT64_MAX;
	link_open(sweep, place);
	if (thread < sweep->threads.count)
		command->at_enter = calls_until(&sweep->calls[thread], row->enter);
	if (!sweep->early_rows.count)
		return 0;
	return match_early(sweep, command->process, command->correlation, place);
}

static int on_api(struct sweep *sweep, const struct event_api *row)
{
	size_t thread = things_index(&sweep->threads, row->thread);
	int error = count_call(sweep, sweep->thread_process[thread], row, false);

	if (error)
		return error;
	note_finished(sweep, row);
	return add_span(sweep, thread, row->begin, row->end, row->type == API_TYPE_WAIT);
}

static int on_launch(struct sweep *sweep, const struct event_launch *row)
{
	size_t thread = things_index(&sweep->threads, row->thread);
	bool is_wait = row->flags & LAUNCH_BLOCKING;
	struct event_api call = {.begin = row->enter,
				 .end = row->exit,
				 .function_string = row->function_string,
				 .result = row->result,
				 .type = is_wait ? API_TYPE_WAIT : API_TYPE_CALL};
	int error = count_call(sweep, sweep->thread_process[thread], &call, true);

	if (!error && row->result == 0)
		error = open_launch(sweep, row, thread);
	if (error)
		return error;
	return add_span(sweep, thread, row->enter, row->exit, is_wait);
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
	error = note_done(sweep, &joined);
	return error ? error : correlate_done(&sweep->correlate, place, 0);
}

static int scout_item(struct sweep *sweep, const struct order_item *item)
{
	const struct event_launch *launch = item->row;

	switch (item->kind) {
	case EVENT_API:
		note_finished(sweep, item->row);
		return 0;
	case EVENT_LAUNCH:
		return launch->result ? 0
				      : open_launch(sweep, launch,
						    things_index(&sweep->threads, launch->thread));
	case EVENT_EXECUTION:
		return scout_execution(sweep, item->row);
	default:
		return 0;
	}
}

static int on_item(struct sweep *sweep, const struct order_item *item)
{
	if (sweep->is_scouting)
		return scout_item(sweep, item);
	if (item->kind != EVENT_EXECUTION)
		note_time(sweep, item->time_ns);
	switch (item->kind) {
	case EVENT_API:
		return on_api(sweep, item->row);
	case EVENT_LAUNCH:
		return on_launch(sweep, item->row);
	case EVENT_DEPENDENCY:
		return correlate_dependency(&sweep->correlate, item->row);
	case EVENT_EXECUTION:
		return on_execution(sweep, item->row);
	default:
		return 0;
	}
}

static int run(struct sweep *sweep)
{
	struct order_item item;
	int status;

	while ((status = order_next(sweep->order, &item)) > 0) {
		int error = on_item(sweep, &item);

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

	if (kind == EVENT_LAUNCH)
		sweep->lost_launches += count;
	if (kind == EVENT_EXECUTION)
		sweep->lost_executions += count;
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
	return 0;
}

static int count_losses(struct sweep *sweep)
{
	static const enum event_kind kinds[] = {EVENT_API, EVENT_LAUNCH, EVENT_DEPENDENCY,
						EVENT_EXECUTION};
	const struct event_loss *losses = NULL;
	size_t count = trace_reader_losses(sweep->analysis->model->reader, &losses);

	for (size_t i = 0; i < count; i++) {
		if (add_loss(sweep, losses[i].kind, losses[i].reason, losses[i].count))
			return -ENOMEM;
	}
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		uint64_t rows = order_damaged_rows(sweep->order, kinds[i]);

		if (rows && add_loss(sweep, kinds[i], 0, rows))
			return -ENOMEM;
	}
	return 0;
}

/* More executions can be reported lost than launches are open (one lost twice on its way): what is
 * above stays in the list of losses and out of the sum. */
static void close_ledger(struct sweep *sweep)
{
	struct analysis_ledger *ledger = &sweep->analysis->ledger;
	uint64_t open = sweep->launch_rows - ledger->matched - ledger->rejected;
	uint64_t lost = sweep->lost_executions < open ? sweep->lost_executions : open;

	ledger->launched = sweep->launch_rows + sweep->lost_launches;
	ledger->dropped = sweep->lost_launches + lost;
	ledger->in_flight_at_exit = open - lost;
	ledger->is_complete = (unsigned __int128)ledger->matched * 100 >=
			      (unsigned __int128)ledger->launched * 95;
}

/* What was launched and never executed may run to the end of the recording. */
static int note_all_in_flight(struct sweep *sweep)
{
	int error = 0;

	for (size_t i = 0; i < sweep->correlate.count && !error; i++) {
		if (sweep->correlate.commands[i].state == OPEN_LAUNCHED)
			error = note_in_flight(sweep, &sweep->correlate.commands[i]);
	}
	return error;
}

/* A device that got commands none of which says when it ran has no account: all of it is unknown. */
static void close_device(struct analysis_device *device, uint64_t to_ns)
{
	device->is_measured =
		device->account.commands || (!device->all_launches && !device->all_executions);
	if (!device->is_measured)
		account_in_flight(&device->account, 0);
	account_finish(&device->account, to_ns);
}

static void close_accounts(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	uint64_t to = analysis->to_ns;

	analysis->is_exact = true;
	for (size_t i = 0; i <= analysis->devices_count; i++) {
		close_device(&analysis->devices[i], to);
		analysis->is_exact &= account_is_exact(&analysis->devices[i].account);
	}
	for (size_t i = 0; i <= analysis->queues_count; i++) {
		account_finish(&analysis->queues[i].account, to);
		analysis->is_exact &= account_is_exact(&analysis->queues[i].account);
	}
	for (size_t i = 0; i <= analysis->contexts_count; i++) {
		account_finish(&analysis->contexts[i].account, to);
		analysis->is_exact &= account_is_exact(&analysis->contexts[i].account);
	}
}

static uint64_t smaller(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
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

static uint64_t saturating_add(uint64_t left, uint64_t right)
{
	return left > UINT64_MAX - right ? UINT64_MAX : left + right;
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
		analysis->from_ns = smaller(saturating_add(analysis->begin_ns, options->from_ns),
					    analysis->end_ns);
	if (options && options->has_to)
		analysis->to_ns = smaller(saturating_add(analysis->begin_ns, options->to_ns),
					  analysis->end_ns);
}

static int make_devices(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	size_t count = sweep->devices.count;

	analysis->devices = calloc(count + 1, sizeof(*analysis->devices));
	sweep->kept = calloc(count + 3, sizeof(*sweep->kept));
	if (!analysis->devices || !sweep->kept)
		return -ENOMEM;
	analysis->devices_count = count;
	for (size_t i = 0; i <= count; i++) {
		struct analysis_device *device = &analysis->devices[i];
		const struct event_device *row = things_row(&sweep->devices, i);

		device->device = row;
		device->name =
			model_text(analysis->model, row ? row->name_string : 0, "[unknown device]");
		device->key = model_text(analysis->model, row ? row->key_string : 0, "");
		device->vendor = model_text(analysis->model, row ? row->vendor_string : 0, "");
		account_init(&device->account, analysis->from_ns, analysis->to_ns, true);
		device->account.dark = sweep->uses_darks ? &sweep->darks[i] : NULL;
		device->account.on_share = on_share;
		device->account.context = analysis;
	}
	return 0;
}

static int make_queues(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	size_t count = sweep->queues.count;

	analysis->queues = calloc(count + 1, sizeof(*analysis->queues));
	sweep->lists = calloc(count + 1, sizeof(*sweep->lists));
	if (!analysis->queues || !sweep->lists)
		return -ENOMEM;
	analysis->queues_count = count;
	for (size_t i = 0; i <= count; i++) {
		struct analysis_queue *queue = &analysis->queues[i];
		const struct event_queue *row = things_row(&sweep->queues, i);

		sweep->lists[i] = (struct queue_list){CORRELATE_NONE, CORRELATE_NONE};
		queue->queue = row;
		queue->device = things_index(&sweep->devices, row ? row->device : 0);
		queue->context = things_index(&sweep->contexts, row ? row->context : 0);
		for (unsigned int zone = 0; zone < ZONE_COUNT; zone++)
			quantile_init(&queue->zones[zone]);
		account_init(&queue->account, analysis->from_ns, analysis->to_ns, false);
	}
	return 0;
}

static int make_contexts(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	size_t count = sweep->contexts.count;

	analysis->contexts = calloc(count + 1, sizeof(*analysis->contexts));
	if (!analysis->contexts)
		return -ENOMEM;
	analysis->contexts_count = count;
	for (size_t i = 0; i <= count; i++) {
		struct analysis_context *context = &analysis->contexts[i];

		context->context = things_row(&sweep->contexts, i);
		account_init(&context->account, analysis->from_ns, analysis->to_ns, false);
	}
	return 0;
}

static int make_processes(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	size_t count = sweep->processes.count;

	analysis->processes = calloc(count + 1, sizeof(*analysis->processes));
	if (!analysis->processes)
		return -ENOMEM;
	analysis->processes_count = count;
	for (size_t i = 0; i <= count; i++) {
		struct analysis_process *process = &analysis->processes[i];

		process->process = things_row(&sweep->processes, i);
		process->name = model_text(analysis->model,
					   process->process ? process->process->name_string : 0,
					   "[unknown process]");
	}
	return 0;
}

static int make_threads(struct sweep *sweep)
{
	size_t count = sweep->threads.count;

	sweep->calls = calloc(count + 1, sizeof(*sweep->calls));
	sweep->thread_process = calloc(count + 1, sizeof(*sweep->thread_process));
	if (!sweep->calls || !sweep->thread_process)
		return -ENOMEM;
	for (size_t i = 0; i <= count; i++) {
		const struct event_thread *thread = things_row(&sweep->threads, i);
		size_t process = things_index(&sweep->processes, thread ? thread->process : 0);

		calls_init(&sweep->calls[i]);
		sweep->thread_process[i] = (uint32_t)process;
	}
	return 0;
}

static void count_code(struct sweep *sweep)
{
	struct analysis_code *code = &sweep->analysis->code;

	for (size_t i = 0; i < sweep->codes.count; i++) {
		const struct event_code *row = things_row(&sweep->codes, i);

		code->sources += row->type == CODE_SOURCE;
		code->binaries += row->type == CODE_BINARY;
		code->il += row->type == CODE_IL;
		code->build_logs += row->type == CODE_BUILD_LOG;
		code->kernels += row->type == CODE_KERNEL;
	}
}

static int make_tables(struct sweep *sweep)
{
	const struct trace_reader *reader = sweep->analysis->model->reader;
	int error;

	things_init(&sweep->devices, reader, EVENT_DEVICE);
	things_init(&sweep->queues, reader, EVENT_QUEUE);
	things_init(&sweep->contexts, reader, EVENT_CONTEXT);
	things_init(&sweep->processes, reader, EVENT_PROCESS);
	things_init(&sweep->threads, reader, EVENT_THREAD);
	things_init(&sweep->codes, reader, EVENT_CODE);
	count_code(sweep);
	error = make_devices(sweep);
	if (!error)
		error = make_queues(sweep);
	if (!error)
		error = make_contexts(sweep);
	if (!error)
		error = make_processes(sweep);
	return error ? error : make_threads(sweep);
}

static int compare_names(const char *left, size_t left_device, const char *right,
			 size_t right_device)
{
	if (left_device != right_device)
		return left_device < right_device ? -1 : 1;
	return strcmp(left, right);
}

static int compare_totals(uint64_t left, uint64_t right)
{
	return (left < right) - (left > right);
}

static int compare_kernel_names(const void *left, const void *right)
{
	const struct analysis_kernel *a = left, *b = right;

	return compare_names(a->name, a->device, b->name, b->device);
}

static int compare_kernels(const void *left, const void *right)
{
	const struct analysis_kernel *a = left, *b = right;
	int order = compare_totals(a->total_ns, b->total_ns);

	return order ? order : compare_kernel_names(left, right);
}

static int compare_copies(const void *left, const void *right)
{
	const struct analysis_copy *a = left, *b = right;
	int order = compare_totals(a->total_ns, b->total_ns);

	if (order)
		return order;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->command > b->command) - (a->command < b->command);
}

static int compare_call_names(const void *left, const void *right)
{
	const struct analysis_call *a = left, *b = right;

	return compare_names(a->name, 0, b->name, 0);
}

static int compare_calls(const void *left, const void *right)
{
	const struct analysis_call *a = left, *b = right;
	int order = compare_totals(a->total_ns, b->total_ns);

	return order ? order : compare_call_names(left, right);
}

/* One text can have more than one id; sorted by name, the same ones are neighbours. */
static void merge_kernels(struct analysis *analysis)
{
	size_t kept = 0;

	qsort(analysis->kernels, analysis->kernels_count, sizeof(*analysis->kernels),
	      compare_kernel_names);
	for (size_t i = 0; i < analysis->kernels_count; i++) {
		struct analysis_kernel *row = &analysis->kernels[i];
		struct analysis_kernel *last = kept ? &analysis->kernels[kept - 1] : NULL;

		if (!last || compare_kernel_names(last, row) != 0) {
			analysis->kernels[kept++] = *row;
			continue;
		}
		last->count += row->count;
		last->timed += row->timed;
		last->total_ns += row->total_ns;
		last->share_ns += row->share_ns;
		last->min_ns = smaller(last->min_ns, row->min_ns);
		last->max_ns = row->max_ns > last->max_ns ? row->max_ns : last->max_ns;
	}
	analysis->kernels_count = kept;
}

static void merge_calls(struct analysis *analysis)
{
	size_t kept = 0;

	qsort(analysis->calls, analysis->calls_count, sizeof(*analysis->calls), compare_call_names);
	for (size_t i = 0; i < analysis->calls_count; i++) {
		struct analysis_call *row = &analysis->calls[i];
		struct analysis_call *last = kept ? &analysis->calls[kept - 1] : NULL;

		if (!last || compare_call_names(last, row) != 0) {
			analysis->calls[kept++] = *row;
			continue;
		}
		last->count += row->count;
		last->failed += row->failed;
		last->total_ns += row->total_ns;
		last->is_launch |= row->is_launch;
		last->is_wait |= row->is_wait;
	}
	analysis->calls_count = kept;
}

static void sort_tables(struct analysis *analysis)
{
	if (analysis->kernels_count) {
		merge_kernels(analysis);
		qsort(analysis->kernels, analysis->kernels_count, sizeof(*analysis->kernels),
		      compare_kernels);
	}
	if (analysis->copies_count)
		qsort(analysis->copies, analysis->copies_count, sizeof(*analysis->copies),
		      compare_copies);
	if (analysis->calls_count) {
		merge_calls(analysis);
		qsort(analysis->calls, analysis->calls_count, sizeof(*analysis->calls),
		      compare_calls);
	}
}

static int finish(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	int error;

	if (sweep->is_scouting)
		return note_all_in_flight(sweep);
	error = count_losses(sweep);
	if (error)
		return error;
	close_window(sweep);
	close_ledger(sweep);
	error = note_all_in_flight(sweep);
	if (error)
		return error;
	close_accounts(sweep);
	sort_tables(analysis);
	trace_reader_damage(analysis->model->reader, &analysis->damage);
	analysis->peak_rows = order_peak_rows(sweep->order);
	analysis->peak_commands = sweep->correlate.count;
	return 0;
}

static void sweep_fini(struct sweep *sweep)
{
	for (size_t i = 0; sweep->calls && i <= sweep->threads.count; i++)
		calls_fini(&sweep->calls[i]);
	free(sweep->calls);
	free(sweep->thread_process);
	free(sweep->early);
	free(sweep->kept);
	free(sweep->lists);
	pair_map_fini(&sweep->kernel_rows);
	pair_map_fini(&sweep->copy_rows);
	pair_map_fini(&sweep->call_rows);
	pair_map_fini(&sweep->early_rows);
	correlate_fini(&sweep->correlate);
	order_free(sweep->order);
}

static void clear(struct analysis *analysis)
{
	for (size_t i = 0; analysis->devices && i <= analysis->devices_count; i++)
		account_fini(&analysis->devices[i].account);
	for (size_t i = 0; analysis->contexts && i <= analysis->contexts_count; i++)
		account_fini(&analysis->contexts[i].account);
	for (size_t i = 0; analysis->queues && i <= analysis->queues_count; i++) {
		account_fini(&analysis->queues[i].account);
		for (unsigned int zone = 0; zone < ZONE_COUNT; zone++)
			quantile_fini(&analysis->queues[i].zones[zone]);
	}
	free(analysis->devices);
	free(analysis->queues);
	free(analysis->contexts);
	free(analysis->processes);
	free(analysis->kernels);
	free(analysis->copies);
	free(analysis->calls);
	free(analysis->losses);
}

static int sweep_once(struct analysis *analysis, const struct analysis_options *options,
		      struct dark *darks, bool uses_darks)
{
	struct order_options order = {.kinds = 1u << EVENT_API | 1u << EVENT_LAUNCH |
					       1u << EVENT_DEPENDENCY | 1u << EVENT_EXECUTION};
	struct sweep sweep = {.analysis = analysis, .darks = darks, .uses_darks = uses_darks};
	int error;

	correlate_init(&sweep.correlate);
	analysis->clock_error_ns = clocks_device_error_ns(analysis->model->clocks);
	sweep.delay_ns = order.execution_delay_ns = analysis->clock_error_ns;
	error = model_order(analysis->model, &order, &sweep.order);
	if (!error) {
		find_window(&sweep, options);
		error = make_tables(&sweep);
	}
	if (!error)
		error = run(&sweep);
	if (!error)
		error = finish(&sweep);
	sweep_fini(&sweep);
	return error;
}

/* Whether an account was made without knowing that commands without times were under way. */
static bool needs_darks(const struct analysis *analysis, struct dark *darks)
{
	bool needs = false;

	for (size_t i = 0; i <= analysis->devices_count; i++) {
		dark_close(&darks[i]);
		needs |= analysis->devices[i].account.commands && darks[i].count;
	}
	return needs;
}

/* A gap is explained when the next command starts, and then nobody can know yet whether what is open
 * will turn out to have no times. Few traces have such commands; those are read twice, which costs
 * less than holding every gap back until all that was open in it is over. */
static int analyze(struct analysis *analysis, const struct analysis_options *options)
{
	const struct model *model = analysis->model;
	const void *things = NULL;
	size_t count = model_things(model, EVENT_DEVICE, &things) + 1;
	struct dark *darks = calloc(count, sizeof(*darks));
	int error = darks ? sweep_once(analysis, options, darks, false) : -ENOMEM;

	if (!error && needs_darks(analysis, darks)) {
		clear(analysis);
		*analysis = (struct analysis){.model = model};
		error = sweep_once(analysis, options, darks, true);
	}
	for (size_t i = 0; darks && i < count; i++)
		dark_fini(&darks[i]);
	free(darks);
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

/* Bytes that made no sense and rows that the disk refused: nobody knows what they were. */
static bool lost_unknown(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->losses_count; i++)
		if (analysis->losses[i].reason == LOSS_RING_BROKEN ||
		    analysis->losses[i].reason == LOSS_DISK)
			return true;
	return false;
}

bool analysis_ends_early(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->losses_count; i++)
		if (analysis->losses[i].reason == LOSS_DISK)
			return true;
	return analysis->damage.truncated;
}

bool analysis_is_complete(const struct analysis *analysis)
{
	const struct trace_damage *damage = &analysis->damage;

	return analysis->ledger.is_complete && !damage->truncated && !damage->chunks &&
	       !damage->bytes && !lost_unknown(analysis);
}

size_t analysis_devices_shown(const struct analysis *analysis)
{
	const struct analysis_device *rest = &analysis->devices[analysis->devices_count];

	return analysis->devices_count + (rest->launches || rest->executions);
}

size_t analysis_queues_shown(const struct analysis *analysis)
{
	const struct analysis_queue *rest = &analysis->queues[analysis->queues_count];

	return analysis->queues_count + (rest->launches || rest->executions);
}
