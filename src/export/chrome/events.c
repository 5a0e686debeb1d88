/* SPDX-License-Identifier: MIT
 *
 * export/chrome/events.c - write single events of a Chrome trace as JSON
 *
 * Runs in:  our own process
 * Gets:     rows and their places (pid, tid)
 * Gives:    one JSON object per line
 * Owns:     nothing
 * Fails:    like the JSON writer
 * Why the categories kernel, gpu_memcpy and gpu_memset: PyTorch uses them, and programs that read
 *           its traces find the device's commands by these categories; so does `duet import`.
 */
#include "export/chrome/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/join/commands.h"
#include "analyze/model.h"
#include "base/json.h"
#include "export/chrome/torch.h"

#define FLOW  "ac2g"            /* category and name of arrows in PyTorch's profiler */
#define RANGE "user_annotation" /* category of ranges in PyTorch's profiler */

/* ---- pieces ---- */

void chrome_events_time(const struct chrome_events *events, const char *key, uint64_t time_ns)
{
	json_key(events->json, key);
	json_thousandths(events->json, (int64_t)(time_ns - events->base_ns));
}

static void begin_event(const struct chrome_events *events, const char *phase,
			const struct chrome_place *place, const char *category, const char *name,
			uint64_t time_ns)
{
	struct json_writer *json = events->json;

	json_newline(json);
	json_object_begin(json);
	json_pair_text(json, "ph", phase);
	json_pair_text(json, "cat", category);
	json_pair_text(json, "name", name);
	json_pair_u64(json, "pid", place->pid);
	json_pair_u64(json, "tid", place->tid);
	chrome_events_time(events, "ts", time_ns);
}

static void begin_slice(const struct chrome_events *events, const struct chrome_place *place,
			const char *category, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	begin_event(events, "X", place, category, name, begin_ns);
	json_key(events->json, "dur");
	json_thousandths(events->json, (int64_t)(end_ns - begin_ns));
}

static void begin_arguments(const struct chrome_events *events)
{
	json_key(events->json, "args");
	json_object_begin(events->json);
}

static void end_event(const struct chrome_events *events)
{
	json_object_end(events->json); /* the arguments */
	json_object_end(events->json);
}

static void put_stack(const struct chrome_events *events, uint32_t stack)
{
	if (model_stack(events->model, stack))
		json_pair_u64(events->json, "sf", stack);
}

static void put_i32(const struct chrome_events *events, const char *key, int32_t value)
{
	json_key(events->json, key);
	json_i64(events->json, value);
}

static void put_sizes(const struct chrome_events *events, const char *key, const uint64_t sizes[3],
		      uint32_t count)
{
	if (!count || !sizes[0])
		return;
	json_key(events->json, key);
	json_array_begin(events->json);
	for (uint32_t i = 0; i < count && i < 3; i++)
		json_u64(events->json, sizes[i]);
	json_array_end(events->json);
}

/* Sets the number of groups in each dimension; false: the local sizes are not known, or do not
 * divide the global ones. */
static bool find_groups(const struct event_launch *launch, uint64_t groups[3], uint64_t items[3])
{
	for (uint32_t i = 0; i < 3; i++) {
		bool is_used = i < launch->dimensions;
		uint64_t global = is_used ? launch->global_size[i] : 1;

		items[i] = is_used ? launch->local_size[i] : 1;
		if (!global || !items[i] || global % items[i])
			return false;
		groups[i] = global / items[i];
	}
	return launch->dimensions != 0;
}

/* Writes the sizes as grid and block, as PyTorch does, and in work items if the former do not
 * contain them. */
static void put_command(const struct chrome_events *events, const struct event_launch *launch)
{
	uint64_t groups[3], items[3];
	bool has_groups = find_groups(launch, groups, items);

	if (launch->bytes)
		json_pair_u64(events->json, "bytes", launch->bytes);
	if (has_groups) {
		put_sizes(events, "grid", groups, 3);
		put_sizes(events, "block", items, 3);
	}
	if (has_groups && launch->dimensions == 3)
		return;
	put_sizes(events, "global", launch->global_size, launch->dimensions);
	put_sizes(events, "local", launch->local_size, launch->dimensions);
}

/* ---- host events ---- */

static void put_wait(const struct chrome_events *events, bool waits)
{
	if (waits)
		json_pair_u64(events->json, "wait", 1);
}

static void put_link(const struct chrome_events *events, const struct chrome_link *link)
{
	json_pair_u64(events->json, "External id", link->external);
	json_pair_u64(events->json, "correlation", link->correlation);
}

/* TraceLens finds commands by "correlation" only if the first call of a launch in the file has it,
 * whether it launched a command or not. */
static void put_no_correlation(const struct chrome_events *events, const char *function)
{
	if (strstr(function, "aunch"))
		json_pair_u64(events->json, "correlation", 0);
}

void chrome_events_api(const struct chrome_events *events, const struct chrome_place *place,
		       const struct event_api *row, uint64_t number)
{
	const char *function = model_text(events->model, row->function_string, "[unknown]");

	begin_slice(events, place, chrome_torch_call(function, row->type), function, row->begin,
		    row->end);
	put_stack(events, row->stack);
	begin_arguments(events);
	if (number)
		json_pair_u64(events->json, "External id", number);
	else
		put_no_correlation(events, function);
	put_wait(events, row->type == API_TYPE_WAIT);
	if (row->result)
		put_i32(events, "result", row->result);
	if (row->argument)
		json_pair_u64(events->json, "argument", row->argument);
	end_event(events);
}

void chrome_events_launch(const struct chrome_events *events, const struct chrome_place *place,
			  const struct event_launch *row, enum launch_outcome verdict,
			  const struct chrome_link *link)
{
	const struct command command = {.launch = row};
	const char *function = model_text(events->model, row->function_string, "[unknown]");
	const char *why = verdict_text(verdict);

	begin_slice(events, place,
		    row->flags & LAUNCH_FURTHER ? "launch" : chrome_torch_launch(function),
		    function, row->enter, row->exit);
	put_stack(events, row->stack);
	begin_arguments(events);
	json_pair_text(events->json, "command", command_name(events->model, &command));
	if (row->correlation)
		put_link(events, link);
	else
		put_no_correlation(events, function);
	put_wait(events, row->flags & LAUNCH_BLOCKING);
	if (row->result)
		put_i32(events, "result", row->result);
	/* a further launch of the same call: a reader must not count the call twice */
	if (row->flags & LAUNCH_FURTHER)
		json_pair_u64(events->json, "further", 1);
	if (why) {
		json_pair_text(events->json, "no_execution", why);
		put_command(events, row);
	}
	end_event(events);
}

/* The colour is an argument: the viewer's own "cname" is one of a few fixed names. */
static void put_attributes(const struct chrome_events *events, const struct event_range *row)
{
	char colour[16];

	if (row->category_string)
		json_pair_text(events->json, "category",
			       model_text(events->model, row->category_string, ""));
	snprintf(colour, sizeof(colour), "#%08" PRIx32, row->colour);
	if (row->colour)
		json_pair_text(events->json, "colour", colour);
	if (row->payload_string)
		json_pair_text(events->json, "payload",
			       model_text(events->model, row->payload_string, ""));
}

static void put_range_arguments(const struct chrome_events *events, const struct event_range *row)
{
	begin_arguments(events);
	json_pair_text(events->json, "domain", model_text(events->model, row->domain_string, ""));
	put_attributes(events, row);
	if (row->flags & RANGE_OPEN)
		json_pair_bool(events->json, "open", true);
	if (row->flags & RANGE_UNBEGUN)
		json_pair_bool(events->json, "unbegun", true);
	end_event(events);
}

void chrome_events_range(const struct chrome_events *events, const struct chrome_place *place,
			 const struct event_range *row)
{
	begin_slice(events, place, RANGE, model_range_name(events->model, row), row->begin,
		    row->end);
	put_stack(events, row->stack);
	put_range_arguments(events, row);
}

void chrome_events_mark(const struct chrome_events *events, const struct chrome_place *place,
			const struct event_range *row)
{
	begin_event(events, "i", place, RANGE, model_range_name(events->model, row), row->begin);
	json_pair_text(events->json, "s", "t");
	put_range_arguments(events, row);
}

void chrome_events_started(const struct chrome_events *events, const struct chrome_place *place,
			   const struct event_range *row, uint64_t id)
{
	const char *name = model_range_name(events->model, row);

	begin_event(events, "b", place, RANGE, name, row->begin);
	json_pair_u64(events->json, "id", id);
	put_range_arguments(events, row);
	begin_event(events, "e", place, RANGE, name, row->end);
	json_pair_u64(events->json, "id", id);
	json_object_end(events->json);
}

/* ---- device events ---- */

static const char *category_of(const struct chrome_events *events, const struct command *command)
{
	uint32_t type = command->launch ? analysis_launch_command(events->model, command->launch)
					: COMMAND_OTHER;
	enum account_class class = analysis_class(type);

	if (!command_is_in_account(command))
		return "rejected";
	if (class == ACCOUNT_KERNEL)
		return "kernel";
	if (type == COMMAND_FILL)
		return "gpu_memset";
	return class == ACCOUNT_COPY ? "gpu_memcpy" : "gpu_command";
}

static void put_delays(const struct chrome_events *events, const struct command *command)
{
	const struct event_execution *row = command->execution;

	if (command->launch && row->started >= command->launch->enter)
		json_pair_u64(events->json, "enter_to_started_ns",
			      row->started - command->launch->enter);
	if (!(row->valid & EXECUTION_SUBMITTED))
		return;
	if ((row->valid & EXECUTION_QUEUED) && row->submitted >= row->queued)
		json_pair_u64(events->json, "queued_to_submitted_ns", row->submitted - row->queued);
	if (row->started >= row->submitted)
		json_pair_u64(events->json, "submitted_to_started_ns",
			      row->started - row->submitted);
}

static void put_whose(const struct chrome_events *events, const struct command *command,
		      const struct chrome_place *place, const struct chrome_link *link)
{
	const struct event_process *process =
		model_entity(events->model, EVENT_PROCESS, command->process);
	const struct event_queue *queue = model_entity(events->model, EVENT_QUEUE, command->queue);

	json_pair_u64(events->json, "device", place->device);
	if (queue && queue->context)
		json_pair_u64(events->json, "context", queue->context);
	json_pair_u64(events->json, "stream", place->stream);
	put_link(events, link);
	if (process)
		json_pair_u64(events->json, "pid", process->pid);
}

/* Bytes by ns are GB/s. */
static void put_bandwidth(const struct chrome_events *events, const struct command *command)
{
	const struct event_execution *row = command->execution;
	uint64_t bytes = command->launch ? command->launch->bytes : 0;

	if (bytes && row->ended > row->started)
		json_pair_double(events->json, "memory bandwidth (GB/s)",
				 (double)bytes / (double)(row->ended - row->started));
}

static void put_kernel(const struct chrome_events *events, const struct command *command)
{
	const struct event_execution *row = command->execution;
	const struct event_code *code =
		model_entity(events->model, EVENT_CODE, command->launch->kernel);

	if (code && code->registers)
		json_pair_u64(events->json, "registers per thread", code->registers);
	if (row->local_bytes)
		json_pair_u64(events->json, "shared memory", row->local_bytes);
	put_command(events, command->launch);
}

void chrome_events_execution(const struct chrome_events *events, const struct chrome_place *place,
			     const struct command *command, const struct chrome_link *link)
{
	const struct event_execution *row = command->execution;
	char buffer[CHROME_TORCH_NAME];

	begin_slice(events, place, category_of(events, command),
		    chrome_torch_command(events->model, command, buffer), row->started, row->ended);
	begin_arguments(events);
	put_whose(events, command, place, link);
	put_delays(events, command);
	put_bandwidth(events, command);
	if (command->launch)
		put_kernel(events, command);
	else
		json_pair_text(events->json, "no_launch", "its launch is not in the trace");
	if (row->status)
		put_i32(events, "status", row->status);
	if (row->valid & ORDER_IMPOSSIBLE)
		json_pair_bool(events->json, "impossible", true);
	if (command_is_estimated(events->model, row))
		json_pair_bool(events->json, "estimated", true);
	end_event(events);
}

/* ---- arrows, counters, losses ---- */

void chrome_events_flow(const struct chrome_events *events, const struct chrome_place *place,
			uint64_t id, uint64_t time_ns, bool is_end)
{
	begin_event(events, is_end ? "f" : "s", place, FLOW, FLOW, time_ns);
	json_pair_u64(events->json, "id", id);
	if (is_end)
		json_pair_text(events->json, "bp", "e");
	json_object_end(events->json);
}

void chrome_events_depth(const struct chrome_events *events, const struct chrome_place *place,
			 uint32_t queue, uint64_t time_ns, int64_t commands)
{
	char name[64];

	snprintf(name, sizeof(name), "in flight, queue %" PRIu32, queue);
	begin_event(events, "C", place, "counter", name, time_ns);
	begin_arguments(events);
	json_key(events->json, "commands");
	json_i64(events->json, commands);
	end_event(events);
}

void chrome_events_counter(const struct chrome_events *events, const struct chrome_place *place,
			   const char *name, const char *unit, double value, uint64_t time_ns)
{
	begin_event(events, "C", place, "counter", name, time_ns);
	begin_arguments(events);
	json_key(events->json, *unit ? unit : "value");
	json_double(events->json, value);
	end_event(events);
}

void chrome_events_loss(const struct chrome_events *events, const struct chrome_place *place,
			const struct event_loss *row)
{
	const struct event_process *process =
		model_entity(events->model, EVENT_PROCESS, row->process);
	char name[64];

	snprintf(name, sizeof(name), "lost: %s", analysis_kind_name(row->kind));
	begin_event(events, "i", place, "loss", name, row->begin);
	json_pair_text(events->json, "s", "g");
	begin_arguments(events);
	if (row->count != LOSS_COUNT_UNKNOWN)
		json_pair_u64(events->json, "count", row->count);
	json_pair_text(events->json, "reason", analysis_loss_name(row->reason));
	json_pair_u64(events->json, "duration_ns", row->end - row->begin);
	if (process)
		json_pair_u64(events->json, "pid", process->pid);
	end_event(events);
}
