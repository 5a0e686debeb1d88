/* SPDX-License-Identifier: MIT
 *
 * export/json_rows.c - things and rows of a trace as JSON objects
 *
 * Runs in:  our own process
 * Gets:     rows   Gives: keys and values, times in host ns
 * Owns:     nothing
 * Fails:    as the writer of JSON does
 * Why whole rows: a program that reads them (the checker in tests/checker does) wants all fields of
 *           a row in one place and no state between them; it costs some 250 bytes a row.
 */
#include "export/json_rows.h"

#include "analyze/analysis.h"
#include "analyze/collectors.h"
#include "analyze/model.h"
#include "base/array.h"

static void put_u64(struct json_rows *rows, const char *key, uint64_t value)
{
	json_key(&rows->json, key);
	json_u64(&rows->json, value);
}

static void put_i64(struct json_rows *rows, const char *key, int64_t value)
{
	json_key(&rows->json, key);
	json_i64(&rows->json, value);
}

static void put_text(struct json_rows *rows, const char *key, const char *text)
{
	json_key(&rows->json, key);
	json_string(&rows->json, text);
}

static void put_string(struct json_rows *rows, const char *key, uint32_t string)
{
	put_text(rows, key, model_text(rows->model, string, ""));
}

static void put_time(struct json_rows *rows, const char *key, uint64_t time_ns)
{
	if (rows->filter.options->is_absolute)
		put_u64(rows, key, time_ns);
	else
		put_i64(rows, key, (int64_t)(time_ns - rows->filter.begin_ns));
}

/* One that was lost with a damaged chunk is not known. */
static void put_stack(struct json_rows *rows, uint32_t stack)
{
	put_u64(rows, "stack", model_stack(rows->model, stack) ? stack : 0);
}

static void put_host(struct json_rows *rows, const void *thing)
{
	const struct event_host *row = thing;

	put_string(rows, "boot_id", row->boot_id_string);
	put_string(rows, "name", row->name_string);
	put_string(rows, "kernel", row->kernel_string);
	put_string(rows, "cpu", row->cpu_string);
	put_u64(rows, "cpu_count", row->cpu_count);
	put_u64(rows, "memory_bytes", row->memory_bytes);
	put_time(rows, "begin_ns", row->begin_ns);
	if (row->end_ns)
		put_time(rows, "end_ns", row->end_ns);
	if (row->command_string)
		put_string(rows, "command", row->command_string);
}

static void put_process(struct json_rows *rows, const void *thing)
{
	const struct event_process *row = thing;

	put_u64(rows, "pid", row->pid);
	put_u64(rows, "ns_pid", row->ns_pid);
	put_u64(rows, "parent_pid", row->parent_pid);
	put_string(rows, "name", row->name_string);
	put_string(rows, "exe", row->exe_string);
	put_string(rows, "command", row->command_string);
	if (row->rank)
		put_u64(rows, "rank", row->rank - 1);
	if (row->local_rank)
		put_u64(rows, "local_rank", row->local_rank - 1);
	if (row->rank_count)
		put_u64(rows, "ranks", row->rank_count);
}

static void put_thread(struct json_rows *rows, const void *thing)
{
	const struct event_thread *row = thing;

	put_u64(rows, "process", row->process);
	put_u64(rows, "tid", row->tid);
	put_string(rows, "name", row->name_string);
	if (row->end_ns)
		put_time(rows, "end_ns", row->end_ns);
}

static void put_device(struct json_rows *rows, const void *thing)
{
	const struct event_device *row = thing;

	put_string(rows, "key", row->key_string);
	put_string(rows, "name", row->name_string);
	put_string(rows, "vendor", row->vendor_string);
	put_string(rows, "driver", row->driver_string);
	put_string(rows, "platform", row->platform_string);
	put_u64(rows, "type", row->type);
	put_u64(rows, "compute_units", row->compute_units);
	put_u64(rows, "memory_bytes", row->memory_bytes);
	if (row->local_bytes)
		put_u64(rows, "local_bytes", row->local_bytes);
}

static void put_context(struct json_rows *rows, const void *thing)
{
	const struct event_context *row = thing;

	put_u64(rows, "process", row->process);
	put_u64(rows, "handle", row->handle);
}

static void put_queue(struct json_rows *rows, const void *thing)
{
	const struct event_queue *row = thing;

	put_u64(rows, "process", row->process);
	put_u64(rows, "context", row->context);
	put_u64(rows, "device", row->device);
	put_u64(rows, "clock", row->clock);
	put_u64(rows, "flags", row->flags);
	if (row->name_string)
		put_string(rows, "name", row->name_string);
}

/* A kernel's, as far as its runtime told. */
static void put_needs(struct json_rows *rows, const struct event_code *row)
{
	if (!row->group_most && !row->registers)
		return;
	if (row->group_most && !row->address)
		put_u64(rows, "device", row->device);
	if (row->group_most)
		put_u64(rows, "group_most", row->group_most);
	if (row->registers)
		put_u64(rows, "registers", row->registers);
	if (row->group_multiple)
		put_u64(rows, "group_multiple", row->group_multiple);
	if (row->local_bytes != CODE_UNKNOWN)
		put_u64(rows, "local_bytes", row->local_bytes);
	if (row->group_most && row->private_bytes != CODE_UNKNOWN)
		put_u64(rows, "private_bytes", row->private_bytes);
}

/* Where it is, and when. */
static void put_place(struct json_rows *rows, const struct event_code *row)
{
	put_u64(rows, "device", row->device);
	put_u64(rows, "address", row->address);
	put_time(rows, "begin_ns", row->begin_ns);
	if (row->end_ns)
		put_time(rows, "end_ns", row->end_ns);
}

static void put_code(struct json_rows *rows, const void *thing)
{
	const struct event_code *row = thing;

	put_u64(rows, "process", row->process);
	put_u64(rows, "parent", row->parent);
	put_u64(rows, "type", row->type);
	put_string(rows, "name", row->name_string);
	put_u64(rows, "size_bytes", row->size_bytes);
	if (row->address)
		put_place(rows, row);
	put_needs(rows, row);
}

/* The state is that of what the reason is about: of one collector there are several. */
static void put_collector(struct json_rows *rows, const void *thing)
{
	const struct event_collector *row = thing;

	put_string(rows, "name", row->name_string);
	put_text(rows, "state", collectors_state_name(row->state));
	if (row->reason_string)
		put_string(rows, "reason", row->reason_string);
	if (row->process)
		put_u64(rows, "process", row->process);
}

static void put_series(struct json_rows *rows, const void *thing)
{
	const struct event_series *row = thing;

	put_string(rows, "metric", row->metric_string);
	put_string(rows, "unit", row->unit_string);
	put_text(rows, "type", analysis_series_type(row->type));
	put_string(rows, "source", row->source_string);
	put_u64(rows, "host", row->host);
	put_u64(rows, "process", row->process);
	put_u64(rows, "device", row->device);
	if (row->cpu)
		put_u64(rows, "cpu", row->cpu - 1);
	if (row->instance_string)
		put_string(rows, "instance", row->instance_string);
	if (row->limit)
		put_u64(rows, "limit", row->limit);
	if (row->interval_ns)
		put_u64(rows, "interval_ns", row->interval_ns);
	if (row->end_ns)
		put_time(rows, "end_ns", row->end_ns);
}

static void put_api(struct json_rows *rows, const struct event_api *row)
{
	put_time(rows, "begin", row->begin);
	put_time(rows, "end", row->end);
	put_u64(rows, "thread", row->thread);
	put_string(rows, "function", row->function_string);
	put_i64(rows, "result", row->result);
	put_u64(rows, "type", row->type);
	put_u64(rows, "argument", row->argument);
	put_stack(rows, row->stack);
}

static void put_sizes(struct json_rows *rows, const char *key, const uint64_t sizes[3],
		      uint32_t count)
{
	json_key(&rows->json, key);
	json_array_begin(&rows->json);
	for (uint32_t i = 0; i < count && i < 3; i++)
		json_u64(&rows->json, sizes[i]);
	json_array_end(&rows->json);
}

static void put_launch(struct json_rows *rows, const struct event_launch *row)
{
	put_time(rows, "enter", row->enter);
	put_time(rows, "exit", row->exit);
	put_u64(rows, "thread", row->thread);
	put_string(rows, "function", row->function_string);
	put_i64(rows, "result", row->result);
	put_u64(rows, "queue", row->queue);
	put_u64(rows, "correlation", row->correlation);
	put_text(rows, "command", analysis_command_name(analysis_launch_command(rows->model, row)));
	put_u64(rows, "flags", row->flags);
	put_u64(rows, "kernel", row->kernel);
	put_u64(rows, "bytes", row->bytes);
	put_sizes(rows, "global", row->global_size, row->dimensions);
	put_sizes(rows, "local", row->local_size, row->dimensions);
	put_u64(rows, "handle", row->handle);
	put_stack(rows, row->stack);
}

/* A time that is absent has no key. */
static void put_execution(struct json_rows *rows, const struct event_execution *row)
{
	put_u64(rows, "process", row->process);
	put_u64(rows, "queue", row->queue);
	put_u64(rows, "correlation", row->correlation);
	if (row->valid & ORDER_UNPLACED) {
		json_key(&rows->json, "unplaced");
		json_bool(&rows->json, true);
	} else {
		if (row->valid & EXECUTION_QUEUED)
			put_time(rows, "queued", row->queued);
		if (row->valid & EXECUTION_SUBMITTED)
			put_time(rows, "submitted", row->submitted);
		if (row->valid & EXECUTION_STARTED)
			put_time(rows, "started", row->started);
		if (row->valid & EXECUTION_ENDED)
			put_time(rows, "ended", row->ended);
	}
	put_time(rows, "seen", row->seen);
	put_i64(rows, "status", row->status);
	json_key(&rows->json, "impossible");
	json_bool(&rows->json, row->valid & ORDER_IMPOSSIBLE);
}

static void put_dependency(struct json_rows *rows, const struct event_dependency *row)
{
	put_time(rows, "time", row->time);
	put_u64(rows, "process", row->process);
	put_u64(rows, "correlation", row->correlation);
	put_u64(rows, "handle", row->handle);
}

static void put_sample(struct json_rows *rows, const struct event_cpu_sample *row)
{
	put_time(rows, "time", row->time);
	put_u64(rows, "thread", row->thread);
	put_u64(rows, "cpu", row->cpu);
	put_text(rows, "source", model_text(rows->model, row->source_string, ""));
	put_text(rows, "mode", analysis_mode_name(row->mode));
	put_u64(rows, "weight", row->weight);
	put_stack(rows, row->stack);
}

static void put_switch(struct json_rows *rows, const struct event_switch *row)
{
	put_time(rows, "time", row->time);
	put_u64(rows, "previous", row->previous);
	put_u64(rows, "next", row->next);
	put_u64(rows, "cpu", row->cpu);
	put_text(rows, "reason", analysis_switch_name(row->reason));
	put_stack(rows, row->stack);
	put_string(rows, "wait", row->wait_string);
	put_u64(rows, "holder", row->holder);
	put_u64(rows, "waker", row->waker);
	put_string(rows, "waker_name", row->waker_string);
}

static void put_instruction(struct json_rows *rows, const struct event_instruction_sample *row)
{
	put_time(rows, "begin", row->begin);
	put_time(rows, "end", row->end);
	put_u64(rows, "offset", row->offset);
	put_u64(rows, "correlation", row->correlation);
	put_u64(rows, "count", row->count);
	put_u64(rows, "period", row->period);
	put_string(rows, "period_unit", row->period_unit_string);
	put_u64(rows, "process", row->process);
	put_u64(rows, "device", row->device);
	put_u64(rows, "code", row->code);
	put_string(rows, "stall", row->stall_string);
	put_u64(rows, "thread", row->thread);
	if (row->stack)
		put_stack(rows, row->stack);
	if (row->text_string)
		put_string(rows, "text", row->text_string);
}

/* What is not so has no flag. */
static void put_range(struct json_rows *rows, const struct event_range *row)
{
	put_time(rows, "begin", row->begin);
	put_time(rows, "end", row->end);
	put_u64(rows, "process", row->process);
	put_u64(rows, "thread", row->thread);
	put_string(rows, "domain", row->domain_string);
	put_text(rows, "name", model_range_name(rows->model, row));
	put_text(rows, "type", analysis_range_type(row->type));
	if (row->flags & RANGE_OPEN)
		json_pair_bool(&rows->json, "open", true);
	if (row->flags & RANGE_UNBEGUN)
		json_pair_bool(&rows->json, "unbegun", true);
	put_stack(rows, row->stack);
}

static void put_counter(struct json_rows *rows, const struct event_counter *row)
{
	put_time(rows, "begin", row->begin);
	put_time(rows, "end", row->end);
	put_u64(rows, "series", row->series);
	put_i64(rows, "value", row->value);
	if (row->of)
		put_u64(rows, "of", row->of);
}

static void put_loss(struct json_rows *rows, const struct event_loss *row)
{
	put_time(rows, "begin", row->begin);
	put_time(rows, "end", row->end);
	put_u64(rows, "process", row->process);
	put_u64(rows, "thread", row->thread);
	put_text(rows, "lost", analysis_kind_name(row->kind));
	put_text(rows, "reason", analysis_loss_name(row->reason));
	if (row->count != LOSS_COUNT_UNKNOWN)
		put_u64(rows, "count", row->count);
}

/* Every thing begins with its id. */
static const struct {
	enum event_kind kind;
	size_t size;
	void (*put)(struct json_rows *rows, const void *thing);
} things_table[] = {
	{EVENT_HOST, sizeof(struct event_host), put_host},
	{EVENT_PROCESS, sizeof(struct event_process), put_process},
	{EVENT_THREAD, sizeof(struct event_thread), put_thread},
	{EVENT_DEVICE, sizeof(struct event_device), put_device},
	{EVENT_CONTEXT, sizeof(struct event_context), put_context},
	{EVENT_QUEUE, sizeof(struct event_queue), put_queue},
	{EVENT_CODE, sizeof(struct event_code), put_code},
	{EVENT_SERIES, sizeof(struct event_series), put_series},
	{EVENT_COLLECTOR, sizeof(struct event_collector), put_collector},
};

enum event_kind json_rows_kind(size_t index)
{
	return index < ARRAY_COUNT(things_table) ? things_table[index].kind : EVENT_PADDING;
}

size_t json_rows_things(const struct json_rows *rows, enum event_kind kind)
{
	const void *things;

	return model_things(rows->model, kind, &things);
}

void json_rows_put_thing(struct json_rows *rows, enum event_kind kind, size_t index)
{
	const void *things = NULL;
	size_t count = model_things(rows->model, kind, &things);

	for (size_t i = 0; index < count && i < ARRAY_COUNT(things_table); i++) {
		const void *row = (const char *)things + index * things_table[i].size;

		if (things_table[i].kind != kind)
			continue;
		put_u64(rows, "id", *(const uint32_t *)row);
		things_table[i].put(rows, row);
	}
}

void json_rows_put(struct json_rows *rows, const struct order_item *item)
{
	switch (item->kind) {
	case EVENT_API:
		put_api(rows, item->row);
		break;
	case EVENT_LAUNCH:
		put_launch(rows, item->row);
		break;
	case EVENT_EXECUTION:
		put_execution(rows, item->row);
		break;
	case EVENT_DEPENDENCY:
		put_dependency(rows, item->row);
		break;
	case EVENT_CPU_SAMPLE:
		put_sample(rows, item->row);
		break;
	case EVENT_SWITCH:
		put_switch(rows, item->row);
		break;
	case EVENT_INSTRUCTION_SAMPLE:
		put_instruction(rows, item->row);
		break;
	case EVENT_RANGE:
		put_range(rows, item->row);
		break;
	case EVENT_COUNTER:
		put_counter(rows, item->row);
		break;
	default:
		put_loss(rows, item->row);
	}
}
