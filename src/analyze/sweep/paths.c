/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/paths.c - the account by launching stack
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     commands with their launches and their shares of the account
 * Gives:    one path for each stack, launching function, command and device; by thread also for
 *           each process, thread and queue
 * Owns:     nothing; the paths belong to the analysis
 * Fails:    -ENOMEM
 * Why a path without a stack: idle time that no command follows, and commands whose launch is not
 *           in the trace, belong to no stack. With a path for these the paths of a device add up to
 *           its wall time, as its account does.
 */
#include "analyze/sweep/sweep.h"
#include "analyze/sweep/waited_launches.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

static int add_path(struct sweep *sweep, const struct analysis_path *path, uint32_t *ret_index)
{
	struct analysis *analysis = sweep->analysis;
	uint32_t index = (uint32_t)analysis->paths_count;

	if (array_grow(analysis->paths, sweep->paths.paths.capacity, index + (size_t)1))
		return -ENOMEM;
	analysis->paths[index] = *path;
	analysis->paths_count++;
	*ret_index = index;
	return 0;
}

static void name_path(const struct sweep *sweep, struct analysis_path *path, uint32_t tag)
{
	const struct analysis *analysis = sweep->analysis;

	path->class = ACCOUNT_OTHER;
	path->name = "";
	if (tag == TAG_NONE)
		return;
	if (tag & TAG_COPY) {
		uint32_t command = analysis->copies[tag & ~TAG_COPY].command;

		path->class = analysis_class(command);
		path->name = analysis_command_name(command);
	} else if (tag & TAG_CODE) {
		path->class = ACCOUNT_KERNEL;
		path->name = model_code_name(
			analysis->model, entity_index_row(&sweep->entities.codes, tag & ~TAG_CODE),
			"[unknown kernel]");
	} else {
		path->class = ACCOUNT_KERNEL;
		path->name = analysis->kernels[tag].name;
	}
}

static uint32_t id_of(const struct entity_index *entities, size_t index)
{
	const uint32_t *id = entity_index_row(entities, index);

	return id ? *id : 0;
}

/* The number that separates rows: the device or, by thread, a number for the process, thread and
 * queue. A queue has one device. */
static int find_whom(struct sweep *sweep, size_t device, const struct analysis_whom *whom,
		     uint32_t *ret_number)
{
	uint64_t key = (uint64_t)whom->process << 32 | whom->thread;

	*ret_number = (uint32_t)device;
	if (!sweep->options->by_thread)
		return 0;
	*ret_number = pair_map_find(&sweep->paths.whom_rows, key, whom->queue);
	if (*ret_number != PAIR_MAP_NONE)
		return 0;
	*ret_number = (uint32_t)sweep->paths.whom_rows.count;
	return pair_map_put(&sweep->paths.whom_rows, key, whom->queue, *ret_number);
}

static struct analysis_whom whom_of(const struct sweep *sweep, uint32_t process,
				    const struct open_command *launch, size_t queue)
{
	struct analysis_whom whom = {.process = process};

	if (!sweep->options->by_thread)
		return (struct analysis_whom){0};
	whom.thread = launch ? id_of(&sweep->entities.threads, launch->thread) : 0;
	whom.queue = id_of(&sweep->entities.queues, queue);
	return whom;
}

int sweep_find_path(struct sweep *sweep, const struct joined *joined, uint32_t tag,
		    uint32_t *ret_path)
{
	struct analysis_path path = {
		.stack = joined->launch ? joined->launch->stack : 0,
		.device = joined->device,
		.row = tag,
		.whom = whom_of(sweep, joined->row->process, joined->launch, joined->queue)};
	uint32_t function = joined->launch ? joined->launch->function : 0, whom;
	uint64_t key = (uint64_t)tag << 32 | path.stack, second;
	uint32_t index;
	int error = find_whom(sweep, joined->device, &path.whom, &whom);

	if (error)
		return error;
	second = (uint64_t)function << 32 | whom;
	index = pair_map_find(&sweep->paths.paths.rows, key, second);
	if (index == PAIR_MAP_NONE) {
		name_path(sweep, &path, tag);
		path.function = model_text(sweep->analysis->model, function, "");
		error = add_path(sweep, &path, &index);
		if (!error)
			error = pair_map_put(&sweep->paths.paths.rows, key, second, index);
	}
	if (!error)
		*ret_path = index;
	return error;
}

int sweep_find_second(struct sweep *sweep, const struct open_command *command, uint64_t *ret_second)
{
	const struct analysis_whom whom = whom_of(sweep, command->process, command, command->queue);
	uint32_t number;
	int error =
		find_whom(sweep, sweep->analysis->queues[command->queue].device, &whom, &number);

	if (!error)
		*ret_second = (uint64_t)command->function << 32 | number;
	return error;
}

int sweep_find_launched_path(struct sweep *sweep, const struct open_command *command, uint32_t code,
			     uint32_t *ret_path, bool *ret_is_final)
{
	const struct event_execution row = {.process = command->process};
	const struct joined joined = {.row = &row,
				      .launch = command,
				      .queue = command->queue,
				      .device = sweep->analysis->queues[command->queue].device};
	const struct event_code *kernel = entity_index_row(&sweep->entities.codes, code);
	uint32_t tag = PAIR_MAP_NONE;

	if (kernel && kernel->name_string)
		tag = pair_map_find(&sweep->tables.kernels.rows, kernel->name_string,
				    joined.device);
	*ret_is_final = tag != PAIR_MAP_NONE;
	return sweep_find_path(sweep, &joined, *ret_is_final ? tag : code | TAG_CODE, ret_path);
}

void sweep_count_path(struct analysis *analysis, const struct joined *joined, uint32_t index)
{
	struct analysis_path *path = &analysis->paths[index];

	path->count++;
	path->timed += joined->is_timed;
	path->total_ns += joined->duration_ns;
}

void sweep_on_idle(void *context, uint32_t index, const struct account_idle *idle)
{
	struct analysis *analysis = ((struct sweep *)context)->analysis;
	struct analysis_path *path = &analysis->paths[index];
	struct analysis_dependency *dependency;

	if (idle->cause == CAUSE_DEPENDENCY && idle->awaited) {
		dependency = &analysis->program.dependencies[idle->awaited - 1];
		dependency->idle_ns += idle->ns;
		dependency->steady_ns += idle->is_steady ? idle->ns : 0;
		dependency->slowest_ns += idle->is_slowest ? idle->ns : 0;
	}
	if (idle->is_full && idle->cause == CAUSE_RUNTIME) {
		path->full.ns += idle->ns;
		path->full.steady_ns += idle->is_steady ? idle->ns : 0;
		path->full.slowest_ns += idle->is_slowest ? idle->ns : 0;
	}
	if (idle->waited)
		sweep_add_waited(&analysis->program.waited[idle->waited - 1], idle);
	path->causes[idle->cause] += idle->ns;
	if (idle->is_steady)
		path->steady[idle->finer] += idle->ns;
	if (idle->is_slowest)
		path->slowest[idle->finer] += idle->ns;
	if (idle->cause == CAUSE_UNKNOWN && idle->finer != idle->cause)
		path->not_started_ns += idle->ns;
}

/* The device of the command that a path's command awaited. For an event, or if it is not known, the
 * path's. */
static size_t awaited_device(const struct analysis *analysis, uint32_t path,
			     const struct open_command *on)
{
	const size_t device =
		on->is_event ? analysis->devices_count : analysis->queues[on->queue].device;

	return device < analysis->devices_count ? device : analysis->paths[path].device;
}

int sweep_find_dependency(struct sweep *sweep, uint32_t path, const struct open_command *on,
			  uint32_t *ret_number)
{
	struct analysis_program *program = &sweep->analysis->program;
	const struct analysis_dependency row = {.path = path,
						.is_event = on->is_event,
						.device = awaited_device(sweep->analysis, path, on),
						.thread =
							id_of(&sweep->entities.threads, on->thread),
						.stack = on->stack};
	const uint64_t second =
		(uint64_t)row.device << 33 | (uint64_t)row.is_event << 32 | row.thread;
	const uint32_t index =
		sweep_rows_add(&sweep->paths.dependencies, (uint64_t)path << 32 | row.stack, second,
			       program->dependencies, program->dependencies_count, row);

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	*ret_number = index + 1;
	return 0;
}

static int find_launches(struct sweep *sweep, const struct open_command *command,
			 uint32_t *ret_index)
{
	struct analysis *analysis = sweep->analysis;
	struct analysis_launches row = {.stack = command->stack,
					.device = analysis->queues[command->queue].device,
					.class = analysis_class(command->type),
					.name = analysis_command_name(command->type)};
	uint32_t name = command->type | TAG_COPY, index = (uint32_t)analysis->launches_count, whom;
	uint64_t key, second;

	row.whom = whom_of(sweep, command->process, command, command->queue);
	if (find_whom(sweep, row.device, &row.whom, &whom))
		return -ENOMEM;
	second = (uint64_t)command->function << 32 | whom;
	if (row.class == ACCOUNT_KERNEL) {
		const struct event_code *code =
			entity_index_get(&sweep->entities.codes, command->kernel);

		name = code ? code->name_string : 0;
		row.name = model_code_name(analysis->model, code, "[unknown kernel]");
	}
	key = (uint64_t)name << 32 | row.stack;
	*ret_index = pair_map_find(&sweep->paths.launches.rows, key, second);
	if (*ret_index != PAIR_MAP_NONE)
		return 0;
	if (array_grow(analysis->launches, sweep->paths.launches.capacity, index + (size_t)1) ||
	    pair_map_put(&sweep->paths.launches.rows, key, second, index))
		return -ENOMEM;
	row.function = model_text(analysis->model, command->function, "");
	analysis->launches[index] = row;
	analysis->launches_count++;
	*ret_index = index;
	return 0;
}

static int observe_launch(struct sweep *sweep, const struct open_command *command,
			  enum observed_table table)
{
	return sweep_observe_part(sweep, &(struct observed_part){.table = table,
								 .row = command->launches,
								 .begin = command->enter,
								 .end = command->enter,
								 .by = 1});
}

int sweep_count_launch(struct sweep *sweep, uint32_t place)
{
	struct open_command *command = &sweep->join.correlate.commands[place];
	int error;

	command->launches = CORRELATE_NONE;
	if (sweep->is_scouting || !analysis_shows(sweep->analysis, command->enter, command->enter))
		return 0;
	error = find_launches(sweep, command, &command->launches);
	if (error)
		return error;
	sweep->analysis->launches[command->launches].launched++;
	return observe_launch(sweep, command, OBSERVED_LAUNCHED);
}

int sweep_count_outcome(struct sweep *sweep, const struct joined *joined)
{
	const bool is_rejected = ledger_rejects(joined->row);
	const uint32_t index = joined->launch->launches;

	if (index == CORRELATE_NONE)
		return 0;
	if (is_rejected)
		sweep->analysis->launches[index].rejected++;
	else
		sweep->analysis->launches[index].matched++;
	return observe_launch(sweep, joined->launch,
			      is_rejected ? OBSERVED_REJECTED : OBSERVED_MATCHED);
}

int sweep_close_paths(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	size_t known = analysis->paths_count;

	for (size_t device = 0; device < analysis_devices_shown(analysis); device++) {
		struct analysis_path rest = {.device = device, .row = TAG_NONE, .function = ""};
		uint32_t index;

		memcpy(rest.causes, analysis->devices[device].account.causes, sizeof(rest.causes));
		for (size_t i = 0; i < known; i++) {
			const struct analysis_path *path = &analysis->paths[i];

			for (size_t cause = 0; path->device == device && cause < CAUSE_COUNT;
			     cause++)
				rest.causes[cause] -= path->causes[cause];
		}
		if (add_path(sweep, &rest, &index))
			return -ENOMEM;
	}
	return 0;
}

void sweep_paths_fini(struct sweep_paths *paths)
{
	pair_map_fini(&paths->paths.rows);
	pair_map_fini(&paths->launches.rows);
	pair_map_fini(&paths->whom_rows);
	pair_map_fini(&paths->dependencies.rows);
	pair_map_fini(&paths->waited.rows);
}
