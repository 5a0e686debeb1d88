/* SPDX-License-Identifier: MIT
 *
 * analyze/model.c - an open trace whose clocks are solved
 *
 * Runs in:  the readers
 * Gets:     a file   Gives: its texts, its things and its rows in host time
 * Owns:     the reader and the solved clocks
 * Fails:    as reader and clocks do, with a text in the error chain
 * Why:      exporters see analyze/ and never the file, so that all of them agree with the report on
 *           time to the nanosecond: there is one conversion, here, for every room above.
 */
#include "analyze/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/kernel_names.h"
#include "base/error.h"
#include "trace/reader.h"

int model_open(const char *path, struct model **ret_model)
{
	struct model *model = calloc(1, sizeof(*model));
	int error;

	if (!model)
		return error_set(-ENOMEM, "open '%s': out of memory", path);
	error = trace_reader_open(path, &model->reader);
	if (error) {
		free(model);
		return error;
	}
	error = clocks_new(model->reader, &model->clocks);
	if (!error)
		error = kernel_names_new(model->reader, &model->kernel_names);
	if (error) {
		model_close(model);
		return error_set(error, "read '%s': %s", path, strerror(-error));
	}
	*ret_model = model;
	return 0;
}

void model_close(struct model *model)
{
	if (!model)
		return;
	kernel_names_free(model->kernel_names);
	clocks_free(model->clocks);
	trace_reader_close(model->reader);
	free(model);
}

const char *model_text(const struct model *model, uint32_t string, const char *otherwise)
{
	const char *text = string ? trace_reader_string(model->reader, string, NULL) : "";

	return *text ? text : otherwise;
}

size_t model_things(const struct model *model, enum event_kind kind, const void **ret_rows)
{
	return trace_reader_things(model->reader, kind, ret_rows);
}

const void *model_thing(const struct model *model, enum event_kind kind, uint32_t id)
{
	return id ? trace_reader_thing(model->reader, kind, id) : NULL;
}

uint32_t model_process_of(const struct model *model, uint32_t thread)
{
	const struct event_thread *row = model_thing(model, EVENT_THREAD, thread);

	return row && model_thing(model, EVENT_PROCESS, row->process) ? row->process : 0;
}

const struct event_frame *model_frame(const struct model *model, uint32_t id)
{
	return trace_reader_frame(model->reader, id);
}

const struct event_stack *model_stack(const struct model *model, uint32_t id)
{
	return trace_reader_stack(model->reader, id);
}

const char *model_build_id(const struct model *model, uint32_t path_string)
{
	const struct event_frame *frame;

	for (size_t i = 0; (frame = trace_reader_frame_at(model->reader, i)); i++)
		if (frame->module_string == path_string && frame->build_id_string)
			return model_text(model, frame->build_id_string, "");
	return "";
}

const char *model_range_name(const struct model *model, const struct event_range *row)
{
	return model_text(model, row->name_string,
			  row->flags & RANGE_UNBEGUN ? "[not seen to begin]" : "[no name]");
}

const char *model_kernel_name(const struct model *model, uint32_t kernel)
{
	const struct event_code *code = model_thing(model, EVENT_CODE, kernel);

	return model_code_name(model, code, "");
}

const char *model_code_name(const struct model *model, const struct event_code *code,
			    const char *otherwise)
{
	const char *place = NULL;

	if (code && !code->name_string)
		place = kernel_names_place(model->kernel_names, code->id);
	return place ? place : model_kernel_text(model, code ? code->name_string : 0, otherwise);
}

const char *model_kernel_text(const struct model *model, uint32_t symbol_string,
			      const char *otherwise)
{
	const char *text = kernel_names_find(model->kernel_names, symbol_string);

	return text ? text : model_text(model, symbol_string, otherwise);
}

const char *model_source_file(const struct model *model, const struct event_code *code)
{
	const struct event_code *source =
		code ? model_thing(model, EVENT_CODE, code->parent) : NULL;

	if (!source || source->type != CODE_SOURCE)
		return "";
	return model_text(model, source->name_string, "");
}

bool model_has(const struct model *model, enum event_kind kind)
{
	size_t count = trace_reader_chunk_count(model->reader);

	for (size_t i = 0; i < count; i++)
		if ((enum event_kind)trace_reader_chunk(model->reader, i)->kind == kind)
			return true;
	return false;
}

uint64_t model_rows(const struct model *model, enum event_kind kind)
{
	size_t count = trace_reader_chunk_count(model->reader);
	uint64_t rows = 0;

	for (size_t i = 0; i < count; i++) {
		const struct trace_chunk *chunk = trace_reader_chunk(model->reader, i);

		rows += (enum event_kind)chunk->kind == kind ? chunk->rows : 0;
	}
	return rows;
}

/* Bytes that made no sense, rings that were not read to their end, what a process did while it had no recorder, rows
 * that the disk refused. */
static bool is_unknown(const struct event_loss *loss)
{
	return loss->kind == EVENT_PADDING || loss->reason == LOSS_RING_BROKEN ||
	       loss->reason == LOSS_DISK;
}

bool model_is_whole(const struct model *model, const struct trace_damage *damage)
{
	const struct event_loss *losses;
	size_t count = trace_reader_losses(model->reader, &losses);

	for (size_t i = 0; i < count; i++)
		if (is_unknown(&losses[i]))
			return false;
	return !damage->truncated && !damage->chunks && !damage->bytes;
}

int model_order(const struct model *model, const struct order_options *options,
		struct order **ret_order)
{
	return order_new(model->reader, model->clocks, options, ret_order);
}

void model_window(const struct model *model, const struct order *order, uint64_t *ret_begin_ns,
		  uint64_t *ret_end_ns)
{
	const struct event_host *hosts;
	const void *rows = NULL;
	size_t count = trace_reader_things(model->reader, EVENT_HOST, &rows);
	uint64_t begin = UINT64_MAX, end = 0;

	hosts = rows;
	for (size_t i = 0; i < count; i++) {
		if (hosts[i].begin_ns < begin)
			begin = hosts[i].begin_ns;
		if (!hosts[i].end_ns)
			end = UINT64_MAX;
		else if (hosts[i].end_ns > end)
			end = hosts[i].end_ns;
	}
	if (!count) {
		begin = order_begin_ns(order);
		end = UINT64_MAX;
	}
	/* What was dropped on purpose is not idle time. */
	if (begin < trace_reader_begin_ns(model->reader))
		begin = trace_reader_begin_ns(model->reader);
	*ret_begin_ns = begin == UINT64_MAX ? 0 : begin;
	*ret_end_ns = end;
}

uint64_t model_dropped_ns(const struct model *model)
{
	const struct event_host *hosts;
	const void *rows = NULL;
	size_t count = trace_reader_things(model->reader, EVENT_HOST, &rows);
	uint64_t kept = trace_reader_begin_ns(model->reader), begin = kept;

	hosts = rows;
	for (size_t i = 0; i < count; i++) {
		if (hosts[i].begin_ns < begin)
			begin = hosts[i].begin_ns;
	}
	return kept - begin;
}

/* A process without a queue may be there only because it woke a thread of one that has. */
static bool has_queue(const struct model *model, uint32_t process)
{
	const void *things = NULL;
	size_t count = model_things(model, EVENT_QUEUE, &things);
	const struct event_queue *queues = things;

	for (size_t i = 0; i < count; i++)
		if (queues[i].process == process)
			return true;
	return false;
}

/* Whether `first` is a better title of the recording than `second`. Only a process that duet started has a status. */
static bool is_rather(const struct model *model, const struct event_process *first,
		      const struct event_process *second)
{
	bool differ;

	if ((first->status != -1) != (second->status != -1))
		return first->status != -1;
	differ = !*model_started(model) &&
		 has_queue(model, first->id) != has_queue(model, second->id);
	if (differ)
		return has_queue(model, first->id);
	if (!first->parent != !second->parent)
		return !first->parent;
	return first->begin_ns < second->begin_ns;
}

const struct event_process *model_main_process(const struct model *model)
{
	const void *things = NULL;
	size_t count = model_things(model, EVENT_PROCESS, &things);
	const struct event_process *processes = things, *best = NULL;

	for (size_t i = 0; i < count; i++)
		if (!best || is_rather(model, &processes[i], best))
			best = &processes[i];
	return best;
}

const char *model_started(const struct model *model)
{
	const void *things = NULL;
	size_t count = model_things(model, EVENT_HOST, &things);
	const struct event_host *hosts = things;

	for (size_t i = 0; i < count; i++)
		if (hosts[i].command_string)
			return model_text(model, hosts[i].command_string, "");
	return "";
}

const char *model_command(const struct model *model)
{
	const struct event_process *process = model_main_process(model);

	if (*model_started(model))
		return model_started(model);
	if (!process)
		return "";
	return model_text(model, process->command_string,
			  model_text(model, process->name_string, "[unknown process]"));
}

bool model_has_recorded(const struct model *model, const char *collector)
{
	const void *things = NULL;
	size_t count = model_things(model, EVENT_COLLECTOR, &things);
	const struct event_collector *rows = things;

	for (size_t i = 0; i < count; i++)
		if (rows[i].state != COLLECTOR_REFUSED &&
		    strcmp(model_text(model, rows[i].name_string, ""), collector) == 0)
			return true;
	return false;
}

const char *model_imported_from(const struct model *model)
{
	const void *things = NULL;
	size_t count = model_things(model, EVENT_COLLECTOR, &things);
	const struct event_collector *rows = things;

	for (size_t i = 0; i < count; i++)
		if (strcmp(model_text(model, rows[i].name_string, ""), "import") == 0)
			return model_text(model, rows[i].reason_string, "");
	return NULL;
}

bool model_wall_clock(const struct model *model, uint64_t host_ns, uint64_t *ret_realtime_ns)
{
	for (size_t i = 0; i < clocks_count(model->clocks); i++) {
		const struct clocks_domain *domain = clocks_at(model->clocks, i);

		if (domain->clock.type != CLOCK_TYPE_REALTIME ||
		    !clocks_is_placed(model->clocks, domain->id))
			continue;
		*ret_realtime_ns = clocks_from_host(model->clocks, domain->id, host_ns);
		return true;
	}
	return false;
}
