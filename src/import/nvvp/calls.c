/* SPDX-License-Identifier: MIT
 *
 * import/nvvp/calls.c - join the calls of CUDA's APIs with the commands that they launched
 *
 * Runs in:  our own process
 * Gets:     tables of calls, synchronizations, commands and samples of instructions
 * Gives:    launches and executions, calls, samples
 * Owns:     a cursor for each table
 * Fails:    -ENOMEM; -EBADMSG of SQLite, or with the table and the row
 * Why samples, too: a sample has no time. Its kernel, which has the same correlation id, has.
 */
#include <stdio.h>

#include "import/common/merge.h"
#include "import/nvvp/commands.h"
#include "import/target.h"

struct calls {
	struct nvvp *nvvp;
	struct import_merge merge;
	bool has_runtime; /* calls of the runtime API */
	bool is_shared;   /* calls of several processes have the id */
	uint64_t shared;  /* commands of such ids */
	struct nvvp_sampled sampled;
};

/* ---- the merge ---- */

/* Old versions give a command the id of the driver's call and that of the runtime's call. */
static int64_t key_of(void *context, size_t table, const struct sqlite_cursor *row)
{
	const struct calls *calls = context;
	const int64_t runtime =
		calls->has_runtime ? sqlite_cursor_number(row, NVVP_RUNTIME_CORRELATION) : 0;

	return runtime ? runtime : sqlite_cursor_number(row, NVVP_CORRELATION);
}

static int open_table(struct calls *calls, enum nvvp_table table)
{
	static const char by_runtime[] = "CAST(ifnull(nullif(runtimeCorrelationId, 0), "
					 "ifnull(correlationId, 0)) AS INTEGER)";
	static const char by_id[] = "CAST(ifnull(correlationId, 0) AS INTEGER)";
	struct nvvp *nvvp = calls->nvvp;
	const struct sqlite_query query = {nvvp_tables[table].name, nvvp_tables[table].columns,
					   NULL, calls->has_runtime ? by_runtime : by_id};
	bool has;
	int error = sqlite_file_can_read(&nvvp->file, &query, &nvvp->faults, &has);

	if (!error && has)
		error = import_merge_open(&calls->merge, table, &nvvp->file, &query);
	if (table >= NVVP_KERNELS && table <= NVVP_FILLS)
		nvvp->join.has_executions |= calls->merge.tables[table].has_row;
	return error;
}

/* nvprof writes all tables, also those without rows. */
static int open_tables(struct calls *calls)
{
	const struct import_merge_table *tables = calls->merge.tables;
	int error = open_table(calls, NVVP_RUNTIME);

	calls->has_runtime = tables[NVVP_RUNTIME].has_row;
	for (size_t table = 0; table < NVVP_TABLES_COUNT && !error; table++)
		if (table != NVVP_RUNTIME)
			error = open_table(calls, (enum nvvp_table)table);
	calls->nvvp->join.is_nested = calls->has_runtime && tables[NVVP_DRIVER].has_row;
	return error;
}

/* ---- rows ---- */

static int take_call(struct calls *calls, enum nvvp_table table, const struct sqlite_cursor *row)
{
	struct nvvp *nvvp = calls->nvvp;
	const uint32_t pid = sqlite_cursor_has(row, NVVP_CALL_PROCESS)
				     ? (uint32_t)sqlite_cursor_number(row, NVVP_CALL_PROCESS)
				     : nvvp->machine.pid;
	const struct import_cuda_group *group = &nvvp->join.group;
	const bool is_further = group->has_call;
	struct import_cuda_call call = {0};
	int error = is_further ? import_cuda_join_next_call(&nvvp->join) : 0;

	if (!error)
		error = sqlite_cursor_take_times(row, NVVP_START, &call.row.enter, &call.row.exit);
	if (!error)
		error = nvvp_machine_process(nvvp, pid, &call.process);
	if (!error)
		error = nvvp_machine_thread(nvvp, pid,
					    (uint32_t)sqlite_cursor_number(row, NVVP_CALL_THREAD),
					    &call.row.thread);
	if (!error)
		error = nvvp_function_of(nvvp, table == NVVP_RUNTIME,
					 sqlite_cursor_number(row, NVVP_CALL_FUNCTION),
					 &call.function);
	if (error)
		return error;
	calls->is_shared |= is_further && group->call.process != call.process;
	call.row.function_string = call.function.string;
	call.row.result = (int32_t)sqlite_cursor_number(row, NVVP_CALL_RESULT);
	import_cuda_join_set_call(&nvvp->join, &call);
	nvvp->rows++;
	return import_cuda_join_count_call(&nvvp->join, call.process, call.row.thread);
}

/* The process of a command: that of its call, otherwise the file's. */
static int process_of(struct calls *calls, uint32_t *ret_process)
{
	const struct import_cuda_group *group = &calls->nvvp->join.group;

	if (!group->has_call)
		return nvvp_machine_process(calls->nvvp, calls->nvvp->machine.pid, ret_process);
	*ret_process = group->call.process;
	return 0;
}

static int take_sync(struct calls *calls, const struct sqlite_cursor *row)
{
	struct import_cuda_group *group = &calls->nvvp->join.group;
	struct nvvp_stream stream = {.context = sqlite_cursor_number(row, NVVP_SYNC_CONTEXT),
				     .stream = sqlite_cursor_number(row, NVVP_SYNC_STREAM)};
	int error = process_of(calls, &stream.process);

	group->has_sync = true;
	if (!error)
		group->queue = nvvp_machine_find_queue(calls->nvvp, &stream);
	return error;
}

/* Keeps the first kernel of the id for its samples. */
static int keep_kernel(struct calls *calls, const struct import_cuda_command *command)
{
	struct nvvp_sampled *sampled = &calls->sampled;
	struct event_queue queue;
	struct event_code code;
	int error;

	if (sampled->kernel.correlation)
		return 0;
	error = import_target_get(calls->nvvp->target, EVENT_QUEUE, command->row.queue, &queue);
	if (!error)
		error = import_target_get(calls->nvvp->target, EVENT_CODE, command->launch.kernel,
					  &code);
	if (error)
		return error;
	sampled->kernel = command->row;
	sampled->device = queue.device;
	sampled->code = code.id;
	sampled->binary = code.parent;
	return 0;
}

static int take_command(struct calls *calls, enum nvvp_table table, const struct sqlite_cursor *row)
{
	struct nvvp *nvvp = calls->nvvp;
	struct import_cuda_command command;
	uint32_t process;
	int error = process_of(calls, &process);

	if (!error)
		error = nvvp_commands_read(nvvp, table, row, process, &command);
	if (error)
		return error;
	nvvp->rows++;
	calls->shared += calls->is_shared && nvvp->join.group.has_call;
	if (!nvvp->first_ns || command.row.started < nvvp->first_ns)
		nvvp->first_ns = command.row.started;
	error = import_cuda_join_add_command(&nvvp->join, &command);
	return error || table > NVVP_DEVICE_KERNELS ? error : keep_kernel(calls, &command);
}

/* Samples and executed instructions have different units, so only one of them can be added up. */
static int take_sample(struct calls *calls, enum nvvp_table table, const struct sqlite_cursor *row)
{
	if (!calls->sampled.process) {
		int error = process_of(calls, &calls->sampled.process);

		if (error)
			return error;
	}
	return table == NVVP_SAMPLE_INFO
		       ? nvvp_samples_info(calls->nvvp, row, &calls->sampled)
		       : nvvp_samples_read(calls->nvvp, table, row, &calls->sampled);
}

static int on_row(void *context, size_t table, const struct sqlite_cursor *row)
{
	struct calls *calls = context;
	int error;

	if (table <= NVVP_RUNTIME)
		error = take_call(calls, (enum nvvp_table)table, row);
	else if (table == NVVP_SYNCS)
		error = take_sync(calls, row);
	else if (table <= NVVP_FILLS)
		error = take_command(calls, (enum nvvp_table)table, row);
	else
		error = take_sample(calls, (enum nvvp_table)table, row);
	if (error && !calls->nvvp->file.has_failed)
		error = import_faults_add(&calls->nvvp->faults, error);
	return error;
}

/* Reads all rows of one id. Calls with the id 0 launched nothing. */
static int read_group(struct calls *calls, int64_t key)
{
	struct import_cuda_join *join = &calls->nvvp->join;
	int error = 0;

	import_cuda_join_begin(join);
	calls->sampled = (struct nvvp_sampled){0};
	calls->is_shared = false;
	for (size_t table = 0; table < NVVP_TABLES_COUNT && !error; table++) {
		error = import_merge_each_row(&calls->merge, table, key, on_row);
		if (!error && table == NVVP_RUNTIME && !key)
			error = import_cuda_join_end(join);
	}
	return error ? error : import_cuda_join_end(join);
}

/* Executed instructions are left out of a file that has samples. */
static int leave_out_instructions(struct calls *calls)
{
	struct import_merge_table *table = &calls->merge.tables[NVVP_INSTRUCTIONS];
	uint64_t count = 0;
	int status = 1;

	if (!table->has_row || !calls->merge.tables[NVVP_SAMPLES].has_row)
		return 0;
	for (; status > 0; count++)
		status = sqlite_cursor_next(&table->cursor);
	table->has_row = false;
	import_target_note_count(calls->nvvp->target, count, "row of INSTRUCTION_EXECUTION",
				 "rows of INSTRUCTION_EXECUTION", "left out: the file has samples");
	return status;
}

int nvvp_read_calls(struct nvvp *nvvp)
{
	struct calls calls = {.nvvp = nvvp,
			      .merge = {.count = NVVP_TABLES_COUNT, .key_of = key_of}};
	int64_t key = 0;
	int error;

	calls.merge.context = &calls;
	error = open_tables(&calls);
	if (!error)
		error = leave_out_instructions(&calls);
	while (!error && import_merge_find(&calls.merge, &key))
		error = read_group(&calls, key);
	import_merge_close(&calls.merge);
	import_target_note_count(
		nvvp->target, calls.shared, "command", "commands",
		"joined with the last of several processes' calls that have its id");
	return error;
}
