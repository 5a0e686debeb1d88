/* SPDX-License-Identifier: MIT
 *
 * import/rocm_trace_lite.c - the SQLite file of rocm-trace-lite: kernels of AMD GPUs, and HIP calls where it was asked for them
 *
 * Runs in:  our own process
 * Gets:     tables rocpd_string, rocpd_op, rocpd_api, rocpd_metadata   Gives: executions with a launch each, calls
 * Owns:     the loaded SQLite, the open database
 * Fails:    -EBADMSG with the table, the row's id, what was expected and what was found
 * Why every launch is made up: nothing in the file links a kernel to the call that launched it, nor says which thread did;
 *           a launch of no duration at its start gives it its name, and claims nothing of the host.
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
#include "base/sqlite_library.h"
#include "base/string.h"
#include "import/formats.h"
#include "import/source.h"
#include "import/target.h"

struct rocm {
	struct sqlite_library sqlite;
	sqlite3 *database;
	struct import_target *target;
	uint32_t process, absent; /* id; string */
	uint64_t launches, markers;
};

/* ---- SQLite ---- */

static int fail(const struct rocm *rocm, const char *what)
{
	return error_set(-EBADMSG, "%s: %s", what, rocm->sqlite.errmsg(rocm->database));
}

static int open_database(struct rocm *rocm, const char *path)
{
	int error = sqlite_library_open(&rocm->sqlite);

	if (error)
		return error;
	if (rocm->sqlite.open_v2(path, &rocm->database, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		return fail(rocm, "open the database");
	/* Whoever made the file may have put functions into its schema. */
	if (rocm->sqlite.exec(rocm->database, "PRAGMA trusted_schema = OFF", NULL, NULL, NULL) !=
	    SQLITE_OK)
		return fail(rocm, "expected a SQLite database");
	return 0;
}

static const char *text_at(const struct rocm *rocm, sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)rocm->sqlite.column_text(statement, column);

	return text ? text : "";
}

static int64_t number_at(const struct rocm *rocm, sqlite3_stmt *statement, int column)
{
	return rocm->sqlite.column_int64(statement, column);
}

/* Calls on_row for each row that the query gives. */
static int each(struct rocm *rocm, const char *query, const char *what,
		int (*on_row)(struct rocm *rocm, sqlite3_stmt *statement))
{
	sqlite3_stmt *statement = NULL;
	int error = 0, status;

	if (rocm->sqlite.prepare_v3(rocm->database, query, -1, 0, &statement, NULL) != SQLITE_OK)
		return fail(rocm, what);
	while (!error && (status = rocm->sqlite.step(statement)) != SQLITE_DONE)
		error = status == SQLITE_ROW ? on_row(rocm, statement) : fail(rocm, what);
	rocm->sqlite.finalize(statement);
	return error;
}

/* Columns `first` and the one behind it: begin and end. */
static int take_times(const struct rocm *rocm, sqlite3_stmt *statement, int first,
		      const char *table, uint64_t *ret_begin, uint64_t *ret_end)
{
	int64_t begin = number_at(rocm, statement, first);
	int64_t end = number_at(rocm, statement, first + 1);

	if (rocm->sqlite.column_type(statement, first) != SQLITE_INTEGER ||
	    rocm->sqlite.column_type(statement, first + 1) != SQLITE_INTEGER || begin < 0 ||
	    end < begin)
		return error_set(
			-EBADMSG,
			"table %s, row %" PRId64 ": expected a start and an end that is not "
			"before it, found '%s' and '%s'",
			table, number_at(rocm, statement, 0), text_at(rocm, statement, first),
			text_at(rocm, statement, first + 1));
	*ret_begin = (uint64_t)begin;
	*ret_end = (uint64_t)end;
	return 0;
}

/* A whole number from `least` to `most`; what: "a GPU". */
static int take_number(const struct rocm *rocm, sqlite3_stmt *statement, int column,
		       const char *table, const char *what, int64_t least, int64_t most,
		       int64_t *ret_number)
{
	int64_t number = number_at(rocm, statement, column);

	if (rocm->sqlite.column_type(statement, column) != SQLITE_INTEGER || number < least ||
	    number > most)
		return error_set(-EBADMSG,
				 "table %s, row %" PRId64 ": expected the number of %s, found '%s'",
				 table, number_at(rocm, statement, 0), what,
				 text_at(rocm, statement, column));
	*ret_number = number;
	return 0;
}

/* ---- kernels ---- */

/* "hwq=0x7f… wg=64,1,1 grid=4096,1,1", in the column for the completion signal. */
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

static int write_kernel(struct rocm *rocm, sqlite3_stmt *statement, int64_t gpu, uint64_t begin,
			uint64_t end)
{
	struct event_execution row = {.started = begin,
				      .ended = end,
				      .seen = end,
				      .process = rocm->process,
				      .valid = EXECUTION_STARTED | EXECUTION_ENDED};
	struct event_launch launch = {
		.enter = begin, .exit = begin, .function_string = rocm->absent};
	const char *sizes = text_at(rocm, statement, 7);
	int error = find_queue(rocm, gpu, text_at(rocm, statement, 4), &row.queue);

	launch.queue = row.queue;
	launch.correlation = row.correlation = import_target_correlation(rocm->target);
	launch.command = command_of(text_at(rocm, statement, 6));
	launch.dimensions = take_sizes(sizes, "grid=", launch.global_size);
	take_sizes(sizes, "wg=", launch.local_size);
	if (!error)
		error = import_target_thread(rocm->target, rocm->process, 0, "[unknown thread]",
					     &launch.thread);
	if (!error && launch.command == COMMAND_KERNEL)
		error = import_target_kernel(rocm->target, rocm->process,
					     text_at(rocm, statement, 5), &launch.kernel);
	if (!error)
		error = import_target_launch(rocm->target, &launch);
	rocm->launches++;
	return error ? error : import_target_execution(rocm->target, &row);
}

/* Markers of roctx stand among the kernels, of a GPU -1. */
static int on_op(struct rocm *rocm, sqlite3_stmt *statement)
{
	uint64_t begin, end;
	int64_t gpu;
	int error =
		take_number(rocm, statement, 3, "rocpd_op", "a GPU", INT64_MIN, INT64_MAX, &gpu);

	if (!error && gpu < 0) {
		rocm->markers++;
		return 0;
	}
	if (!error)
		error = take_times(rocm, statement, 1, "rocpd_op", &begin, &end);
	return error ? error : write_kernel(rocm, statement, gpu, begin, end);
}

/* ---- calls ---- */

static int on_api(struct rocm *rocm, sqlite3_stmt *statement)
{
	struct event_api row = {0};
	const char *name = text_at(rocm, statement, 5);
	int64_t pid, tid;
	uint32_t process;
	int error = take_times(rocm, statement, 1, "rocpd_api", &row.begin, &row.end);

	if (!error)
		error = take_number(rocm, statement, 3, "rocpd_api", "a process", 0, UINT32_MAX,
				    &pid);
	if (!error)
		error = take_number(rocm, statement, 4, "rocpd_api", "a thread", 0, UINT32_MAX,
				    &tid);
	if (!error)
		error = import_target_process(rocm->target, text_at(rocm, statement, 3),
					      (uint32_t)pid, "[imported]", &process);
	if (!error)
		error = import_target_thread(rocm->target, process, (uint32_t)tid, "", &row.thread);
	if (!error)
		error = import_target_text(rocm->target, name, &row.function_string);
	row.type = strstr(name, "Synchronize") ? API_TYPE_WAIT : API_TYPE_CALL;
	return error ? error : import_target_call(rocm->target, &row);
}

/* ---- the whole ---- */

static int on_pid(struct rocm *rocm, sqlite3_stmt *statement)
{
	const char *pid = text_at(rocm, statement, 0);

	return import_target_process(rocm->target, pid, (uint32_t)strtoul(pid, NULL, 10),
				     "[imported]", &rocm->process);
}

/* 0: there is no such table. */
static int has_table(struct rocm *rocm, const char *name)
{
	char query[128];

	snprintf(query, sizeof(query), "SELECT 1 FROM %s LIMIT 0", name);
	return rocm->sqlite.exec(rocm->database, query, NULL, NULL, NULL) == SQLITE_OK;
}

static int read_tables(struct rocm *rocm)
{
	int error = 0;

	if (!has_table(rocm, "rocpd_op") || !has_table(rocm, "rocpd_string"))
		return fail(rocm, "expected the tables rocpd_op and rocpd_string");
	if (has_table(rocm, "rocpd_metadata"))
		error = each(rocm, "SELECT value FROM rocpd_metadata WHERE tag = 'pid' LIMIT 1",
			     "table rocpd_metadata", on_pid);
	if (!error && !rocm->process)
		error = import_target_process(rocm->target, "", 0, "[imported]", &rocm->process);
	if (!error)
		error = each(rocm,
			     "SELECT o.id, o.start, o.end, o.gpuId, o.queueId, n.string, t.string, "
			     "o.completionSignal FROM rocpd_op o "
			     "LEFT JOIN rocpd_string n ON n.id = o.description_id "
			     "LEFT JOIN rocpd_string t ON t.id = o.opType_id ORDER BY o.start",
			     "table rocpd_op", on_op);
	if (!error && has_table(rocm, "rocpd_api"))
		error = each(rocm,
			     "SELECT a.id, a.start, a.end, a.pid, a.tid, n.string FROM rocpd_api a "
			     "LEFT JOIN rocpd_string n ON n.id = a.apiName_id ORDER BY a.start",
			     "table rocpd_api", on_api);
	return error;
}

static void put_notes(const struct rocm *rocm)
{
	import_target_note(rocm->target,
			   "no copies, no stacks, no link from a kernel to the call or thread that "
			   "launched it: a launch of no duration stands for each of %" PRIu64 " %s",
			   rocm->launches, format_noun(rocm->launches, "command", "commands"));
	if (rocm->markers)
		import_target_note(rocm->target, "%" PRIu64 " %s of roctx left out", rocm->markers,
				   format_noun(rocm->markers, "marker", "markers"));
}

static int read_rocm(struct import_source *source, struct import_target *target)
{
	struct rocm rocm = {.target = target};
	int error = open_database(&rocm, import_source_path(source));

	if (!error)
		error = import_target_text(target, "(not in the file)", &rocm.absent);
	if (!error)
		error = read_tables(&rocm);
	if (!error)
		put_notes(&rocm);
	if (rocm.database)
		rocm.sqlite.close(rocm.database);
	sqlite_library_close(&rocm.sqlite);
	return error;
}

const struct importer import_rocm_trace_lite = {
	.name = "rocm-trace-lite",
	.help = "the SQLite file of rocm-trace-lite: kernels of AMD GPUs, HIP calls",
	.read = read_rocm,
};
