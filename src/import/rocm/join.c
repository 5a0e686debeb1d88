/* SPDX-License-Identifier: MIT
 *
 * import/rocm/join.c - match the calls, commands and counter values of a recording by their links
 *
 * Runs in:  our own process
 * Gets:     rows in any order
 * Gives:    launches, executions, calls and counter values of the target
 * Owns:     the rows, most of them in a temporary file
 * Fails:    -ENOMEM, -errno of the temporary file or the target with a message
 * Why a sort: rocprofv3 lists all kernels before all calls. A table of calls that wait for their
 *           kernels would take 200 bytes for each call of the file
 */
#include "import/rocm/join.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

#include "base/format.h"
#include "base/order/record_sort.h"
#include "event/absent_call.h"
#include "import/common/commands.h"
#include "import/target.h"

static int compare_numbers(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

/* The type is in the lowest bits, so that a value follows its command. */
static uint64_t part_of(const struct rocm_row *row)
{
	return row->type == ROCM_CALL ? 0 : row->part << 3 | (uint64_t)row->type;
}

/* All allocations come last, in the order of their times; other rows by process and link, calls
 * first, then by part. */
static int compare_rows(const void *left, const void *right)
{
	const struct rocm_row *a = left, *b = right;
	int order = (a->type == ROCM_ALLOCATION) - (b->type == ROCM_ALLOCATION);

	if (!order)
		order = compare_numbers(a->process, b->process);
	if (!order)
		order = compare_numbers(a->link, b->link);
	return order ? order : compare_numbers(part_of(a), part_of(b));
}

int rocm_join_init(struct rocm_join *join, struct import_target *target)
{
	int error;

	*join = (struct rocm_join){
		.target = target, .memory.target = target, .tail.target = target};
	error = import_target_text(target, ABSENT_CALL, &join->absent);
	if (!error)
		error = import_target_text(target, "hipDeviceSynchronize", &join->tail.device_wait);
	return error ? error : record_sort_new(sizeof(struct rocm_row), compare_rows, &join->rows);
}

void rocm_join_fini(struct rocm_join *join)
{
	record_sort_free(join->rows);
	rocm_memory_fini(&join->memory);
	rocm_tail_fini(&join->tail);
}

void rocm_join_set_sizes(struct event_launch *launch, const uint64_t global[3],
			 const uint64_t local[3])
{
	launch->dimensions = import_dimensions(global);
	for (uint32_t i = 0; i < launch->dimensions; i++) {
		launch->global_size[i] = global[i];
		launch->local_size[i] = local[i];
	}
}

int rocm_join_add(struct rocm_join *join, const struct rocm_row *row)
{
	return record_sort_add(join->rows, row);
}

/* ---- the rows of one link ---- */

/* The call, once it was read, and the last command. */
struct rocm_group {
	uint32_t process;
	uint64_t link;
	struct event_api call;
	struct rocm_detail detail;
	bool has_call, is_launched; /* is_launched: the call's launch is written */
	uint64_t part, correlation; /* those of the last command */
};

/* Writes the call of a group unless it became a launch. */
static int end_group(struct rocm_join *join, struct rocm_group *group)
{
	bool is_waiting = group->has_call && !group->is_launched;

	group->has_call = false;
	return is_waiting ? rocm_tail_add_call(&join->tail, &group->call) : 0;
}

static int begin_group(struct rocm_join *join, struct rocm_group *group, const struct rocm_row *row)
{
	int error = end_group(join, group);

	if (!error && row->process != group->process)
		error = rocm_tail_end_process(&join->tail);
	*group = (struct rocm_group){.process = row->process, .link = row->link};
	return error;
}

/* Sets the call of a launch: that of the link, or none, which takes no time. */
static void set_call(struct rocm_join *join, struct rocm_group *group, struct event_launch *launch,
		     const struct event_execution *execution)
{
	const struct event_api *call = &group->call;

	join->commands++;
	if (!group->has_call) {
		launch->enter = execution->valid & EXECUTION_QUEUED ? execution->queued
								    : execution->started;
		launch->exit = launch->enter;
		launch->function_string = join->absent;
		join->alone++;
		return;
	}
	launch->enter = call->begin;
	launch->exit = call->end;
	launch->thread = call->thread;
	launch->function_string = call->function_string;
	launch->stack = call->stack;
	launch->flags |= (group->is_launched ? LAUNCH_FURTHER : 0) |
			 (call->type == API_TYPE_WAIT ? LAUNCH_BLOCKING : 0);
	group->is_launched = true;
	join->linked++;
}

/* The sizes belong to the first command; those of a graph's nodes are not known. */
static void set_detail(struct event_launch *launch, struct rocm_detail *detail)
{
	launch->bytes += launch->command == COMMAND_KERNEL ? 0 : detail->bytes;
	if (launch->command == COMMAND_KERNEL && !launch->dimensions)
		rocm_join_set_sizes(launch, detail->global, detail->local);
	*detail = (struct rocm_detail){0};
}

static int write_command(struct rocm_join *join, struct rocm_group *group, struct rocm_row *row)
{
	struct event_launch *launch = &row->command.launch;
	struct event_execution *execution = &row->command.execution;
	int error;

	set_call(join, group, launch, execution);
	set_detail(launch, &group->detail);
	group->part = row->part;
	group->correlation = import_target_correlation(join->target);
	launch->correlation = execution->correlation = group->correlation;
	error = group->has_call ? rocm_tail_note_launch(&join->tail, &group->call, launch->command)
				: 0;
	if (!error)
		error = import_target_launch(join->target, launch);
	return error ? error : import_target_execution(join->target, execution);
}

static bool has_command(const struct rocm_group *group, const struct rocm_row *row)
{
	return group->correlation && group->part == row->part;
}

static int write_row(struct rocm_join *join, struct rocm_group *group, struct rocm_row *row)
{
	int error;

	switch (row->type) {
	case ROCM_CALL:
		error = end_group(join, group);
		group->call = row->call.row;
		group->detail = row->call.detail;
		group->has_call = true;
		return error;
	case ROCM_REPEATED:
		if (has_command(group, row))
			return 0;
		return write_command(join, group, row);
	case ROCM_COMMAND:
		return write_command(join, group, row);
	case ROCM_VALUE:
		if (has_command(group, row))
			row->value.correlation = group->correlation;
		return import_target_counter(join->target, &row->value);
	case ROCM_ALLOCATION:
		return rocm_memory_write(&join->memory, row->process, row->part, &row->allocation);
	}
	return -EINVAL;
}

/* Without a link, only a command and its values belong together. */
static bool is_other_group(const struct rocm_group *group, const struct rocm_row *row)
{
	if (row->process != group->process || row->link != group->link)
		return true;
	return !row->link &&
	       (row->type == ROCM_CALL || !group->correlation || row->part != group->part);
}

static void put_note(const struct rocm_join *join)
{
	if (join->alone)
		import_target_note(join->target,
				   "no call for %" PRIu64 " of %" PRIu64
				   " %s: duet adds a launch of no duration to each",
				   join->alone, join->commands,
				   format_noun(join->commands, "command", "commands"));
	import_target_note_count(join->target, join->tail.launches, "launch", "launches",
				 "at the end without a command: it may be in flight");
}

int rocm_join_write(struct rocm_join *join)
{
	struct rocm_group group = {0};
	const void *next = NULL;
	int error = record_sort_finish(join->rows);

	while (!error && !(error = record_sort_next(join->rows, &next)) && next) {
		struct rocm_row row = *(const struct rocm_row *)next;

		if (is_other_group(&group, &row))
			error = begin_group(join, &group, &row);
		if (!error)
			error = write_row(join, &group, &row);
	}
	if (!error)
		error = end_group(join, &group);
	if (!error)
		error = rocm_tail_end_process(&join->tail);
	if (!error)
		put_note(join);
	return error;
}
