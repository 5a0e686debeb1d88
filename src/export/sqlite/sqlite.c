/* SPDX-License-Identifier: MIT
 *
 * export/sqlite/sqlite.c - export a SQLite database: tables in sqlite/tables.sql, views in
 * sqlite/views.sql
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    one SQLite database in a regular file
 * Owns:     the database while it is written, the ids of stacks
 * Fails:    -EIO with SQLite's message, -ENOSPC, -ENOMEM, errors of the reader
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/filter.h"
#include "analyze/frames.h"
#include "analyze/join/commands.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "analyze/sample/code_sites.h"
#include "base/array.h"
#include "base/string.h"
#include "export/common/fields.h"
#include "export/common/sqlite_writer.h"
#include "export/common/stack_set.h"
#include "export/common/thread_nesting.h"
#include "export/formats.h"
#include "export/sqlite/tables.h"
#include "export/sqlite/views.h"

/* The lists of event/fields.def, then the computed tables. */
enum table {
#define SQLITE(event, table, columns) TABLE_##table,
#include "event/fields.def"
	TABLE_META,
	TABLE_CLOCKS,
	TABLE_EXECUTIONS,
	TABLE_IN_FLIGHT,
	TABLE_NOT_EXECUTED,
	TABLE_STACKS,
	TABLE_FRAMES,
	TABLE_FRAME_NAMES,
	TABLE_LEDGER,
	TABLE_ACCOUNT,
	TABLE_COUNT
};

/* Names and numbers of columns. */
static const struct {
	const char *name;
	int columns;
} tables[TABLE_COUNT] = {
	[TABLE_META] = {"meta", 2},
	[TABLE_CLOCKS] = {"clocks", 7},
	[TABLE_EXECUTIONS] = {"executions", 27},
	[TABLE_IN_FLIGHT] = {"in_flight", 1},
	[TABLE_NOT_EXECUTED] = {"not_executed", 1},
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
	struct code_sites *sites; /* owned; kernels of instruction samples */
	struct frames *frames;
	struct stack_set stacks;
	struct sqlite_writer writer;
	sqlite3_stmt *inserts[TABLE_COUNT];   /* prepared at first use */
	uint64_t executions, kind_rows, rows; /* kind_rows: in the current table */
	struct thread_nesting ranges;         /* open ranges, by the number of their row */
	uint64_t ranges_count;
};

/* ---- rows ------------------------------------------------------------------------------------ */

/* Entities have ids of their own; the rows of other lists are numbered. */
static bool is_entity(const struct field_list *list)
{
	return list->kind <= EVENT_ENTITY_LAST;
}

static int prepare(struct database *database, enum table table)
{
	const struct field_list *list = table < TABLE_META ? &field_sqlite_lists[table] : NULL;
	int columns = list ? list->count + !is_entity(list) : tables[table].columns;
	char sql[160];
	size_t used = (size_t)snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (?",
				       list ? list->name : tables[table].name);

	for (int i = 1; i < columns; i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, ",?");
	snprintf(sql + used, sizeof(sql) - used, ")");
	return sqlite_writer_prepare(&database->writer, sql, &database->inserts[table]);
}

static int begin_row(struct database *database, enum table table)
{
	int error = database->inserts[table] ? 0 : prepare(database, table);

	sqlite_writer_begin(&database->writer, database->inserts[table]);
	return error;
}

/* A stack that was lost with a damaged chunk is written as NULL. */
static void put_stack_id(struct database *database, uint32_t stack)
{
	sqlite_writer_known(&database->writer, model_stack(database->model, stack) ? stack : 0);
}

static void put_time(struct database *database, uint64_t time_ns)
{
	sqlite_writer_i64(&database->writer, filter_time(&database->filter, time_ns));
}

static void put_string(struct database *database, uint32_t string)
{
	sqlite_writer_text(&database->writer, model_text(database->model, string, ""));
}

static void put_sizes(struct database *database, const uint64_t sizes[3], uint32_t count)
{
	char text[80] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < count && i < 3 && sizes[0]; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%" PRIu64,
					 i ? "x" : "", sizes[i]);
	if (used)
		sqlite_writer_text(&database->writer, text);
	else
		sqlite_writer_null(&database->writer);
}

static void put_cell(struct database *database, const struct field_cell *cell)
{
	switch (cell->type) {
	case FIELD_CELL_TIME:
		put_time(database, cell->u64);
		break;
	case FIELD_CELL_STACK:
		put_stack_id(database, (uint32_t)cell->u64);
		break;
	case FIELD_CELL_TEXT:
		sqlite_writer_text(&database->writer, cell->text);
		break;
	case FIELD_CELL_DOUBLE:
		sqlite_writer_double(&database->writer, cell->real);
		break;
	case FIELD_CELL_SIZES:
		put_sizes(database, cell->sizes, cell->sizes_count);
		break;
	default:
		sqlite_writer_u64(&database->writer, cell->u64);
	}
}

/* number: used for a row that has no id */
static int put_list_row(struct database *database, enum table table, const void *row,
			uint64_t number)
{
	const struct field_list *list = &field_sqlite_lists[table];
	struct field_cell cell;
	int error = begin_row(database, table);

	if (error)
		return error;
	if (!is_entity(list))
		sqlite_writer_u64(&database->writer, number);
	cell.steps = NULL;
	for (size_t i = 0; i < list->count; i++) {
		if (field_read(&list->columns[i], database->model, row, &cell))
			put_cell(database, &cell);
		else
			sqlite_writer_null(&database->writer);
	}
	return sqlite_writer_end(&database->writer);
}

/* ---- the recording --------------------------------------------------------------------------- */

static int put_meta_row(struct database *database, const char *key, const char *text,
			int64_t number)
{
	int error = begin_row(database, TABLE_META);

	if (error)
		return error;
	sqlite_writer_text(&database->writer, key);
	if (text)
		sqlite_writer_text(&database->writer, text);
	else
		sqlite_writer_i64(&database->writer, number);
	return sqlite_writer_end(&database->writer);
}

static int put_meta(struct database *database)
{
	const struct analysis *analysis = database->analysis;
	const struct filter *filter = &database->filter;
	uint64_t realtime_ns = 0;
	bool has_realtime = model_wall_clock(database->model, analysis->begin_ns, &realtime_ns);
	const struct {
		const char *key, *text; /* NULL: a number */
		int64_t number;
	} rows[] = {{"schema", "duet.sqlite/1", 0},
		    {"version", filter->options->version, 0},
		    {"command", model_command(database->model), 0},
		    {"complete", NULL, analysis_is_complete(analysis)},
		    {"begin_monotonic_ns", NULL, (int64_t)analysis->begin_ns},
		    {"from_ns", NULL, filter_time(filter, analysis->from_ns)},
		    {"to_ns", NULL, filter_time(filter, analysis->to_ns)},
		    {"begin_realtime_ns", NULL, (int64_t)realtime_ns}};
	size_t count = ARRAY_COUNT(rows) - !has_realtime;
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = put_meta_row(database, rows[i].key, rows[i].text, rows[i].number);
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
		sqlite_writer_u64(&database->writer, domain->id);
		sqlite_writer_text(&database->writer,
				   clocks_name(clocks, database->model->reader, domain));
		sqlite_writer_text(&database->writer, clocks_method_name(certificate->method));
		sqlite_writer_i64(&database->writer, certificate->offset_ns);
		sqlite_writer_optional(&database->writer, certificate->has_drift,
				       certificate->drift_ppb);
		sqlite_writer_optional(&database->writer, certificate->error_ns != UINT64_MAX,
				       (int64_t)certificate->error_ns);
		sqlite_writer_u64(&database->writer, certificate->violations);
		error = sqlite_writer_end(&database->writer);
	}
	return error;
}

static int put_entities(struct database *database, enum table table)
{
	const struct field_list *list = &field_sqlite_lists[table];
	const void *rows = NULL;
	size_t count = model_entities(database->model, list->kind, &rows);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		const void *row = (const char *)rows + i * list->row_bytes;

		if (list->kind == EVENT_CODE &&
		    ((const struct event_code *)row)->type != CODE_KERNEL)
			continue;
		error = put_list_row(database, table, row, 0);
	}
	return error;
}

/* ---- commands -------------------------------------------------------------------------------- */

static int put_launch(struct database *database, const struct event_launch *row, uint64_t number)
{
	int error = put_list_row(database, TABLE_launches, row, number);

	database->rows++;
	return error ? error : stack_set_add(&database->stacks, row->stack);
}

static bool is_launch_wanted(const struct database *database, const struct event_launch *row)
{
	const struct filter *filter = &database->filter;

	return filter_has_kind(filter, EVENT_LAUNCH) && filter_has_time(filter, row->enter) &&
	       filter_has_thread(filter, row->thread);
}

static int on_launch(void *context, const struct event_launch *row, uint64_t number,
		     uint64_t *ret_tag)
{
	struct database *database = context;

	*ret_tag = thread_nesting_find(&database->ranges, row->thread, row->enter);
	return is_launch_wanted(database, row) ? put_launch(database, row, number) : 0;
}

/* Ranges are numbered as put_kind does it. */
static int on_range(void *context, const struct order_item *item)
{
	const struct event_range *row = item->row;
	struct database *database = context;

	if (!filter_has_item(&database->filter, item))
		return 0;
	database->ranges_count++;
	return row->type == RANGE_PUSH
		       ? thread_nesting_add(&database->ranges, row->thread, row->begin, row->end,
					    database->ranges_count)
		       : 0;
}

static void put_moments(struct database *database, const struct event_execution *row)
{
	const uint64_t times[] = {row->queued, row->submitted, row->started, row->ended};

	for (unsigned int i = 0; i < ARRAY_COUNT(times); i++)
		sqlite_writer_optional(&database->writer,
				       (row->valid & 1u << i) && !(row->valid & ORDER_UNPLACED),
				       filter_time(&database->filter, times[i]));
	sqlite_writer_optional(&database->writer, row->seen != 0,
			       filter_time(&database->filter, row->seen));
}

static void put_details(struct sqlite_writer *writer, const struct event_execution *row)
{
	sqlite_writer_optional(writer, row->hardware_queue != 0, (int64_t)row->hardware_queue - 1);
	sqlite_writer_text(writer,
			   row->source_memory ? analysis_memory_name(row->source_memory) : NULL);
	sqlite_writer_text(writer, row->destination_memory
					   ? analysis_memory_name(row->destination_memory)
					   : NULL);
	sqlite_writer_known(writer, row->source_device);
	sqlite_writer_known(writer, row->destination_device);
	sqlite_writer_text(writer, row->migration ? analysis_migration_name(row->migration) : NULL);
	sqlite_writer_known(writer, row->graph);
	sqlite_writer_known(writer, row->graph_node);
	sqlite_writer_known(writer, row->cluster_x);
	sqlite_writer_known(writer, row->cluster_y);
	sqlite_writer_known(writer, row->cluster_z);
	sqlite_writer_known(writer, row->local_bytes);
}

static int put_execution(struct database *database, const struct command *command)
{
	const struct event_execution *row = command->execution;
	uint64_t duration_ns = 0;
	bool has_duration = command_duration(command, &duration_ns);
	int error = begin_row(database, TABLE_EXECUTIONS);

	if (error)
		return error;
	sqlite_writer_u64(&database->writer, ++database->executions);
	sqlite_writer_known(&database->writer, command->launch_number);
	sqlite_writer_known(&database->writer, row->process);
	sqlite_writer_known(&database->writer, row->queue);
	sqlite_writer_known(&database->writer, row->correlation);
	sqlite_writer_text(&database->writer, commands_state_name(command->state));
	put_moments(database, row);
	sqlite_writer_optional(&database->writer, has_duration, (int64_t)duration_ns);
	sqlite_writer_i64(&database->writer, row->status);
	sqlite_writer_u64(&database->writer, command_is_in_account(command));
	sqlite_writer_known(&database->writer, command->tag);
	put_details(&database->writer, row);
	database->rows++;
	return sqlite_writer_end(&database->writer);
}

static int put_open(struct database *database, const struct command *command)
{
	int error = begin_row(database, command->state == STATE_NOT_EXECUTED ? TABLE_NOT_EXECUTED
									     : TABLE_IN_FLIGHT);

	if (error)
		return error;
	sqlite_writer_u64(&database->writer, command->launch_number);
	return sqlite_writer_end(&database->writer);
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

/* ---- other rows ------------------------------------------------------------------------------ */

static int put_item(struct database *database, enum table table, const struct order_item *item)
{
	int error;

	if (!filter_has_item(&database->filter, item))
		return 0;
	database->rows++;
	error = put_list_row(database, filter_is_section(item) ? TABLE_duet_sections : table,
			     item->row, ++database->kind_rows);
	return error ? error : stack_set_add(&database->stacks, filter_stack_of(item));
}

/* Finds the kernel of a sample that has only an address. */
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

static int put_kind(struct database *database, enum table table)
{
	struct order_options options = {.kinds = 1u << field_sqlite_lists[table].kind};
	struct order *order = NULL;
	struct order_item item;
	int error = model_order(database->model, &options, &order), status;

	database->kind_rows = 0;
	while (!error && (status = order_next(order, &item)) != 0)
		error = status < 0 ? status : put_sampled(database, table, &item);
	order_free(order);
	return error;
}

static int put_rows(struct database *database)
{
	const struct commands_visitor visitor = {.on_launch = on_launch,
						 .on_command = on_command,
						 .more_kinds = 1u << EVENT_RANGE,
						 .on_row = on_range};
	int error = thread_nesting_init(&database->ranges, database->model);

	if (!error)
		error = commands_each(database->model, &visitor, database);

	for (enum table table = 0; table < TABLE_META && !error; table++)
		/* launches come with their commands, sections with calls */
		if (!is_entity(&field_sqlite_lists[table]) && table != TABLE_launches &&
		    table != TABLE_duet_sections)
			error = put_kind(database, table);
	return error;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static int put_stack(struct database *database, uint32_t id)
{
	const struct event_stack *stack = model_stack(database->model, id);
	int error = begin_row(database, TABLE_STACKS);

	if (error)
		return error;
	sqlite_writer_u64(&database->writer, id);
	put_stack_id(database, stack->caller);
	sqlite_writer_u64(&database->writer, stack->frame);
	return sqlite_writer_end(&database->writer);
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
	sqlite_writer_u64(&database->writer, frame);
	sqlite_writer_u64(&database->writer, depth);
	sqlite_writer_text(&database->writer, name->function);
	if (name->file)
		sqlite_writer_text(&database->writer, name->file);
	else
		sqlite_writer_null(&database->writer);
	sqlite_writer_known(&database->writer, name->line);
	sqlite_writer_text(&database->writer, kinds[name->class]);
	return sqlite_writer_end(&database->writer);
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
	sqlite_writer_u64(&database->writer, id);
	if (is_native) {
		put_string(database, frame->module_string);
		put_string(database, frame->build_id_string);
		sqlite_writer_u64(&database->writer, frame->offset);
	}
	for (int i = 0; !is_native && i < 3; i++)
		sqlite_writer_null(&database->writer);
	error = sqlite_writer_end(&database->writer);
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

/* ---- the account ----------------------------------------------------------------------------- */

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
		sqlite_writer_text(&database->writer, sums[i].name);
		sqlite_writer_u64(&database->writer, sums[i].count);
		error = sqlite_writer_end(&database->writer);
	}
	return error;
}

static int put_part(struct database *database, const struct analysis_device *device,
		    const struct account_part *part)
{
	int error = begin_row(database, TABLE_ACCOUNT);

	if (error)
		return error;
	sqlite_writer_known(&database->writer, device->device ? device->device->id : 0);
	sqlite_writer_text(&database->writer, part->is_busy ? "busy" : "idle");
	sqlite_writer_text(&database->writer, part->what);
	sqlite_writer_u64(&database->writer, part->time_ns);
	return sqlite_writer_end(&database->writer);
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

/* ---- the database ---------------------------------------------------------------------------- */

static int fill_tables(struct database *database)
{
	int error = sqlite_writer_execute(&database->writer, sqlite_tables);

	if (!error)
		error = sqlite_writer_execute(&database->writer, "BEGIN");
	if (!error)
		error = put_meta(database);
	if (!error)
		error = put_clocks(database);
	for (enum table table = 0; table < TABLE_META && !error; table++)
		if (is_entity(&field_sqlite_lists[table]))
			error = put_entities(database, table);
	if (!error)
		error = put_rows(database);
	if (!error)
		error = put_stacks(database);
	if (!error)
		error = put_accounts(database);
	if (!error)
		error = sqlite_writer_execute(&database->writer, sqlite_views);
	return error ? error : sqlite_writer_execute(&database->writer, "COMMIT");
}

static int open_database(struct database *database, const struct output_options *options,
			 FILE *file)
{
	const struct analysis_options window = filter_window(options);
	const struct frames_options names = filter_names(options);
	int error = sqlite_writer_open(&database->writer, file);

	if (!error)
		error = analysis_new(database->model, &window, &database->analysis);
	if (!error)
		error = frames_new(database->model, &names, &database->frames);
	return error ? error : filter_open(&database->filter, database->model, options);
}

static void close_database(struct database *database)
{
	for (size_t i = 0; i < ARRAY_COUNT(database->inserts); i++)
		sqlite_writer_finalize(&database->writer, database->inserts[i]);
	sqlite_writer_close(&database->writer);
	stack_set_fini(&database->stacks);
	thread_nesting_fini(&database->ranges);
	code_sites_free(database->sites);
	frames_free(database->frames);
	analysis_free(database->analysis);
}

static int write_sqlite(const struct model *model, const struct output_options *options, FILE *file,
			uint64_t *ret_rows)
{
	struct database database = {.model = model};
	int error;

	stack_set_init(&database.stacks, model);
	error = open_database(&database, options, file);
	if (!error)
		error = fill_tables(&database);
	*ret_rows = database.rows;
	close_database(&database);
	return error;
}

const struct exporter export_sqlite = {
	.name = "sqlite",
	.help = "an SQLite database with entities, events, device time and views (needs "
		"libsqlite3.so.0)",
	.kinds = "api, launch, execution, dependency, cpu_sample, switch, instruction_sample, "
		 "range, counter, loss",
	.is_binary = true,
	.needs_file = true,
	.write = write_sqlite,
};
