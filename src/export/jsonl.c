/* SPDX-License-Identifier: MIT
 *
 * export/jsonl.c - one row a line as a JSON object: the things first, then what happened
 *
 * Runs in:  our own process
 * Gets:     a model and filters   Gives: JSON Lines, times in host ns
 * Owns:     nothing
 * Fails:    -ENOMEM, what the reader fails with; -EPIPE ends it quietly
 * Why whole rows: a program that reads them (the checker in tests/checker does) wants all fields of
 *           a row in one place and no state between lines; it costs some 250 bytes a row.
 */
#include <errno.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/error.h"
#include "base/json.h"
#include "export/formats.h"

struct jsonl {
	const struct model *model;
	const struct export_options *options;
	struct json_writer json;
	FILE *file;
	uint64_t begin_ns, from_ns, to_ns;
	uint64_t rows; /* of what happened */
};

static void put_u64(struct jsonl *jsonl, const char *key, uint64_t value)
{
	json_key(&jsonl->json, key);
	json_u64(&jsonl->json, value);
}

static void put_i64(struct jsonl *jsonl, const char *key, int64_t value)
{
	json_key(&jsonl->json, key);
	json_i64(&jsonl->json, value);
}

static void put_text(struct jsonl *jsonl, const char *key, const char *text)
{
	json_key(&jsonl->json, key);
	json_string(&jsonl->json, text);
}

static void put_string(struct jsonl *jsonl, const char *key, uint32_t string)
{
	put_text(jsonl, key, model_text(jsonl->model, string, ""));
}

static void put_time(struct jsonl *jsonl, const char *key, uint64_t time_ns)
{
	if (jsonl->options->is_absolute)
		put_u64(jsonl, key, time_ns);
	else
		put_i64(jsonl, key, (int64_t)(time_ns - jsonl->begin_ns));
}

static void begin_line(struct jsonl *jsonl, enum event_kind kind)
{
	json_init_file(&jsonl->json, jsonl->file);
	json_object_begin(&jsonl->json);
	put_text(jsonl, "kind", analysis_kind_name(kind));
}

static int end_line(struct jsonl *jsonl)
{
	json_object_end(&jsonl->json);
	putc('\n', jsonl->file);
	return ferror(jsonl->file) ? export_flush(jsonl->file) : 0;
}

static void put_host(struct jsonl *jsonl, const void *thing)
{
	const struct event_host *row = thing;

	put_string(jsonl, "boot_id", row->boot_id_string);
	put_string(jsonl, "name", row->name_string);
	put_string(jsonl, "kernel", row->kernel_string);
	put_string(jsonl, "cpu", row->cpu_string);
	put_u64(jsonl, "cpu_count", row->cpu_count);
	put_u64(jsonl, "memory_bytes", row->memory_bytes);
	put_time(jsonl, "begin_ns", row->begin_ns);
	if (row->end_ns)
		put_time(jsonl, "end_ns", row->end_ns);
	if (row->command_string)
		put_string(jsonl, "command", row->command_string);
}

static void put_process(struct jsonl *jsonl, const void *thing)
{
	const struct event_process *row = thing;

	put_u64(jsonl, "pid", row->pid);
	put_u64(jsonl, "ns_pid", row->ns_pid);
	put_u64(jsonl, "parent_pid", row->parent_pid);
	put_string(jsonl, "name", row->name_string);
	put_string(jsonl, "exe", row->exe_string);
	put_string(jsonl, "command", row->command_string);
}

static void put_thread(struct jsonl *jsonl, const void *thing)
{
	const struct event_thread *row = thing;

	put_u64(jsonl, "process", row->process);
	put_u64(jsonl, "tid", row->tid);
	put_string(jsonl, "name", row->name_string);
}

static void put_device(struct jsonl *jsonl, const void *thing)
{
	const struct event_device *row = thing;

	put_string(jsonl, "key", row->key_string);
	put_string(jsonl, "name", row->name_string);
	put_string(jsonl, "vendor", row->vendor_string);
	put_string(jsonl, "driver", row->driver_string);
	put_string(jsonl, "platform", row->platform_string);
	put_u64(jsonl, "type", row->type);
	put_u64(jsonl, "compute_units", row->compute_units);
	put_u64(jsonl, "memory_bytes", row->memory_bytes);
	if (row->local_bytes)
		put_u64(jsonl, "local_bytes", row->local_bytes);
}

static void put_context(struct jsonl *jsonl, const void *thing)
{
	const struct event_context *row = thing;

	put_u64(jsonl, "process", row->process);
	put_u64(jsonl, "handle", row->handle);
}

static void put_queue(struct jsonl *jsonl, const void *thing)
{
	const struct event_queue *row = thing;

	put_u64(jsonl, "process", row->process);
	put_u64(jsonl, "context", row->context);
	put_u64(jsonl, "device", row->device);
	put_u64(jsonl, "clock", row->clock);
	put_u64(jsonl, "flags", row->flags);
}

/* A kernel's, as far as its runtime told. */
static void put_needs(struct jsonl *jsonl, const struct event_code *row)
{
	if (!row->group_most)
		return;
	put_u64(jsonl, "device", row->device);
	put_u64(jsonl, "group_most", row->group_most);
	if (row->group_multiple)
		put_u64(jsonl, "group_multiple", row->group_multiple);
	if (row->local_bytes != CODE_UNKNOWN)
		put_u64(jsonl, "local_bytes", row->local_bytes);
	if (row->private_bytes != CODE_UNKNOWN)
		put_u64(jsonl, "private_bytes", row->private_bytes);
}

static void put_code(struct jsonl *jsonl, const void *thing)
{
	const struct event_code *row = thing;

	put_u64(jsonl, "process", row->process);
	put_u64(jsonl, "parent", row->parent);
	put_u64(jsonl, "type", row->type);
	put_string(jsonl, "name", row->name_string);
	put_u64(jsonl, "size_bytes", row->size_bytes);
	put_needs(jsonl, row);
}

/* Every thing begins with its id. */
static const struct {
	enum event_kind kind;
	size_t size;
	void (*put)(struct jsonl *jsonl, const void *thing);
} things_table[] = {
	{EVENT_HOST, sizeof(struct event_host), put_host},
	{EVENT_PROCESS, sizeof(struct event_process), put_process},
	{EVENT_THREAD, sizeof(struct event_thread), put_thread},
	{EVENT_DEVICE, sizeof(struct event_device), put_device},
	{EVENT_CONTEXT, sizeof(struct event_context), put_context},
	{EVENT_QUEUE, sizeof(struct event_queue), put_queue},
	{EVENT_CODE, sizeof(struct event_code), put_code},
};

static int write_things(struct jsonl *jsonl)
{
	for (size_t i = 0; i < sizeof(things_table) / sizeof(things_table[0]); i++) {
		const void *rows = NULL;
		size_t count = model_things(jsonl->model, things_table[i].kind, &rows);

		for (size_t j = 0; j < count; j++) {
			const void *row = (const char *)rows + j * things_table[i].size;
			int error;

			begin_line(jsonl, things_table[i].kind);
			put_u64(jsonl, "id", *(const uint32_t *)row);
			things_table[i].put(jsonl, row);
			error = end_line(jsonl);
			if (error)
				return error;
		}
	}
	return 0;
}

static void put_api(struct jsonl *jsonl, const struct event_api *row)
{
	put_time(jsonl, "begin", row->begin);
	put_time(jsonl, "end", row->end);
	put_u64(jsonl, "thread", row->thread);
	put_string(jsonl, "function", row->function_string);
	put_i64(jsonl, "result", row->result);
	put_u64(jsonl, "type", row->type);
	put_u64(jsonl, "argument", row->argument);
}

static void put_sizes(struct jsonl *jsonl, const char *key, const uint64_t sizes[3], uint32_t count)
{
	json_key(&jsonl->json, key);
	json_array_begin(&jsonl->json);
	for (uint32_t i = 0; i < count && i < 3; i++)
		json_u64(&jsonl->json, sizes[i]);
	json_array_end(&jsonl->json);
}

static void put_launch(struct jsonl *jsonl, const struct event_launch *row)
{
	put_time(jsonl, "enter", row->enter);
	put_time(jsonl, "exit", row->exit);
	put_u64(jsonl, "thread", row->thread);
	put_string(jsonl, "function", row->function_string);
	put_i64(jsonl, "result", row->result);
	put_u64(jsonl, "queue", row->queue);
	put_u64(jsonl, "correlation", row->correlation);
	put_text(jsonl, "command",
		 analysis_command_name(analysis_launch_command(jsonl->model, row)));
	put_u64(jsonl, "flags", row->flags);
	put_u64(jsonl, "kernel", row->kernel);
	put_u64(jsonl, "bytes", row->bytes);
	put_sizes(jsonl, "global", row->global_size, row->dimensions);
	put_sizes(jsonl, "local", row->local_size, row->dimensions);
	put_u64(jsonl, "handle", row->handle);
	put_u64(jsonl, "stack", row->stack);
}

/* A time that is absent has no key. */
static void put_execution(struct jsonl *jsonl, const struct event_execution *row)
{
	put_u64(jsonl, "process", row->process);
	put_u64(jsonl, "queue", row->queue);
	put_u64(jsonl, "correlation", row->correlation);
	if (row->valid & ORDER_UNPLACED) {
		json_key(&jsonl->json, "unplaced");
		json_bool(&jsonl->json, true);
	} else {
		if (row->valid & EXECUTION_QUEUED)
			put_time(jsonl, "queued", row->queued);
		if (row->valid & EXECUTION_SUBMITTED)
			put_time(jsonl, "submitted", row->submitted);
		if (row->valid & EXECUTION_STARTED)
			put_time(jsonl, "started", row->started);
		if (row->valid & EXECUTION_ENDED)
			put_time(jsonl, "ended", row->ended);
	}
	put_time(jsonl, "seen", row->seen);
	put_i64(jsonl, "status", row->status);
	json_key(&jsonl->json, "impossible");
	json_bool(&jsonl->json, row->valid & ORDER_IMPOSSIBLE);
}

static void put_dependency(struct jsonl *jsonl, const struct event_dependency *row)
{
	put_time(jsonl, "time", row->time);
	put_u64(jsonl, "process", row->process);
	put_u64(jsonl, "correlation", row->correlation);
	put_u64(jsonl, "handle", row->handle);
}

static void put_sample(struct jsonl *jsonl, const struct event_cpu_sample *row)
{
	put_time(jsonl, "time", row->time);
	put_u64(jsonl, "thread", row->thread);
	put_u64(jsonl, "cpu", row->cpu);
	put_text(jsonl, "source", model_text(jsonl->model, row->source_string, ""));
	put_text(jsonl, "mode", analysis_mode_name(row->mode));
	put_u64(jsonl, "weight", row->weight);
	put_u64(jsonl, "stack", row->stack);
}

static void put_switch(struct jsonl *jsonl, const struct event_switch *row)
{
	put_time(jsonl, "time", row->time);
	put_u64(jsonl, "previous", row->previous);
	put_u64(jsonl, "next", row->next);
	put_u64(jsonl, "cpu", row->cpu);
	put_text(jsonl, "reason", analysis_switch_name(row->reason));
	put_u64(jsonl, "stack", row->stack);
	put_string(jsonl, "wait", row->wait_string);
	put_u64(jsonl, "holder", row->holder);
}

static void put_instruction(struct jsonl *jsonl, const struct event_instruction_sample *row)
{
	put_time(jsonl, "begin", row->begin);
	put_time(jsonl, "end", row->end);
	put_u64(jsonl, "offset", row->offset);
	put_u64(jsonl, "correlation", row->correlation);
	put_u64(jsonl, "count", row->count);
	put_u64(jsonl, "period", row->period);
	put_string(jsonl, "period_unit", row->period_unit_string);
	put_u64(jsonl, "process", row->process);
	put_u64(jsonl, "device", row->device);
	put_u64(jsonl, "code", row->code);
	put_string(jsonl, "stall", row->stall_string);
	put_u64(jsonl, "thread", row->thread);
}

static void put_loss(struct jsonl *jsonl, const struct event_loss *row)
{
	put_time(jsonl, "begin", row->begin);
	put_time(jsonl, "end", row->end);
	put_u64(jsonl, "process", row->process);
	put_u64(jsonl, "thread", row->thread);
	put_text(jsonl, "lost", analysis_kind_name(row->kind));
	put_text(jsonl, "reason", analysis_loss_name(row->reason));
	put_u64(jsonl, "count", row->count);
}

static uint32_t process_of(const struct jsonl *jsonl, const struct order_item *item)
{
	const struct event_thread *thread;
	uint32_t id;

	switch (item->kind) {
	case EVENT_EXECUTION:
		return ((const struct event_execution *)item->row)->process;
	case EVENT_INSTRUCTION_SAMPLE:
		return ((const struct event_instruction_sample *)item->row)->process;
	case EVENT_DEPENDENCY:
		return ((const struct event_dependency *)item->row)->process;
	case EVENT_LOSS:
		return ((const struct event_loss *)item->row)->process;
	case EVENT_API:
		id = ((const struct event_api *)item->row)->thread;
		break;
	case EVENT_CPU_SAMPLE:
		id = ((const struct event_cpu_sample *)item->row)->thread;
		break;
	case EVENT_SWITCH:
		id = ((const struct event_switch *)item->row)->previous;
		if (!id)
			id = ((const struct event_switch *)item->row)->next;
		break;
	default:
		id = ((const struct event_launch *)item->row)->thread;
	}
	thread = model_thing(jsonl->model, EVENT_THREAD, id);
	return thread ? thread->process : 0;
}

static bool is_wanted(const struct jsonl *jsonl, const struct order_item *item)
{
	const struct export_options *options = jsonl->options;
	const char *kind = analysis_kind_name(item->kind);
	const struct event_process *process;

	if (item->time_ns < jsonl->from_ns || item->time_ns >= jsonl->to_ns)
		return false;
	if (!export_is_wanted(options->kinds, kind, kind))
		return false;
	if (!options->pid)
		return true;
	process = model_thing(jsonl->model, EVENT_PROCESS, process_of(jsonl, item));
	return process && process->pid == options->pid;
}

static int on_item(struct jsonl *jsonl, const struct order_item *item)
{
	if (!is_wanted(jsonl, item))
		return 0;
	jsonl->rows++;
	begin_line(jsonl, item->kind);
	switch (item->kind) {
	case EVENT_API:
		put_api(jsonl, item->row);
		break;
	case EVENT_LAUNCH:
		put_launch(jsonl, item->row);
		break;
	case EVENT_EXECUTION:
		put_execution(jsonl, item->row);
		break;
	case EVENT_DEPENDENCY:
		put_dependency(jsonl, item->row);
		break;
	case EVENT_CPU_SAMPLE:
		put_sample(jsonl, item->row);
		break;
	case EVENT_SWITCH:
		put_switch(jsonl, item->row);
		break;
	case EVENT_INSTRUCTION_SAMPLE:
		put_instruction(jsonl, item->row);
		break;
	default:
		put_loss(jsonl, item->row);
	}
	return end_line(jsonl);
}

static void set_window(struct jsonl *jsonl, const struct order *order)
{
	const struct export_options *options = jsonl->options;
	uint64_t end;

	model_window(jsonl->model, order, &jsonl->begin_ns, &end);
	jsonl->to_ns = UINT64_MAX;
	if (options->has_from &&
	    __builtin_add_overflow(jsonl->begin_ns, options->from_ns, &jsonl->from_ns))
		jsonl->from_ns = UINT64_MAX;
	if (options->has_to &&
	    __builtin_add_overflow(jsonl->begin_ns, options->to_ns, &jsonl->to_ns))
		jsonl->to_ns = UINT64_MAX;
}

static int write_lines(struct jsonl *jsonl, struct order *order)
{
	struct order_item item;
	int status;
	int error;

	set_window(jsonl, order);
	error = write_things(jsonl);
	while (!error && (status = order_next(order, &item)) != 0)
		error = status < 0 ? status : on_item(jsonl, &item);
	return error ? error : export_flush(jsonl->file);
}

static int write_jsonl(const struct model *model, const struct export_options *options, FILE *file,
		       uint64_t *ret_rows)
{
	struct order_options order_options = {
		.kinds = 1u << EVENT_API | 1u << EVENT_LAUNCH | 1u << EVENT_EXECUTION |
			 1u << EVENT_DEPENDENCY | 1u << EVENT_CPU_SAMPLE | 1u << EVENT_SWITCH |
			 1u << EVENT_INSTRUCTION_SAMPLE | 1u << EVENT_LOSS};
	struct jsonl jsonl = {.model = model, .options = options, .file = file};
	struct order *order = NULL;
	int error = model_order(model, &order_options, &order);

	if (error)
		return error;
	error = write_lines(&jsonl, order);
	order_free(order);
	*ret_rows = jsonl.rows;
	return error;
}

const struct exporter export_jsonl = {
	.name = "jsonl",
	.help = "one row a line as a JSON object: the things, then what happened in order of time",
	.kinds = "api, launch, execution, dependency, cpu_sample, switch, instruction_sample, loss",
	.write = write_jsonl,
};
