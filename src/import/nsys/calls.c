/* SPDX-License-Identifier: MIT
 *
 * import/nsys/calls.c - join the calls of CUDA's API with the commands that they launched
 *
 * Runs in:  our own process
 * Gets:     tables of calls, synchronizations and commands
 * Gives:    launches and executions, calls
 * Owns:     the stacks of calls
 * Fails:    -ENOMEM; -EBADMSG of SQLite, or with the table and the row
 * Why by process, too: two processes of one file have the same correlation ids
 */
#include <inttypes.h>
#include <stdio.h>

#include "import/common/merge.h"
#include "import/nsys/commands.h"
#include "import/nsys/stacks.h"

/* A row of this class is a second row of a call, with the call's stack. */
enum { CLASS_STACK = 67 };

struct calls {
	struct nsys *nsys;
	struct import_merge merge;
	struct nsys_stacks stacks;
	int64_t shift; /* from a call's callchainId to the chain's id */
};

/* ---- the merge ---- */

static int64_t key_of(void *context, size_t table, const struct sqlite_cursor *row)
{
	const struct calls *calls = context;
	const uint64_t correlation = (uint64_t)sqlite_cursor_number(row, NSYS_CORRELATION);

	return (int64_t)(correlation << 24 | ((nsys_global(calls->nsys, row) >> 24) & 0xffffff));
}

static int open_table(struct calls *calls, enum nsys_table table)
{
	char order[128];
	const struct sqlite_query query = {nsys_tables[table].name, nsys_tables[table].columns,
					   NULL, order};
	bool can;
	int error = nsys_can_read(calls->nsys, &query, &can);

	if (error || !can)
		return error;
	snprintf(order, sizeof(order),
		 "ifnull(correlationId, 0) << 24 | (ifnull(%s, %" PRIu64 ") >> 24 & 16777215)",
		 query.columns.names[NSYS_GLOBAL], calls->nsys->default_global);
	calls->nsys->join.has_executions |= table >= NSYS_TABLE_KERNELS;
	return import_merge_open(&calls->merge, table, &calls->nsys->file, &query);
}

/* The process of rows in tables without one: that of the first call. */
static int find_default(struct nsys *nsys)
{
	const struct nsys_table_row *calls = &nsys_tables[NSYS_TABLE_CALLS];
	const struct sqlite_query query = {calls->name,
					   {calls->columns.names, calls->columns.count, 0}};
	struct sqlite_cursor cursor = {0};
	bool has;
	int status = nsys_has_table(nsys, query.table, &has);

	if (status || !has)
		return status;
	status = sqlite_cursor_open(&cursor, &nsys->file, &query);
	if (!status)
		status = sqlite_cursor_next(&cursor);
	if (status > 0)
		nsys->default_global =
			(uint64_t)sqlite_cursor_number(&cursor, NSYS_GLOBAL) & ~UINT64_C(0xffffff);
	sqlite_cursor_close(&cursor);
	return status < 0 ? status : 0;
}

/* ---- threads of migrations ---- */

static int on_caller(void *context, const struct sqlite_cursor *row)
{
	struct nsys *nsys = context;
	const uint64_t global = nsys_global(nsys, row);
	uint32_t process, thread;
	int error;

	if (sqlite_cursor_number(row, NSYS_CALL_CLASS) == CLASS_STACK)
		return 0;
	error = nsys_machine_thread(nsys, global, &thread);
	if (!error)
		error = nsys_machine_process(nsys, global, &process);
	return error ? error : import_cuda_join_count_call(&nsys->join, process, thread);
}

static int on_migration(void *context, const struct sqlite_cursor *row)
{
	*(bool *)context = true;
	return 0;
}

/* Counts the calls of threads, if memory was migrated: migrations come before the calls. */
static int count_callers(struct nsys *nsys)
{
	static const char *const kind[] = {"copyKind"};
	const struct nsys_table_row *calls = &nsys_tables[NSYS_TABLE_CALLS];
	const struct sqlite_query migrations = {"CUPTI_ACTIVITY_KIND_MEMCPY",
						SQLITE_COLUMNS(kind, 0),
						"copyKind BETWEEN 11 AND 13 LIMIT 1", NULL};
	const struct sqlite_query all = {
		calls->name, {calls->columns.names, calls->columns.count, 0}, NULL, NULL};
	bool has = false;
	int error = nsys_each_row(nsys, &migrations, on_migration, &has);

	return error || !has ? error : nsys_each_row(nsys, &all, on_caller, nsys);
}

/* ---- calls ---- */

static int read_call(struct calls *calls, const struct sqlite_cursor *row)
{
	struct nsys *nsys = calls->nsys;
	struct import_cuda_call call = {0};
	const uint64_t global = nsys_global(nsys, row);
	int error = sqlite_cursor_take_times(row, NSYS_START, &call.row.enter, &call.row.exit);

	if (!error)
		error = nsys_machine_thread(nsys, global, &call.row.thread);
	if (!error)
		error = nsys_machine_process(nsys, global, &call.process);
	if (!error)
		error = nsys_texts_function(nsys, sqlite_cursor_number(row, NSYS_CALL_NAME),
					    &call.function);
	if (error)
		return error;
	call.row.function_string = call.function.string;
	call.row.result = (int32_t)sqlite_cursor_number(row, NSYS_CALL_RESULT);
	import_cuda_join_set_call(&nsys->join, &call);
	nsys->rows++;
	return 0;
}

static int take_call(struct calls *calls, const struct sqlite_cursor *row)
{
	struct import_cuda_join *join = &calls->nsys->join;
	const uint32_t stack =
		sqlite_cursor_has(row, NSYS_CALL_CHAIN)
			? nsys_stacks_get(&calls->stacks,
					  nsys_add(sqlite_cursor_number(row, NSYS_CALL_CHAIN),
						   calls->shift))
			: 0;
	const bool is_stack = sqlite_cursor_number(row, NSYS_CALL_CLASS) == CLASS_STACK;

	/* calls that launch nothing may share the id 0 */
	if (!is_stack && join->group.has_call) {
		int error = import_cuda_join_next_call(join);

		if (error)
			return error;
	}
	if (stack)
		join->group.stack = stack;
	return is_stack ? 0 : read_call(calls, row);
}

static int take_sync(struct calls *calls, const struct sqlite_cursor *row)
{
	const struct nsys_stream stream = {
		.global = nsys_global(calls->nsys, row),
		.context = sqlite_cursor_number(row, NSYS_CONTEXT),
		.stream = sqlite_cursor_number(row, NSYS_STREAM),
	};

	calls->nsys->join.group.has_sync = true;
	calls->nsys->join.group.queue = nsys_machine_find_queue(calls->nsys, &stream);
	return 0;
}

/* ---- groups ---- */

static int take_command(struct calls *calls, enum nsys_table table, const struct sqlite_cursor *row)
{
	struct nsys *nsys = calls->nsys;
	struct import_cuda_command command;
	int error = nsys_commands_read(nsys, table, row, &command);

	if (error)
		return error;
	nsys->rows++;
	error = import_cuda_join_add_command(&nsys->join, &command);
	return error ? error
		     : nsys_collectives_add_command(nsys, &command, nsys->join.group.has_call);
}

static int on_row(void *context, size_t table, const struct sqlite_cursor *row)
{
	struct calls *calls = context;
	int error;

	if (table == NSYS_TABLE_CALLS)
		error = take_call(calls, row);
	else if (table == NSYS_TABLE_SYNCS)
		error = take_sync(calls, row);
	else
		error = take_command(calls, (enum nsys_table)table, row);
	if (error && !calls->nsys->file.has_failed)
		error = import_faults_add(&calls->nsys->faults, error);
	return error;
}

/* Reads all rows of one key. Calls with the correlation id 0 launched nothing. */
static int read_group(struct calls *calls, int64_t key)
{
	struct import_cuda_join *join = &calls->nsys->join;
	int error = 0;

	import_cuda_join_begin(join);
	for (size_t table = 0; table < NSYS_TABLES_COUNT && !error; table++) {
		error = import_merge_each_row(&calls->merge, table, key, on_row);
		if (!error && table == NSYS_TABLE_CALLS && !(key >> 24))
			error = import_cuda_join_end(join);
	}
	return error ? error : import_cuda_join_end(join);
}

int nsys_read_calls(struct nsys *nsys)
{
	struct calls calls = {.nsys = nsys,
			      .merge = {.count = NSYS_TABLES_COUNT, .key_of = key_of}};
	int64_t key = 0;
	int error = nsys_stacks_read(nsys, "CUDA_CALLCHAINS", true, &calls.stacks);

	calls.merge.context = &calls;
	if (!error)
		error = nsys_stacks_find_shift(nsys, &calls.shift);
	if (!error)
		error = find_default(nsys);
	if (!error)
		error = count_callers(nsys);
	for (int table = 0; table < NSYS_TABLES_COUNT && !error; table++)
		error = open_table(&calls, (enum nsys_table)table);
	while (!error && import_merge_find(&calls.merge, &key))
		error = read_group(&calls, key);
	import_merge_close(&calls.merge);
	nsys_stacks_close(&calls.stacks);
	return error;
}
