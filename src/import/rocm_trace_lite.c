/* SPDX-License-Identifier: MIT
 *
 * import/rocm_trace_lite.c - import the SQLite file of rocm-trace-lite: kernels of AMD GPUs, and
 * HIP calls if they were recorded
 *
 * Runs in:  our own process
 * Gets:     tables rocpd_string, rocpd_op, rocpd_api, rocpd_metadata
 * Gives:    executions with a launch each, calls
 * Owns:     the loaded SQLite library, the open database
 * Fails:    -EBADMSG with the table, the row's id, the expected and the actual value
 * Why no views: a file of 24 KB can contain a view that never ends, or a text of 400 MB. Only plain
 *           tables are read, texts are limited to 1 MiB and are looked up apart from the rows that
 *           SQLite sorts, and the number of SQLite's steps is limited by the size of the file.
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
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file/sqlite_library.h"
#include "base/format.h"
#include "import/faults.h"
#include "import/formats.h"
#include "import/probe.h"
#include "import/source.h"
#include "import/target.h"

#define TEXT_BYTES_MAX (1 << 20) /* names of C++ templates reach some 100 KB */

/* A row of a real file takes at least 70 bytes and about 40 of SQLite's steps. */
#define STEPS_PER_CALL     10000 /* 0.1 ms */
#define STEPS_FREE         UINT64_C(10000000)
#define STEPS_PER_BYTE_MAX UINT64_C(50)

struct rocm {
	struct sqlite_library sqlite;
	sqlite3 *database;
	sqlite3_stmt *strings; /* rocpd_string by id */
	uint64_t steps, steps_max;
	int found; /* enum found_table of the last find_table */
	struct import_target *target;
	uint32_t process, absent; /* id; string */
	uint64_t launches, markers, usable;
	struct import_faults faults;
};

enum { TABLE_OP, TABLE_STRING, TABLE_API, TABLE_METADATA, TABLES_COUNT };

static const struct {
	const char *name;
	bool is_needed;
} tables[TABLES_COUNT] = {
	[TABLE_OP] = {"rocpd_op", true},
	[TABLE_STRING] = {"rocpd_string", true},
	[TABLE_API] = {"rocpd_api", false},
	[TABLE_METADATA] = {"rocpd_metadata", false},
};

/* ---- SQLite ---- */

static int fail_sqlite(const struct rocm *rocm, const char *what)
{
	if (rocm->sqlite.errcode(rocm->database) == SQLITE_NOMEM)
		return error_set(-ENOMEM, "%s: out of memory", what);
	if (rocm->sqlite.errcode(rocm->database) == SQLITE_INTERRUPT)
		return error_set(-EBADMSG,
				 "%s: SQLite did not finish in %" PRIu64
				 " steps, which is more than a valid file of this size needs",
				 what, rocm->steps_max);
	return error_set(-EBADMSG, "%s: %s", what, rocm->sqlite.errmsg(rocm->database));
}

/* Switches off views, triggers and functions, which a hostile file may have in its schema. */
static int distrust_schema(struct rocm *rocm)
{
	static const struct {
		int option, value;
	} rows[] = {
		{SQLITE_DBCONFIG_DEFENSIVE, 1},
		{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
		{SQLITE_DBCONFIG_ENABLE_VIEW, 0},
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		if (rocm->sqlite.db_config(rocm->database, rows[i].option, rows[i].value, NULL) !=
		    SQLITE_OK)
			return error_set(-ENOTSUP, "the SQLite library cannot switch views off; "
						   "install SQLite 3.31 or later");
	rocm->sqlite.limit(rocm->database, SQLITE_LIMIT_LENGTH, TEXT_BYTES_MAX);
	return 0;
}

/* A result other than 0 ends the statement with SQLITE_INTERRUPT. */
static int on_steps(void *context)
{
	struct rocm *rocm = context;

	rocm->steps += STEPS_PER_CALL;
	return rocm->steps > rocm->steps_max;
}

static int open_database(struct rocm *rocm, const char *path)
{
	int error = sqlite_library_open(&rocm->sqlite);
	struct stat about;

	if (error)
		return error;
	if (rocm->sqlite.open_v2(path, &rocm->database, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		return fail_sqlite(rocm, "open the database");
	error = distrust_schema(rocm);
	if (error)
		return error;
	if (stat(path, &about) != 0)
		return error_set(-errno, "%s", strerror(errno));
	rocm->steps_max = STEPS_FREE + STEPS_PER_BYTE_MAX * (uint64_t)about.st_size;
	rocm->sqlite.progress_handler(rocm->database, STEPS_PER_CALL, on_steps, rocm);
	if (rocm->sqlite.exec(rocm->database, "PRAGMA cell_size_check = ON", NULL, NULL, NULL) !=
	    SQLITE_OK)
		return fail_sqlite(rocm, "expected a SQLite database");
	return 0;
}

static void close_database(struct rocm *rocm)
{
	if (rocm->database) {
		rocm->sqlite.finalize(rocm->strings);
		rocm->sqlite.close(rocm->database);
	}
	sqlite_library_close(&rocm->sqlite);
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

/* Returns the text of rocpd_string whose id is in that column, "" for none; valid until the next
 * call. */
static int string_at(struct rocm *rocm, sqlite3_stmt *statement, int column, const char **ret_text)
{
	int status;

	rocm->sqlite.reset(rocm->strings);
	if (rocm->sqlite.bind_int64(rocm->strings, 1, number_at(rocm, statement, column)) !=
	    SQLITE_OK)
		return fail_sqlite(rocm, "table rocpd_string");
	status = rocm->sqlite.step(rocm->strings);
	if (status != SQLITE_ROW && status != SQLITE_DONE)
		return fail_sqlite(rocm, "table rocpd_string");
	*ret_text = status == SQLITE_ROW ? text_at(rocm, rocm->strings, 0) : "";
	return 0;
}

/* Calls on_row for each row of the query's result. */
static int each_row(struct rocm *rocm, const char *query, const char *what,
		    int (*on_row)(struct rocm *rocm, sqlite3_stmt *statement))
{
	sqlite3_stmt *statement = NULL;
	int error = 0, status;

	if (rocm->sqlite.prepare_v3(rocm->database, query, -1, 0, &statement, NULL) != SQLITE_OK)
		return fail_sqlite(rocm, what);
	while (!error && (status = rocm->sqlite.step(statement)) != SQLITE_DONE) {
		if (status != SQLITE_ROW) {
			error = fail_sqlite(rocm, what);
			continue;
		}
		error = on_row(rocm, statement);
		/* only errors of the row are faults; errors of SQLite end the import */
		if (error && rocm->sqlite.errcode(rocm->database) == SQLITE_ROW)
			error = import_faults_add(&rocm->faults, error);
	}
	rocm->sqlite.finalize(statement);
	return error;
}

/* Reads start and end from columns `first` and `first` + 1. */
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

/* Reads a whole number from `least` to `most`; `what` is its name in the message ("a GPU"). */
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
	const char *sizes = text_at(rocm, statement, 7), *text = "";
	int error = find_queue(rocm, gpu, text_at(rocm, statement, 4), &row.queue);

	launch.queue = row.queue;
	launch.correlation = row.correlation = import_target_correlation(rocm->target);
	if (!error)
		error = string_at(rocm, statement, 6, &text);
	launch.command = command_of(text);
	launch.dimensions = take_sizes(sizes, "grid=", launch.global_size);
	take_sizes(sizes, "wg=", launch.local_size);
	if (!error)
		error = import_target_thread(rocm->target, rocm->process, 0, "[unknown thread]",
					     &launch.thread);
	if (!error && launch.command == COMMAND_KERNEL)
		error = string_at(rocm, statement, 5, &text);
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
	const char *name = "";
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
		error = string_at(rocm, statement, 5, &name);
	if (!error)
		error = import_target_text(rocm->target, name, &row.function_string);
	row.type = strstr(name, "Synchronize") ? API_TYPE_WAIT : API_TYPE_CALL;
	if (!error)
		error = import_target_call(rocm->target, &row);
	rocm->usable += !error;
	return error;
}

/* ---- the file ---- */

static int on_pid(struct rocm *rocm, sqlite3_stmt *statement)
{
	const char *pid = text_at(rocm, statement, 0);

	return import_target_process(rocm->target, pid, (uint32_t)strtoul(pid, NULL, 10),
				     "[imported]", &rocm->process);
}

/* Type of a name in the schema: absent, a plain table, or a view that SQLite would have to
 * compute. */
enum found_table { TABLE_ABSENT, TABLE_PLAIN, TABLE_COMPUTED };

static int on_schema(struct rocm *rocm, sqlite3_stmt *statement)
{
	rocm->found = number_at(rocm, statement, 0) ? TABLE_PLAIN : TABLE_COMPUTED;
	return 0;
}

/* Looks up a name in the schema. Views and virtual tables have no root page; generated columns are
 * hidden. */
static int find_table(struct rocm *rocm, const char *name, enum found_table *ret_found)
{
	char query[320];
	int error;

	snprintf(query, sizeof(query),
		 "SELECT CASE WHEN type = 'table' AND rootpage > 0 THEN NOT EXISTS "
		 "(SELECT 1 FROM pragma_table_xinfo('%s') WHERE hidden) ELSE 0 END "
		 "FROM sqlite_master WHERE name = '%s' AND type IN ('table', 'view')",
		 name, name);
	rocm->found = TABLE_ABSENT;
	error = each_row(rocm, query, "expected a SQLite database", on_schema);
	*ret_found = rocm->found;
	return error;
}

static int find_tables(struct rocm *rocm, bool has[TABLES_COUNT])
{
	for (size_t i = 0; i < TABLES_COUNT; i++) {
		enum found_table found;
		int error = find_table(rocm, tables[i].name, &found);

		if (error)
			return error;
		if (found == TABLE_COMPUTED)
			return error_set(
				-EBADMSG,
				"expected a plain table '%s', found a view, a virtual table or "
				"generated columns; duet does not execute them. If duet exported "
				"this database, use the trace itself",
				tables[i].name);
		if (found == TABLE_ABSENT && tables[i].is_needed)
			return error_set(-EBADMSG,
					 "expected the tables rocpd_op and rocpd_string: no such "
					 "table: %s",
					 tables[i].name);
		has[i] = found == TABLE_PLAIN;
	}
	return 0;
}

static int read_tables(struct rocm *rocm)
{
	bool has[TABLES_COUNT];
	int error = find_tables(rocm, has);

	if (error)
		return error;
	if (rocm->sqlite.prepare_v3(rocm->database,
				    "SELECT string FROM rocpd_string WHERE id = ? LIMIT 1", -1, 0,
				    &rocm->strings, NULL) != SQLITE_OK)
		return fail_sqlite(rocm, "table rocpd_string");
	if (has[TABLE_METADATA])
		error = each_row(rocm, "SELECT value FROM rocpd_metadata WHERE tag = 'pid' LIMIT 1",
				 "table rocpd_metadata", on_pid);
	if (!error && !rocm->process)
		error = import_target_process(rocm->target, "", 0, "[imported]", &rocm->process);
	if (!error)
		error = each_row(
			rocm,
			"SELECT id, start, end, gpuId, queueId, description_id, opType_id, "
			"completionSignal FROM rocpd_op ORDER BY start",
			"table rocpd_op", on_op);
	if (!error && has[TABLE_API])
		error = each_row(
			rocm,
			"SELECT id, start, end, pid, tid, apiName_id FROM rocpd_api ORDER BY "
			"start",
			"table rocpd_api", on_api);
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
	int error = open_database(&rocm, import_source_path(source));

	if (!error)
		error = import_target_text(target, "(not in the file)", &rocm.absent);
	if (!error)
		error = read_tables(&rocm);
	if (!error)
		error = import_faults_end(&rocm.faults, rocm.usable, "row");
	if (!error)
		put_notes(&rocm);
	close_database(&rocm);
	return error;
}

static bool recognize_rocm(const struct import_probe *probe)
{
	return import_probe_has_table(probe, "rocpd_op") &&
	       import_probe_has_table(probe, "rocpd_string");
}

const struct importer import_rocm_trace_lite = {
	.name = "rocm-trace-lite",
	.help = "SQLite files of rocm-trace-lite: kernels of AMD GPUs and HIP calls",
	.read = read_rocm,
	.recognize = recognize_rocm,
};
