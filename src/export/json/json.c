/* SPDX-License-Identifier: MIT
 *
 * export/json/json.c - export a whole trace as one JSON document, "duet.export/1"
 * (docs/export.schema.json)
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    entities, rows by kind, the stacks that they refer to, the account
 * Owns:     the ids of the stacks
 * Fails:    -ENOMEM, errors of the reader; -EPIPE ends it silently
 * Why a pass per kind: each list has rows of one kind. As each chunk has rows of one kind too, no
 *           chunk is read twice. Only ids of stacks must be kept in memory.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/order.h"
#include "analyze/output_options.h"
#include "analyze/text/about_json.h"
#include "base/array.h"
#include "base/file/stream.h"
#include "export/common/stack_set.h"
#include "export/formats.h"
#include "export/json/rows.h"

struct document {
	struct json_rows rows;
	const struct output_options *options;
	struct analysis *analysis;
	struct frames *frames;
	struct stack_set stacks;
	FILE *file;
	uint64_t count;
};

static void begin_list(struct document *document, const char *key)
{
	json_newline(&document->rows.json);
	json_key(&document->rows.json, key);
	json_array_begin(&document->rows.json);
}

static void begin_item(struct document *document)
{
	json_newline(&document->rows.json);
	json_object_begin(&document->rows.json);
}

/* ---- the recording --------------------------------------------------------------------------- */

static void put_filters(struct document *document)
{
	const struct output_options *options = document->options;
	struct json_writer *json = &document->rows.json;

	json_key(json, "filters");
	json_object_begin(json);
	if (options->has_from)
		json_pair_u64(json, "from_ns", options->from_ns);
	if (options->has_to)
		json_pair_u64(json, "to_ns", options->to_ns);
	if (options->pid)
		json_pair_u64(json, "pid", options->pid);
	if (options->kinds)
		json_pair_text(json, "kinds", options->kinds);
	json_object_end(json);
}

static void put_head(struct document *document)
{
	struct json_writer *json = &document->rows.json;

	json_pair_text(json, "schema", "duet.export/1");
	json_about_recording(json, document->analysis, document->options->version);
	json_pair_bool(json, "absolute", document->options->is_absolute);
	put_filters(document);
}

static void put_clocks(struct document *document)
{
	struct json_writer *json = &document->rows.json;

	json_newline(json);
	json_key(json, "clocks");
	json_about_clocks(json, document->rows.model);
}

static void put_entity_list(struct document *document, const struct field_list *list)
{
	struct json_rows *rows = &document->rows;
	const void *entities = NULL;
	size_t count = model_entities(rows->model, list->kind, &entities);

	begin_list(document, list->name);
	for (size_t i = 0; i < count; i++) {
		begin_item(document);
		json_rows_put(rows, list, (const char *)entities + i * list->row_bytes);
		json_object_end(&rows->json);
	}
	json_array_end(&rows->json);
}

static void put_entities(struct document *document)
{
	for (const struct field_list *list = field_json_lists; list->name; list++)
		if (list->kind <= EVENT_ENTITY_LAST)
			put_entity_list(document, list);
}

/* ---- events ---------------------------------------------------------------------------------- */

static int put_row(struct document *document, const struct field_list *list,
		   const struct order_item *item)
{
	begin_item(document);
	json_rows_put(&document->rows, list, item->row);
	json_object_end(&document->rows.json);
	document->count++;
	if (ferror(document->file))
		return stream_flush(document->file);
	return stack_set_add(&document->stacks, filter_stack_of(item));
}

static int put_kind(struct document *document, const struct field_list *list)
{
	struct order_options options = {.kinds = 1u << list->kind, .parts = true};
	struct order *order = NULL;
	struct order_item item;
	int error = model_order(document->rows.model, &options, &order), status;

	while (!error && (status = order_next(order, &item)) != 0) {
		if (status < 0)
			error = status;
		else if (filter_has_item(&document->rows.filter, &item))
			error = put_row(document, list, &item);
	}
	order_free(order);
	return error;
}

/* Leaves out lists that were not selected: an empty list would mean that there were no such
 * events. */
static int put_happenings(struct document *document)
{
	int error = 0;

	for (const struct field_list *list = field_json_lists; list->name && !error; list++) {
		if (list->kind <= EVENT_ENTITY_LAST ||
		    !filter_has_kind(&document->rows.filter, list->kind))
			continue;
		begin_list(document, list->name);
		error = put_kind(document, list);
		json_array_end(&document->rows.json);
	}
	return error;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static const char *type_name(const struct event_frame *frame)
{
	static const char *const names[] = {[FRAME_NATIVE] = "native",
					    [FRAME_PYTHON] = "python",
					    [FRAME_JIT] = "jit",
					    [FRAME_TRUNCATED] = "truncated",
					    [FRAME_KERNEL] = "kernel"};

	return frame && frame->type < ARRAY_COUNT(names) && names[frame->type] ? names[frame->type]
									       : "unknown";
}

static int put_frame(struct document *document, uint32_t id)
{
	const struct model *model = document->rows.model;
	const struct event_frame *frame = model_frame(model, id);
	struct json_writer *json = &document->rows.json;
	const struct frame_name *names;
	size_t count;

	if (frames_of_frame(document->frames, id, &names, &count))
		return -ENOMEM;
	begin_item(document);
	json_pair_u64(json, "id", id);
	json_pair_text(json, "type", type_name(frame));
	if (frame && frame->type == FRAME_NATIVE) {
		json_pair_text(json, "module", model_text(model, frame->module_string, ""));
		json_pair_text(json, "build_id", model_text(model, frame->build_id_string, ""));
		json_pair_u64(json, "offset", frame->offset);
	}
	json_key(json, "names");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		json_about_frame(&document->rows.json, &names[i]);
	json_array_end(json);
	json_object_end(json);
	return 0;
}

static int put_frames(struct document *document)
{
	size_t count = 0;
	uint32_t *ids = stack_set_frames(&document->stacks, &count);
	int error = ids ? 0 : -ENOMEM;

	begin_list(document, "frames");
	for (size_t i = 0; i < count && !error; i++)
		error = put_frame(document, ids[i]);
	json_array_end(&document->rows.json);
	free(ids);
	return error;
}

static int put_stacks(struct document *document)
{
	struct json_writer *json = &document->rows.json;
	size_t count = 0;
	uint32_t *ids = stack_set_stacks(&document->stacks, &count);

	begin_list(document, "stacks");
	for (size_t i = 0; i < count; i++) {
		const struct event_stack *stack = model_stack(document->rows.model, ids[i]);

		begin_item(document);
		json_pair_u64(json, "id", ids[i]);
		json_pair_u64(json, "caller",
			      model_stack(document->rows.model, stack->caller) ? stack->caller : 0);
		json_pair_u64(json, "frame", stack->frame);
		json_object_end(json);
	}
	json_array_end(json);
	free(ids);
	return ids ? put_frames(document) : -ENOMEM;
}

/* ---- the account ----------------------------------------------------------------------------- */

static void put_device(struct document *document, const struct analysis_device *device)
{
	struct json_writer *json = &document->rows.json;

	begin_item(document);
	json_pair_u64(json, "device", device->device ? device->device->id : 0);
	json_pair_text(json, "name", device->name);
	json_pair_bool(json, "measured", device->is_measured);
	json_about_account(json, &device->account);
	json_object_end(json);
}

static void put_account(struct document *document)
{
	const struct analysis *analysis = document->analysis;

	json_newline(&document->rows.json);
	json_key(&document->rows.json, "ledger");
	json_object_begin(&document->rows.json);
	json_about_ledger(&document->rows.json, &analysis->ledger);
	json_object_end(&document->rows.json);
	begin_list(document, "account");
	for (size_t i = 0; i < analysis_devices_shown(analysis); i++)
		put_device(document, &analysis->devices[i]);
	json_array_end(&document->rows.json);
}

/* ---- the document ---------------------------------------------------------------------------- */

static int put_document(struct document *document)
{
	struct json_writer *json = &document->rows.json;
	int error;

	json_object_begin(json);
	put_head(document);
	put_clocks(document);
	put_entities(document);
	error = put_happenings(document);
	if (!error)
		error = put_stacks(document);
	if (error)
		return error;
	put_account(document);
	json_object_end(json);
	putc('\n', document->file);
	return stream_flush(document->file);
}

static int open_document(struct document *document, const struct model *model,
			 const struct output_options *options)
{
	const struct analysis_options window = filter_window(options);
	const struct frames_options names = filter_names(options);
	int error = analysis_new(model, &window, &document->analysis);

	if (!error)
		error = frames_new(model, &names, &document->frames);
	return error ? error : filter_open(&document->rows.filter, model, options);
}

static int write_json(const struct model *model, const struct output_options *options, FILE *file,
		      uint64_t *ret_rows)
{
	struct document document = {.rows = {.model = model}, .options = options, .file = file};
	int error;

	stack_set_init(&document.stacks, model);
	json_init_file(&document.rows.json, file);
	error = open_document(&document, model, options);
	if (!error)
		error = put_document(&document);
	*ret_rows = document.count;
	stack_set_fini(&document.stacks);
	frames_free(document.frames);
	analysis_free(document.analysis);
	return error;
}

const struct exporter export_json = {
	.name = "json",
	.help = "one JSON document: entities, events, stacks, and the division of device time "
		"(duet.export/1)",
	.kinds = "api, launch, execution, dependency, cpu_sample, switch, instruction_sample, "
		 "range, counter, loss",
	.write = write_json,
};
