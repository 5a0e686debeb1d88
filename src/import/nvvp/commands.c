/* SPDX-License-Identifier: MIT
 *
 * import/nvvp/commands.c - kernels, copies and fills of a file of nvprof
 *
 * Runs in:  our own process
 * Gets:     rows of the tables of CUPTI
 * Gives:    executions, and the members of a launch that these rows contain
 * Owns:     nothing
 * Fails:    -EBADMSG with the table and the row
 * Why three tables of kernels: which one has the rows depends on whether kernels ran at the same
 *           time; those that other kernels launched have a third one
 */
#include "import/nvvp/commands.h"

#include "base/array.h"
#include "import/common/commands.h"
#include "import/target.h"

static const char *const call_columns[] = {
	"correlationId", "runtimeCorrelationId", "start", "end", "cbid", "processId",
	"threadId",      "returnValue",
};
static const char *const sync_columns[] = {
	"correlationId", "runtimeCorrelationId", "start", "end", "contextId", "streamId",
};
enum { COMMAND_DEVICE = NVVP_END + 1, COMMAND_CONTEXT, COMMAND_STREAM };
enum {
	KERNEL_NAME = COMMAND_STREAM + 1,
	KERNEL_GRID,
	KERNEL_REGISTERS = KERNEL_GRID + 6,
	KERNEL_STATIC,
	KERNEL_DYNAMIC,
	KERNEL_LOCAL,
	KERNEL_QUEUED,
	KERNEL_SUBMITTED,
	KERNEL_LAUNCH_TYPE,
	KERNEL_GRAPH_NODE,
	KERNEL_GRAPH
};
static const char *const kernel_columns[] = {
	"correlationId",
	"runtimeCorrelationId",
	"start",
	"end",
	"deviceId",
	"contextId",
	"streamId",
	"name",
	"gridX",
	"gridY",
	"gridZ",
	"blockX",
	"blockY",
	"blockZ",
	"registersPerThread",
	"staticSharedMemory",
	"dynamicSharedMemory",
	"localMemoryPerThread",
	"queued",
	"submitted",
	"launchType",
	"graphNodeId",
	"graphId",
};
enum {
	COPY_BYTES = COMMAND_STREAM + 1,
	COPY_KIND,
	COPY_SOURCE,
	COPY_DESTINATION,
	COPY_SOURCE_DEVICE,
	COPY_DESTINATION_DEVICE,
	COPY_GRAPH_NODE
};
static const char *const copy_columns[] = {
	"correlationId", "runtimeCorrelationId",
	"start",         "end",
	"deviceId",      "contextId",
	"streamId",      "bytes",
	"copyKind",      "srcKind",
	"dstKind",       "srcDeviceId",
	"dstDeviceId",   "graphNodeId",
};
enum { FILL_BYTES = COMMAND_STREAM + 1, FILL_MEMORY, FILL_GRAPH_NODE };
static const char *const fill_columns[] = {
	"correlationId", "runtimeCorrelationId",
	"start",         "end",
	"deviceId",      "contextId",
	"streamId",      "bytes",
	"memoryKind",    "graphNodeId",
};
static const char *const info_columns[] = {
	"correlationId", "runtimeCorrelationId",   "start",
	"end",           "samplingPeriodInCycles", "droppedSamples",
};
static const char *const sample_columns[] = {
	"correlationId",   "runtimeCorrelationId",
	"start",           "end",
	"functionId",      "pcOffset",
	"sourceLocatorId", "samples",
	"latencySamples",  "stallReason",
};
static const char *const instruction_columns[] = {
	"correlationId", "runtimeCorrelationId", "start",    "end", "functionId",
	"pcOffset",      "sourceLocatorId",      "executed",
};

#define TABLE(kind, columns, needed)                                         \
	{                                                                    \
		"CUPTI_ACTIVITY_KIND_" kind, SQLITE_COLUMNS(columns, needed) \
	}

const struct nvvp_table_row nvvp_tables[NVVP_TABLES_COUNT] = {
	[NVVP_DRIVER] = TABLE("DRIVER", call_columns, 1),
	[NVVP_RUNTIME] = TABLE("RUNTIME", call_columns, 1),
	[NVVP_SYNCS] = TABLE("SYNCHRONIZATION", sync_columns, 1),
	[NVVP_KERNELS] = TABLE("KERNEL", kernel_columns, 0),
	[NVVP_CONCURRENT_KERNELS] = TABLE("CONCURRENT_KERNEL", kernel_columns, 0),
	[NVVP_DEVICE_KERNELS] = TABLE("CDP_KERNEL", kernel_columns, 0),
	[NVVP_COPIES] = TABLE("MEMCPY", copy_columns, 0),
	[NVVP_PEER_COPIES] = TABLE("MEMCPY2", copy_columns, 0),
	[NVVP_FILLS] = TABLE("MEMSET", fill_columns, 0),
	[NVVP_SAMPLE_INFO] = TABLE("PC_SAMPLING_RECORD_INFO", info_columns, 1),
	[NVVP_SAMPLES] = TABLE("PC_SAMPLING", sample_columns, 1),
	[NVVP_INSTRUCTIONS] = TABLE("INSTRUCTION_EXECUTION", instruction_columns, 1),
};

/* ---- kernels ---- */

/* CUPTI's launchType: on one or several devices */
enum { TYPE_COOPERATIVE = 1, TYPE_COOPERATIVE_SEVERAL = 2 };

static uint64_t shared_bytes(const struct sqlite_cursor *row)
{
	return import_cuda_positive(row, KERNEL_STATIC) + import_cuda_positive(row, KERNEL_DYNAMIC);
}

static int describe_kernel(struct nvvp *nvvp, const struct sqlite_cursor *row, uint32_t device,
			   int64_t name, uint32_t id)
{
	struct event_code code;
	int error = import_target_get(nvvp->target, EVENT_CODE, id, &code);

	code.device = device;
	code.parent = nvvp_code_of_kernel(nvvp, name);
	code.registers = (uint32_t)import_cuda_positive(row, KERNEL_REGISTERS);
	code.local_bytes = sqlite_cursor_has(row, KERNEL_STATIC) ? shared_bytes(row) : CODE_UNKNOWN;
	code.private_bytes = sqlite_cursor_has(row, KERNEL_LOCAL)
				     ? import_cuda_positive(row, KERNEL_LOCAL)
				     : CODE_UNKNOWN;
	return error ? error : import_target_update(nvvp->target, EVENT_CODE, &code);
}

static int find_kernel(struct nvvp *nvvp, const struct sqlite_cursor *row, uint32_t process,
		       uint32_t device, uint32_t *ret_kernel)
{
	const int64_t name_id = sqlite_cursor_number(row, KERNEL_NAME);
	const char *name;
	int error;

	*ret_kernel = pair_map_find(&nvvp->kernels, process, (uint64_t)name_id);
	if (*ret_kernel != PAIR_MAP_NONE)
		return 0;
	error = import_strings_find(&nvvp->strings, name_id, &name);
	if (!error)
		error = import_target_kernel(nvvp->target, process, "",
					     *name ? name : "[unknown kernel]", ret_kernel);
	if (!error)
		error = describe_kernel(nvvp, row, device, name_id, *ret_kernel);
	return error ? error
		     : pair_map_put(&nvvp->kernels, process, (uint64_t)name_id, *ret_kernel);
}

/* The time between an earlier time of the row and `end`; -1: the row has no such time. */
static int64_t wait_before(const struct sqlite_cursor *row, size_t column, uint64_t end)
{
	const uint64_t begin = import_cuda_positive(row, column);

	return begin && begin <= end ? (int64_t)(end - begin) : -1;
}

static int read_kernel(struct nvvp *nvvp, const struct sqlite_cursor *row, uint32_t device,
		       struct import_cuda_command *command)
{
	struct event_execution *execution = &command->row;
	const int64_t type = sqlite_cursor_number(row, KERNEL_LAUNCH_TYPE);

	command->launch.command = COMMAND_KERNEL;
	if (type == TYPE_COOPERATIVE || type == TYPE_COOPERATIVE_SEVERAL)
		command->launch.flags = LAUNCH_COOPERATIVE;
	import_set_waits(
		execution, wait_before(row, KERNEL_SUBMITTED, execution->started),
		wait_before(row, KERNEL_QUEUED, import_cuda_positive(row, KERNEL_SUBMITTED)));
	execution->local_bytes = (uint32_t)shared_bytes(row);
	execution->graph = import_cuda_positive(row, KERNEL_GRAPH);
	execution->graph_node = import_cuda_positive(row, KERNEL_GRAPH_NODE);
	import_cuda_read_sizes(row, KERNEL_GRID, &command->launch);
	return find_kernel(nvvp, row, execution->process, device, &command->launch.kernel);
}

/* ---- copies and fills ---- */

/* The device of one end of a copy: the named one, otherwise that of the stream. */
static int find_end(struct nvvp *nvvp, const struct sqlite_cursor *row, size_t column,
		    uint32_t memory, uint32_t device, uint32_t *ret_device)
{
	*ret_device = import_cuda_is_on_device(memory) ? device : 0;
	return *ret_device && sqlite_cursor_has(row, column)
		       ? nvvp_machine_device(nvvp, sqlite_cursor_number(row, column), ret_device)
		       : 0;
}

static int read_copy(struct nvvp *nvvp, const struct sqlite_cursor *row, uint32_t device,
		     struct import_cuda_command *command)
{
	struct event_execution *execution = &command->row;
	int error;

	command->launch.command = import_cuda_copy(sqlite_cursor_number(row, COPY_KIND));
	command->launch.bytes = import_cuda_positive(row, COPY_BYTES);
	execution->graph_node = import_cuda_positive(row, COPY_GRAPH_NODE);
	execution->source_memory = import_cuda_memory(sqlite_cursor_number(row, COPY_SOURCE));
	execution->destination_memory =
		import_cuda_memory(sqlite_cursor_number(row, COPY_DESTINATION));
	error = find_end(nvvp, row, COPY_SOURCE_DEVICE, execution->source_memory, device,
			 &execution->source_device);
	return error ? error
		     : find_end(nvvp, row, COPY_DESTINATION_DEVICE, execution->destination_memory,
				device, &execution->destination_device);
}

static void read_fill(const struct sqlite_cursor *row, struct import_cuda_command *command)
{
	command->launch.command = COMMAND_FILL;
	command->launch.bytes = import_cuda_positive(row, FILL_BYTES);
	command->row.destination_memory =
		import_cuda_memory(sqlite_cursor_number(row, FILL_MEMORY));
	command->row.graph_node = import_cuda_positive(row, FILL_GRAPH_NODE);
}

/* ---- all ---- */

int nvvp_commands_read(struct nvvp *nvvp, enum nvvp_table table, const struct sqlite_cursor *row,
		       uint32_t process, struct import_cuda_command *ret_command)
{
	struct import_cuda_command command = {
		.row = {.process = process, .valid = EXECUTION_STARTED | EXECUTION_ENDED}};
	struct nvvp_stream stream = {.process = process,
				     .context = sqlite_cursor_number(row, COMMAND_CONTEXT),
				     .stream = sqlite_cursor_number(row, COMMAND_STREAM)};
	int error =
		sqlite_cursor_take_times(row, NVVP_START, &command.row.started, &command.row.ended);

	command.row.seen = command.row.ended;
	if (!error)
		error = nvvp_machine_device(nvvp, sqlite_cursor_number(row, COMMAND_DEVICE),
					    &stream.device);
	if (!error)
		error = nvvp_machine_queue(nvvp, &stream, &command.row.queue);
	if (error)
		return error;
	if (table <= NVVP_DEVICE_KERNELS)
		error = read_kernel(nvvp, row, stream.device, &command);
	else if (table <= NVVP_PEER_COPIES)
		error = read_copy(nvvp, row, stream.device, &command);
	else
		read_fill(row, &command);
	*ret_command = command;
	return error;
}
