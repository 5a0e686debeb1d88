/* SPDX-License-Identifier: MIT
 *
 * import/rocm/process.c - the commands, calls, ranges and counter values of one process
 *
 * Runs in:  our own process
 * Gets:     values of a row of a file
 * Gives:    rows of the join and of the target
 * Owns:     tables of agents and kernels
 * Fails:    -EBADMSG for impossible times, errors of the join and the target
 * Why a series for each counter and GPU: rocprofv3 reads counters for one kernel at a time, so the
 *           value of a kernel is an amount from its start to its end
 */
#include "import/rocm/process.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/common/rocm.h"
#include "import/target.h"

#define PART_MAX (UINT64_MAX >> 3)

void rocm_process_fini(struct rocm_process *process)
{
	rocm_agents_fini(&process->agents);
	rocm_kernels_fini(&process->kernels);
	pair_map_fini(&process->queues);
	string_table_fini(&process->texts);
	hash_map_fini(&process->streams);
	hash_map_fini(&process->hardware_queues);
}

int rocm_process_set_clock(struct rocm_process *process, const char *machine)
{
	char name[128];

	if (!*machine)
		return 0;
	snprintf(name, sizeof(name), "the boot clock of machine %.80s", machine);
	return import_target_clock(process->target, name, 0);
}

int rocm_process_check_times(uint64_t begin, uint64_t end)
{
	if (begin <= end && end <= INT64_MAX)
		return 0;
	return error_set(-EBADMSG,
			 "expected a start and an end that is not before it, found '%" PRIu64
			 "' and '%" PRIu64 "'",
			 begin, end);
}

static int find_thread(struct rocm_process *process, uint32_t tid, uint32_t *ret_thread)
{
	return import_target_thread(process->target, process->id, tid,
				    tid ? "" : "[unknown thread]", ret_thread);
}

/* ---- queues ---- */

int rocm_process_name_queue(struct rocm_process *process, struct hash_map *names, uint64_t number,
			    const char *name)
{
	uint32_t text = string_table_add(&process->texts, name, strlen(name));

	if (!text)
		return *name ? -ENOMEM : 0;
	return hash_map_put(names, number, text);
}

/* The queue of a command is its stream if that has a number, otherwise its hardware queue: the
 * commands without a stream run on several hardware queues at once. */
static void name_queue(const struct rocm_process *process, const struct rocm_command *command,
		       char *ret_name, size_t size)
{
	const struct hash_map *names =
		command->stream ? &process->streams : &process->hardware_queues;
	const uint64_t number = command->stream ? command->stream : command->hardware_queue;
	const char *known =
		string_table_text(&process->texts, (uint32_t)hash_map_get(names, number, 0), NULL);

	if (!command->stream && !command->has_hardware_queue)
		snprintf(ret_name, size, "copies");
	else if (*known)
		snprintf(ret_name, size, "%s", known);
	else
		snprintf(ret_name, size, "%s %" PRIu64, command->stream ? "stream" : "queue",
			 number);
}

static int describe_queue(struct rocm_process *process, const struct rocm_command *command,
			  uint32_t *ret_queue)
{
	struct event_queue row = {.process = process->id, .device = command->device};
	char name[96], key[128];
	int error;

	name_queue(process, command, name, sizeof(name));
	row.handle = command->stream ? command->stream : command->hardware_queue;
	snprintf(key, sizeof(key), "%s %" PRIu64, name, row.handle);
	error = import_target_text(process->target, name, &row.name_string);
	return error ? error : import_target_describe_queue(process->target, key, &row, ret_queue);
}

static int find_queue(struct rocm_process *process, const struct rocm_command *command,
		      uint32_t *ret_queue)
{
	const uint64_t owner = (uint64_t)process->id << 32 | command->device;
	const uint64_t number = command->stream               ? command->stream << 2 | 1
				: command->has_hardware_queue ? command->hardware_queue << 2 | 2
							      : 3;
	int error;

	*ret_queue = pair_map_find(&process->queues, owner, number);
	if (*ret_queue != PAIR_MAP_NONE)
		return 0;
	error = describe_queue(process, command, ret_queue);
	return error ? error : pair_map_put(&process->queues, owner, number, *ret_queue);
}

/* ---- commands ---- */

static void set_times(struct event_execution *execution, const struct rocm_command *command)
{
	execution->started = command->begin;
	execution->ended = command->end;
	execution->seen = command->seen > command->end ? command->seen : command->end;
	execution->valid = EXECUTION_STARTED | EXECUTION_ENDED;
	if (!command->queued || command->queued > command->begin)
		return;
	execution->queued = command->queued;
	execution->valid |= EXECUTION_QUEUED;
}

/* The kind of the host's memory is not known. */
static void set_memories(struct event_execution *execution, const struct rocm_command *command)
{
	if (command->has_hardware_queue && command->hardware_queue < UINT32_MAX)
		execution->hardware_queue = (uint32_t)command->hardware_queue + 1;
	execution->source_device = command->source_device;
	execution->destination_device = command->destination_device;
	execution->source_memory = command->source_device ? MEMORY_DEVICE : MEMORY_UNKNOWN;
	execution->destination_memory =
		command->destination_device ? MEMORY_DEVICE : MEMORY_UNKNOWN;
}

int rocm_process_add_command(struct rocm_process *process, enum rocm_row_type type,
			     const struct rocm_command *command)
{
	struct rocm_row row = {.type = type,
			       .process = process->id,
			       .link = command->link,
			       .part = command->part & PART_MAX};
	struct event_launch *launch = &row.command.launch;
	struct event_execution *execution = &row.command.execution;
	int error = rocm_process_check_times(command->begin, command->end);

	if (!error && command->seen)
		error = rocm_process_check_times(0, command->seen);
	if (!error)
		error = find_thread(process, command->tid, &launch->thread);
	if (!error)
		error = find_queue(process, command, &launch->queue);
	if (error)
		return error;
	launch->command = command->command;
	launch->kernel = command->kernel;
	launch->bytes = command->bytes;
	rocm_join_set_sizes(launch, command->global, command->local);
	set_times(execution, command);
	set_memories(execution, command);
	execution->process = process->id;
	execution->queue = launch->queue;
	return rocm_join_add(process->join, &row);
}

int rocm_process_add_detailed_call(struct rocm_process *process, uint32_t tid, const char *function,
				   uint64_t link, uint64_t begin, uint64_t end,
				   const struct rocm_detail *detail)
{
	struct rocm_row row = {.type = ROCM_CALL, .process = process->id, .link = link};
	struct event_api *call = &row.call.row;
	int error = rocm_process_check_times(begin, end);

	call->begin = begin;
	call->end = end;
	call->type = rocm_names_call_type(function);
	row.call.detail = *detail;
	if (!error)
		error = find_thread(process, tid, &call->thread);
	if (!error)
		error = import_target_text(process->target, function, &call->function_string);
	return error ? error : rocm_join_add(process->join, &row);
}

int rocm_process_add_call(struct rocm_process *process, uint32_t tid, const char *function,
			  uint64_t link, uint64_t begin, uint64_t end)
{
	static const struct rocm_detail none = {0};

	return rocm_process_add_detailed_call(process, tid, function, link, begin, end, &none);
}

/* ---- counters ---- */

/* Names of rocprofiler's basic counters are in capitals: amounts. Those of derived ones are not:
 * shares and averages. */
static enum event_series_type series_type(const char *counter)
{
	for (const char *at = counter; *at; at++)
		if (islower((unsigned char)*at))
			return SERIES_LEVEL;
	return SERIES_AMOUNT;
}

static int find_series(struct rocm_process *process, uint32_t device, const char *counter,
		       const char *unit, enum event_series_type type, uint32_t *ret_series)
{
	struct event_series row = {.type = type, .process = process->id, .device = device};
	char metric[128];
	size_t length = (size_t)snprintf(metric, sizeof(metric), "%s.", device ? "gpu" : "host");

	for (size_t i = 0; counter[i] && length + 1 < sizeof(metric); i++)
		metric[length++] = (char)tolower((unsigned char)counter[i]);
	metric[length] = '\0';
	return import_target_describe_series(process->target, metric, unit, &row, ret_series);
}

static int check_value(const char *counter, double value)
{
	return fabs(value) < 0x1p62
		       ? 0
		       : error_set(-EBADMSG,
				   "expected a value of counter '%.60s' below 2^62, found %g",
				   counter, value);
}

int rocm_process_add_value(struct rocm_process *process, const struct rocm_command *command,
			   const char *counter, double value)
{
	struct rocm_row row = {.type = ROCM_VALUE,
			       .process = process->id,
			       .link = command->link,
			       .part = command->part & PART_MAX,
			       .value = {.begin = command->begin, .end = command->end}};
	/* rocprofiler gives both in KiB */
	bool is_size = strcmp(counter, "FETCH_SIZE") == 0 || strcmp(counter, "WRITE_SIZE") == 0;
	int error = rocm_process_check_times(command->begin, command->end);

	value *= is_size ? 1024 : 1;
	if (!error)
		error = check_value(counter, value);
	if (!error)
		error = find_series(process, command->device, counter, is_size ? "bytes" : "events",
				    series_type(counter), &row.value.series);
	if (error)
		return error;
	row.value.value = llround(value);
	process->rounded += (double)row.value.value != value;
	return rocm_join_add(process->join, &row);
}

int rocm_process_write_level(struct rocm_process *process, uint32_t device, const char *counter,
			     double value, uint64_t time)
{
	struct event_counter row = {.begin = time, .end = time};
	int error = check_value(counter, value);

	if (!error)
		error = find_series(process, device, counter, "events", SERIES_LEVEL, &row.series);
	if (error)
		return error;
	row.value = llround(value);
	process->rounded += (double)row.value != value;
	return import_target_counter(process->target, &row);
}

int rocm_process_add_allocation(struct rocm_process *process, const char *operation, uint64_t time,
				struct rocm_allocation *allocation)
{
	struct rocm_row row = {
		.type = ROCM_ALLOCATION, .process = process->id, .part = time & PART_MAX};

	allocation->is_free = strstr(operation, "FREE") != NULL;
	row.allocation = *allocation;
	return rocm_join_add(process->join, &row);
}

/* ---- ranges ---- */

int rocm_process_write_range(struct rocm_process *process, uint32_t tid, const char *domain,
			     const char *function, const char *name, uint64_t begin, uint64_t end)
{
	struct event_range row = {.begin = begin,
				  .end = end,
				  .process = process->id,
				  .type = rocm_names_range_type(function)};
	int error = rocm_process_check_times(begin, end);

	if (row.type == RANGE_MARK)
		row.end = row.begin;
	if (!error)
		error = find_thread(process, tid, &row.thread);
	if (!error)
		error = import_target_text(process->target, name, &row.name_string);
	if (!error)
		error = import_target_text(process->target, domain, &row.domain_string);
	return error ? error : import_target_range(process->target, &row);
}

void rocm_process_put_notes(const struct rocm_process *process)
{
	import_target_note_count(process->target, process->rounded, "counter value",
				 "counter values", "rounded to a whole number");
}
