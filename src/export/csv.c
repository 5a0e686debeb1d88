/* SPDX-License-Identifier: MIT
 *
 * export/csv.c - export one table for a spreadsheet (RFC 4180)
 *
 * Runs in:  our own process
 * Gets:     a model, filters and the name of a table
 * Gives:    a line of column names, then a line per row
 * Owns:     the text of each stack
 * Fails:    -EINVAL for more than one table, -ENOMEM, errors of the reader; -EPIPE ends the export
 *           silently
 * Why an apostrophe before '=', '+', '-', '@', tab and carriage return: a spreadsheet executes a
 *           text that starts with one of them as a formula, and names come from the recorded
 *           program.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/filter.h"
#include "analyze/join/commands.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "analyze/sample/code_sites.h"
#include "base/array.h"
#include "base/error.h"
#include "base/file/stream.h"
#include "base/string.h"
#include "export/common/fields.h"
#include "export/common/profile.h"
#include "export/common/stack_texts.h"
#include "export/formats.h"
#include "flame/escape.h"

#define CSV_KINDS                                                                          \
	"execution, launch, api, cpu_sample, switch, instruction_sample, range, counter, " \
	"loss, account"
#define FLUSH_ROWS 4096

struct csv {
	struct profile profile;
	struct filter filter;
	struct stack_texts stacks;
	const struct model *model;
	struct code_sites *sites; /* owned; kernels of instruction samples; NULL: table has none */
	FILE *file;
	bool has_cells; /* the current line has a cell */
	uint64_t rows;
};

/* ---- cells ----------------------------------------------------------------------------------- */

static void begin_cell(struct csv *csv)
{
	if (csv->has_cells)
		putc(',', csv->file);
	csv->has_cells = true;
}

static void put_nothing(struct csv *csv)
{
	begin_cell(csv);
}

static void put_u64(struct csv *csv, uint64_t value)
{
	begin_cell(csv);
	fprintf(csv->file, "%" PRIu64, value);
}

static void put_i64(struct csv *csv, int64_t value)
{
	begin_cell(csv);
	fprintf(csv->file, "%" PRId64, value);
}

/* An id or address; 0 is written as an empty cell. */
static void put_known(struct csv *csv, uint64_t value)
{
	if (value)
		put_u64(csv, value);
	else
		put_nothing(csv);
}

/* A number that is not finite is written as an empty cell. */
static void put_number(struct csv *csv, double value)
{
	begin_cell(csv);
	if (isfinite(value))
		fprintf(csv->file, "%.10g", value);
}

static void put_time(struct csv *csv, uint64_t time_ns)
{
	put_i64(csv, filter_time(&csv->filter, time_ns));
}

static void put_optional_time(struct csv *csv, bool is_known, uint64_t time_ns)
{
	if (is_known)
		put_time(csv, time_ns);
	else
		put_nothing(csv);
}

static void put_bytes(struct csv *csv, const char *text)
{
	for (size_t left = strlen(text); left;) {
		int length = utf8_length(text, left);
		size_t taken = (size_t)abs(length);

		if (length < 0)
			fputs("\xef\xbf\xbd", csv->file);
		else
			fwrite(text, 1, taken, csv->file);
		if (*text == '"')
			putc('"', csv->file);
		text += taken;
		left -= taken;
	}
}

static void put_text(struct csv *csv, const char *text)
{
	bool is_formula = *text && strchr("=+-@\t\r", *text);
	bool is_quoted = is_formula || strpbrk(text, ",\"\r\n");

	begin_cell(csv);
	if (is_quoted)
		putc('"', csv->file);
	if (is_formula)
		putc('\'', csv->file);
	put_bytes(csv, text);
	if (is_quoted)
		putc('"', csv->file);
}

static void put_string(struct csv *csv, uint32_t string)
{
	put_text(csv, model_text(csv->model, string, ""));
}

static void put_sizes(struct csv *csv, const uint64_t sizes[3], uint32_t count)
{
	begin_cell(csv);
	for (uint32_t i = 0; i < count && i < 3 && sizes[0]; i++)
		fprintf(csv->file, "%s%" PRIu64, i ? "x" : "", sizes[i]);
}

static int end_row(struct csv *csv)
{
	fputs("\r\n", csv->file);
	csv->has_cells = false;
	if (++csv->rows % FLUSH_ROWS == 0 || ferror(csv->file))
		return stream_flush(csv->file);
	return 0;
}

/* ---- processes, devices, stacks -------------------------------------------------------------- */

#define PROCESS_COLUMNS "pid,comm"
static void put_process(struct csv *csv, uint32_t id)
{
	const struct event_process *process = model_entity(csv->model, EVENT_PROCESS, id);

	put_known(csv, process ? process->pid : 0);
	put_string(csv, process ? process->name_string : 0);
}

#define THREAD_COLUMNS "tid,thread"
static void put_thread(struct csv *csv, uint32_t id)
{
	const struct event_thread *thread = model_entity(csv->model, EVENT_THREAD, id);

	put_known(csv, thread ? thread->tid : 0);
	put_string(csv, thread ? thread->name_string : 0);
}

#define DEVICE_COLUMNS "device,device_key"
static void put_device(struct csv *csv, uint32_t id)
{
	const struct event_device *device = model_entity(csv->model, EVENT_DEVICE, id);

	put_string(csv, device ? device->name_string : 0);
	put_string(csv, device ? device->key_string : 0);
}

#define QUEUE_COLUMNS DEVICE_COLUMNS ",context,queue"
static void put_queue(struct csv *csv, uint32_t id)
{
	const struct event_queue *queue = model_entity(csv->model, EVENT_QUEUE, id);

	put_device(csv, queue ? queue->device : 0);
	put_known(csv, queue ? queue->context : 0);
	put_known(csv, id);
}

static struct flame_text text_of(const char *text)
{
	return (struct flame_text){.bytes = text, .size = strlen(text)};
}

/* Formats a stack like a line of folded stacks. */
static void format_stack(struct string_builder *text, const struct profile_frame *frames,
			 size_t count)
{
	static const enum flame_class classes[PROFILE_FRAME_KIND_COUNT] = {
		[PROFILE_NATIVE] = FLAME_HOST,   [PROFILE_INLINED] = FLAME_INLINED,
		[PROFILE_PYTHON] = FLAME_PYTHON, [PROFILE_JIT] = FLAME_JIT,
		[PROFILE_KERNEL] = FLAME_KERNEL, [PROFILE_PLACEHOLDER] = FLAME_HOST,
		[PROFILE_DEVICE] = FLAME_DEVICE, [PROFILE_DEVICE_INSTRUCTION] = FLAME_INSTRUCTION};

	for (size_t i = 0; i < count; i++) {
		if (i)
			string_builder_append_char(text, ';');
		flame_escape_folded(text, text_of(frames[i].function), classes[frames[i].kind]);
	}
}

static int put_stack(struct csv *csv, uint32_t stack)
{
	const char *text = stack ? stack_texts_get(&csv->stacks, stack) : "";

	if (!text)
		return -ENOMEM;
	put_text(csv, text);
	return 0;
}

/* ---- commands -------------------------------------------------------------------------------- */

#define COMMAND_COLUMNS "command,kernel,function,correlation"
static void put_command(struct csv *csv, const struct event_launch *launch, uint64_t correlation)
{
	if (launch) {
		put_text(csv, analysis_command_name(analysis_launch_command(csv->model, launch)));
		put_text(csv, model_kernel_name(csv->model, launch->kernel));
		put_string(csv, launch->function_string);
	} else {
		put_nothing(csv);
		put_nothing(csv);
		put_nothing(csv);
	}
	put_known(csv, correlation);
}

#define SIZE_COLUMNS "bytes,global_size,local_size"
static void put_launch_sizes(struct csv *csv, const struct event_launch *launch)
{
	static const struct event_launch none;

	launch = launch ? launch : &none;
	put_known(csv, launch->bytes);
	put_sizes(csv, launch->global_size, launch->dimensions);
	put_sizes(csv, launch->local_size, launch->dimensions);
}

#define CALL_COLUMNS "enter_ns,exit_ns"
static void put_call(struct csv *csv, const struct event_launch *launch)
{
	put_optional_time(csv, launch, launch ? launch->enter : 0);
	put_optional_time(csv, launch, launch ? launch->exit : 0);
}

#define MOMENT_COLUMNS "queued_ns,submitted_ns,started_ns,ended_ns,seen_ns,duration_ns,status"
static void put_moments(struct csv *csv, const struct command *command)
{
	const struct event_execution *row = command->execution;
	const uint64_t times[] = {row ? row->queued : 0, row ? row->submitted : 0,
				  row ? row->started : 0, row ? row->ended : 0};
	uint64_t duration_ns;

	for (unsigned int i = 0; i < ARRAY_COUNT(times); i++)
		put_optional_time(csv,
				  row && (row->valid & 1u << i) && !(row->valid & ORDER_UNPLACED),
				  times[i]);
	put_optional_time(csv, row && row->seen, row ? row->seen : 0);
	if (command_duration(command, &duration_ns))
		put_u64(csv, duration_ns);
	else
		put_nothing(csv);
	if (row)
		put_i64(csv, row->status);
	else
		put_nothing(csv);
}

#define EXECUTION_COLUMNS                                                                 \
	"state," PROCESS_COLUMNS "," THREAD_COLUMNS "," QUEUE_COLUMNS "," COMMAND_COLUMNS \
	"," CALL_COLUMNS "," MOMENT_COLUMNS "," SIZE_COLUMNS ",stack"
static int on_command(void *context, const struct command *command)
{
	struct csv *csv = context;
	const struct event_launch *launch = command->launch;
	int error;

	if (!filter_has_time(&csv->filter, command_time(command)) ||
	    !filter_has_process(&csv->filter, command->process))
		return 0;
	put_text(csv, commands_state_name(command->state));
	put_process(csv, command->process);
	put_thread(csv, launch ? launch->thread : 0);
	put_queue(csv, command->queue);
	put_command(csv, launch, launch ? launch->correlation : command->execution->correlation);
	put_call(csv, launch);
	put_moments(csv, command);
	put_launch_sizes(csv, launch);
	error = put_stack(csv, launch ? launch->stack : 0);
	return error ? error : end_row(csv);
}

static int write_executions(struct csv *csv)
{
	const struct commands_visitor visitor = {.on_command = on_command};

	return commands_each(csv->model, &visitor, csv);
}

/* ---- rows of one event ----------------------------------------------------------------------- */

static int put_cell(struct csv *csv, const struct field_cell *cell)
{
	switch (cell->type) {
	case FIELD_CELL_I64:
		put_i64(csv, (int64_t)cell->u64);
		break;
	case FIELD_CELL_TIME:
		put_time(csv, cell->u64);
		break;
	case FIELD_CELL_STACK:
		return put_stack(csv, (uint32_t)cell->u64);
	case FIELD_CELL_TEXT:
		put_text(csv, cell->text);
		break;
	case FIELD_CELL_DOUBLE:
		put_number(csv, cell->real);
		break;
	case FIELD_CELL_SIZES:
		put_sizes(csv, cell->sizes, cell->sizes_count);
		break;
	default:
		put_u64(csv, cell->u64);
	}
	return 0;
}

static int put_row(struct csv *csv, const struct field_list *list, const void *row)
{
	struct field_cell cell;
	int error = 0;

	cell.steps = NULL;
	for (size_t i = 0; i < list->count && !error; i++) {
		if (field_read(&list->columns[i], csv->model, row, &cell))
			error = put_cell(csv, &cell);
		else
			put_nothing(csv);
	}
	return error ? error : end_row(csv);
}

/* ---- the account ----------------------------------------------------------------------------- */

#define ACCOUNT_COLUMNS DEVICE_COLUMNS ",measured,part,what,time_ns"
static int put_part(struct csv *csv, const struct analysis_device *device,
		    const struct account_part *part)
{
	put_text(csv, device->name);
	put_text(csv, device->key);
	put_u64(csv, device->is_measured);
	put_text(csv, part->is_busy ? "busy" : "idle");
	put_text(csv, part->what);
	put_u64(csv, part->time_ns);
	return end_row(csv);
}

static int put_account(struct csv *csv, const struct analysis_device *device)
{
	struct account_part part;
	int error = 0;

	for (size_t i = 0; !error && account_part(&device->account, i, &part); i++)
		error = put_part(csv, device, &part);
	return error;
}

static int write_account(struct csv *csv)
{
	const struct analysis *analysis = csv->profile.analysis;
	int error = 0;

	for (size_t i = 0; i < analysis_devices_shown(analysis) && !error; i++)
		error = put_account(csv, &analysis->devices[i]);
	return error;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Tables that are computed; the others are lists of event/fields.def. */
static const struct table {
	const char *kind, *columns;
	int (*write)(struct csv *csv);
} tables[] = {
	{"execution", EXECUTION_COLUMNS, write_executions},
	{"account", ACCOUNT_COLUMNS, write_account},
};

/* The requested table; NULL: it is a list of rows, or unknown. */
static const struct table *table_of(const struct output_options *options)
{
	for (size_t i = 0; options->kinds && i < ARRAY_COUNT(tables); i++)
		if (strcmp(tables[i].kind, options->kinds) == 0)
			return &tables[i];
	return options->kinds ? NULL : &tables[0];
}

static const struct field_list *list_of(const struct output_options *options)
{
	const struct field_list *list = field_csv_lists;

	while (list->name && strcmp(list->name, options->kinds) != 0)
		list++;
	return list->name ? list : NULL;
}

/* Finds the kernel of a sample that has only an address. */
static int resolve_sample(struct csv *csv, struct order_item *item,
			  struct event_instruction_sample *sample)
{
	if (!csv->sites)
		return 0;
	*sample = *(const struct event_instruction_sample *)item->row;
	item->row = sample;
	return code_sites_resolve(csv->sites, sample);
}

static int write_rows(struct csv *csv, const struct field_list *list)
{
	struct event_instruction_sample sample;
	const struct order_options options = {.kinds = 1u << list->kind};
	struct order *order = NULL;
	struct order_item item;
	int error = model_order(csv->model, &options, &order), status;

	if (!error && list->kind == EVENT_INSTRUCTION_SAMPLE)
		error = code_sites_of_model(csv->model, &csv->sites);
	while (!error && (status = order_next(order, &item)) != 0) {
		error = status < 0 ? status : resolve_sample(csv, &item, &sample);
		if (!error && (!filter_has_item(&csv->filter, &item) || filter_is_section(&item)))
			continue;
		if (!error)
			error = put_row(csv, list, item.row);
	}
	order_free(order);
	return error;
}

static int check_options(const struct output_options *options)
{
	const struct table *table = table_of(options);

	if (!table && !list_of(options))
		return error_set(-EINVAL, "csv writes one table: choose one --kind of " CSV_KINDS);
	if (table && table->write == write_account && options->pid)
		return error_set(-EINVAL,
				 "--pid: the account of a device cannot be limited to a process");
	return 0;
}

static void write_names(struct csv *csv, const struct field_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		fprintf(csv->file, "%s%s", i ? "," : "", list->columns[i].name);
	fputs("\r\n", csv->file);
}

static int write_table(struct csv *csv)
{
	const struct table *table = table_of(csv->filter.options);
	const struct field_list *list = table ? NULL : list_of(csv->filter.options);
	int error;

	if (table)
		fprintf(csv->file, "%s\r\n", table->columns);
	else
		write_names(csv, list);
	error = table ? table->write(csv) : write_rows(csv, list);
	return error ? error : stream_flush(csv->file);
}

static int write_csv(const struct model *model, const struct output_options *options, FILE *file,
		     uint64_t *ret_rows)
{
	struct csv csv = {.model = model, .file = file};
	int error = profile_open(&csv.profile, model, options);

	stack_texts_init(&csv.stacks, &csv.profile, format_stack);
	if (!error)
		error = filter_open(&csv.filter, model, options);
	if (!error)
		error = write_table(&csv);
	*ret_rows = csv.rows;
	code_sites_free(csv.sites);
	stack_texts_fini(&csv.stacks);
	profile_close(&csv.profile);
	return error;
}

const struct exporter export_csv = {
	.name = "csv",
	.help = "one table for a spreadsheet, times in ns: commands with their launches and "
		"executions, or another kind of row",
	.kinds = CSV_KINDS,
	.has_no_instructions = true,
	.check = check_options,
	.write = write_csv,
};
