/* SPDX-License-Identifier: MIT
 *
 * import/rocm/v3_csv.c - import the CSV files of rocprofv3
 *
 * Runs in:  our own process
 * Gets:     a file such as NAME_kernel_trace.csv, and the other files of the same NAME beside it
 * Gives:    calls, launches, executions, ranges, counter values
 * Owns:     the open file
 * Fails:    -EBADMSG with the file and line
 * Why the files beside it: a kernel and the call that launched it are in two files, and only the
 *           file of the calls has the process
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/string.h"
#include "import/common/probe.h"
#include "import/faults.h"
#include "import/formats.h"
#include "import/rocm/csv.h"
#include "import/common/rocm.h"
#include "import/rocm/process.h"
#include "import/source.h"
#include "import/target.h"

/* All columns of all tables that are read. */
enum csv_column {
	COLUMN_START,
	COLUMN_END,
	COLUMN_CORRELATION,
	COLUMN_THREAD,
	COLUMN_PROCESS,
	COLUMN_AGENT,
	COLUMN_QUEUE,
	COLUMN_STREAM,
	COLUMN_DISPATCH,
	COLUMN_KERNEL,
	COLUMN_LOCAL_BYTES,
	COLUMN_PRIVATE_BYTES,
	COLUMN_VECTOR,
	COLUMN_ACCUMULATION,
	COLUMN_WORKGROUP_X,
	COLUMN_WORKGROUP_Y,
	COLUMN_WORKGROUP_Z,
	COLUMN_GRID_X,
	COLUMN_GRID_Y,
	COLUMN_GRID_Z,
	COLUMN_WORKGROUP,
	COLUMN_GRID,
	COLUMN_COUNTER,
	COLUMN_VALUE,
	COLUMN_DOMAIN,
	COLUMN_FUNCTION,
	COLUMN_DIRECTION,
	COLUMN_SOURCE_AGENT,
	COLUMN_DESTINATION_AGENT,
	COLUMN_OPERATION,
	COLUMN_ALLOCATION_BYTES,
	COLUMN_ADDRESS,
	COLUMN_NODE,
	COLUMN_LOGICAL_NODE,
	COLUMN_AGENT_TYPE,
	COLUMN_PRODUCT,
	COLUMN_NAME,
	COLUMN_VENDOR,
	COLUMN_COMPUTE_UNITS,
	COLUMN_LOCATION,
	COLUMN_LOCATION_DOMAIN,
	COLUMNS_COUNT
};

static const char *const column_names[COLUMNS_COUNT] = {
	[COLUMN_START] = "Start_Timestamp",
	[COLUMN_END] = "End_Timestamp",
	[COLUMN_CORRELATION] = "Correlation_Id",
	[COLUMN_THREAD] = "Thread_Id",
	[COLUMN_PROCESS] = "Process_Id",
	[COLUMN_AGENT] = "Agent_Id",
	[COLUMN_QUEUE] = "Queue_Id",
	[COLUMN_STREAM] = "Stream_Id",
	[COLUMN_DISPATCH] = "Dispatch_Id",
	[COLUMN_KERNEL] = "Kernel_Name",
	[COLUMN_LOCAL_BYTES] = "LDS_Block_Size",
	[COLUMN_PRIVATE_BYTES] = "Scratch_Size",
	[COLUMN_VECTOR] = "VGPR_Count",
	[COLUMN_ACCUMULATION] = "Accum_VGPR_Count",
	[COLUMN_WORKGROUP_X] = "Workgroup_Size_X",
	[COLUMN_WORKGROUP_Y] = "Workgroup_Size_Y",
	[COLUMN_WORKGROUP_Z] = "Workgroup_Size_Z",
	[COLUMN_GRID_X] = "Grid_Size_X",
	[COLUMN_GRID_Y] = "Grid_Size_Y",
	[COLUMN_GRID_Z] = "Grid_Size_Z",
	[COLUMN_WORKGROUP] = "Workgroup_Size",
	[COLUMN_GRID] = "Grid_Size",
	[COLUMN_COUNTER] = "Counter_Name",
	[COLUMN_VALUE] = "Counter_Value",
	[COLUMN_DOMAIN] = "Domain",
	[COLUMN_FUNCTION] = "Function",
	[COLUMN_DIRECTION] = "Direction",
	[COLUMN_SOURCE_AGENT] = "Source_Agent_Id",
	[COLUMN_DESTINATION_AGENT] = "Destination_Agent_Id",
	[COLUMN_OPERATION] = "Operation",
	[COLUMN_ALLOCATION_BYTES] = "Allocation_Size",
	[COLUMN_ADDRESS] = "Address",
	[COLUMN_NODE] = "Node_Id",
	[COLUMN_LOGICAL_NODE] = "Logical_Node_Id",
	[COLUMN_AGENT_TYPE] = "Agent_Type",
	[COLUMN_PRODUCT] = "Product_Name",
	[COLUMN_NAME] = "Name",
	[COLUMN_VENDOR] = "Vendor_Name",
	[COLUMN_COMPUTE_UNITS] = "Cu_Count",
	[COLUMN_LOCATION] = "Location_Id",
	[COLUMN_LOCATION_DOMAIN] = "Domain",
};

struct v3_csv {
	struct import_target *target;
	struct csv_table table;
	struct rocm_join join;
	struct rocm_process process;
	uint32_t first, last; /* processes of the first row, and of the last one that names one */
	uint64_t pid;         /* pid of the process `last` */
	bool has_several;
	uint64_t usable, rows_without; /* rows; without a process */
	struct import_faults faults;
};

/* ---- cells ---- */

/* "Agent 1", or "1" in older versions. */
static int take_agent(const struct v3_csv *csv, enum csv_column column, uint64_t *ret_agent)
{
	const char *text = csv_table_text(&csv->table, column);
	const char *digits = text + strcspn(text, "0123456789");

	if (!*digits || strspn(digits, "0123456789") != strlen(digits))
		return import_source_fail(csv->table.source, "the number of an agent", text);
	*ret_agent = strtoull(digits, NULL, 10);
	return 0;
}

struct wanted_cell {
	enum csv_column column;
	uint64_t *number;
};

static int take_numbers(const struct v3_csv *csv, const struct wanted_cell *cells, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = csv_table_number(&csv->table, cells[i].column, cells[i].number);
	return error;
}

static int make_process(struct v3_csv *csv, uint64_t pid)
{
	char key[32];
	int error;

	snprintf(key, sizeof(key), "%" PRIu64, pid);
	error = import_target_process(csv->target, key, (uint32_t)pid, "[imported]", &csv->last);
	csv->pid = pid;
	csv->first = csv->first ? csv->first : csv->last;
	csv->has_several |= csv->last != csv->first;
	return error;
}

/* A row without a process is one of the first process: the tables of kernels and copies have no
 * column for it, and rocprofv3 writes a set of files for each process. */
static int find_process(struct v3_csv *csv)
{
	uint64_t pid = 0;
	int error = csv_table_number(&csv->table, COLUMN_PROCESS, &pid);

	if (!error && (!csv->first || (pid && pid != csv->pid)))
		error = make_process(csv, pid);
	if (error)
		return error;
	csv->rows_without += !pid;
	csv->process.id = pid ? csv->last : csv->first;
	csv->process.kernels.process = csv->process.id;
	return 0;
}

/* ---- rows ---- */

static int take_times(const struct v3_csv *csv, struct rocm_command *command)
{
	uint64_t thread = 0;
	const struct wanted_cell cells[] = {{COLUMN_START, &command->begin},
					    {COLUMN_END, &command->end},
					    {COLUMN_CORRELATION, &command->link},
					    {COLUMN_THREAD, &thread}};
	int error = take_numbers(csv, cells, ARRAY_COUNT(cells));

	command->tid = (uint32_t)thread;
	if (!error && !command->begin)
		error = import_source_fail(csv->table.source, "a start and an end", NULL);
	return error;
}

/* The table of counters has the product of the sizes only. */
static int take_sizes(const struct v3_csv *csv, struct rocm_command *command)
{
	const struct wanted_cell cells[] = {{COLUMN_WORKGROUP, &command->local[0]},
					    {COLUMN_GRID, &command->global[0]}};
	const struct wanted_cell exact[] = {
		{COLUMN_WORKGROUP_X, &command->local[0]}, {COLUMN_WORKGROUP_Y, &command->local[1]},
		{COLUMN_WORKGROUP_Z, &command->local[2]}, {COLUMN_GRID_X, &command->global[0]},
		{COLUMN_GRID_Y, &command->global[1]},     {COLUMN_GRID_Z, &command->global[2]}};

	return csv_table_has(&csv->table, COLUMN_GRID_X)
		       ? take_numbers(csv, exact, ARRAY_COUNT(exact))
		       : take_numbers(csv, cells, ARRAY_COUNT(cells));
}

static int find_kernel(struct v3_csv *csv, struct rocm_command *command)
{
	struct event_code kernel = {.local_bytes = CODE_UNKNOWN, .private_bytes = CODE_UNKNOWN};
	uint64_t vector = 0, accumulation = 0;
	const struct wanted_cell cells[] = {{COLUMN_LOCAL_BYTES, &kernel.local_bytes},
					    {COLUMN_PRIVATE_BYTES, &kernel.private_bytes},
					    {COLUMN_VECTOR, &vector},
					    {COLUMN_ACCUMULATION, &accumulation}};
	int error = 0;

	for (size_t i = 0; i < ARRAY_COUNT(cells) && !error; i++)
		if (csv_table_has(&csv->table, cells[i].column))
			error = csv_table_number(&csv->table, cells[i].column, cells[i].number);
	if (vector + accumulation <= UINT16_MAX)
		kernel.registers = (uint32_t)(vector + accumulation);
	return error ? error
		     : rocm_kernels_named(&csv->process.kernels,
					  csv_table_text(&csv->table, COLUMN_KERNEL),
					  command->device, &kernel, &command->kernel);
}

static void set_queue(const struct v3_csv *csv, struct rocm_command *command)
{
	const char *queue = csv_table_text(&csv->table, COLUMN_QUEUE);

	command->stream = strtoull(csv_table_text(&csv->table, COLUMN_STREAM), NULL, 0);
	command->hardware_queue = strtoull(queue, NULL, 0);
	command->has_hardware_queue = *queue != '\0';
}

static int make_kernel(struct v3_csv *csv, struct rocm_command *command)
{
	uint64_t agent;
	int error;

	*command = (struct rocm_command){.command = COMMAND_KERNEL};
	error = take_times(csv, command);
	if (!error)
		error = take_agent(csv, COLUMN_AGENT, &agent);
	if (!error)
		error = csv_table_number(&csv->table, COLUMN_DISPATCH, &command->part);
	if (!error)
		error = take_sizes(csv, command);
	if (!error)
		error = rocm_agents_device(&csv->process.agents, agent, &command->device);
	set_queue(csv, command);
	return error ? error : find_kernel(csv, command);
}

static int on_kernel(struct v3_csv *csv)
{
	struct rocm_command command;
	int error = make_kernel(csv, &command);

	return error ? error : rocm_process_add_command(&csv->process, ROCM_COMMAND, &command);
}

static int on_counter(struct v3_csv *csv)
{
	const char *text = csv_table_text(&csv->table, COLUMN_VALUE);
	struct rocm_command command;
	char *end;
	double value = strtod(text, &end);
	int error = make_kernel(csv, &command);

	if (!error && (end == text || *end))
		error = import_source_fail(csv->table.source, "a number as 'Counter_Value'", text);
	if (!error)
		error = rocm_process_add_command(&csv->process, ROCM_REPEATED, &command);
	return error ? error
		     : rocm_process_add_value(&csv->process, &command,
					      csv_table_text(&csv->table, COLUMN_COUNTER), value);
}

static int on_call(struct v3_csv *csv)
{
	const char *function = csv_table_text(&csv->table, COLUMN_FUNCTION);
	const char *domain = csv_table_text(&csv->table, COLUMN_DOMAIN);
	struct rocm_command call = {0};
	int error = take_times(csv, &call);

	if (error)
		return error;
	if (strncmp(domain, "MARKER", 6) == 0 && strncmp(function, "roctx", 5) != 0)
		return rocm_process_write_range(&csv->process, call.tid, "roctx", "", function,
						call.begin, call.end);
	return rocm_process_add_call(&csv->process, call.tid, function, call.link, call.begin,
				     call.end);
}

static int on_copy(struct v3_csv *csv)
{
	const char *direction = csv_table_text(&csv->table, COLUMN_DIRECTION);
	struct rocm_command command = {.command = rocm_names_command(direction)};
	uint64_t source, destination;
	int error = take_times(csv, &command);

	if (!error)
		error = take_agent(csv, COLUMN_SOURCE_AGENT, &source);
	if (!error)
		error = take_agent(csv, COLUMN_DESTINATION_AGENT, &destination);
	/* without the file of agents, all of them seem to be GPUs */
	if (!error && command.command != COMMAND_WRITE)
		error = rocm_agents_device(&csv->process.agents, source, &command.source_device);
	if (!error && command.command != COMMAND_READ)
		error = rocm_agents_device(&csv->process.agents, destination,
					   &command.destination_device);
	command.device =
		command.destination_device ? command.destination_device : command.source_device;
	command.part = command.begin;
	set_queue(csv, &command);
	return error ? error : rocm_process_add_command(&csv->process, ROCM_COMMAND, &command);
}

static int on_allocation(struct v3_csv *csv)
{
	struct rocm_allocation allocation = {
		.address = strtoull(csv_table_text(&csv->table, COLUMN_ADDRESS), NULL, 0)};
	struct rocm_command call = {0};
	uint64_t agent = 0;
	int error = take_times(csv, &call);

	if (!error)
		error = csv_table_number(&csv->table, COLUMN_ALLOCATION_BYTES, &allocation.bytes);
	/* the row of a free has no agent */
	if (!error && allocation.bytes)
		error = take_agent(csv, COLUMN_AGENT, &agent);
	if (!error && allocation.bytes)
		error = rocm_agents_device(&csv->process.agents, agent, &allocation.device);
	return error ? error
		     : rocm_process_add_allocation(&csv->process,
						   csv_table_text(&csv->table, COLUMN_OPERATION),
						   call.end, &allocation);
}

static int on_agent(struct v3_csv *csv)
{
	const char *product = csv_table_text(&csv->table, COLUMN_PRODUCT);
	struct rocm_agent_facts facts = {
		.name = *product ? product : csv_table_text(&csv->table, COLUMN_NAME),
		.vendor = csv_table_text(&csv->table, COLUMN_VENDOR),
		.is_gpu = strcmp(csv_table_text(&csv->table, COLUMN_AGENT_TYPE), "GPU") == 0};
	uint64_t handle = 0;
	const struct wanted_cell cells[] = {{COLUMN_NODE, &facts.index},
					    {COLUMN_COMPUTE_UNITS, &facts.compute_units},
					    {COLUMN_LOCATION, &facts.location},
					    {COLUMN_LOCATION_DOMAIN, &facts.domain},
					    {csv_table_has(&csv->table, COLUMN_LOGICAL_NODE)
						     ? COLUMN_LOGICAL_NODE
						     : COLUMN_NODE,
					     &handle}};
	int error = take_numbers(csv, cells, ARRAY_COUNT(cells));

	return error ? error : rocm_agents_add(&csv->process.agents, handle, &facts);
}

/* ---- files ---- */

/* A kind of file: the end of its name, and the columns that it must have. */
struct csv_kind {
	const char *ending;
	enum csv_column needed[3];
	int (*on_row)(struct v3_csv *csv);
};

/* In the order in which the files of a set are read: first those with names of agents and the
 * process. */
static const struct csv_kind kinds[] = {
	{"agent_info.csv", {COLUMN_NODE, COLUMN_AGENT_TYPE, COLUMN_NAME}, on_agent},
	{"counter_collection.csv", {COLUMN_COUNTER, COLUMN_VALUE, COLUMN_KERNEL}, on_counter},
	{"hip_api_trace.csv", {COLUMN_FUNCTION, COLUMN_START, COLUMN_END}, on_call},
	{"hsa_api_trace.csv", {COLUMN_FUNCTION, COLUMN_START, COLUMN_END}, on_call},
	{"rccl_api_trace.csv", {COLUMN_FUNCTION, COLUMN_START, COLUMN_END}, on_call},
	{"marker_api_trace.csv", {COLUMN_FUNCTION, COLUMN_START, COLUMN_END}, on_call},
	{"kernel_trace.csv", {COLUMN_KERNEL, COLUMN_START, COLUMN_DISPATCH}, on_kernel},
	{"memory_copy_trace.csv",
	 {COLUMN_DIRECTION, COLUMN_SOURCE_AGENT, COLUMN_DESTINATION_AGENT},
	 on_copy},
	{"memory_allocation_trace.csv",
	 {COLUMN_ALLOCATION_BYTES, COLUMN_ADDRESS, COLUMN_OPERATION},
	 on_allocation},
};

static const struct csv_kind *find_kind(const struct csv_table *table)
{
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		const enum csv_column *needed = kinds[i].needed;

		if (csv_table_has(table, needed[0]) && csv_table_has(table, needed[1]) &&
		    csv_table_has(table, needed[2]))
			return &kinds[i];
	}
	return NULL;
}

static int read_rows(struct v3_csv *csv, const struct csv_kind *kind)
{
	int error = 0, status;

	while (!error && (status = csv_table_next(&csv->table)) != 0) {
		if (status < 0) {
			error = import_faults_add_unread(&csv->faults, csv->table.source, status);
			continue;
		}
		error = csv_table_check(&csv->table);
		if (!error && kind->on_row != on_agent)
			error = find_process(csv);
		if (!error)
			error = kind->on_row(csv);
		csv->usable += !error;
		if (error)
			error = import_faults_add(&csv->faults, error);
	}
	return error;
}

static int read_source(struct v3_csv *csv, struct import_source *source)
{
	const struct csv_kind *kind;
	int error = csv_table_open(&csv->table, source, column_names, COLUMNS_COUNT);

	if (error)
		return error;
	kind = find_kind(&csv->table);
	if (!kind)
		return error_set(-EBADMSG,
				 "line 1: expected the columns of a kernel, API, memory, agent or "
				 "counter table of rocprofv3");
	return read_rows(csv, kind);
}

static int read_file(struct v3_csv *csv, const char *path)
{
	struct import_source *source;
	int error = import_source_open(path, &source);

	if (error)
		return error_note(error, "'%s'", path);
	error = read_source(csv, source);
	import_source_close(source);
	return error ? error_note(error, "'%s'", path) : 0;
}

/* Ends of names of compressed files; "": not compressed. */
static const char *const packings[] = {"", ".zst", ".gz"};

/* Returns the packing of a path. */
static const char *find_packing(const char *path)
{
	const size_t length = strlen(path);

	for (size_t i = 1; i < ARRAY_COUNT(packings); i++) {
		const size_t size = strlen(packings[i]);

		if (length > size && strcmp(path + length - size, packings[i]) == 0)
			return packings[i];
	}
	return "";
}

/* Returns the length of the path before the kind of file, 0 if the name is none of a set. */
static size_t set_length(const char *path)
{
	size_t length = strlen(path) - strlen(find_packing(path));

	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		size_t ending = strlen(kinds[i].ending);

		if (length > ending &&
		    memcmp(path + length - ending, kinds[i].ending, ending) == 0 &&
		    strchr("_/", path[length - ending - 1]))
			return length - ending;
	}
	return 0;
}

/* Reads a file of a set if it exists with this packing. Returns 1 if it does, 0 if not, or
 * -errno. */
static int read_packed(struct v3_csv *csv, const char *path, size_t length, const char *ending,
		       const char *packing)
{
	auto_free char *file = NULL;
	int error;

	if (asprintf(&file, "%.*s%s%s", (int)length, path, ending, packing) < 0)
		return -ENOMEM;
	if (access(file, R_OK) != 0)
		return 0;
	error = read_file(csv, file);
	return error ? error : 1;
}

/* If a file exists with several packings, the packing of the named file is preferred. */
static int read_set(struct v3_csv *csv, const char *path, size_t length)
{
	const char *named = find_packing(path);

	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		int status = read_packed(csv, path, length, kinds[i].ending, named);

		for (size_t k = 0; k < ARRAY_COUNT(packings) && !status; k++)
			status = read_packed(csv, path, length, kinds[i].ending, packings[k]);
		if (status < 0)
			return status;
	}
	return 0;
}

static int read_v3_csv(struct import_source *source, struct import_target *target)
{
	struct v3_csv csv = {.target = target,
			     .process = {.target = target,
					 .join = &csv.join,
					 .agents.target = target,
					 .kernels.target = target},
			     .faults = {target, "line", "lines"}};
	const char *path = import_source_path(source);
	size_t length = set_length(path);
	int error;

	if (import_target_has_several(target))
		return error_set(-ENODATA, "its times do not count from a known time. Name one "
					   "file of a run; duet reads the others beside it");
	error = rocm_join_init(&csv.join, target);
	if (!error)
		error = length ? read_set(&csv, path, length) : read_source(&csv, source);
	if (!error)
		error = rocm_join_write(&csv.join);
	if (!error)
		error = import_faults_end(&csv.faults, csv.usable, "line");
	if (!error)
		rocm_process_put_notes(&csv.process);
	if (!error && csv.has_several)
		import_target_note_count(target, csv.rows_without, "row", "rows",
					 "without a process: attributed to the first of several");
	rocm_process_fini(&csv.process);
	rocm_join_fini(&csv.join);
	return error;
}

static bool recognize_v3_csv(const struct import_probe *probe)
{
	static const char *const names[] = {"\"Start_Timestamp\"", "\"Logical_Node_Id\"",
					    ",Start_Timestamp,", ",Logical_Node_Id,"};
	const size_t length = strcspn(probe->text, "\n");

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		const char *at = strstr(probe->text, names[i]);

		if (at && (size_t)(at - probe->text) < length)
			return true;
	}
	return false;
}

const struct importer import_rocprofv3_csv = {
	.name = "rocprofv3-csv",
	.help = "CSV of rocprofv3: a kernel, API, memory or counter table and those beside it",
	.read = read_v3_csv,
	.recognize = recognize_v3_csv,
};
