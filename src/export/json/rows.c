/* SPDX-License-Identifier: MIT
 *
 * export/json/rows.c - write rows of a trace as JSON objects
 *
 * Runs in:  our own process
 * Gets:     rows
 * Gives:    keys and values, times in host ns
 * Owns:     nothing
 * Fails:    like the JSON writer
 * Why all fields: a reading program (such as tests/checker) finds the whole row in one place and
 *           needs no state between rows. A row takes about 250 bytes.
 */
#include "export/json/rows.h"

#include "analyze/model.h"
#include "analyze/output_options.h"

static void put_time(struct json_rows *rows, uint64_t time_ns)
{
	if (rows->filter.options->is_absolute)
		json_u64(&rows->json, time_ns);
	else
		json_i64(&rows->json, (int64_t)(time_ns - rows->filter.begin_ns));
}

static void put_sizes(struct json_rows *rows, const struct field_cell *cell)
{
	json_array_begin(&rows->json);
	for (uint32_t i = 0; i < cell->sizes_count; i++)
		json_u64(&rows->json, cell->sizes[i]);
	json_array_end(&rows->json);
}

static void put_cell(struct json_rows *rows, const struct field_cell *cell)
{
	switch (cell->type) {
	case FIELD_CELL_I64:
		json_i64(&rows->json, (int64_t)cell->u64);
		break;
	case FIELD_CELL_TIME:
		put_time(rows, cell->u64);
		break;
	case FIELD_CELL_STACK: /* 0 if the stack was lost with a damaged chunk */
		json_u64(&rows->json,
			 model_stack(rows->model, (uint32_t)cell->u64) ? cell->u64 : 0);
		break;
	case FIELD_CELL_TEXT:
		json_string(&rows->json, cell->text);
		break;
	case FIELD_CELL_BOOL:
		json_bool(&rows->json, cell->u64);
		break;
	case FIELD_CELL_DOUBLE:
		json_double(&rows->json, cell->real);
		break;
	case FIELD_CELL_SIZES:
		put_sizes(rows, cell);
		break;
	default:
		json_u64(&rows->json, cell->u64);
	}
}

void json_rows_put(struct json_rows *rows, const struct field_list *list, const void *row)
{
	struct field_cell cell;

	cell.steps = NULL;
	for (size_t i = 0; i < list->count; i++) {
		if (!field_read(&list->columns[i], rows->model, row, &cell))
			continue;
		json_key(&rows->json, list->columns[i].name);
		put_cell(rows, &cell);
	}
}
