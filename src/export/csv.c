/* SPDX-License-Identifier: MIT
 *
 * export/csv.c - one table for a spreadsheet (RFC 4180)
 *
 * Runs in:  our own process
 * Gets:     a model, filters and which table   Gives: a line of names, then a line a row
 * Owns:     the text of each stack
 * Fails:    -EINVAL for more than one table, -ENOMEM, what the reader fails with; -EPIPE ends it quietly
 * Why an apostrophe before '=', '+', '-' and '@': a spreadsheet takes a text that begins so for a formula
 *           and runs it, and names come from the recorded program.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/code_sites.h"
#include "analyze/model.h"
#include "analyze/units.h"
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "export/commands.h"
#include "export/filter.h"
#include "export/flame_escape.h"
#include "export/formats.h"
#include "export/profile.h"
#include "export/stack_texts.h"

#define CSV_KINDS                                                                          \
	"execution, launch, api, cpu_sample, switch, instruction_sample, range, counter, " \
	"loss, account"
#define FLUSH_ROWS 4096

struct csv {
	struct profile profile;
	struct filter filter;
	struct stack_texts stacks;
	const struct model *model;
	struct code_sites *sites; /* owned; of samples of instructions; NULL: of none */
	FILE *file;
	bool has_cells; /* in this line */
	uint64_t rows;
};

/* ---- cells ------------------------------------------------------------------------------------- */

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

/* Ids and addresses of 0 stand for nothing. */
static void put_known(struct csv *csv, uint64_t value)
{
	if (value)
		put_u64(csv, value);
	else
		put_nothing(csv);
}

/* What says nothing is an empty cell. */
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
		return export_flush(csv->file);
	return 0;
}

/* ---- who and where ----------------------------------------------------------------------------- */

#define PROCESS_COLUMNS "pid,comm"
static void put_process(struct csv *csv, uint32_t id)
{
	const struct event_process *process = model_thing(csv->model, EVENT_PROCESS, id);

	put_known(csv, process ? process->pid : 0);
	put_string(csv, process ? process->name_string : 0);
}

#define THREAD_COLUMNS "tid,thread"
static void put_thread(struct csv *csv, uint32_t id)
{
	const struct event_thread *thread = model_thing(csv->model, EVENT_THREAD, id);

	put_known(csv, thread ? thread->tid : 0);
	put_string(csv, thread ? thread->name_string : 0);
}

#define DEVICE_COLUMNS "device,device_key"
static void put_device(struct csv *csv, uint32_t id)
{
	const struct event_device *device = model_thing(csv->model, EVENT_DEVICE, id);

	put_string(csv, device ? device->name_string : 0);
	put_string(csv, device ? device->key_string : 0);
}

#define QUEUE_COLUMNS DEVICE_COLUMNS ",context,queue"
static void put_queue(struct csv *csv, uint32_t id)
{
	const struct event_queue *queue = model_thing(csv->model, EVENT_QUEUE, id);

	put_device(csv, queue ? queue->device : 0);
	put_known(csv, queue ? queue->context : 0);
	put_known(csv, id);
}

static struct flame_text text_of(const char *text)
{
	return (struct flame_text){.bytes = text, .size = strlen(text)};
}

/* As folded stacks have it. */
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

/* ---- commands ---------------------------------------------------------------------------------- */

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
	if (!launch) {
		put_nothing(csv);
		put_nothing(csv);
		return;
	}
	put_time(csv, launch->enter);
	put_time(csv, launch->exit);
}

#define MOMENT_COLUMNS "queued_ns,submitted_ns,started_ns,ended_ns,seen_ns,duration_ns,status"
static void put_moments(struct csv *csv, const struct command *command)
{
	const struct event_execution *row = command->execution;
	const uint64_t times[] = {row ? row->queued : 0, row ? row->submitted : 0,
				  row ? row->started : 0, row ? row->ended : 0};
	uint64_t duration_ns;

	for (unsigned int i = 0; i < ARRAY_COUNT(times); i++) {
		if (row && (row->valid & 1u << i) && !(row->valid & ORDER_UNPLACED))
			put_time(csv, times[i]);
		else
			put_nothing(csv);
	}
	if (row && row->seen)
		put_time(csv, row->seen);
	else
		put_nothing(csv);
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

/* ---- rows as they are -------------------------------------------------------------------------- */

#define LAUNCH_COLUMNS                                                                            \
	PROCESS_COLUMNS "," THREAD_COLUMNS "," QUEUE_COLUMNS "," COMMAND_COLUMNS "," CALL_COLUMNS \
			",duration_ns,result,blocking,further," SIZE_COLUMNS ",stack"
static int put_launch(struct csv *csv, const void *item)
{
	const struct event_launch *row = item;

	put_process(csv, filter_process_of(&csv->filter, row->thread));
	put_thread(csv, row->thread);
	put_queue(csv, row->queue);
	put_command(csv, row, row->correlation);
	put_call(csv, row);
	put_u64(csv, row->exit - row->enter);
	put_i64(csv, row->result);
	put_u64(csv, (row->flags & LAUNCH_BLOCKING) != 0);
	put_u64(csv, (row->flags & LAUNCH_FURTHER) != 0);
	put_launch_sizes(csv, row);
	return put_stack(csv, row->stack);
}

#define API_COLUMNS                        \
	PROCESS_COLUMNS "," THREAD_COLUMNS \
			",function,begin_ns,end_ns,duration_ns,result,waits,argument,stack"
static int put_api(struct csv *csv, const void *item)
{
	const struct event_api *row = item;

	put_process(csv, filter_process_of(&csv->filter, row->thread));
	put_thread(csv, row->thread);
	put_string(csv, row->function_string);
	put_time(csv, row->begin);
	put_time(csv, row->end);
	put_u64(csv, row->end - row->begin);
	put_i64(csv, row->result);
	put_u64(csv, row->type == API_TYPE_WAIT);
	put_known(csv, row->argument);
	return put_stack(csv, row->stack);
}

#define SAMPLE_COLUMNS \
	PROCESS_COLUMNS "," THREAD_COLUMNS ",time_ns,cpu,source,mode,weight,unit,stack"
static int put_sample(struct csv *csv, const void *item)
{
	const struct event_cpu_sample *row = item;
	const char *source = model_text(csv->model, row->source_string, "samples");

	put_process(csv, filter_process_of(&csv->filter, row->thread));
	put_thread(csv, row->thread);
	put_time(csv, row->time);
	put_u64(csv, row->cpu);
	put_text(csv, source);
	put_text(csv, analysis_mode_name(row->mode));
	put_u64(csv, row->weight);
	put_text(csv, analysis_source_unit(source));
	return put_stack(csv, row->stack);
}

static void put_waker(struct csv *csv, const struct event_switch *row)
{
	const struct event_thread *thread = model_thing(csv->model, EVENT_THREAD, row->waker);

	put_string(csv, thread ? thread->name_string : row->waker_string);
}

#define SWITCH_COLUMNS                                                                         \
	"time_ns,cpu," PROCESS_COLUMNS "," THREAD_COLUMNS ",next_tid,next_thread,reason,wait," \
	"waker,stack"
static int put_switch(struct csv *csv, const void *item)
{
	const struct event_switch *row = item;

	put_time(csv, row->time);
	put_u64(csv, row->cpu);
	put_process(csv,
		    filter_process_of(&csv->filter, row->previous ? row->previous : row->next));
	put_thread(csv, row->previous);
	put_thread(csv, row->next);
	put_text(csv, analysis_switch_name(row->reason));
	put_string(csv, row->wait_string);
	put_waker(csv, row);
	return put_stack(csv, row->stack);
}

#define INSTRUCTION_COLUMNS                                   \
	"begin_ns,end_ns," PROCESS_COLUMNS "," DEVICE_COLUMNS \
	",kernel,offset,stall,count,period,unit,correlation,instruction,stack"
static int put_instruction(struct csv *csv, const void *item)
{
	const struct event_instruction_sample *row = item;

	put_time(csv, row->begin);
	put_time(csv, row->end);
	put_process(csv, row->process);
	put_device(csv, row->device);
	put_text(csv, model_kernel_name(csv->model, row->code));
	put_u64(csv, row->offset);
	put_string(csv, row->stall_string);
	put_u64(csv, row->count);
	put_u64(csv, row->period);
	put_string(csv, row->period_unit_string);
	put_known(csv, row->correlation);
	put_string(csv, row->text_string);
	return put_stack(csv, row->stack);
}

#define RANGE_COLUMNS                      \
	PROCESS_COLUMNS "," THREAD_COLUMNS \
			",domain,name,type,begin_ns,end_ns,duration_ns,open,unbegun"
static int put_range(struct csv *csv, const void *item)
{
	const struct event_range *row = item;

	put_process(csv, row->process);
	put_thread(csv, row->thread);
	put_string(csv, row->domain_string);
	put_text(csv, model_range_name(csv->model, row));
	put_text(csv, analysis_range_type(row->type));
	put_time(csv, row->begin);
	put_time(csv, row->end);
	put_u64(csv, row->end - row->begin);
	put_u64(csv, (row->flags & RANGE_OPEN) != 0);
	put_u64(csv, (row->flags & RANGE_UNBEGUN) != 0);
	return 0;
}

/* A column for each word of what is counted: a spreadsheet makes a table of them. */
#define COUNTER_COLUMNS                                                                  \
	"metric,instance," PROCESS_COLUMNS "," DEVICE_COLUMNS ",cpu,type,unit,begin_ns," \
	"end_ns,value,of,duration_ns,shown,shown_unit"
static int put_counter(struct csv *csv, const void *item)
{
	static const struct event_series unknown;
	const struct event_counter *row = item;
	const struct event_series *series = model_thing(csv->model, EVENT_SERIES, row->series);

	struct unit_shown unit;

	series = series ? series : &unknown;
	unit = unit_shown_of(csv->model, series);
	put_string(csv, series->metric_string);
	put_string(csv, series->instance_string);
	put_process(csv, series->process);
	put_device(csv, series->device);
	if (series->cpu)
		put_u64(csv, series->cpu - 1);
	else
		put_nothing(csv);
	put_text(csv, analysis_series_type(series->type));
	put_string(csv, series->unit_string);
	put_time(csv, row->begin);
	put_time(csv, row->end);
	put_i64(csv, row->value);
	put_known(csv, row->of);
	put_u64(csv, row->end - row->begin);
	put_number(csv, unit_value_of(&unit, series->type, row));
	put_text(csv, unit.text);
	return 0;
}

#define LOSS_COLUMNS "begin_ns,end_ns," PROCESS_COLUMNS "," THREAD_COLUMNS ",lost,reason,count"
static int put_loss(struct csv *csv, const void *item)
{
	const struct event_loss *row = item;

	put_time(csv, row->begin);
	put_time(csv, row->end);
	put_process(csv, row->process);
	put_thread(csv, row->thread);
	put_text(csv, analysis_kind_name(row->kind));
	put_text(csv, analysis_loss_name(row->reason));
	put_known(csv, row->count);
	return 0;
}

/* ---- the account ------------------------------------------------------------------------------- */

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

/* ---- tables ------------------------------------------------------------------------------------ */

static const struct table {
	const char *kind, *columns;
	enum event_kind event;
	int (*put)(struct csv *csv, const void *row); /* of the event; NULL: write does all */
	int (*write)(struct csv *csv);
} tables[] = {
	{"execution", EXECUTION_COLUMNS, .write = write_executions},
	{"launch", LAUNCH_COLUMNS, EVENT_LAUNCH, put_launch},
	{"api", API_COLUMNS, EVENT_API, put_api},
	{"cpu_sample", SAMPLE_COLUMNS, EVENT_CPU_SAMPLE, put_sample},
	{"switch", SWITCH_COLUMNS, EVENT_SWITCH, put_switch},
	{"instruction_sample", INSTRUCTION_COLUMNS, EVENT_INSTRUCTION_SAMPLE, put_instruction},
	{"range", RANGE_COLUMNS, EVENT_RANGE, put_range},
	{"counter", COUNTER_COLUMNS, EVENT_COUNTER, put_counter},
	{"loss", LOSS_COLUMNS, EVENT_LOSS, put_loss},
	{"account", ACCOUNT_COLUMNS, .write = write_account},
};

static const struct table *table_of(const struct export_options *options)
{
	for (size_t i = 0; options->kinds && i < ARRAY_COUNT(tables); i++)
		if (strcmp(tables[i].kind, options->kinds) == 0)
			return &tables[i];
	return options->kinds ? NULL : &tables[0];
}

/* A sample of an address is its kernel's. */
static int resolve(struct csv *csv, struct order_item *item,
		   struct event_instruction_sample *sample)
{
	if (!csv->sites)
		return 0;
	*sample = *(const struct event_instruction_sample *)item->row;
	item->row = sample;
	return code_sites_resolve(csv->sites, sample);
}

static int write_rows(struct csv *csv, const struct table *table)
{
	struct event_instruction_sample sample;
	const struct order_options options = {.kinds = 1u << table->event};
	struct order *order = NULL;
	struct order_item item;
	int error = model_order(csv->model, &options, &order), status;

	if (!error && table->event == EVENT_INSTRUCTION_SAMPLE)
		error = code_sites_of_model(csv->model, &csv->sites);
	while (!error && (status = order_next(order, &item)) != 0) {
		error = status < 0 ? status : resolve(csv, &item, &sample);
		if (!error && !filter_has_item(&csv->filter, &item))
			continue;
		if (!error)
			error = table->put(csv, item.row);
		if (!error)
			error = end_row(csv);
	}
	order_free(order);
	return error;
}

static int check(const struct export_options *options)
{
	const struct table *table = table_of(options);

	if (!table)
		return error_set(-EINVAL, "csv is one table: one --kind of " CSV_KINDS);
	if (table->write == write_account && options->pid)
		return error_set(-EINVAL, "--pid: the account is the device's, not a process's");
	return 0;
}

static int write_table(struct csv *csv)
{
	const struct table *table = table_of(csv->filter.options);
	int error;

	fprintf(csv->file, "%s\r\n", table->columns);
	error = table->put ? write_rows(csv, table) : table->write(csv);
	return error ? error : export_flush(csv->file);
}

static int write_csv(const struct model *model, const struct export_options *options, FILE *file,
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
	.help = "one table for a spreadsheet, times in ns: executions with their launches, or "
		"another "
		"kind",
	.kinds = CSV_KINDS,
	.has_no_instructions = true,
	.check = check,
	.write = write_csv,
};
