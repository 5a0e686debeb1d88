/* SPDX-License-Identifier: MIT
 *
 * analyze/model.c - an open trace with all its times converted to host time
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     a trace file
 * Gives:    its texts, its entities and its rows in host time
 * Owns:     the reader and the solved clocks
 * Fails:    with the errors of the reader and the clocks, with a text in the error chain
 * Why:      exporters use analyze/ and never the file itself. All of them agree with the report to
 *           the nanosecond, because there is only one conversion of times.
 */
#include "analyze/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/text/kernel_names.h"
#include "base/error.h"
#include "event/absent_call.h"
#include "trace/reader.h"

static uint32_t find_boot_clock(const struct model *model)
{
	const struct event_clock *clocks;
	const size_t count = model_entities(model, EVENT_CLOCK, &clocks);

	for (size_t i = 0; i < count; i++)
		if (clocks[i].type == CLOCK_TYPE_BOOTTIME &&
		    clocks_is_placed(model->clocks, clocks[i].id))
			return clocks[i].id;
	return 0;
}

/* Takes ownership of the reader, also on failure. */
static int open_reader(struct trace_reader *reader, const char *path, struct model **ret_model)
{
	struct model *model = calloc(1, sizeof(*model));
	int error;

	if (!model) {
		trace_reader_close(reader);
		return error_set(-ENOMEM, "open '%s': out of memory", path);
	}
	model->reader = reader;
	error = clocks_new(model->reader, &model->clocks);
	if (!error)
		error = kernel_names_new(model->reader, &model->kernel_names);
	if (error) {
		model_close(model);
		return error_set(error, "read '%s': %s", path, strerror(-error));
	}
	model->boot_clock = find_boot_clock(model);
	*ret_model = model;
	return 0;
}

int model_open(const char *path, struct model **ret_model)
{
	struct trace_reader *reader;
	int error = trace_reader_open(path, &reader);

	return error ? error : open_reader(reader, path, ret_model);
}

int model_open_memory(const void *bytes, size_t size, struct model **ret_model)
{
	struct trace_reader *reader;
	int error = trace_reader_open_memory(bytes, size, &reader);

	return error ? error : open_reader(reader, "(memory)", ret_model);
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

bool model_is_nobodys(const struct model *model, const struct event_launch *launch)
{
	return launch->enter == launch->exit &&
	       strcmp(model_text(model, launch->function_string, ""), MANAGED_CALL) == 0;
}

size_t model_entity_list(const struct model *model, enum event_kind kind, const void **ret_rows)
{
	return trace_reader_entity_list(model->reader, kind, ret_rows);
}

const void *model_entity(const struct model *model, enum event_kind kind, uint32_t id)
{
	return id ? trace_reader_entity(model->reader, kind, id) : NULL;
}

uint32_t model_process_of(const struct model *model, uint32_t thread)
{
	const struct event_thread *row = model_entity(model, EVENT_THREAD, thread);

	return row && model_entity(model, EVENT_PROCESS, row->process) ? row->process : 0;
}

uint32_t model_pid(const struct model *model, uint32_t process)
{
	const struct event_process *row = model_entity(model, EVENT_PROCESS, process);

	return row ? row->pid : 0;
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
	const struct event_code *code = model_entity(model, EVENT_CODE, kernel);

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

int model_short_kernels(const struct model *model, struct short_names **ret_short)
{
	return kernel_names_shorten(model->kernel_names, ret_short);
}

const char *model_source_file(const struct model *model, const struct event_code *code)
{
	const struct event_code *source =
		code ? model_entity(model, EVENT_CODE, code->parent) : NULL;

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

/* Losses of rows whose kind is not known: invalid bytes, rings that were not read to their end,
 * times in which a process had no recorder, and failed writes to the disk. */
static bool is_unknown(const struct event_loss *loss)
{
	return loss->kind == EVENT_PADDING || loss->reason == LOSS_RING_BROKEN ||
	       loss->reason == LOSS_DISK;
}

uint64_t model_process_started_ns(const struct model *model, const struct event_process *process)
{
	if (!process || !process->start_ticks || !model->boot_clock ||
	    process->start_ticks > UINT64_MAX / MODEL_TICK_NS)
		return 0;
	return clocks_to_host(model->clocks, model->boot_clock,
			      process->start_ticks * MODEL_TICK_NS);
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
	struct order_options chosen = *options;

	if (model->has_item) {
		chosen.has_item = model->has_item;
		chosen.context = model;
	}
	return order_new(model->reader, model->clocks, &chosen, ret_order);
}

void model_window(const struct model *model, const struct order *order, uint64_t *ret_begin_ns,
		  uint64_t *ret_end_ns)
{
	const struct event_host *hosts;
	size_t count = trace_reader_entities(model->reader, EVENT_HOST, &hosts);
	uint64_t begin = UINT64_MAX, end = 0;

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
	/* time that was dropped on purpose does not count as idle */
	if (begin < trace_reader_begin_ns(model->reader))
		begin = trace_reader_begin_ns(model->reader);
	*ret_begin_ns = begin == UINT64_MAX ? 0 : begin;
	*ret_end_ns = end;
}

uint64_t model_dropped_ns(const struct model *model)
{
	const struct event_host *hosts;
	size_t count = trace_reader_entities(model->reader, EVENT_HOST, &hosts);
	uint64_t kept = trace_reader_begin_ns(model->reader), begin = kept;

	for (size_t i = 0; i < count; i++) {
		if (hosts[i].begin_ns < begin)
			begin = hosts[i].begin_ns;
	}
	return kept - begin;
}

bool model_find_part(const struct model *model, struct model_part *ret_part)
{
	const struct event_host *hosts;
	size_t count = trace_reader_entities(model->reader, EVENT_HOST, &hosts);

	if (count != 1 || !hosts->end_ns || (!hosts->segment && !hosts->continues))
		return false;
	*ret_part = (struct model_part){hosts->segment, hosts->continues};
	return true;
}

/* A process without a queue may be in the trace only because it woke a thread of one with a
 * queue. */
static bool has_queue(const struct model *model, uint32_t process)
{
	const struct event_queue *queues;
	size_t count = model_entities(model, EVENT_QUEUE, &queues);

	for (size_t i = 0; i < count; i++)
		if (queues[i].process == process)
			return true;
	return false;
}

/* Whether `first` represents the recording better than `second`. Only a process that duet started
 * has an exit status. */
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
	const struct event_process *processes;
	size_t count = model_entities(model, EVENT_PROCESS, &processes);
	const struct event_process *best = NULL;

	for (size_t i = 0; i < count; i++)
		if (!best || is_rather(model, &processes[i], best))
			best = &processes[i];
	return best;
}

const char *model_started(const struct model *model)
{
	const struct event_host *hosts;
	size_t count = model_entities(model, EVENT_HOST, &hosts);

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
	const struct event_collector *rows;
	size_t count = model_entities(model, EVENT_COLLECTOR, &rows);

	for (size_t i = 0; i < count; i++)
		if (rows[i].state != COLLECTOR_REFUSED &&
		    strcmp(model_text(model, rows[i].name_string, ""), collector) == 0)
			return true;
	return false;
}

const char *model_imported_from(const struct model *model)
{
	const struct event_collector *rows;
	size_t count = model_entities(model, EVENT_COLLECTOR, &rows);

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
