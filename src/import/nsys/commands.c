/* SPDX-License-Identifier: MIT
 *
 * import/nsys/commands.c - kernels, copies, fills and graphs of a file of Nsight Systems
 *
 * Runs in:  our own process
 * Gets:     rows of the tables of CUPTI
 * Gives:    executions, and the members of a launch that these rows contain
 * Owns:     nothing
 * Fails:    -EBADMSG with the table and the row
 * Why the three names of a kernel: the demangled one is complete, but reduced files of other
 *           programs have only the short one
 */
#include "import/nsys/commands.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "import/target.h"

static const char *const call_columns[] = {
	"start",      "end",    "correlationId", "globalTid",
	"eventClass", "nameId", "returnValue",   "callchainId",
};
static const char *const sync_columns[] = {
	"start", "end", "correlationId", "globalPid", "deviceId", "contextId", "streamId",
};
enum {
	KERNEL_DEMANGLED = NSYS_GREEN + 1,
	KERNEL_SHORT,
	KERNEL_MANGLED,
	KERNEL_GRID_X,
	KERNEL_BLOCK_X = KERNEL_GRID_X + 3,
	KERNEL_REGISTERS = KERNEL_BLOCK_X + 3,
	KERNEL_STATIC,
	KERNEL_DYNAMIC,
	KERNEL_LOCAL,
	KERNEL_LAUNCH_TYPE,
	KERNEL_GRAPH_NODE,
	KERNEL_GRAPH,
	KERNEL_CLUSTER_X
};
static const char *const kernel_columns[] = {
	"start",
	"end",
	"correlationId",
	"globalPid",
	"deviceId",
	"contextId",
	"streamId",
	"greenContextId",
	"demangledName",
	"shortName",
	"mangledName",
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
	"launchType",
	"graphNodeId",
	"graphId",
	"clusterX",
	"clusterY",
	"clusterZ",
};
enum {
	COPY_BYTES = NSYS_GREEN + 1,
	COPY_KIND,
	COPY_SOURCE,
	COPY_DESTINATION,
	COPY_SOURCE_DEVICE,
	COPY_DESTINATION_DEVICE,
	COPY_CAUSE,
	COPY_GRAPH_NODE
};
static const char *const copy_columns[] = {
	"start",       "end",         "correlationId",  "globalPid",
	"deviceId",    "contextId",   "streamId",       "greenContextId",
	"bytes",       "copyKind",    "srcKind",        "dstKind",
	"srcDeviceId", "dstDeviceId", "migrationCause", "graphNodeId",
};
enum { FILL_BYTES = NSYS_GREEN + 1, FILL_MEMORY, FILL_GRAPH_NODE };
static const char *const fill_columns[] = {
	"start",    "end",       "correlationId", "globalPid",
	"deviceId", "contextId", "streamId",      "greenContextId",
	"bytes",    "memKind",   "graphNodeId",
};
enum { GRAPH_ID = NSYS_GREEN + 1 };
static const char *const graph_columns[] = {
	"start",     "end",      "correlationId",  "globalPid", "deviceId",
	"contextId", "streamId", "greenContextId", "graphId",
};

const struct nsys_table_row nsys_tables[NSYS_TABLES_COUNT] = {
	[NSYS_TABLE_CALLS] = {"CUPTI_ACTIVITY_KIND_RUNTIME", SQLITE_COLUMNS(call_columns, 4)},
	[NSYS_TABLE_SYNCS] = {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
			      SQLITE_COLUMNS(sync_columns, 3)},
	[NSYS_TABLE_KERNELS] = {"CUPTI_ACTIVITY_KIND_KERNEL", SQLITE_COLUMNS(kernel_columns, 2)},
	[NSYS_TABLE_COPIES] = {"CUPTI_ACTIVITY_KIND_MEMCPY", SQLITE_COLUMNS(copy_columns, 2)},
	[NSYS_TABLE_FILLS] = {"CUPTI_ACTIVITY_KIND_MEMSET", SQLITE_COLUMNS(fill_columns, 2)},
	[NSYS_TABLE_GRAPHS] = {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", SQLITE_COLUMNS(graph_columns, 2)},
};

/* ---- kernels ---- */

/* launchType from here on: a cooperative launch on one or several devices */
enum { TYPE_COOPERATIVE = 2 };

static int describe_kernel(struct nsys *nsys, const struct sqlite_cursor *row, uint32_t device,
			   uint32_t id)
{
	struct event_code code;
	int error = import_target_get(nsys->target, EVENT_CODE, id, &code);

	code.device = device;
	code.registers = (uint32_t)import_cuda_positive(row, KERNEL_REGISTERS);
	code.local_bytes = sqlite_cursor_has(row, KERNEL_STATIC)
				   ? import_cuda_positive(row, KERNEL_STATIC) +
					     import_cuda_positive(row, KERNEL_DYNAMIC)
				   : CODE_UNKNOWN;
	code.private_bytes = sqlite_cursor_has(row, KERNEL_LOCAL)
				     ? import_cuda_positive(row, KERNEL_LOCAL)
				     : CODE_UNKNOWN;
	return error ? error : import_target_update(nsys->target, EVENT_CODE, &code);
}

static int find_kernel(struct nsys *nsys, const struct sqlite_cursor *row, uint32_t process,
		       uint32_t device, uint32_t *ret_kernel)
{
	static const size_t names[] = {KERNEL_DEMANGLED, KERNEL_SHORT, KERNEL_MANGLED};
	size_t i = 0;
	int64_t name_id;
	const char *name;
	uint64_t key;
	int error;

	while (i + 1 < ARRAY_COUNT(names) && !sqlite_cursor_has(row, names[i]))
		i++;
	name_id = sqlite_cursor_number(row, names[i]);
	key = (uint64_t)process << 32 | (uint32_t)name_id;
	*ret_kernel = (uint32_t)hash_map_get(&nsys->machine.kernels, key, 0);
	if (*ret_kernel)
		return 0;
	error = nsys_texts_get(nsys, name_id, &name);
	if (!error)
		error = import_target_kernel(nsys->target, process, "",
					     *name ? name : "[unknown kernel]", ret_kernel);
	if (!error)
		error = nsys_collectives_add_kernel(nsys, *ret_kernel, name);
	if (!error)
		error = describe_kernel(nsys, row, device, *ret_kernel);
	return error ? error : hash_map_put(&nsys->machine.kernels, key, *ret_kernel);
}

static int read_kernel(struct nsys *nsys, const struct sqlite_cursor *row, uint32_t device,
		       struct import_cuda_command *command)
{
	struct event_execution *execution = &command->row;

	command->launch.command = COMMAND_KERNEL;
	if (sqlite_cursor_number(row, KERNEL_LAUNCH_TYPE) >= TYPE_COOPERATIVE)
		command->launch.flags = LAUNCH_COOPERATIVE;
	execution->local_bytes = (uint32_t)(import_cuda_positive(row, KERNEL_STATIC) +
					    import_cuda_positive(row, KERNEL_DYNAMIC));
	execution->graph = import_cuda_positive(row, KERNEL_GRAPH);
	execution->graph_node = import_cuda_positive(row, KERNEL_GRAPH_NODE);
	execution->cluster_x = (uint32_t)import_cuda_positive(row, KERNEL_CLUSTER_X);
	execution->cluster_y = (uint32_t)import_cuda_positive(row, KERNEL_CLUSTER_X + 1);
	execution->cluster_z = (uint32_t)import_cuda_positive(row, KERNEL_CLUSTER_X + 2);
	import_cuda_read_sizes(row, KERNEL_GRID_X, &command->launch);
	return find_kernel(nsys, row, command->row.process, device, &command->launch.kernel);
}

/* ---- copies ---- */

/* nsys counts the kinds of memory from 0, CUPTI from 1. */
static uint32_t memory_of(const struct sqlite_cursor *row, size_t column)
{
	return sqlite_cursor_has(row, column)
		       ? import_cuda_memory(sqlite_cursor_number(row, column) + 1)
		       : MEMORY_UNKNOWN;
}

/* The device of one end of a copy: the named one, otherwise that of the stream. */
static int find_end(struct nsys *nsys, const struct sqlite_cursor *row, size_t column,
		    uint32_t memory, uint32_t device, uint32_t *ret_device)
{
	*ret_device = import_cuda_is_on_device(memory) ? device : 0;
	return sqlite_cursor_has(row, column)
		       ? nsys_machine_device(nsys, nsys_global(nsys, row),
					     sqlite_cursor_number(row, column), ret_device)
		       : 0;
}

static int read_copy(struct nsys *nsys, const struct sqlite_cursor *row, uint32_t device,
		     struct import_cuda_command *command)
{
	struct event_execution *execution = &command->row;
	int error;

	command->launch.command = import_cuda_copy(sqlite_cursor_number(row, COPY_KIND));
	command->launch.bytes = import_cuda_positive(row, COPY_BYTES);
	execution->graph_node = import_cuda_positive(row, COPY_GRAPH_NODE);
	execution->source_memory = memory_of(row, COPY_SOURCE);
	execution->destination_memory = memory_of(row, COPY_DESTINATION);
	execution->migration = import_cuda_migration(sqlite_cursor_number(row, COPY_CAUSE));
	error = find_end(nsys, row, COPY_SOURCE_DEVICE, execution->source_memory, device,
			 &execution->source_device);
	return error ? error
		     : find_end(nsys, row, COPY_DESTINATION_DEVICE, execution->destination_memory,
				device, &execution->destination_device);
}

static void read_fill(const struct sqlite_cursor *row, struct import_cuda_command *command)
{
	command->launch.command = COMMAND_FILL;
	command->launch.bytes = import_cuda_positive(row, FILL_BYTES);
	command->row.destination_memory = memory_of(row, FILL_MEMORY);
	command->row.graph_node = import_cuda_positive(row, FILL_GRAPH_NODE);
}

static void read_graph(const struct sqlite_cursor *row, struct import_cuda_command *command)
{
	command->launch.command = COMMAND_GRAPH;
	command->row.graph = import_cuda_positive(row, GRAPH_ID);
}

/* ---- all ---- */

int nsys_commands_read(struct nsys *nsys, enum nsys_table table, const struct sqlite_cursor *row,
		       struct import_cuda_command *ret_command)
{
	const struct nsys_stream stream = {
		.global = (uint64_t)nsys_global(nsys, row),
		.device = sqlite_cursor_number(row, NSYS_DEVICE),
		.context = sqlite_cursor_number(row, NSYS_CONTEXT),
		.stream = sqlite_cursor_number(row, NSYS_STREAM),
		.green = (uint32_t)(import_cuda_positive(row, NSYS_GREEN)
					    ? import_cuda_positive(row, NSYS_GREEN) + 1
					    : 0),
	};
	struct import_cuda_command command = {.row.valid = EXECUTION_STARTED | EXECUTION_ENDED};
	uint32_t device = 0;
	int error =
		sqlite_cursor_take_times(row, NSYS_START, &command.row.started, &command.row.ended);

	command.row.seen = command.row.ended;
	if (!error)
		error = nsys_machine_process(nsys, stream.global, &command.row.process);
	if (!error)
		error = nsys_machine_device(nsys, stream.global, stream.device, &device);
	if (!error)
		error = nsys_machine_queue(nsys, &stream, &command.row.queue);
	if (error)
		return error;
	if (table == NSYS_TABLE_KERNELS)
		error = read_kernel(nsys, row, device, &command);
	else if (table == NSYS_TABLE_COPIES)
		error = read_copy(nsys, row, device, &command);
	else if (table == NSYS_TABLE_FILLS)
		read_fill(row, &command);
	else
		read_graph(row, &command);
	*ret_command = command;
	return error;
}
