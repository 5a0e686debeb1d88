/* SPDX-License-Identifier: MIT
 *
 * export/sqlite.c - a database to ask questions of: tables in sqlite_tables.sql, views in sqlite_views.sql
 *
 * Runs in:  our own process
 * Gets:     a model and filters   Gives: one SQLite database in a regular file
 * Owns:     the database while it is written, the ids of stacks
 * Fails:    -EIO with what SQLite says, -ENOSPC, -ENOMEM, what the reader fails with
 * Why no journal: nobody reads the file before it is whole, and an export that fails is made again; with
 *           one, 10^6 rows take twice the time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/code_sites.h"
#include "analyze/collectors.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/units.h"
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "export/commands.h"
#include "export/filter.h"
#include "export/formats.h"
#include "base/sqlite_library.h"
#include "export/sqlite_tables.h"
#include "export/sqlite_views.h"
#include "export/stack_set.h"

enum table {
	TABLE_META,
	TABLE_CLOCKS,
	TABLE_PROCESSES,
	TABLE_THREADS,
	TABLE_DEVICES,
	TABLE_QUEUES,
	TABLE_KERNELS,
	TABLE_CALLS,
	TABLE_LAUNCHES,
	TABLE_EXECUTIONS,
	TABLE_IN_FLIGHT,
	TABLE_NOT_EXECUTED,
	TABLE_DEPENDENCIES,
	TABLE_CPU_SAMPLES,
	TABLE_SWITCHES,
	TABLE_INSTRUCTION_SAMPLES,
	TABLE_RANGES,
	TABLE_SERIES,
	TABLE_COUNTERS,
	TABLE_LOSSES,
	TABLE_COLLECTORS,
	TABLE_STACKS,
	TABLE_FRAMES,
	TABLE_FRAME_NAMES,
	TABLE_LEDGER,
	TABLE_ACCOUNT,
	TABLE_COUNT
};

/* Names and how many columns each has. */
static const struct {
	const char *name;
	int columns;
} tables[TABLE_COUNT] = {
	[TABLE_META] = {"meta", 2},
	[TABLE_CLOCKS] = {"clocks", 7},
	[TABLE_PROCESSES] = {"processes", 6},
	[TABLE_THREADS] = {"threads", 4},
	[TABLE_DEVICES] = {"devices", 8},
	[TABLE_QUEUES] = {"queues", 8},
	[TABLE_KERNELS] = {"kernels", 4},
	[TABLE_CALLS] = {"calls", 9},
	[TABLE_LAUNCHES] = {"launches", 17},
	[TABLE_EXECUTIONS] = {"executions", 14},
	[TABLE_IN_FLIGHT] = {"in_flight", 1},
	[TABLE_NOT_EXECUTED] = {"not_executed", 1},
	[TABLE_DEPENDENCIES] = {"dependencies", 5},
	[TABLE_CPU_SAMPLES] = {"cpu_samples", 9},
	[TABLE_SWITCHES] = {"switches", 11},
	[TABLE_INSTRUCTION_SAMPLES] = {"instruction_samples", 14},
	[TABLE_RANGES] = {"ranges", 11},
	[TABLE_SERIES] = {"series", 15},
	[TABLE_COUNTERS] = {"counters", 6},
	[TABLE_LOSSES] = {"losses", 7},
	[TABLE_COLLECTORS] = {"collectors", 5},
	[TABLE_STACKS] = {"stacks", 3},
	[TABLE_FRAMES] = {"frames", 4},
	[TABLE_FRAME_NAMES] = {"frame_names", 6},
	[TABLE_LEDGER] = {"ledger", 2},
	[TABLE_ACCOUNT] = {"account", 4},
};

struct database {
	const struct model *model;
	struct filter filter;
	struct analysis *analysis;
	struct code_sites *sites; /* owned; of samples of instructions */
	struct frames *frames;
	struct stack_set stacks;
	struct sqlite_library library;
	sqlite3 *handle;
	sqlite3_stmt *inserts[TABLE_COUNT]; /* prepared when they are used first */
	sqlite3_stmt *row;                  /* the one that is filled */
	int column;
	struct string_builder text;
	uint64_t executions, kind_rows, rows; /* kind_rows: of the table that is filled */
};

static int fail(const struct database *database)
{
	int code = database->library.errcode(database->handle);

	return error_set(code == SQLITE_FULL ? -ENOSPC : -EIO, "SQLite: %s",
			 code == SQLITE_FULL ? strerror(ENOSPC)
					     : database->library.errmsg(database->handle));
}

/* ---- rows -------------------------------------------------------------------------------------- */

static int prepare(struct database *database, enum table table)
{
	char sql[160];
	size_t used =
		(size_t)snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (?", tables[table].name);

	for (int i = 1; i < tables[table].columns; i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, ",?");
	snprintf(sql + used, sizeof(sql) - used, ")");
	return database->library.prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
					    &database->inserts[table], NULL) == SQLITE_OK
		       ? 0
		       : fail(database);
}

static int begin_row(struct database *database, enum table table)
{
	int error = database->inserts[table] ? 0 : prepare(database, table);

	database->row = database->inserts[table];
	database->column = 0;
	return error;
}

static int end_row(struct database *database)
{
	int code;

	if (database->text.error)
		return error_set(-ENOMEM, "SQLite: out of memory");
	code = database->library.step(database->row);
	database->library.reset(database->row);
	return code == SQLITE_DONE ? 0 : fail(database);
}

static void put_nothing(struct database *database)
{
	database->library.bind_null(database->row, ++database->column);
}

/* Numbers above 2^63 are handles and the like: their bits are kept. */
static void put_u64(struct database *database, uint64_t value)
{
	database->library.bind_int64(database->row, ++database->column, (sqlite3_int64)value);
}

static void put_i64(struct database *database, int64_t value)
{
	database->library.bind_int64(database->row, ++database->column, value);
}

/* 0 stands for nothing. */
static void put_known(struct database *database, uint64_t value)
{
	if (value)
		put_u64(database, value);
	else
		put_nothing(database);
}

/* One that was lost with a damaged chunk is not known. */
static void put_stack_id(struct database *database, uint32_t stack)
{
	put_known(database, model_stack(database->model, stack) ? stack : 0);
}

static void put_time(struct database *database, uint64_t time_ns)
{
	put_i64(database, filter_time(&database->filter, time_ns));
}

/* A text that is no UTF-8 would be one that no reader can read. */
static void put_text(struct database *database, const char *text)
{
	string_builder_clear(&database->text);
	string_builder_append_utf8(&database->text, text);
	if (database->library.bind_text(database->row, ++database->column,
					string_builder_text(&database->text), -1,
					SQLITE_TRANSIENT) == SQLITE_NOMEM)
		database->text.error = error_no_memory();
}

static void put_string(struct database *database, uint32_t string)
{
	put_text(database, model_text(database->model, string, ""));
}

static void put_sizes(struct database *database, const uint64_t sizes[3], uint32_t count)
{
	char text[80] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < count && i < 3 && sizes[0]; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%" PRIu64,
					 i ? "x" : "", sizes[i]);
	if (used)
		put_text(database, text);
	else
		put_nothing(database);
}

/* ---- what it is of ----------------------------------------------------------------------------- */

static int put_meta_text(struct database *database, const char *key, const char *value)
{
	int error = begin_row(database, TABLE_META);

	if (error)
		return error;
	put_text(database, key);
	put_text(database, value);
	return end_row(database);
}

static int put_meta_number(struct database *database, const char *key, int64_t value)
{
	int error = begin_row(database, TABLE_META);

	if (error)
		return error;
	put_text(database, key);
	put_i64(database, value);
	return end_row(database);
}

static int put_meta(struct database *database)
{
	const struct analysis *analysis = database->analysis;
	uint64_t realtime_ns;
	int error = put_meta_text(database, "schema", "duet.sqlite/1");

	if (!error)
		error = put_meta_text(database, "version", database->filter.options->version);
	if (!error)
		error = put_meta_text(database, "command", model_command(database->model));
	if (!error)
		error = put_meta_number(database, "complete", analysis_is_complete(analysis));
	if (!error)
		error = put_meta_number(database, "begin_monotonic_ns",
					(int64_t)analysis->begin_ns);
	if (!error)
		error = put_meta_number(database, "from_ns",
					filter_time(&database->filter, analysis->from_ns));
	if (!error)
		error = put_meta_number(database, "to_ns",
					filter_time(&database->filter, analysis->to_ns));
	if (!error && model_wall_clock(database->model, analysis->begin_ns, &realtime_ns))
		error = put_meta_number(database, "begin_realtime_ns", (int64_t)realtime_ns);
	return error;
}

static int put_clocks(struct database *database)
{
	const struct clocks *clocks = database->model->clocks;
	int error = 0;

	for (size_t i = 0; i < clocks_count(clocks) && !error; i++) {
		const struct clocks_domain *domain = clocks_at(clocks, i);
		const struct clock_certificate *certificate = &domain->certificate;

		error = begin_row(database, TABLE_CLOCKS);
		if (error)
			return error;
		put_u64(database, domain->id);
		put_text(database, clocks_name(clocks, database->model->reader, domain));
		put_text(database, clocks_method_name(certificate->method));
		put_i64(database, certificate->offset_ns);
		if (certificate->has_drift)
			put_i64(database, certificate->drift_ppb);
		else
			put_nothing(database);
		if (certificate->error_ns == UINT64_MAX)
			put_nothing(database);
		else
			put_u64(database, certificate->error_ns);
		put_u64(database, certificate->violations);
		error = end_row(database);
	}
	return error;
}

static void put_process(struct database *database, const void *thing)
{
	const struct event_process *row = thing;

	put_u64(database, row->id);
	put_u64(database, row->pid);
	put_known(database, row->parent_pid);
	put_string(database, row->name_string);
	put_string(database, row->exe_string);
	put_string(database, row->command_string);
}

static void put_thread(struct database *database, const void *thing)
{
	const struct event_thread *row = thing;

	put_u64(database, row->id);
	put_known(database, row->process);
	put_u64(database, row->tid);
	put_string(database, row->name_string);
}

static void put_device(struct database *database, const void *thing)
{
	const struct event_device *row = thing;

	put_u64(database, row->id);
	put_string(database, row->key_string);
	put_string(database, row->name_string);
	put_string(database, row->vendor_string);
	put_string(database, row->driver_string);
	put_string(database, row->platform_string);
	put_known(database, row->compute_units);
	put_known(database, row->memory_bytes);
}

static void put_collector(struct database *database, const void *thing)
{
	const struct event_collector *row = thing;

	put_u64(database, row->id);
	put_string(database, row->name_string);
	put_text(database, collectors_state_name(row->state));
	if (row->reason_string)
		put_string(database, row->reason_string);
	else
		put_nothing(database);
	put_known(database, row->process);
}

static void put_queue(struct database *database, const void *thing)
{
	const struct event_queue *row = thing;

	put_u64(database, row->id);
	put_known(database, row->process);
	put_known(database, row->context);
	put_known(database, row->device);
	put_known(database, row->clock);
	put_u64(database, (row->flags & QUEUE_OUT_OF_ORDER) != 0);
	put_u64(database, (row->flags & QUEUE_TIMED) != 0);
	put_string(database, row->name_string);
}

static void put_kernel(struct database *database, const void *thing)
{
	const struct event_code *row = thing;

	put_u64(database, row->id);
	put_known(database, row->process);
	put_text(database, model_kernel_name(database->model, row->id));
	put_string(database, row->name_string);
}

static void put_series(struct database *database, const void *thing)
{
	const struct event_series *row = thing;
	struct unit_shown unit = unit_shown_of(database->model, row);

	put_u64(database, row->id);
	put_string(database, row->metric_string);
	put_string(database, row->instance_string);
	put_text(database, analysis_series_type(row->type));
	put_string(database, row->unit_string);
	put_string(database, row->source_string);
	put_known(database, row->process);
	put_known(database, row->device);
	if (row->cpu)
		put_u64(database, row->cpu - 1);
	else
		put_nothing(database);
	put_known(database, row->limit);
	put_known(database, row->interval_ns);
	put_time(database, row->begin_ns);
	if (row->end_ns)
		put_time(database, row->end_ns);
	else
		put_nothing(database);
	put_text(database, unit.text);
	database->library.bind_double(database->row, ++database->column, unit.factor);
}

static const struct {
	enum event_kind kind;
	enum table table;
	size_t size;
	void (*put)(struct database *database, const void *thing);
} things[] = {
	{EVENT_PROCESS, TABLE_PROCESSES, sizeof(struct event_process), put_process},
	{EVENT_THREAD, TABLE_THREADS, sizeof(struct event_thread), put_thread},
	{EVENT_DEVICE, TABLE_DEVICES, sizeof(struct event_device), put_device},
	{EVENT_QUEUE, TABLE_QUEUES, sizeof(struct event_queue), put_queue},
	{EVENT_CODE, TABLE_KERNELS, sizeof(struct event_code), put_kernel},
	{EVENT_SERIES, TABLE_SERIES, sizeof(struct event_series), put_series},
	{EVENT_COLLECTOR, TABLE_COLLECTORS, sizeof(struct event_collector), put_collector},
};

static int put_thing_list(struct database *database, size_t index)
{
	const void *rows = NULL;
	size_t count = model_things(database->model, things[index].kind, &rows);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		const void *row = (const char *)rows + i * things[index].size;

		if (things[index].kind == EVENT_CODE &&
		    ((const struct event_code *)row)->type != CODE_KERNEL)
			continue;
		error = begin_row(database, things[index].table);
		if (error)
			return error;
		things[index].put(database, row);
		error = end_row(database);
	}
	return error;
}

/* ---- commands ---------------------------------------------------------------------------------- */

static int put_launch(struct database *database, const struct event_launch *row, uint64_t number)
{
	const struct command command = {.launch = row};
	int error = begin_row(database, TABLE_LAUNCHES);

	if (error)
		return error;
	put_u64(database, number);
	put_known(database, row->thread);
	put_string(database, row->function_string);
	put_time(database, row->enter);
	put_time(database, row->exit);
	put_i64(database, row->result);
	put_known(database, row->queue);
	put_known(database, row->correlation);
	put_text(database, analysis_command_name(analysis_launch_command(database->model, row)));
	put_known(database, row->kernel);
	put_text(database, command_name(database->model, &command));
	put_u64(database, (row->flags & LAUNCH_BLOCKING) != 0);
	put_u64(database, (row->flags & LAUNCH_FURTHER) != 0);
	put_known(database, row->bytes);
	put_sizes(database, row->global_size, row->dimensions);
	put_sizes(database, row->local_size, row->dimensions);
	put_stack_id(database, row->stack);
	error = end_row(database);
	database->rows++;
	return error ? error : stack_set_add(&database->stacks, row->stack);
}

static bool is_launch_wanted(const struct database *database, const struct event_launch *row)
{
	const struct filter *filter = &database->filter;

	return filter_has_kind(filter, EVENT_LAUNCH) && filter_has_time(filter, row->enter) &&
	       filter_has_thread(filter, row->thread);
}

static int on_launch(void *context, const struct event_launch *row, uint64_t number)
{
	struct database *database = context;

	return is_launch_wanted(database, row) ? put_launch(database, row, number) : 0;
}

static void put_moments(struct database *database, const struct event_execution *row)
{
	const uint64_t times[] = {row->queued, row->submitted, row->started, row->ended};

	for (unsigned int i = 0; i < ARRAY_COUNT(times); i++) {
		if ((row->valid & 1u << i) && !(row->valid & ORDER_UNPLACED))
			put_time(database, times[i]);
		else
			put_nothing(database);
	}
	if (row->seen)
		put_time(database, row->seen);
	else
		put_nothing(database);
}

static int put_execution(struct database *database, const struct command *command)
{
	const struct event_execution *row = command->execution;
	uint64_t duration_ns;
	int error = begin_row(database, TABLE_EXECUTIONS);

	if (error)
		return error;
	put_u64(database, ++database->executions);
	put_known(database, command->launch_number);
	put_known(database, row->process);
	put_known(database, row->queue);
	put_known(database, row->correlation);
	put_text(database, commands_state_name(command->state));
	put_moments(database, row);
	if (command_duration(command, &duration_ns))
		put_u64(database, duration_ns);
	else
		put_nothing(database);
	put_i64(database, row->status);
	put_u64(database, command_is_in_account(command));
	database->rows++;
	return end_row(database);
}

static int put_open(struct database *database, const struct command *command)
{
	int error = begin_row(database, command->state == STATE_NOT_EXECUTED ? TABLE_NOT_EXECUTED
									     : TABLE_IN_FLIGHT);

	if (error)
		return error;
	put_u64(database, command->launch_number);
	return end_row(database);
}

static int on_command(void *context, const struct command *command)
{
	struct database *database = context;
	const struct filter *filter = &database->filter;

	if (!command->execution)
		return is_launch_wanted(database, command->launch) ? put_open(database, command)
								   : 0;
	if (!filter_has_kind(filter, EVENT_EXECUTION) ||
	    !filter_has_time(filter, command_time(command)) ||
	    !filter_has_process(filter, command->process))
		return 0;
	return put_execution(database, command);
}

/* ---- other rows -------------------------------------------------------------------------------- */

static void put_call(struct database *database, const struct event_api *row)
{
	put_known(database, row->thread);
	put_string(database, row->function_string);
	put_time(database, row->begin);
	put_time(database, row->end);
	put_i64(database, row->result);
	put_u64(database, row->type == API_TYPE_WAIT);
	put_known(database, row->argument);
	put_stack_id(database, row->stack);
}

static void put_dependency(struct database *database, const struct event_dependency *row)
{
	put_known(database, row->process);
	put_known(database, row->correlation);
	put_time(database, row->time);
	put_u64(database, row->handle);
}

static void put_sample(struct database *database, const struct event_cpu_sample *row)
{
	const char *source = model_text(database->model, row->source_string, "samples");

	put_known(database, row->thread);
	put_time(database, row->time);
	put_u64(database, row->cpu);
	put_text(database, source);
	put_text(database, analysis_mode_name(row->mode));
	put_u64(database, row->weight);
	put_text(database, analysis_source_unit(source));
	put_stack_id(database, row->stack);
}

static void put_switch(struct database *database, const struct event_switch *row)
{
	put_time(database, row->time);
	put_u64(database, row->cpu);
	put_known(database, row->previous);
	put_known(database, row->next);
	put_text(database, analysis_switch_name(row->reason));
	put_string(database, row->wait_string);
	put_known(database, row->holder);
	put_known(database, row->waker);
	put_string(database, row->waker_string);
	put_stack_id(database, row->stack);
}

static void put_instruction(struct database *database, const struct event_instruction_sample *row)
{
	put_time(database, row->begin);
	put_time(database, row->end);
	put_known(database, row->process);
	put_known(database, row->device);
	put_text(database, model_kernel_name(database->model, row->code));
	put_u64(database, row->offset);
	put_string(database, row->stall_string);
	put_u64(database, row->count);
	put_u64(database, row->period);
	put_string(database, row->period_unit_string);
	put_known(database, row->correlation);
	put_string(database, row->text_string);
	put_stack_id(database, row->stack);
}

static void put_range(struct database *database, const struct event_range *row)
{
	put_known(database, row->process);
	put_known(database, row->thread);
	put_string(database, row->domain_string);
	put_text(database, model_range_name(database->model, row));
	put_text(database, analysis_range_type(row->type));
	put_time(database, row->begin);
	put_time(database, row->end);
	put_u64(database, (row->flags & RANGE_OPEN) != 0);
	put_u64(database, (row->flags & RANGE_UNBEGUN) != 0);
	put_stack_id(database, row->stack);
}

static void put_counter(struct database *database, const struct event_counter *row)
{
	put_u64(database, row->series);
	put_time(database, row->begin);
	put_time(database, row->end);
	put_i64(database, row->value);
	put_known(database, row->of);
}

static void put_loss(struct database *database, const struct event_loss *row)
{
	put_known(database, row->process);
	put_text(database, analysis_kind_name(row->kind));
	put_text(database, analysis_loss_name(row->reason));
	put_known(database, row->count);
	put_time(database, row->begin);
	put_time(database, row->end);
}

static const struct {
	enum event_kind kind;
	enum table table;
} happenings[] = {
	{EVENT_API, TABLE_CALLS},
	{EVENT_DEPENDENCY, TABLE_DEPENDENCIES},
	{EVENT_CPU_SAMPLE, TABLE_CPU_SAMPLES},
	{EVENT_SWITCH, TABLE_SWITCHES},
	{EVENT_INSTRUCTION_SAMPLE, TABLE_INSTRUCTION_SAMPLES},
	{EVENT_RANGE, TABLE_RANGES},
	{EVENT_COUNTER, TABLE_COUNTERS},
	{EVENT_LOSS, TABLE_LOSSES},
};

static void put_happening(struct database *database, const struct order_item *item)
{
	switch (item->kind) {
	case EVENT_API:
		put_call(database, item->row);
		break;
	case EVENT_DEPENDENCY:
		put_dependency(database, item->row);
		break;
	case EVENT_CPU_SAMPLE:
		put_sample(database, item->row);
		break;
	case EVENT_SWITCH:
		put_switch(database, item->row);
		break;
	case EVENT_INSTRUCTION_SAMPLE:
		put_instruction(database, item->row);
		break;
	case EVENT_RANGE:
		put_range(database, item->row);
		break;
	case EVENT_COUNTER:
		put_counter(database, item->row);
		break;
	default:
		put_loss(database, item->row);
	}
}

static int put_item(struct database *database, enum table table, const struct order_item *item)
{
	int error;

	if (!filter_has_item(&database->filter, item))
		return 0;
	error = begin_row(database, table);
	if (error)
		return error;
	put_u64(database, ++database->kind_rows);
	database->rows++;
	put_happening(database, item);
	error = end_row(database);
	return error ? error : stack_set_add(&database->stacks, filter_stack_of(item));
}

/* A sample of an address is its kernel's. */
static int put_sampled(struct database *database, enum table table, struct order_item *item)
{
	struct event_instruction_sample sample;
	int error = 0;

	if (item->kind != EVENT_INSTRUCTION_SAMPLE)
		return put_item(database, table, item);
	sample = *(const struct event_instruction_sample *)item->row;
	item->row = &sample;
	if (!database->sites)
		error = code_sites_of_model(database->model, &database->sites);
	if (!error)
		error = code_sites_resolve(database->sites, &sample);
	return error ? error : put_item(database, table, item);
}

static int put_kind(struct database *database, size_t index)
{
	struct order_options options = {.kinds = 1u << happenings[index].kind};
	struct order *order = NULL;
	struct order_item item;
	int error = model_order(database->model, &options, &order), status;

	database->kind_rows = 0;
	while (!error && (status = order_next(order, &item)) != 0)
		error = status < 0 ? status : put_sampled(database, happenings[index].table, &item);
	order_free(order);
	return error;
}

static int put_rows(struct database *database)
{
	const struct commands_visitor visitor = {.on_launch = on_launch, .on_command = on_command};
	int error = commands_each(database->model, &visitor, database);

	for (size_t i = 0; i < ARRAY_COUNT(happenings) && !error; i++)
		error = put_kind(database, i);
	return error;
}

/* ---- stacks ------------------------------------------------------------------------------------ */

static int put_stack(struct database *database, uint32_t id)
{
	const struct event_stack *stack = model_stack(database->model, id);
	int error = begin_row(database, TABLE_STACKS);

	if (error)
		return error;
	put_u64(database, id);
	put_stack_id(database, stack->caller);
	put_u64(database, stack->frame);
	return end_row(database);
}

static int put_name(struct database *database, uint32_t frame, size_t depth,
		    const struct frame_name *name)
{
	static const char *const kinds[] = {[FRAME_CLASS_HOST] = "native",
					    [FRAME_CLASS_PYTHON] = "python",
					    [FRAME_CLASS_JIT] = "jit",
					    [FRAME_CLASS_INLINED] = "inlined",
					    [FRAME_CLASS_TRUNCATED] = "truncated",
					    [FRAME_CLASS_KERNEL] = "kernel"};
	int error = begin_row(database, TABLE_FRAME_NAMES);

	if (error)
		return error;
	put_u64(database, frame);
	put_u64(database, depth);
	put_text(database, name->function);
	if (name->file)
		put_text(database, name->file);
	else
		put_nothing(database);
	put_known(database, name->line);
	put_text(database, kinds[name->class]);
	return end_row(database);
}

static int put_frame(struct database *database, uint32_t id)
{
	const struct event_frame *frame = model_frame(database->model, id);
	bool is_native = frame && frame->type == FRAME_NATIVE;
	const struct frame_name *names = NULL;
	size_t count = 0;
	int error = frames_of_frame(database->frames, id, &names, &count);

	if (!error)
		error = begin_row(database, TABLE_FRAMES);
	if (error)
		return error;
	put_u64(database, id);
	if (is_native) {
		put_string(database, frame->module_string);
		put_string(database, frame->build_id_string);
		put_u64(database, frame->offset);
	}
	for (int i = 0; !is_native && i < 3; i++)
		put_nothing(database);
	error = end_row(database);
	for (size_t i = 0; i < count && !error; i++)
		error = put_name(database, id, i, &names[i]);
	return error;
}

static int put_stacks(struct database *database)
{
	size_t stacks_count = 0, frames_count = 0;
	uint32_t *stacks = stack_set_stacks(&database->stacks, &stacks_count);
	uint32_t *frames = stack_set_frames(&database->stacks, &frames_count);
	int error = stacks && frames ? 0 : -ENOMEM;

	for (size_t i = 0; i < stacks_count && !error; i++)
		error = put_stack(database, stacks[i]);
	for (size_t i = 0; i < frames_count && !error; i++)
		error = put_frame(database, frames[i]);
	free(stacks);
	free(frames);
	return error;
}

/* ---- the account ------------------------------------------------------------------------------- */

static int put_ledger(struct database *database)
{
	const struct analysis_ledger *ledger = &database->analysis->ledger;
	const struct {
		const char *name;
		uint64_t count;
	} sums[] = {{"launched", ledger->launched},
		    {"executed", ledger->executed},
		    {"matched", ledger->matched},
		    {"not_executed", ledger->not_executed},
		    {"in_flight_at_exit", ledger->in_flight_at_exit},
		    {"dropped", ledger->dropped},
		    {"contradictions", ledger->contradictions},
		    {"rejected", ledger->rejected},
		    {"untimed", ledger->untimed},
		    {"unplaced", ledger->unplaced},
		    {"orphaned", ledger->orphaned}};
	int error = 0;

	for (size_t i = 0; i < ARRAY_COUNT(sums) && !error; i++) {
		error = begin_row(database, TABLE_LEDGER);
		if (error)
			return error;
		put_text(database, sums[i].name);
		put_u64(database, sums[i].count);
		error = end_row(database);
	}
	return error;
}

static int put_part(struct database *database, const struct analysis_device *device,
		    const struct account_part *part)
{
	int error = begin_row(database, TABLE_ACCOUNT);

	if (error)
		return error;
	put_known(database, device->device ? device->device->id : 0);
	put_text(database, part->is_busy ? "busy" : "idle");
	put_text(database, part->what);
	put_u64(database, part->time_ns);
	return end_row(database);
}

static int put_account(struct database *database, const struct analysis_device *device)
{
	struct account_part part;
	int error = 0;

	for (size_t i = 0; !error && account_part(&device->account, i, &part); i++)
		error = put_part(database, device, &part);
	return error;
}

static int put_accounts(struct database *database)
{
	const struct analysis *analysis = database->analysis;
	int error = put_ledger(database);

	for (size_t i = 0; i < analysis_devices_shown(analysis) && !error; i++)
		error = put_account(database, &analysis->devices[i]);
	return error;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static int execute(struct database *database, const char *sql)
{
	return database->library.exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : fail(database);
}

static int fill(struct database *database)
{
	int error = execute(database, sqlite_tables);

	if (!error)
		error = execute(database, "BEGIN");
	if (!error)
		error = put_meta(database);
	if (!error)
		error = put_clocks(database);
	for (size_t i = 0; i < ARRAY_COUNT(things) && !error; i++)
		error = put_thing_list(database, i);
	if (!error)
		error = put_rows(database);
	if (!error)
		error = put_stacks(database);
	if (!error)
		error = put_accounts(database);
	if (!error)
		error = execute(database, sqlite_views);
	return error ? error : execute(database, "COMMIT");
}

/* By the descriptor, so that it is the very file that was opened, whatever its path means by now. */
static int open_handle(struct database *database, FILE *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	if (database->library.open_v2(path, &database->handle, SQLITE_OPEN_READWRITE, NULL) !=
	    SQLITE_OK)
		return database->handle ? fail(database) : -ENOMEM;
	return execute(database, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; "
				 "PRAGMA locking_mode=EXCLUSIVE");
}

static int open_database(struct database *database, const struct export_options *options,
			 FILE *file)
{
	const struct analysis_options window = filter_window(options);
	const struct frames_options names = filter_names(options);
	int error = sqlite_library_open(&database->library);

	if (!error)
		error = open_handle(database, file);
	if (!error)
		error = analysis_new(database->model, &window, &database->analysis);
	if (!error)
		error = frames_new(database->model, &names, &database->frames);
	return error ? error : filter_open(&database->filter, database->model, options);
}

static void close_database(struct database *database)
{
	for (size_t i = 0; database->handle && i < ARRAY_COUNT(database->inserts); i++)
		database->library.finalize(database->inserts[i]);
	if (database->handle)
		database->library.close(database->handle);
	sqlite_library_close(&database->library);
	string_builder_fini(&database->text);
	stack_set_fini(&database->stacks);
	code_sites_free(database->sites);
	frames_free(database->frames);
	analysis_free(database->analysis);
}

static int write_sqlite(const struct model *model, const struct export_options *options, FILE *file,
			uint64_t *ret_rows)
{
	struct database database = {.model = model};
	int error;

	stack_set_init(&database.stacks, model);
	string_builder_init(&database.text);
	error = open_database(&database, options, file);
	if (!error)
		error = fill(&database);
	*ret_rows = database.rows;
	close_database(&database);
	return error;
}

const struct exporter export_sqlite = {
	.name = "sqlite",
	.help = "a database: things, what happened, the account, views (needs libsqlite3.so.0)",
	.kinds = "api, launch, execution, dependency, cpu_sample, switch, instruction_sample, "
		 "range, counter, loss",
	.is_binary = true,
	.needs_file = true,
	.write = write_sqlite,
};
