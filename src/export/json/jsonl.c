/* SPDX-License-Identifier: MIT
 *
 * export/json/jsonl.c - export one JSON object per line: entities first, then events
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    JSON Lines
 * Owns:     nothing
 * Fails:    -ENOMEM, errors of the reader; -EPIPE ends it silently
 * Why lines: `grep` and `head` work on them, and a reader needs no parser for a complete document
 */
#include "analyze/analysis.h"
#include "analyze/model.h"
#include "analyze/order.h"
#include "analyze/output_options.h"
#include "base/file/stream.h"
#include "export/formats.h"
#include "export/json/rows.h"

static void begin_line(struct json_rows *rows, FILE *file, enum event_kind kind)
{
	json_init_file(&rows->json, file);
	json_object_begin(&rows->json);
	json_pair_text(&rows->json, "kind", analysis_kind_name(kind));
}

static int end_line(struct json_rows *rows, FILE *file)
{
	json_object_end(&rows->json);
	putc('\n', file);
	return ferror(file) ? stream_flush(file) : 0;
}

static int write_line(struct json_rows *rows, FILE *file, const struct field_list *list,
		      const void *row)
{
	begin_line(rows, file, list->kind);
	json_rows_put(rows, list, row);
	return end_line(rows, file);
}

static int write_entities(struct json_rows *rows, FILE *file)
{
	int error = 0;

	for (const struct field_list *list = field_json_lists; list->name; list++) {
		const void *entities = NULL;
		size_t count = list->kind <= EVENT_ENTITY_LAST
				       ? model_entities(rows->model, list->kind, &entities)
				       : 0;

		for (size_t i = 0; i < count && !error; i++)
			error = write_line(rows, file, list,
					   (const char *)entities + i * list->row_bytes);
	}
	return error;
}

static int write_lines(struct json_rows *rows, struct order *order, FILE *file, uint64_t *ret_rows)
{
	const struct field_list *lists[EVENT_KIND_COUNT];
	struct order_item item;
	int error = write_entities(rows, file), status;

	for (unsigned int kind = 0; kind < EVENT_KIND_COUNT; kind++)
		lists[kind] = field_list_find(field_json_lists, (enum event_kind)kind);
	while (!error && (status = order_next(order, &item)) != 0) {
		if (status < 0)
			return status;
		if (!filter_has_item(&rows->filter, &item))
			continue;
		++*ret_rows;
		error = write_line(rows, file, lists[item.kind], item.row);
	}
	return error ? error : stream_flush(file);
}

static int write_jsonl(const struct model *model, const struct output_options *options, FILE *file,
		       uint64_t *ret_rows)
{
	struct order_options order_options = {.kinds = ANALYSIS_ORDER_KINDS | 1u << EVENT_LOSS,
					      .parts = true};
	struct json_rows rows = {.model = model};
	struct order *order = NULL;
	int error = model_order(model, &order_options, &order);

	*ret_rows = 0;
	if (error)
		return error;
	filter_init(&rows.filter, model, options, order);
	error = write_lines(&rows, order, file, ret_rows);
	order_free(order);
	return error;
}

const struct exporter export_jsonl = {
	.name = "jsonl",
	.help = "one JSON object per line: first entities, then events in the order of time",
	.kinds = "api, launch, execution, dependency, cpu_sample, switch, instruction_sample, "
		 "range, counter, loss",
	.write = write_jsonl,
};
