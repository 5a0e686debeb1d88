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
#include "import/rocm/names.h"
#include "import/target.h"

#define PART_MAX (UINT64_MAX >> 3)

void rocm_process_fini(struct rocm_process *process)
{
	rocm_agents_fini(&process->agents);
	rocm_kernels_fini(&process->kernels);
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

	if (!error)
		error = find_thread(process, command->tid, &launch->thread);
	if (!error)
		error = rocm_agents_queue(&process->agents, process->id, command->device,
					  command->stream, command->hardware_queue, &launch->queue);
	if (error)
		return error;
	launch->command = command->command;
	launch->kernel = command->kernel;
	launch->bytes = command->bytes;
	rocm_join_set_sizes(launch, command->global, command->local);
	set_times(execution, command);
	execution->process = process->id;
	execution->queue = launch->queue;
	return rocm_join_add(process->join, &row);
}

int rocm_process_add_call(struct rocm_process *process, uint32_t tid, const char *function,
			  uint64_t link, uint64_t begin, uint64_t end)
{
	struct rocm_row row = {
		.type = ROCM_CALL,
		.process = process->id,
		.link = link,
		.call = {.begin = begin, .end = end, .type = rocm_names_call_type(function)}};
	int error = rocm_process_check_times(begin, end);

	if (!error)
		error = find_thread(process, tid, &row.call.thread);
	if (!error)
		error = import_target_text(process->target, function, &row.call.function_string);
	return error ? error : rocm_join_add(process->join, &row);
}

int rocm_process_add_detail(struct rocm_process *process, uint64_t link,
			    const struct rocm_detail *detail)
{
	const struct rocm_row row = {
		.type = ROCM_DETAIL, .process = process->id, .link = link, .detail = *detail};

	return rocm_join_add(process->join, &row);
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
		       const char *unit, uint32_t *ret_series)
{
	char metric[128] = "gpu.";
	size_t length = strlen(metric);

	for (size_t i = 0; counter[i] && length + 1 < sizeof(metric); i++)
		metric[length++] = (char)tolower((unsigned char)counter[i]);
	metric[length] = '\0';
	return import_target_series(process->target, metric, unit, series_type(counter), device,
				    ret_series);
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
	if (!error && !(fabs(value) < 0x1p62))
		error = error_set(-EBADMSG, "expected a value of counter '%s' below 2^62, found %g",
				  counter, value);
	if (!error)
		error = find_series(process, command->device, counter, is_size ? "bytes" : "events",
				    &row.value.series);
	if (error)
		return error;
	row.value.value = llround(value);
	process->rounded += (double)row.value.value != value;
	return rocm_join_add(process->join, &row);
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
