/* SPDX-License-Identifier: MIT
 *
 * export/rocpd/rows.c - the calls, ranges and commands of a rocpd export
 *
 * Runs in:  our own process
 * Gets:     launches, calls, ranges and commands in the order of time
 * Gives:    rows of rocpd_event, rocpd_region, rocpd_kernel_dispatch, rocpd_memory_copy
 * Owns:     nothing
 * Fails:    like the SQLite writer; -ENOMEM
 * Why stack_id: in rocprofv3's files a command and its call have events with the same stack_id, and
 *           correlation_id is what the program set itself, mostly 0.
 */
#include "export/rocpd/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "analyze/join/commands.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/json.h"
#include "event/absent_call.h"
#include "export/rocpd/database.h"
#include "export/rocpd/entities.h"

/* ---- events ---- */

/* Writes the frames of a stack as JSON, the innermost first. */
static int put_call_stack(struct rocpd *rocpd, uint32_t stack)
{
	const struct frame_name *names = NULL;
	struct string_builder text = {0};
	struct json_writer json;
	size_t count = 0;
	int error = frames_of_stack(rocpd->frames, stack, &names, &count);

	json_init_text(&json, &text);
	json_array_begin(&json);
	for (size_t i = count; i-- > 0;)
		json_string(&json, names[i].function);
	json_array_end(&json);
	if (!error)
		error = json_error(&json);
	sqlite_writer_text(&rocpd->writer, string_builder_text(&text));
	string_builder_fini(&text);
	return error;
}

int rocpd_event(struct rocpd *rocpd, const struct rocpd_event *event, uint64_t *ret_id)
{
	struct sqlite_writer *writer = &rocpd->writer;
	uint64_t category = rocpd_string(rocpd, event->category);
	int error = category ? rocpd_begin(rocpd, ROCPD_EVENT) : -ENOMEM;

	if (error)
		return error;
	*ret_id = ++rocpd->events;
	sqlite_writer_u64(writer, *ret_id);
	sqlite_writer_u64(writer, category);
	sqlite_writer_u64(writer, event->stack);
	sqlite_writer_u64(writer, event->parent_stack);
	sqlite_writer_u64(writer, 0);
	if (model_stack(rocpd->model, event->call_stack))
		error = put_call_stack(rocpd, event->call_stack);
	else
		sqlite_writer_text(writer, "{}");
	sqlite_writer_text(writer,
			   rocpd->extdata.length ? string_builder_text(&rocpd->extdata) : "{}");
	string_builder_clear(&rocpd->extdata);
	return error ? error : sqlite_writer_end(writer);
}

/* ---- regions ---- */

struct region {
	const char *name, *category;
	uint32_t thread, stack;
	uint64_t begin, end;
};

static int put_region(struct rocpd *rocpd, const struct region *region, uint64_t number)
{
	const struct rocpd_event row = {
		.category = region->category,
		.stack = number,
		.parent_stack = thread_nesting_find(&rocpd->nesting, region->thread, region->begin),
		.call_stack = region->stack};
	const uint32_t process = model_process_of(rocpd->model, region->thread);
	struct sqlite_writer *writer = &rocpd->writer;
	uint64_t name = rocpd_string(rocpd, region->name), event;
	int error = name ? rocpd_event(rocpd, &row, &event) : -ENOMEM;

	if (!error)
		error = rocpd_begin(rocpd, ROCPD_REGION);
	if (error)
		return error;
	sqlite_writer_u64(writer, number);
	sqlite_writer_u64(writer, rocpd_node(rocpd, process));
	sqlite_writer_u64(writer, rocpd_process(rocpd, process));
	sqlite_writer_u64(writer, rocpd_thread(rocpd, region->thread));
	sqlite_writer_u64(writer, region->begin);
	sqlite_writer_u64(writer, region->end);
	sqlite_writer_u64(writer, name);
	sqlite_writer_u64(writer, event);
	rocpd->rows++;
	error = sqlite_writer_end(writer);
	return error ? error
		     : thread_nesting_add(&rocpd->nesting, region->thread, region->begin,
					  region->end, number);
}

/* rocprofv3's name of a runtime's interface, or one like it. */
static const char *category_of(const char *function, uint32_t type)
{
	static const struct {
		const char *prefix, *category;
	} rows[] = {{"hip", "HIP_RUNTIME_API_EXT"},
		    {"__hip", "HIP_COMPILER_API_EXT"},
		    {"hsa_amd_", "HSA_AMD_EXT_API"},
		    {"hsa_", "HSA_CORE_API"},
		    {"nccl", "RCCL_API"},
		    {"cuda", "CUDA_RUNTIME_API"},
		    {"cu", "CUDA_DRIVER_API"},
		    {"cl", "OPENCL_API"},
		    {"ze", "LEVEL_ZERO_API"}};

	if (type == API_TYPE_OPERATOR)
		return "OPERATOR";
	if (type == API_TYPE_FUNCTION)
		return "FUNCTION";
	if (type == API_TYPE_OS)
		return "OS_API";
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		if (strncmp(function, rows[i].prefix, strlen(rows[i].prefix)) == 0)
			return rows[i].category;
	return "OTHER_API";
}

static void describe_result(struct rocpd *rocpd, int32_t result)
{
	if (result)
		string_builder_appendf(&rocpd->extdata, "{\"result\": %" PRId32 "}", result);
}

static struct rocpd_call *call_of(const struct rocpd *rocpd, uint32_t thread)
{
	return &rocpd->calls[entity_index_find(&rocpd->nesting.threads, thread)];
}

int rocpd_launch(struct rocpd *rocpd, const struct event_launch *row, uint64_t *ret_region)
{
	const char *function = model_text(rocpd->model, row->function_string, "[unknown]");
	struct rocpd_call *call = call_of(rocpd, row->thread);
	const struct region region = {.name = function,
				      .category = category_of(function, API_TYPE_CALL),
				      .thread = row->thread,
				      .stack = row->stack,
				      .begin = row->enter,
				      .end = row->exit};
	const bool is_absent = is_call_added(function);

	*ret_region = call->region;
	if (row->flags & LAUNCH_FURTHER && call->region && row->enter >= call->enter &&
	    row->enter <= call->exit)
		return 0;
	*ret_region = ++rocpd->regions;
	if (!is_absent)
		*call = (struct rocpd_call){*ret_region, row->enter, row->exit};
	if (is_absent || !filter_has_kind(&rocpd->filter, EVENT_LAUNCH) ||
	    !filter_has_time(&rocpd->filter, row->enter))
		return 0;
	describe_result(rocpd, row->result);
	return put_region(rocpd, &region, *ret_region);
}

int rocpd_call(struct rocpd *rocpd, const struct event_api *row)
{
	const char *function = model_text(rocpd->model, row->function_string, "[unknown]");
	const struct region region = {.name = function,
				      .category = category_of(function, row->type),
				      .thread = row->thread,
				      .stack = row->stack,
				      .begin = row->begin,
				      .end = row->end};

	if (row->type == API_TYPE_DUET)
		return 0;
	describe_result(rocpd, row->result);
	/* the call of a live graph launch; its nodes are further launches within it */
	rocpd->regions++;
	if (row->end > call_of(rocpd, row->thread)->exit)
		*call_of(rocpd, row->thread) =
			(struct rocpd_call){rocpd->regions, row->begin, row->end};
	return put_region(rocpd, &region, rocpd->regions);
}

int rocpd_range(struct rocpd *rocpd, const struct event_range *row)
{
	const char *name = model_range_name(rocpd->model, row);
	const struct region region = {.name = name,
				      .category = "MARKER_CORE_RANGE_API",
				      .thread = row->thread,
				      .stack = row->stack,
				      .begin = row->begin,
				      .end = row->end};
	struct json_writer json;

	json_init_text(&json, &rocpd->extdata);
	json_object_begin(&json);
	json_pair_text(&json, "message", name);
	json_pair_text(&json, "domain", model_text(rocpd->model, row->domain_string, ""));
	json_object_end(&json);
	return put_region(rocpd, &region, ++rocpd->regions);
}

/* ---- commands ---- */

/* The columns that dispatches and copies share. */
struct place {
	uint64_t event, queue, process, node, thread;
};

static int find_place(struct rocpd *rocpd, const struct command *command, const char *category,
		      struct place *place)
{
	const struct rocpd_event event = {.category = category,
					  .stack = command->tag ? command->tag : ++rocpd->regions,
					  .parent_stack = command->tag};
	int error = rocpd_queue(rocpd, command, &place->queue);

	place->process = rocpd_process(rocpd, command->process);
	place->node = rocpd_node(rocpd, command->process);
	place->thread = command->launch ? rocpd_thread(rocpd, command->launch->thread) : 0;
	return error ? error : rocpd_event(rocpd, &event, &place->event);
}

static uint64_t device_of(const struct rocpd *rocpd, uint32_t queue)
{
	const struct event_queue *row = model_entity(rocpd->model, EVENT_QUEUE, queue);

	return row ? row->device : 0;
}

/* A size of a dimension that the launch does not have is 1. */
static void put_sizes(struct rocpd *rocpd, const struct event_launch *launch,
		      const uint64_t sizes[3])
{
	for (uint32_t i = 0; i < 3; i++)
		sqlite_writer_u64(&rocpd->writer, launch && i < launch->dimensions ? sizes[i] : 1);
}

static void put_needs(struct rocpd *rocpd, const struct event_execution *row,
		      const struct event_code *code)
{
	sqlite_writer_u64(&rocpd->writer, code ? code->private_bytes : 0);
	sqlite_writer_u64(&rocpd->writer, row->local_bytes ? row->local_bytes
					  : code           ? code->local_bytes
							   : 0);
}

/* Keeps the event of a dispatch for its counters. */
static int keep_dispatch(struct rocpd *rocpd, const struct command *command, uint64_t event)
{
	if (!model_has(rocpd->model, EVENT_COUNTER) || event >= PAIR_MAP_NONE)
		return 0;
	return pair_map_put(&rocpd->dispatches, command->process, command->execution->correlation,
			    (uint32_t)event);
}

static int put_dispatch(struct rocpd *rocpd, const struct command *command)
{
	const struct event_launch *launch = command->launch;
	const struct event_code *code =
		model_entity(rocpd->model, EVENT_CODE, launch ? launch->kernel : 0);
	struct sqlite_writer *writer = &rocpd->writer;
	struct place place;
	int error = find_place(rocpd, command, "KERNEL_DISPATCH", &place);

	if (!error)
		error = rocpd_begin(rocpd, ROCPD_DISPATCH);
	if (error)
		return error;
	sqlite_writer_u64(writer, ++rocpd->dispatched);
	sqlite_writer_u64(writer, place.node);
	sqlite_writer_u64(writer, place.process);
	sqlite_writer_u64(writer, place.thread);
	sqlite_writer_u64(writer, device_of(rocpd, command->queue));
	sqlite_writer_u64(writer, code ? code->id : 0);
	sqlite_writer_u64(writer, rocpd->dispatched);
	sqlite_writer_u64(writer, place.queue);
	sqlite_writer_u64(writer, command->queue);
	sqlite_writer_u64(writer, command->execution->started);
	sqlite_writer_u64(writer, command->execution->ended);
	put_needs(rocpd, command->execution, code);
	put_sizes(rocpd, launch, launch ? launch->local_size : NULL);
	put_sizes(rocpd, launch, launch ? launch->global_size : NULL);
	sqlite_writer_u64(writer, rocpd_string(rocpd, ""));
	sqlite_writer_u64(writer, place.event);
	error = sqlite_writer_end(writer);
	return error ? error : keep_dispatch(rocpd, command, place.event);
}

/* The device of an end of a transfer, if the trace does not name it. */
static void guess_ends(uint32_t type, uint64_t device, uint64_t *source, uint64_t *destination)
{
	const bool reads = type == COMMAND_READ || type == COMMAND_MAP;
	const bool writes = type == COMMAND_WRITE || type == COMMAND_UNMAP;

	if (!*source)
		*source = writes ? ROCPD_HOST_AGENT : device;
	if (!*destination)
		*destination = reads ? ROCPD_HOST_AGENT : device;
}

static const char *copy_name(uint32_t type)
{
	static const char *const names[COMMAND_COUNT] = {
		[COMMAND_READ] = "MEMORY_COPY_DEVICE_TO_HOST",
		[COMMAND_WRITE] = "MEMORY_COPY_HOST_TO_DEVICE",
		[COMMAND_COPY] = "MEMORY_COPY_DEVICE_TO_DEVICE",
		[COMMAND_FILL] = "MEMORY_FILL",
		[COMMAND_MAP] = "MEMORY_MAP",
		[COMMAND_UNMAP] = "MEMORY_UNMAP",
		[COMMAND_MIGRATE] = "MEMORY_MIGRATE",
	};

	return type < COMMAND_COUNT ? names[type] : NULL;
}

static int put_copy(struct rocpd *rocpd, const struct command *command, uint32_t type)
{
	const struct event_execution *row = command->execution;
	uint64_t source = row->source_device, destination = row->destination_device;
	uint64_t name = rocpd_string(rocpd, copy_name(type));
	struct sqlite_writer *writer = &rocpd->writer;
	struct place place;
	int error = name ? find_place(rocpd, command, "MEMORY_COPY", &place) : -ENOMEM;

	if (!error)
		error = rocpd_begin(rocpd, ROCPD_COPY);
	if (error)
		return error;
	guess_ends(type, device_of(rocpd, command->queue), &source, &destination);
	sqlite_writer_u64(writer, ++rocpd->copies);
	sqlite_writer_u64(writer, place.node);
	sqlite_writer_u64(writer, place.process);
	sqlite_writer_u64(writer, place.thread);
	sqlite_writer_u64(writer, row->started);
	sqlite_writer_u64(writer, row->ended);
	sqlite_writer_u64(writer, name);
	sqlite_writer_u64(writer, destination);
	sqlite_writer_u64(writer, source);
	sqlite_writer_u64(writer, command->launch ? command->launch->bytes : 0);
	sqlite_writer_u64(writer, place.queue);
	sqlite_writer_u64(writer, command->queue);
	sqlite_writer_u64(writer, place.event);
	return sqlite_writer_end(writer);
}

/* Commands that are neither kernels nor transfers have no table. A command without a launch has no
 * kind. */
int rocpd_command(struct rocpd *rocpd, const struct command *command)
{
	const uint32_t type = command->launch
				      ? analysis_launch_command(rocpd->model, command->launch)
				      : COMMAND_KERNEL;

	if (!command_is_in_account(command) || !(type == COMMAND_KERNEL || copy_name(type)))
		return 0;
	rocpd->rows++;
	return type == COMMAND_KERNEL ? put_dispatch(rocpd, command)
				      : put_copy(rocpd, command, type);
}
