/* SPDX-License-Identifier: MIT
 *
 * import/nsys/calls.c - join the calls of CUDA's API with the commands that they launched
 *
 * Runs in:  our own process
 * Gets:     tables of calls, synchronizations and commands
 * Gives:    launches and executions, calls
 * Owns:     a cursor for each table, the stacks of calls
 * Fails:    -ENOMEM; -EBADMSG of SQLite, or with the table and the row
 * Why a merge: SQLite sorts each table by (correlationId, process), on disk if it is large. So the
 *           rows of one id come together in any file and no table is in memory. A table that nsys
 *           wrote is nearly in this order.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/nsys/commands.h"
#include "import/nsys/stacks.h"
#include "import/target.h"

/* A row of this class is a second row of a call, with the call's stack. */
enum { CLASS_STACK = 67 };

struct table_merge {
	struct sqlite_cursor cursor;
	bool has_row;
	int64_t key;
};

/* The rows of one correlation id. */
struct call_group {
	struct event_launch call;
	struct nsys_function function;
	uint32_t process;
	uint32_t stack;
	bool has_call, has_sync, has_command;
	uint32_t queue; /* for which the call waits; 0: not known */
};

struct calls {
	struct nsys *nsys;
	struct table_merge tables[NSYS_TABLES_COUNT];
	struct nsys_stacks stacks;
	int64_t shift;            /* from a call's callchainId to the chain's id */
	struct hash_map captures; /* thread -> number of captures that it has begun */
	struct call_group group;
};

/* ---- the merge ---- */

static int64_t key_of(const struct calls *calls, const struct sqlite_cursor *row)
{
	const uint64_t correlation = (uint64_t)sqlite_cursor_number(row, NSYS_CORRELATION);

	return (int64_t)(correlation << 24 | ((nsys_global(calls->nsys, row) >> 24) & 0xffffff));
}

static int step(struct calls *calls, enum nsys_table table)
{
	struct table_merge *merge = &calls->tables[table];
	const int status = sqlite_cursor_next(&merge->cursor);

	merge->has_row = status > 0;
	if (merge->has_row)
		merge->key = key_of(calls, &merge->cursor);
	return status < 0 ? status : 0;
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
	error = sqlite_cursor_open(&calls->tables[table].cursor, &calls->nsys->file, &query);
	calls->nsys->has_executions |= table >= NSYS_TABLE_KERNELS;
	return error ? error : step(calls, table);
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

/* ---- calls ---- */

static int write_call(struct calls *calls)
{
	const struct call_group *group = &calls->group;
	const uint32_t flags = group->function.flags;
	const bool waits = (flags & NSYS_WAITS || group->has_sync) && !(flags & NSYS_NEVER_WAITS);
	const struct event_api row = {.begin = group->call.enter,
				      .end = group->call.exit,
				      .thread = group->call.thread,
				      .function_string = group->call.function_string,
				      .result = group->call.result,
				      .type = waits ? API_TYPE_WAIT : API_TYPE_CALL,
				      .argument =
					      waits && flags & NSYS_WAITS_STREAM ? group->queue : 0,
				      .stack = group->stack};

	return import_target_call(calls->nsys->target, &row);
}

/* A launch without a command in the file: it is in flight when the file ends. If the file has no
 * commands at all, they were executed at unknown times. */
static int write_unexecuted(struct calls *calls)
{
	struct nsys *nsys = calls->nsys;
	struct event_launch launch = calls->group.call;
	struct event_execution execution = {.seen = launch.exit, .process = calls->group.process};
	int error;

	launch.stack = calls->group.stack;
	launch.command = calls->group.function.command;
	launch.correlation = launch.result ? 0 : import_target_correlation(nsys->target);
	launch.flags = nsys->has_executions ? 0 : LAUNCH_UNTIMED;
	execution.correlation = launch.correlation;
	error = import_target_launch(nsys->target, &launch);
	nsys->unexecuted++;
	return error || nsys->has_executions || launch.result
		       ? error
		       : import_target_execution(nsys->target, &execution);
}

static bool is_capturing(const struct calls *calls)
{
	return hash_map_get(&calls->captures, calls->group.call.thread, 0);
}

/* Ids rise in the order of a thread's calls, so a capture's calls come between its two ends. */
static int count_captures(struct calls *calls)
{
	const uint32_t flags = calls->group.function.flags, thread = calls->group.call.thread;
	const uint64_t open = hash_map_get(&calls->captures, thread, 0);

	if (flags & NSYS_BEGINS_CAPTURE && !calls->group.call.result)
		return hash_map_put(&calls->captures, thread, open + 1);
	if (flags & NSYS_ENDS_CAPTURE && open)
		return hash_map_put(&calls->captures, thread, open - 1);
	return 0;
}

/* Writes the call of the group unless it is the launch of a command that was written. */
static int finish_call(struct calls *calls)
{
	struct call_group *group = &calls->group;
	int error;

	if (!group->has_call || group->has_command)
		return 0;
	error = count_captures(calls);
	if (error)
		return error;
	if (!(group->function.flags & NSYS_LAUNCHES))
		return write_call(calls);
	if (!is_capturing(calls))
		return write_unexecuted(calls);
	calls->nsys->captured++;
	return write_call(calls);
}

static int read_call(struct calls *calls, const struct sqlite_cursor *row)
{
	struct nsys *nsys = calls->nsys;
	struct event_launch call = {0};
	struct nsys_function function;
	const uint64_t global = nsys_global(nsys, row);
	int error = sqlite_cursor_take_times(row, NSYS_START, &call.enter, &call.exit);

	if (!error)
		error = nsys_machine_thread(nsys, global, &call.thread);
	if (!error)
		error = nsys_texts_function(nsys, sqlite_cursor_number(row, NSYS_CALL_NAME),
					    &function);
	if (error)
		return error;
	call.function_string = function.string;
	call.result = (int32_t)sqlite_cursor_number(row, NSYS_CALL_RESULT);
	calls->group.call = call;
	calls->group.function = function;
	calls->group.has_call = true;
	nsys->rows++;
	return nsys_machine_process(nsys, global, &calls->group.process);
}

static int take_call(struct calls *calls, const struct sqlite_cursor *row)
{
	const uint32_t stack =
		sqlite_cursor_has(row, NSYS_CALL_CHAIN)
			? nsys_stacks_get(&calls->stacks,
					  nsys_add(sqlite_cursor_number(row, NSYS_CALL_CHAIN),
						   calls->shift))
			: 0;

	const bool is_stack = sqlite_cursor_number(row, NSYS_CALL_CLASS) == CLASS_STACK;

	/* calls that launch nothing may share the id 0 */
	if (!is_stack && calls->group.has_call) {
		int error = finish_call(calls);

		if (error)
			return error;
		calls->group.has_call = false;
		calls->group.stack = 0;
	}
	if (stack)
		calls->group.stack = stack;
	return is_stack ? 0 : read_call(calls, row);
}

static int take_sync(struct calls *calls, const struct sqlite_cursor *row)
{
	const struct nsys_stream stream = {
		.global = nsys_global(calls->nsys, row),
		.context = sqlite_cursor_number(row, NSYS_CONTEXT),
		.stream = sqlite_cursor_number(row, NSYS_STREAM),
	};

	calls->group.has_sync = true;
	calls->group.queue = nsys_machine_find_queue(calls->nsys, &stream);
	return 0;
}

/* ---- commands ---- */

/* The first command of a call has the call as its launch; the others have one of no duration at its
 * start. */
static int make_launch(struct calls *calls, const struct nsys_command *command,
		       struct event_launch *launch)
{
	struct nsys *nsys = calls->nsys;
	struct call_group *group = &calls->group;

	launch->queue = command->row.queue;
	launch->stack = group->stack;
	if (!group->has_call) {
		launch->enter = launch->exit = command->row.started;
		launch->function_string = nsys->absent;
		nsys->made_up++;
		return nsys_machine_unknown_thread(nsys, command->row.process, &launch->thread);
	}
	launch->enter = launch->exit = group->call.enter;
	launch->thread = group->call.thread;
	launch->function_string = group->call.function_string;
	if (group->has_command) {
		launch->flags |= LAUNCH_FURTHER;
		return 0;
	}
	launch->exit = group->call.exit;
	if (group->function.flags & NSYS_BLOCKS && command->row.ended <= group->call.exit)
		launch->flags |= LAUNCH_BLOCKING;
	group->has_command = true;
	return 0;
}

static int take_command(struct calls *calls, enum nsys_table table, const struct sqlite_cursor *row)
{
	struct nsys *nsys = calls->nsys;
	struct nsys_command command;
	int error = nsys_commands_read(nsys, table, row, &command);

	if (!error)
		error = make_launch(calls, &command, &command.launch);
	if (error)
		return error;
	command.row.correlation = command.launch.correlation =
		import_target_correlation(nsys->target);
	error = nsys_collectives_add_command(nsys, &command, calls->group.has_call);
	if (!error)
		error = import_target_launch(nsys->target, &command.launch);
	nsys->rows++;
	return error ? error : import_target_execution(nsys->target, &command.row);
}

/* ---- groups ---- */

static int take_row(struct calls *calls, enum nsys_table table)
{
	const struct sqlite_cursor *row = &calls->tables[table].cursor;
	int error;

	if (table == NSYS_TABLE_CALLS)
		error = take_call(calls, row);
	else if (table == NSYS_TABLE_SYNCS)
		error = take_sync(calls, row);
	else
		error = take_command(calls, table, row);
	if (error && !calls->nsys->file.has_failed)
		error = import_faults_add(&calls->nsys->faults, error);
	return error;
}

/* Reads all rows of one key. Calls with the correlation id 0 launched nothing. */
static int read_group(struct calls *calls, int64_t key)
{
	int error = 0;

	calls->group = (struct call_group){0};
	for (int table = 0; table < NSYS_TABLES_COUNT && !error; table++) {
		struct table_merge *merge = &calls->tables[table];

		while (merge->has_row && merge->key == key && !error) {
			error = take_row(calls, (enum nsys_table)table);
			if (!error)
				error = step(calls, (enum nsys_table)table);
		}
		if (!error && table == NSYS_TABLE_CALLS && !(key >> 24)) {
			error = finish_call(calls);
			calls->group = (struct call_group){0};
		}
	}
	return error ? error : finish_call(calls);
}

static bool find_key(const struct calls *calls, int64_t *ret_key)
{
	bool found = false;

	for (int table = 0; table < NSYS_TABLES_COUNT; table++) {
		const struct table_merge *merge = &calls->tables[table];

		if (merge->has_row && (!found || merge->key < *ret_key))
			*ret_key = merge->key;
		found |= merge->has_row;
	}
	return found;
}

int nsys_read_calls(struct nsys *nsys)
{
	struct calls calls = {.nsys = nsys};
	int64_t key = 0;
	int error = nsys_stacks_read(nsys, "CUDA_CALLCHAINS", true, &calls.stacks);

	if (!error)
		error = nsys_stacks_find_shift(nsys, &calls.shift);
	if (!error)
		error = find_default(nsys);
	for (int table = 0; table < NSYS_TABLES_COUNT && !error; table++)
		error = open_table(&calls, (enum nsys_table)table);
	while (!error && find_key(&calls, &key))
		error = read_group(&calls, key);
	for (int table = 0; table < NSYS_TABLES_COUNT; table++)
		sqlite_cursor_close(&calls.tables[table].cursor);
	nsys_stacks_close(&calls.stacks);
	hash_map_fini(&calls.captures);
	return error;
}
