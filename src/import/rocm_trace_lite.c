/* SPDX-License-Identifier: MIT
 *
 * import/rocm_trace_lite.c - import the SQLite file of rocm-trace-lite: kernels of AMD GPUs, and
 * HIP calls if they were recorded
 *
 * Runs in:  our own process
 * Gets:     tables rocpd_string, rocpd_op, rocpd_api, rocpd_metadata
 * Gives:    executions with a launch each, calls
 * Owns:     the open database
 * Fails:    -EBADMSG with the table, the row's id, the expected and the actual value
 * Why all launches are synthetic: the file links no kernel to the call or thread that launched it.
 *           So a launch of no duration at the kernel's start carries the kernel's name; it implies
 *           nothing about the host.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "import/faults.h"
#include "import/formats.h"
#include "import/source.h"
#include "import/sqlite_file.h"
#include "import/target.h"

struct rocm {
	struct sqlite_file file;
	struct sqlite_cursor strings; /* rocpd_string by id */
	struct import_target *target;
	uint32_t process, absent; /* id; string */
	uint64_t launches, markers, usable;
	struct import_faults faults;
};

enum { TABLE_OP, TABLE_STRING, TABLE_API, TABLE_METADATA, TABLES_COUNT };

enum { OP_ID, OP_START, OP_END, OP_GPU, OP_QUEUE, OP_DESCRIPTION, OP_TYPE, OP_SIGNAL };
static const char *const op_columns[] = {
	"id", "start", "end", "gpuId", "queueId", "description_id", "opType_id", "completionSignal",
};
enum { API_ID, API_START, API_END, API_PID, API_TID, API_NAME };
static const char *const api_columns[] = {"id", "start", "end", "pid", "tid", "apiName_id"};
enum { METADATA_VALUE, METADATA_TAG };
static const char *const metadata_columns[] = {"value", "tag"};
static const char *const string_columns[] = {"string", "id"};

static const struct {
	struct sqlite_query query;
	bool is_needed;
} tables[TABLES_COUNT] = {
	[TABLE_OP] = {{"rocpd_op", SQLITE_COLUMNS(op_columns, 8), NULL, "start"}, true},
	[TABLE_STRING] = {{"rocpd_string", SQLITE_COLUMNS(string_columns, 2), "id = ?1", NULL},
			  true},
	[TABLE_API] = {{"rocpd_api", SQLITE_COLUMNS(api_columns, 6), NULL, "start"}, false},
	[TABLE_METADATA] = {{"rocpd_metadata", SQLITE_COLUMNS(metadata_columns, 2), "tag = 'pid'",
			     NULL},
			    false},
};

/* Returns the text of rocpd_string whose id is in that column, "" for none; valid until the next
 * call. */
static int string_at(struct rocm *rocm, const struct sqlite_cursor *row, size_t column,
		     const char **ret_text)
{
	int status = sqlite_cursor_restart(&rocm->strings, sqlite_cursor_number(row, column), 0);

	if (!status)
		status = sqlite_cursor_next(&rocm->strings);
	if (status < 0)
		return status;
	*ret_text = status ? sqlite_cursor_text(&rocm->strings, 0) : "";
	return 0;
}

/* ---- kernels ---- */

/* Parses the sizes in the column for the completion signal: "hwq=0x7f… wg=64,1,1 grid=4096,1,1". */
static uint32_t take_sizes(const char *text, const char *key, uint64_t sizes[3])
{
	const char *at = strstr(text, key);
	uint32_t count = 0;

	for (at = at ? at + strlen(key) : ""; count < 3 && isdigit((unsigned char)*at); count++) {
		char *end;

		sizes[count] = strtoull(at, &end, 10);
		at = *end == ',' ? end + 1 : "";
	}
	return count;
}

static uint32_t command_of(const char *type)
{
	if (strstr(type, "Kernel"))
		return COMMAND_KERNEL;
	if (strstr(type, "Fill") || strstr(type, "Memset"))
		return COMMAND_FILL;
	return strstr(type, "Copy") || strstr(type, "Memcpy") ? COMMAND_COPY : COMMAND_OTHER;
}

static int find_queue(struct rocm *rocm, int64_t gpu, const char *queue, uint32_t *ret_queue)
{
	char key[32], name[32];
	uint32_t device;
	int error;

	snprintf(key, sizeof(key), "%" PRId64, gpu);
	snprintf(name, sizeof(name), "GPU %" PRId64, gpu);
	error = import_target_device(rocm->target, key, name, DEVICE_GPU, &device);
	return error ? error
		     : import_target_queue(rocm->target, rocm->process, device, queue, ret_queue);
}

static int write_kernel(struct rocm *rocm, const struct sqlite_cursor *op, int64_t gpu,
			uint64_t begin, uint64_t end)
{
	struct event_execution row = {.started = begin,
				      .ended = end,
				      .seen = end,
				      .process = rocm->process,
				      .valid = EXECUTION_STARTED | EXECUTION_ENDED};
	struct event_launch launch = {
		.enter = begin, .exit = begin, .function_string = rocm->absent};
	const char *sizes = sqlite_cursor_text(op, OP_SIGNAL), *text = "";
	int error = find_queue(rocm, gpu, sqlite_cursor_text(op, OP_QUEUE), &row.queue);

	launch.queue = row.queue;
	launch.correlation = row.correlation = import_target_correlation(rocm->target);
	if (!error)
		error = string_at(rocm, op, OP_TYPE, &text);
	launch.command = command_of(text);
	launch.dimensions = take_sizes(sizes, "grid=", launch.global_size);
	take_sizes(sizes, "wg=", launch.local_size);
	if (!error)
		error = import_target_thread(rocm->target, rocm->process, 0, "[unknown thread]",
					     &launch.thread);
	if (!error && launch.command == COMMAND_KERNEL)
		error = string_at(rocm, op, OP_DESCRIPTION, &text);
	if (!error && launch.command == COMMAND_KERNEL)
		error = import_target_kernel(rocm->target, rocm->process, "", text, &launch.kernel);
	if (!error)
		error = import_target_launch(rocm->target, &launch);
	if (!error)
		error = import_target_execution(rocm->target, &row);
	rocm->launches += !error;
	rocm->usable += !error;
	return error;
}

/* A row of rocpd_op: a kernel, or a marker of roctx if its GPU is -1. */
static int on_op(void *context, const struct sqlite_cursor *row)
{
	struct rocm *rocm = context;
	uint64_t begin, end;
	int64_t gpu;
	int error = sqlite_cursor_take_number(row, OP_GPU, "a GPU", INT64_MIN, INT64_MAX, &gpu);

	if (!error && gpu < 0) {
		rocm->markers++;
		return 0;
	}
	if (!error)
		error = sqlite_cursor_take_times(row, OP_START, &begin, &end);
	return error ? error : write_kernel(rocm, row, gpu, begin, end);
}

/* ---- calls ---- */

static int on_api(void *context, const struct sqlite_cursor *api)
{
	struct rocm *rocm = context;
	struct event_api row = {0};
	const char *name = "";
	int64_t pid, tid;
	uint32_t process;
	int error = sqlite_cursor_take_times(api, API_START, &row.begin, &row.end);

	if (!error)
		error = sqlite_cursor_take_number(api, API_PID, "a process", 0, UINT32_MAX, &pid);
	if (!error)
		error = sqlite_cursor_take_number(api, API_TID, "a thread", 0, UINT32_MAX, &tid);
	if (!error)
		error = import_target_process(rocm->target, sqlite_cursor_text(api, API_PID),
					      (uint32_t)pid, "[imported]", &process);
	if (!error)
		error = import_target_thread(rocm->target, process, (uint32_t)tid, "", &row.thread);
	if (!error)
		error = string_at(rocm, api, API_NAME, &name);
	if (!error)
		error = import_target_text(rocm->target, name, &row.function_string);
	row.type = strstr(name, "Synchronize") ? API_TYPE_WAIT : API_TYPE_CALL;
	if (!error)
		error = import_target_call(rocm->target, &row);
	rocm->usable += !error;
	return error;
}

/* ---- the file ---- */

static int on_metadata(void *context, const struct sqlite_cursor *row)
{
	struct rocm *rocm = context;
	const char *pid = sqlite_cursor_text(row, METADATA_VALUE);

	if (rocm->process)
		return 0;
	return import_target_process(rocm->target, pid, (uint32_t)strtoul(pid, NULL, 10),
				     "[imported]", &rocm->process);
}

static int find_tables(struct rocm *rocm, bool has[TABLES_COUNT])
{
	for (size_t i = 0; i < TABLES_COUNT; i++) {
		enum sqlite_table found;
		int error = sqlite_file_find_table(&rocm->file, tables[i].query.table, &found);

		if (error)
			return error;
		if (found == SQLITE_TABLE_COMPUTED)
			return error_set(
				-EBADMSG,
				"expected a plain table '%s', found a view, a virtual table or "
				"generated columns; duet does not execute them. If duet exported "
				"this database, use the trace itself",
				tables[i].query.table);
		if (found == SQLITE_TABLE_ABSENT && tables[i].is_needed)
			return error_set(-EBADMSG,
					 "expected the tables rocpd_op and rocpd_string: no such "
					 "table: %s",
					 tables[i].query.table);
		has[i] = found == SQLITE_TABLE_PLAIN;
	}
	return 0;
}

static int read_table(struct rocm *rocm, size_t table,
		      int (*on_row)(void *context, const struct sqlite_cursor *row))
{
	return sqlite_file_each_row(&rocm->file, &tables[table].query, &rocm->faults, on_row, rocm);
}

static int read_tables(struct rocm *rocm)
{
	bool has[TABLES_COUNT];
	int error = find_tables(rocm, has);

	if (!error)
		error = sqlite_cursor_open(&rocm->strings, &rocm->file,
					   &tables[TABLE_STRING].query);
	if (!error && has[TABLE_METADATA])
		error = read_table(rocm, TABLE_METADATA, on_metadata);
	if (!error && !rocm->process)
		error = import_target_process(rocm->target, "", 0, "[imported]", &rocm->process);
	if (!error)
		error = read_table(rocm, TABLE_OP, on_op);
	if (!error && has[TABLE_API])
		error = read_table(rocm, TABLE_API, on_api);
	return error;
}

static void put_notes(const struct rocm *rocm)
{
	import_target_note(rocm->target,
			   "no copies, no stacks, no link from a kernel to the call or thread that "
			   "launched it: duet adds a launch of no duration to each of %" PRIu64
			   " %s",
			   rocm->launches, format_noun(rocm->launches, "command", "commands"));
	import_target_note_count(rocm->target, rocm->markers, "marker of roctx", "markers of roctx",
				 "left out");
}

static int read_rocm(struct import_source *source, struct import_target *target)
{
	struct rocm rocm = {.target = target, .faults = {target, "row", "rows"}};
	int error = sqlite_file_open(&rocm.file, import_source_path(source));

	if (!error)
		error = import_target_text(target, "(not in the file)", &rocm.absent);
	if (!error)
		error = read_tables(&rocm);
	if (!error)
		error = import_faults_end(&rocm.faults, rocm.usable, "row");
	if (!error)
		put_notes(&rocm);
	sqlite_cursor_close(&rocm.strings);
	sqlite_file_close(&rocm.file);
	return error;
}

const struct importer import_rocm_trace_lite = {
	.name = "rocm-trace-lite",
	.help = "SQLite files of rocm-trace-lite: kernels of AMD GPUs and HIP calls",
	.read = read_rocm,
};
