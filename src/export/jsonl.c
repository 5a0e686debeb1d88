/* SPDX-License-Identifier: MIT
 *
 * export/jsonl.c - one row a line as a JSON object: the things first, then what happened
 *
 * Runs in:  our own process
 * Gets:     a model and filters   Gives: JSON Lines
 * Owns:     nothing
 * Fails:    -ENOMEM, what the reader fails with; -EPIPE ends it quietly
 * Why lines: `grep` and `head` work on them, and whoever reads them needs no parser of a whole document
 */
#include "analyze/analysis.h"
#include "analyze/model.h"
#include "export/formats.h"
#include "export/json_rows.h"

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
	return ferror(file) ? export_flush(file) : 0;
}

static int write_things(struct json_rows *rows, FILE *file)
{
	enum event_kind kind;
	int error = 0;

	for (size_t i = 0; (kind = json_rows_kind(i)); i++) {
		for (size_t j = 0; j < json_rows_things(rows, kind) && !error; j++) {
			begin_line(rows, file, kind);
			json_rows_put_thing(rows, kind, j);
			error = end_line(rows, file);
		}
	}
	return error;
}

static int write_lines(struct json_rows *rows, struct order *order, FILE *file, uint64_t *ret_rows)
{
	struct order_item item;
	int error = write_things(rows, file), status;

	while (!error && (status = order_next(order, &item)) != 0) {
		if (status < 0)
			return status;
		if (!filter_has_item(&rows->filter, &item))
			continue;
		++*ret_rows;
		begin_line(rows, file, item.kind);
		json_rows_put(rows, &item);
		error = end_line(rows, file);
	}
	return error ? error : export_flush(file);
}

static int write_jsonl(const struct model *model, const struct export_options *options, FILE *file,
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
	.help = "one row a line as a JSON object: the things, then what happened in order of time",
	.kinds = "api, launch, execution, dependency, cpu_sample, switch, instruction_sample, "
		 "range, counter, loss",
	.write = write_jsonl,
};
