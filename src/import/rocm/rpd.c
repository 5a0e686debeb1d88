/* SPDX-License-Identifier: MIT
 *
 * import/rocm/rpd.c - import rocmProfileData's SQLite file, also as rocm-trace-lite writes it
 *
 * Runs in:  our own process
 * Gets:     tables rocpd_api, rocpd_op, rocpd_api_ops, rocpd_kernelapi, rocpd_copyapi,
 *           rocpd_monitor, rocpd_string, rocpd_metadata
 * Gives:    calls, launches, executions, ranges, levels
 * Owns:     the open database
 * Fails:    -EBADMSG with the table, the row's id, the expected and the actual value
 * Why each table is read once, in the order of its key: a search for the call of each operation
 *           takes three times as long as the sort of the join
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pair_map.h"
#include "import/common/probe.h"
#include "import/faults.h"
#include "import/formats.h"
#include "import/common/rocm.h"
#include "import/rocm/process.h"
#include "import/rocm/side.h"
#include "import/common/strings.h"
#include "import/source.h"
#include "import/sqlite_file.h"
#include "import/target.h"

enum rpd_table {
	TABLE_OP,
	TABLE_STRING,
	TABLE_API,
	TABLE_LINK,
	TABLE_KERNEL,
	TABLE_COPY,
	TABLE_MONITOR,
	TABLE_METADATA,
	TABLES_COUNT
};

enum { OP_ID, OP_START, OP_END, OP_GPU, OP_QUEUE, OP_DESCRIPTION, OP_TYPE, OP_SIGNAL };
static const char *const op_columns[] = {
	"id", "start", "end", "gpuId", "queueId", "description_id", "opType_id", "completionSignal",
};
enum { API_ID, API_START, API_END, API_PID, API_TID, API_NAME, API_ARGUMENTS };
static const char *const api_columns[] = {"id",  "start",      "end",    "pid",
					  "tid", "apiName_id", "args_id"};
enum { LINK_OP, LINK_API };
static const char *const link_columns[] = {"op_id", "api_id"};
enum { KERNEL_API, KERNEL_GRID, KERNEL_GROUP = 4 };
static const char *const kernel_columns[] = {"api_ptr_id", "gridX",      "gridY",     "gridZ",
					     "workgroupX", "workgroupY", "workgroupZ"};
enum { COPY_API, COPY_SIZE };
static const char *const copy_columns[] = {"api_ptr_id", "size"};
enum {
	MONITOR_ID,
	MONITOR_START,
	MONITOR_END,
	MONITOR_DEVICE_TYPE,
	MONITOR_DEVICE,
	MONITOR_TYPE,
	MONITOR_VALUE
};
static const char *const monitor_columns[] = {"id",       "start",       "end",  "deviceType",
					      "deviceId", "monitorType", "value"};
enum { METADATA_VALUE, METADATA_TAG };
static const char *const metadata_columns[] = {"value", "tag"};
static const char *const string_columns[] = {"string", "id"};

static const struct {
	struct sqlite_query query;
	bool is_needed;
} tables[TABLES_COUNT] = {
	[TABLE_OP] = {{"rocpd_op", SQLITE_COLUMNS(op_columns, 8), NULL, "id"}, true},
	[TABLE_STRING] = {{"rocpd_string", SQLITE_COLUMNS(string_columns, 2), NULL, NULL}, true},
	[TABLE_API] = {{"rocpd_api", SQLITE_COLUMNS(api_columns, 6), NULL, "id"}, false},
	[TABLE_LINK] = {{"rocpd_api_ops", SQLITE_COLUMNS(link_columns, 2), NULL, "op_id"}, false},
	[TABLE_KERNEL] = {{"rocpd_kernelapi", SQLITE_COLUMNS(kernel_columns, 7), NULL,
			   "api_ptr_id"},
			  false},
	[TABLE_COPY] = {{"rocpd_copyapi", SQLITE_COLUMNS(copy_columns, 2), NULL, "api_ptr_id"},
			false},
	[TABLE_MONITOR] = {{"rocpd_monitor", SQLITE_COLUMNS(monitor_columns, 7), NULL, NULL},
			   false},
	[TABLE_METADATA] = {{"rocpd_metadata", SQLITE_COLUMNS(metadata_columns, 2), "tag = 'pid'",
			     NULL},
			    false},
};

struct rpd {
	struct import_target *target;
	struct sqlite_file file;
	bool has[TABLES_COUNT];
	struct import_strings strings;
	struct rocm_join join;
	struct rocm_process process; /* that of the last row; its id changes */
	struct hash_map processes;   /* by pid: id */
	uint32_t alone;              /* process of operations without a call */
	bool has_several;            /* calls are of several processes */
	struct rocm_side links, kernels, copies;
	struct sqlite_cursor owners; /* pid of a call */
	struct pair_map codes;       /* (description, device) -> code */
	uint64_t usable;
	struct import_faults faults;
};

/* ---- processes ---- */

static int find_process(struct rpd *rpd, int64_t pid, uint32_t *ret_process)
{
	uint32_t known = (uint32_t)hash_map_get(&rpd->processes, (uint64_t)pid, 0);
	char key[32];
	int error;

	*ret_process = known;
	if (known)
		return 0;
	snprintf(key, sizeof(key), "%" PRId64, pid);
	error = import_target_process(rpd->target, key, (uint32_t)pid, "[imported]", ret_process);
	rpd->has_several |= rpd->alone && rpd->alone != *ret_process;
	if (!rpd->alone)
		rpd->alone = *ret_process;
	return error ? error : hash_map_put(&rpd->processes, (uint64_t)pid, *ret_process);
}

static int on_metadata(void *context, const struct sqlite_cursor *row)
{
	const char *pid = sqlite_cursor_text(row, METADATA_VALUE);
	struct rpd *rpd = context;
	uint32_t process;

	return find_process(rpd, (int64_t)(uint32_t)strtoul(pid, NULL, 10), &process);
}

/* ---- calls ---- */

/* These two take the number of work items; all others take the number of work-groups. */
static bool takes_items(const char *function)
{
	return strcmp(function, "hipExtModuleLaunchKernel") == 0 ||
	       strcmp(function, "hipHccModuleLaunchKernel") == 0;
}

static uint64_t size_at(const struct sqlite_cursor *row, size_t column)
{
	int64_t number = sqlite_cursor_number(row, column);

	return number > 0 ? (uint64_t)number : 0;
}

static void take_kernel_sizes(const struct sqlite_cursor *row, const char *function,
			      struct rocm_detail *detail)
{
	for (size_t i = 0; i < 3; i++) {
		uint64_t grid = size_at(row, KERNEL_GRID + i);

		detail->local[i] = size_at(row, KERNEL_GROUP + i);
		if (takes_items(function))
			detail->global[i] = grid;
		else if (__builtin_mul_overflow(grid, detail->local[i], &detail->global[i]))
			detail->global[i] = 0;
	}
}

/* Reads the sizes of a call from the tables of kernels and copies. */
static int find_detail(struct rpd *rpd, int64_t id, const char *function,
		       struct rocm_detail *ret_detail)
{
	int is_kernel = rocm_side_move(&rpd->kernels, id);
	int is_copy = rocm_side_move(&rpd->copies, id);

	*ret_detail = (struct rocm_detail){0};
	if (is_kernel < 0 || is_copy < 0)
		return is_kernel < 0 ? is_kernel : is_copy;
	if (is_kernel)
		take_kernel_sizes(&rpd->kernels.cursor, function, ret_detail);
	if (is_copy)
		ret_detail->bytes = size_at(&rpd->copies.cursor, COPY_SIZE);
	return 0;
}

static int write_marker(struct rpd *rpd, const struct sqlite_cursor *api, uint32_t tid,
			const char *function, uint64_t begin, uint64_t end)
{
	const bool is_user = strcmp(function, "UserMarker") == 0;
	const char *text = function;
	int error = is_user ? import_strings_read(&rpd->strings,
						  sqlite_cursor_number(api, API_ARGUMENTS), &text)
			    : 0;

	return error ? error
		     : rocm_process_write_range(&rpd->process, tid, is_user ? "roctx" : "rpd", "",
						text, begin, end);
}

static int on_api(void *context, const struct sqlite_cursor *api)
{
	struct rpd *rpd = context;
	int64_t id = sqlite_cursor_number(api, API_ID), pid, tid;
	const char *function = "";
	struct rocm_detail detail;
	uint64_t begin, end;
	int error = sqlite_cursor_take_times(api, API_START, &begin, &end);

	if (!error)
		error = sqlite_cursor_take_number(api, API_PID, "a process", 0, UINT32_MAX, &pid);
	if (!error)
		error = sqlite_cursor_take_number(api, API_TID, "a thread", 0, UINT32_MAX, &tid);
	if (!error)
		error = find_process(rpd, pid, &rpd->process.id);
	if (!error)
		error = import_strings_find(&rpd->strings, sqlite_cursor_number(api, API_NAME),
					    &function);
	if (error)
		return error;
	rpd->usable++;
	if (!rocm_names_is_call(function))
		return write_marker(rpd, api, (uint32_t)tid, function, begin, end);
	error = find_detail(rpd, id, function, &detail);
	return error ? error
		     : rocm_process_add_detailed_call(&rpd->process, (uint32_t)tid, function,
						      (uint64_t)id + 1, begin, end, &detail);
}

/* ---- operations ---- */

/* Parses the sizes in the column for the completion signal: "hwq=0x7f… wg=64,1,1 grid=4096,1,1". */
static void take_sizes(const char *text, const char *key, uint64_t sizes[3])
{
	const char *at = strstr(text, key);

	at = at ? at + strlen(key) : "";
	for (uint32_t i = 0; i < 3 && isdigit((unsigned char)*at); i++) {
		char *end;

		sizes[i] = strtoull(at, &end, 10);
		at = *end == ',' ? end + 1 : "";
	}
}

static int find_device(struct rpd *rpd, int64_t gpu, uint32_t *ret_device)
{
	return rocm_agents_device(&rpd->process.agents, (uint64_t)gpu, ret_device);
}

static int find_kernel(struct rpd *rpd, int64_t description, struct rocm_command *command)
{
	const struct event_code unknown = {.local_bytes = CODE_UNKNOWN,
					   .private_bytes = CODE_UNKNOWN};
	uint64_t place = (uint64_t)rpd->process.id << 32 | command->device;
	const char *name = "";
	int error;

	command->kernel = pair_map_find(&rpd->codes, (uint64_t)description, place);
	if (command->kernel != PAIR_MAP_NONE)
		return 0;
	error = import_strings_find(&rpd->strings, description, &name);
	rpd->process.kernels.process = rpd->process.id;
	if (!error)
		error = rocm_kernels_named(&rpd->process.kernels, name, command->device, &unknown,
					   &command->kernel);
	return error ? error
		     : pair_map_put(&rpd->codes, (uint64_t)description, place, command->kernel);
}

/* The process of a call, for files with several. */
static int find_owner(struct rpd *rpd, int64_t api)
{
	static const char *const columns[] = {"pid", "id"};
	static const struct sqlite_query query = {
		.table = "rocpd_api", .columns = SQLITE_COLUMNS(columns, 2), .where = "id = ?1"};
	struct sqlite_cursor *cursor = &rpd->owners;
	int status = cursor->file ? 0 : sqlite_cursor_open(cursor, &rpd->file, &query);

	if (!status)
		status = sqlite_cursor_restart(cursor, api, 0);
	if (!status)
		status = sqlite_cursor_next(cursor);
	return status <= 0 ? status
			   : find_process(rpd, sqlite_cursor_number(cursor, 0), &rpd->process.id);
}

/* Sets the link and the process of an operation. */
static int find_link(struct rpd *rpd, int64_t op, struct rocm_command *command)
{
	int status = rocm_side_move(&rpd->links, op);
	int64_t api = status > 0 ? sqlite_cursor_number(&rpd->links.cursor, LINK_API) : 0;

	rpd->process.id = rpd->alone;
	if (status <= 0)
		return status;
	command->link = (uint64_t)api + 1;
	return rpd->has_several ? find_owner(rpd, api) : 0;
}

static int add_op(struct rpd *rpd, const struct sqlite_cursor *op, int64_t gpu,
		  struct rocm_command *command)
{
	const char *type = "", *signal = sqlite_cursor_text(op, OP_SIGNAL);
	int error = find_link(rpd, sqlite_cursor_number(op, OP_ID), command);

	if (!error)
		error = import_strings_find(&rpd->strings, sqlite_cursor_number(op, OP_TYPE),
					    &type);
	if (!error)
		error = find_device(rpd, gpu, &command->device);
	command->command = rocm_names_command(type);
	if (!error && command->command == COMMAND_KERNEL)
		error = find_kernel(rpd, sqlite_cursor_number(op, OP_DESCRIPTION), command);
	if (error)
		return error;
	command->hardware_queue = (uint64_t)sqlite_cursor_number(op, OP_QUEUE);
	command->has_hardware_queue = true;
	command->part = command->begin;
	take_sizes(signal, "grid=", command->global);
	take_sizes(signal, "wg=", command->local);
	rpd->usable++;
	return rocm_process_add_command(&rpd->process, ROCM_COMMAND, command);
}

/* rocm-trace-lite writes a marker of roctx as an operation of GPU -1. */
static int write_op_marker(struct rpd *rpd, const struct sqlite_cursor *op,
			   const struct rocm_command *command)
{
	const char *text = "";
	int error =
		import_strings_read(&rpd->strings, sqlite_cursor_number(op, OP_DESCRIPTION), &text);

	rpd->process.id = rpd->alone;
	rpd->usable += !error;
	/* its thread is not known, so the ranges of several may overlap */
	return error ? error
		     : rocm_process_write_range(&rpd->process, 0, "roctx", "roctxRangeStart", text,
						command->begin, command->end);
}

static int on_op(void *context, const struct sqlite_cursor *op)
{
	struct rpd *rpd = context;
	struct rocm_command command = {0};
	int64_t gpu;
	int error = sqlite_cursor_take_number(op, OP_GPU, "a GPU", INT64_MIN, INT64_MAX, &gpu);

	if (!error)
		error = sqlite_cursor_take_times(op, OP_START, &command.begin, &command.end);
	if (error)
		return error;
	return gpu < 0 ? write_op_marker(rpd, op, &command) : add_op(rpd, op, gpu, &command);
}

/* ---- levels ---- */

/* A kind of level; others have their own name and no unit. */
static const struct monitor_type {
	const char *name, *metric, *unit;
	double factor;
} monitor_types[] = {
	{"sclk", "gpu.clock", "Hz", 1e6},
	{"mclk", "gpu.clock.memory", "Hz", 1e6},
	{"temp", "gpu.temperature", "mC", 1e3},
	{"power", "gpu.power", "mW", 1e3},
};

static int find_series(struct rpd *rpd, const char *name, uint32_t device, double *ret_factor,
		       uint32_t *ret_series)
{
	char metric[96];

	for (size_t i = 0; i < ARRAY_COUNT(monitor_types); i++)
		if (strcmp(monitor_types[i].name, name) == 0) {
			*ret_factor = monitor_types[i].factor;
			return import_target_series(rpd->target, monitor_types[i].metric,
						    monitor_types[i].unit, SERIES_LEVEL, device,
						    ret_series);
		}
	*ret_factor = 1;
	snprintf(metric, sizeof(metric), "gpu.%.80s", name);
	return import_target_series(rpd->target, metric, "events", SERIES_LEVEL, device,
				    ret_series);
}

/* A level holds from the start to the end of its row. */
static int on_monitor(void *context, const struct sqlite_cursor *row)
{
	const char *value = sqlite_cursor_text(row, MONITOR_VALUE);
	struct rpd *rpd = context;
	struct event_counter counter = {0};
	double factor, number;
	uint32_t device;
	int64_t gpu;
	char *end;
	int error = sqlite_cursor_take_times(row, MONITOR_START, &counter.begin, &counter.end);

	if (!error)
		error = sqlite_cursor_take_number(row, MONITOR_DEVICE, "a GPU", 0, INT64_MAX, &gpu);
	number = strtod(value, &end);
	if (!error && (end == value || !(fabs(number) < 0x1p32)))
		error = error_set(-EBADMSG,
				  "table rocpd_monitor, row %" PRId64
				  ": expected a number as the value, found '%.40s'",
				  sqlite_cursor_number(row, MONITOR_ID), value);
	if (!error)
		error = find_device(rpd, gpu, &device);
	if (!error)
		error = find_series(rpd, sqlite_cursor_text(row, MONITOR_TYPE), device, &factor,
				    &counter.series);
	if (error)
		return error;
	counter.value = llround(number * factor);
	return import_target_counter(rpd->target, &counter);
}

/* ---- the file ---- */

static int find_tables(struct rpd *rpd)
{
	for (size_t i = 0; i < TABLES_COUNT; i++) {
		enum sqlite_table found;
		int error = sqlite_file_find_table(&rpd->file, tables[i].query.table, &found);

		if (error)
			return error;
		if (found == SQLITE_TABLE_COMPUTED)
			return error_set(
				-EBADMSG,
				"expected a plain table '%s', found a view, a virtual table or "
				"generated columns; duet does not execute them. If duet exported "
				"this database, use the trace itself; if rocprofv3 wrote it, use "
				"--format rocpd",
				tables[i].query.table);
		if (found == SQLITE_TABLE_ABSENT && tables[i].is_needed)
			return error_set(-EBADMSG,
					 "expected the tables rocpd_op and rocpd_string: no such "
					 "table: %s",
					 tables[i].query.table);
		rpd->has[i] = found == SQLITE_TABLE_PLAIN;
	}
	return 0;
}

static int read_table(struct rpd *rpd, enum rpd_table table,
		      int (*on_row)(void *context, const struct sqlite_cursor *row))
{
	return rpd->has[table] ? sqlite_file_each_row(&rpd->file, &tables[table].query,
						      &rpd->faults, on_row, rpd)
			       : 0;
}

static int open_side(struct rpd *rpd, enum rpd_table table, struct rocm_side *side)
{
	return rpd->has[table] ? rocm_side_open(side, &rpd->file, &tables[table].query) : 0;
}

static int read_tables(struct rpd *rpd)
{
	int error = find_tables(rpd);

	if (!error)
		error = import_strings_open(&rpd->strings, &rpd->file, "rocpd_string", "id",
					    "string");
	if (!error)
		error = open_side(rpd, TABLE_KERNEL, &rpd->kernels);
	if (!error)
		error = open_side(rpd, TABLE_COPY, &rpd->copies);
	if (!error)
		error = open_side(rpd, TABLE_LINK, &rpd->links);
	if (!error)
		error = read_table(rpd, TABLE_METADATA, on_metadata);
	if (!error)
		error = read_table(rpd, TABLE_API, on_api);
	if (!error && !rpd->alone)
		error = import_target_process(rpd->target, "", 0, "[imported]", &rpd->alone);
	if (!error)
		error = read_table(rpd, TABLE_OP, on_op);
	if (!error)
		error = read_table(rpd, TABLE_MONITOR, on_monitor);
	return error;
}

static void rpd_fini(struct rpd *rpd)
{
	rocm_side_close(&rpd->links);
	rocm_side_close(&rpd->kernels);
	rocm_side_close(&rpd->copies);
	sqlite_cursor_close(&rpd->owners);
	import_strings_close(&rpd->strings);
	sqlite_file_close(&rpd->file);
	pair_map_fini(&rpd->codes);
	hash_map_fini(&rpd->processes);
	rocm_process_fini(&rpd->process);
	rocm_join_fini(&rpd->join);
}

static int read_rpd(struct import_source *source, struct import_target *target)
{
	struct rpd rpd = {.target = target,
			  .process = {.target = target,
				      .join = &rpd.join,
				      .agents.target = target,
				      .kernels.target = target},
			  .faults = {target, "row", "rows"}};
	int error = sqlite_file_open(&rpd.file, import_source_path(source));

	if (!error)
		error = rocm_join_init(&rpd.join, target);
	if (!error)
		error = read_tables(&rpd);
	if (!error)
		error = rocm_join_write(&rpd.join);
	if (!error)
		error = import_faults_end(&rpd.faults, rpd.usable, "row");
	rpd_fini(&rpd);
	return error;
}

static bool recognize_rocm_trace_lite(const struct import_probe *probe)
{
	return import_probe_has_table(probe, "rocpd_op") &&
	       import_probe_has_table(probe, "rocpd_string");
}

static bool recognize_rpd(const struct import_probe *probe)
{
	return recognize_rocm_trace_lite(probe) && import_probe_has_table(probe, "rocpd_api_ops");
}

const struct importer import_rpd = {
	.name = "rpd",
	.help = "SQLite files of rocmProfileData: kernels, copies, HIP calls, ranges, clocks",
	.read = read_rpd,
	.recognize = recognize_rpd,
};

const struct importer import_rocm_trace_lite = {
	.name = "rocm-trace-lite",
	.help = "SQLite files of rocm-trace-lite, which have fewer tables than those of rpd",
	.read = read_rpd,
	.recognize = recognize_rocm_trace_lite,
};
