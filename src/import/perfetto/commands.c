/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/commands.c - slices that are commands of a device, and the calls that launched
 * them
 *
 * Runs in:  our own process
 * Gets:     slices of the categories of commands; calls by key
 * Gives:    launches and executions
 * Owns:     nothing
 * Fails:    errors of the target
 * Why a pass of its own: the row of a launch contains its queue and kernel, and rocprofv3 writes
 *           all calls before the first command. A call that waits for its command takes 100
 *           bytes; a waiting command would take 500.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/common/commands.h"
#include "import/common/rocm.h"
#include "import/perfetto/import.h"
#include "import/target.h"

/* ---- sizes ---- */

/* "4096x2x1" */
static uint32_t parse_sizes(const char *text, uint64_t sizes[3])
{
	uint32_t count = 0;

	while (count < 3 && *text >= '0' && *text <= '9') {
		char *end;

		sizes[count++] = strtoull(text, &end, 10);
		text = end + (*end == 'x');
	}
	return count;
}

void perfetto_commands_take_sizes(const struct perfetto_import *import,
				  const struct perfetto_event *event, struct event_launch *launch)
{
	const struct perfetto_value *arguments = event->arguments;
	uint32_t locals;

	launch->bytes = arguments[ARGUMENT_BYTES].number > 0
				? (uint64_t)arguments[ARGUMENT_BYTES].number
				: 0;
	launch->dimensions = parse_sizes(perfetto_import_argument(import, event, ARGUMENT_GLOBAL),
					 launch->global_size);
	locals = parse_sizes(perfetto_import_argument(import, event, ARGUMENT_LOCAL),
			     launch->local_size);
	launch->dimensions = locals > launch->dimensions ? locals : launch->dimensions;
	if (arguments[ARGUMENT_GRID].number > 0) { /* the product of all dimensions */
		launch->dimensions = 1;
		launch->global_size[0] = (uint64_t)arguments[ARGUMENT_GRID].number;
		launch->local_size[0] = arguments[ARGUMENT_GROUP].number > 0
						? (uint64_t)arguments[ARGUMENT_GROUP].number
						: 0;
	}
}

/* ---- devices and queues ---- */

int perfetto_commands_agent(struct perfetto_import *import, const char *agent,
			    enum event_device_type type, uint32_t *ret_device)
{
	return import_target_device(import->target, agent, agent, type, ret_device);
}

/* The key of an agent that is a text or a number. */
static void agent_of(const struct perfetto_import *import, const struct perfetto_event *event,
		     enum perfetto_argument argument, char *key, size_t size)
{
	const struct perfetto_value *value = &event->arguments[argument];
	const char *text = perfetto_import_text(import, value->text);

	if (*text)
		snprintf(key, size, "%s", text);
	else if (value->is_known)
		snprintf(key, size, "Agent-%" PRId64, value->number);
	else
		*key = 0;
}

static int find_ends(struct perfetto_import *import, const struct perfetto_event *event,
		     struct perfetto_slice *slice)
{
	uint32_t command = slice->launch.command;
	char source[64], destination[64];
	int error = 0;

	agent_of(import, event, ARGUMENT_SOURCE, source, sizeof(source));
	agent_of(import, event, ARGUMENT_DESTINATION, destination, sizeof(destination));
	if (*source && command != COMMAND_WRITE)
		error = perfetto_commands_agent(import, source, DEVICE_GPU,
						&slice->execution.source_device);
	if (!error && *destination && command != COMMAND_READ)
		error = perfetto_commands_agent(import, destination, DEVICE_GPU,
						&slice->execution.destination_device);
	slice->device = slice->execution.destination_device;
	if (!slice->device)
		slice->device = slice->execution.source_device;
	return error;
}

/* The queue and device of a command of rocprofv3, by its arguments. */
static int find_agent(struct perfetto_import *import, const struct perfetto_event *event,
		      struct perfetto_track *track, struct perfetto_slice *slice)
{
	const struct perfetto_track *root = perfetto_tracks_root(&import->tracks, track);
	const struct perfetto_value *queue = &event->arguments[ARGUMENT_QUEUE];
	const struct perfetto_value *stream = &event->arguments[ARGUMENT_STREAM];
	const char *type = perfetto_import_argument(import, event, ARGUMENT_AGENT_TYPE);
	char agent[64], key[64];
	int error = 0;

	if (queue->is_known && queue->number >= 0 && queue->number < UINT32_MAX)
		slice->execution.hardware_queue = (uint32_t)queue->number + 1;
	snprintf(key, sizeof(key), stream->is_known ? "stream %" PRId64 : "queue %" PRId64,
		 stream->is_known ? stream->number : queue->number);
	slice->queue_key = string_table_add(&import->sequences.texts, key, strlen(key));
	agent_of(import, event, ARGUMENT_AGENT, agent, sizeof(agent));
	if (*agent)
		error = perfetto_commands_agent(import, agent,
						strcmp(type, "CPU") == 0 ? DEVICE_CPU : DEVICE_GPU,
						&slice->device);
	else
		error = find_ends(import, event, slice);
	if (!error && !slice->device)
		error = perfetto_commands_agent(import, "GPU", DEVICE_GPU, &slice->device);
	if (!error && root->type == TRACK_PROCESS)
		error = perfetto_tracks_process(&import->tracks, root->pid, &slice->process);
	return error || slice->queue_key ? error : -ENOMEM;
}

/* The device of duet's own file is the outermost track. Its description begins with its key. */
static int find_own_device(struct perfetto_import *import, const struct perfetto_track *root,
			   uint32_t *ret_device)
{
	const char *name = perfetto_tracks_name(&import->tracks, root);
	const char *description = perfetto_import_text(import, root->description);
	const char *end = strstr(description, ", vendor ");
	enum event_device_type type = DEVICE_OTHER;
	char key[256];

	name = import_device_name(name, &type);
	if (end)
		snprintf(key, sizeof(key), "%.*s", (int)(end - description), description);
	else
		snprintf(key, sizeof(key), "track %" PRIu64, root->uuid);
	return import_target_device(import->target, key, name, type, ret_device);
}

static int find_own_queue(struct perfetto_import *import, struct perfetto_track *track,
			  struct perfetto_slice *slice)
{
	const struct perfetto_track *queue = perfetto_tracks_queue(&import->tracks, track);
	uint32_t pid = perfetto_tracks_queue_pid(&import->tracks, track);
	char key[48];
	int error = 0;

	snprintf(key, sizeof(key), "track %" PRIu64, queue->uuid);
	slice->queue_key = string_table_add(&import->sequences.texts, key, strlen(key));
	if (!slice->queue_key)
		return -ENOMEM;
	if (pid)
		error = perfetto_tracks_process(&import->tracks, pid, &slice->process);
	return error ? error
		     : find_own_device(import, perfetto_tracks_root(&import->tracks, track),
				       &slice->device);
}

/* ---- the beginning ---- */

/* rocprofv3 names copies MEMORY_COPY_HOST_TO_DEVICE, and ends the names of kernels with .kd. */
static uint32_t command_of(const struct perfetto_import *import, const struct perfetto_event *event,
			   const char *name)
{
	if (event->categories & PERFETTO_KERNEL)
		return COMMAND_KERNEL;
	if (strstr(name, "HOST_TO_DEVICE"))
		return COMMAND_WRITE;
	if (strstr(name, "DEVICE_TO_HOST"))
		return COMMAND_READ;
	return import_command_named(name, event->categories & PERFETTO_COPY       ? COMMAND_COPY
					  : event->categories & PERFETTO_REJECTED ? COMMAND_KERNEL
										  : COMMAND_OTHER);
}

static int take_kernel_name(struct perfetto_import *import, const char *name,
			    struct perfetto_slice *slice)
{
	const size_t length = rocm_names_kernel_length(name);

	slice->kernel_name = string_table_add(&import->sequences.texts, name, length);
	return slice->kernel_name || !length ? 0 : -ENOMEM;
}

/* Waiting times before the start, which duet writes. */
/* -1: not known */
static int64_t wait_of(const struct perfetto_value *value)
{
	return value->is_known ? value->number : -1;
}

int perfetto_commands_begin(struct perfetto_import *import, const struct perfetto_event *event,
			    struct perfetto_slice *slice)
{
	const char *name = perfetto_import_text(import, event->name);
	struct perfetto_track *track = perfetto_tracks_find(&import->tracks, event->track);
	struct event_execution *row = &slice->execution;

	if (!track)
		return -ENOMEM;
	slice->type = SLICE_COMMAND;
	slice->call = perfetto_import_call(import, event);
	slice->has_launch = !event->arguments[ARGUMENT_NO_LAUNCH].is_known;
	slice->launch.command = command_of(import, event, name);
	perfetto_commands_take_sizes(import, event, &slice->launch);
	row->started = event->time_ns;
	import_set_waits(row, wait_of(&event->arguments[ARGUMENT_SUBMITTED_TO_STARTED]),
			 wait_of(&event->arguments[ARGUMENT_QUEUED_TO_SUBMITTED]));
	row->status = (int32_t)event->arguments[ARGUMENT_STATUS].number;
	if ((event->categories & PERFETTO_REJECTED) && row->status >= 0)
		row->status = -1;
	if (slice->launch.command == COMMAND_KERNEL) {
		int error = take_kernel_name(import, name, slice);

		if (error)
			return error;
	}
	return import->tracks.is_own ? find_own_queue(import, track, slice)
				     : find_agent(import, event, track, slice);
}

/* ---- the end ---- */

/* The launch of a command. A further command of one call has the call's times, too. */
static void fill_launch(struct perfetto_import *import, struct perfetto_slice *slice)
{
	struct event_launch *launch = &slice->launch;
	struct perfetto_call *call = slice->call ? &import->calls[slice->call - 1] : NULL;

	launch->enter = launch->exit = slice->execution.started;
	launch->function_string = import->absent;
	if (!call || !call->is_known) {
		import->counts.made_up += slice->has_launch;
		return;
	}
	launch->enter = call->enter;
	launch->exit = call->exit;
	launch->thread = call->thread;
	launch->function_string = call->function;
	launch->flags = call->flags | (call->is_used ? LAUNCH_FURTHER : 0);
	launch->result = call->result;
	slice->process = call->process;
	call->is_used = true;
}

static int find_process(struct perfetto_import *import, struct perfetto_slice *slice)
{
	int error = 0;

	if (!slice->process)
		error = perfetto_tracks_process(&import->tracks, 0, &slice->process);
	if (error || slice->launch.thread)
		return error;
	return import_target_thread(import->target, slice->process, 0, "[unknown thread]",
				    &slice->launch.thread);
}

int perfetto_commands_write(struct perfetto_import *import, struct perfetto_slice *slice)
{
	struct event_execution *row = &slice->execution;
	struct event_launch *launch = &slice->launch;
	int error;

	fill_launch(import, slice);
	error = find_process(import, slice);
	if (!error)
		error = import_target_queue(import->target, slice->process, slice->device,
					    perfetto_import_text(import, slice->queue_key),
					    &row->queue);
	if (!error && slice->kernel_name)
		error = import_target_kernel(import->target, slice->process, "",
					     perfetto_import_text(import, slice->kernel_name),
					     &launch->kernel);
	row->process = slice->process;
	row->correlation = import_target_correlation(import->target);
	launch->correlation = row->correlation;
	launch->queue = row->queue;
	if (!error && slice->has_launch)
		error = import_target_launch(import->target, launch);
	return error ? error : import_target_execution(import->target, row);
}

int perfetto_commands_end(struct perfetto_import *import)
{
	int error = 0;

	for (size_t i = 0; i < import->calls_count && !error; i++) {
		const struct perfetto_call *call = &import->calls[i];
		const struct event_launch row = {.enter = call->enter,
						 .exit = call->exit,
						 .thread = call->thread,
						 .function_string = call->function,
						 .result = call->result,
						 .flags = call->flags,
						 .correlation =
							 import_target_correlation(import->target)};

		if (call->is_known && !call->is_used)
			error = import_target_launch(import->target, &row);
	}
	return error;
}
