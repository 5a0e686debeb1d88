/* SPDX-License-Identifier: MIT
 *
 * export/common/fields.c - read the values of rows that exporters write
 *
 * Runs in:  our own process
 * Gets:     a model, a row, a column of event/fields.def
 * Gives:    the value, or that it is absent
 * Owns:     nothing; tools/make_fields.py generates the lists (field_lists.c)
 * Fails:    never
 * Why one reader: when six exporters named each field of each event by hand, one more field changed
 *           33 files
 */
#include "export/common/fields.h"

#include "analyze/analysis.h"
#include "analyze/join/commands.h"
#include "analyze/model.h"
#include "analyze/order.h"
#include "base/bytes.h"
#include "export/common/field_values.h"

const struct field_list *field_list_find(const struct field_list *lists, enum event_kind kind)
{
	while (lists->name && lists->kind != kind)
		lists++;
	return lists->name ? lists : NULL;
}

/* ---- computed values ------------------------------------------------------------------------- */

uint64_t field_process_started_ns(const struct model *model, const void *row)
{
	return model_process_started_ns(model, row);
}

/* The first members of rows with a duration are start and end. */
uint64_t field_row_duration(const struct model *model, const void *row)
{
	const struct event_api *times = row;

	return times->end - times->begin;
}

uint64_t field_api_is_wait(const struct model *model, const void *row)
{
	return ((const struct event_api *)row)->type == API_TYPE_WAIT;
}

uint64_t field_launch_dimensions(const struct model *model, const void *row)
{
	uint32_t dimensions = ((const struct event_launch *)row)->dimensions;

	return dimensions < 3 ? dimensions : 3;
}

const char *field_launch_command_name(const struct model *model, const void *row, char *buffer)
{
	return analysis_command_name(analysis_launch_command(model, row));
}

const char *field_launch_kernel_name(const struct model *model, const void *row, char *buffer)
{
	return model_kernel_name(model, ((const struct event_launch *)row)->kernel);
}

const char *field_launch_label(const struct model *model, const void *row, char *buffer)
{
	const struct command command = {.launch = row};

	return command_name(model, &command);
}

const char *field_code_kernel_name(const struct model *model, const void *row, char *buffer)
{
	return model_kernel_name(model, ((const struct event_code *)row)->id);
}

const char *field_instruction_kernel_name(const struct model *model, const void *row, char *buffer)
{
	return model_kernel_name(model, ((const struct event_instruction_sample *)row)->code);
}

const char *field_sample_source(const struct model *model, const void *row, char *buffer)
{
	const struct event_cpu_sample *sample = row;

	return model_text(model, sample->source_string, "samples");
}

const char *field_sample_unit(const struct model *model, const void *row, char *buffer)
{
	return analysis_source_unit(field_sample_source(model, row, buffer));
}

uint64_t field_switch_thread(const struct model *model, const void *row)
{
	const struct event_switch *item = row;

	return item->previous ? item->previous : item->next;
}

const char *field_switch_waker_name(const struct model *model, const void *row, char *buffer)
{
	const struct event_switch *item = row;
	const struct event_thread *waker = model_entity(model, EVENT_THREAD, item->waker);

	return model_text(model, waker ? waker->name_string : item->waker_string, "");
}

const char *field_range_name(const struct model *model, const void *row, char *buffer)
{
	return model_range_name(model, row);
}

static const char *format_unit(const struct unit_shown *unit, char *buffer)
{
	__builtin_memcpy(buffer, unit->text, sizeof(unit->text));
	return buffer;
}

const char *field_series_shown_unit(const struct model *model, const void *row, char *buffer)
{
	const struct unit_shown unit = unit_shown_of(model, row);

	return format_unit(&unit, buffer);
}

double field_series_factor(const struct model *model, const void *row)
{
	return unit_shown_of(model, row).factor;
}

static const struct event_series *series_of(const struct model *model,
					    const struct event_counter *row)
{
	static const struct event_series unknown;
	const struct event_series *series = model_entity(model, EVENT_SERIES, row->series);

	return series ? series : &unknown;
}

double field_counter_shown(const struct model *model, const void *row)
{
	const struct event_series *series = series_of(model, row);
	const struct unit_shown unit = unit_shown_of(model, series);

	return unit_value_of(&unit, series->type, row);
}

const char *field_counter_shown_unit(const struct model *model, const void *row, char *buffer)
{
	return field_series_shown_unit(model, series_of(model, row), buffer);
}

/* ---- conditions ------------------------------------------------------------------------------ */

/* local_bytes may be 0, so other fields decide whether the runtime described the kernel. */
bool field_code_has_needs(const void *row)
{
	const struct event_code *code = row;

	return code->group_most || code->registers;
}

bool field_code_has_address(const void *row)
{
	return ((const struct event_code *)row)->address != 0;
}

bool field_code_has_device(const void *row)
{
	return field_code_has_address(row) || ((const struct event_code *)row)->group_most;
}

bool field_code_has_local(const void *row)
{
	return field_code_has_needs(row) &&
	       ((const struct event_code *)row)->local_bytes != CODE_UNKNOWN;
}

bool field_code_has_private(const void *row)
{
	const struct event_code *code = row;

	return code->group_most && code->private_bytes != CODE_UNKNOWN;
}

static bool has_moment(const void *row, uint32_t moment)
{
	return (((const struct event_execution *)row)->valid & (moment | ORDER_UNPLACED)) == moment;
}

bool field_execution_has_queued(const void *row)
{
	return has_moment(row, EXECUTION_QUEUED);
}

bool field_execution_has_submitted(const void *row)
{
	return has_moment(row, EXECUTION_SUBMITTED);
}

bool field_execution_has_started(const void *row)
{
	return has_moment(row, EXECUTION_STARTED);
}

bool field_execution_has_ended(const void *row)
{
	return has_moment(row, EXECUTION_ENDED);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Follows the steps from a row to the last named row. */
static const void *follow_steps(const struct field_step *step, const struct model *model,
				const void *row)
{
	static const struct event_process zeros[2]; /* larger than any row of an entity */

	for (; step->kind != EVENT_PADDING; step++) {
		uint64_t id = step->number ? step->number(model, row) : half_at(row, step->offset);

		row = model_entity(model, step->kind, (uint32_t)id);
		if (!row)
			return zeros;
	}
	return row;
}

static bool set_number(struct field_cell *cell, const struct field_column *column,
		       enum field_cell_type type, uint64_t value)
{
	cell->type = type;
	cell->u64 = value;
	return value || !column->is_optional;
}

static bool set_text(struct field_cell *cell, const char *text)
{
	cell->type = FIELD_CELL_TEXT;
	cell->text = text;
	return true;
}

static bool set_real(struct field_cell *cell, double value)
{
	cell->type = FIELD_CELL_DOUBLE;
	cell->real = value;
	return true;
}

static bool set_sizes(struct field_cell *cell, const void *at, const void *row)
{
	cell->type = FIELD_CELL_SIZES;
	cell->sizes = at;
	cell->sizes_count = (uint32_t)field_launch_dimensions(NULL, row);
	return true;
}

static const void *row_of(const struct field_column *column, const struct model *model,
			  const void *row, struct field_cell *cell)
{
	if (!column->steps)
		return row;
	/* neighbouring columns often read the same other row */
	if (cell->steps != column->steps) {
		cell->steps = column->steps;
		cell->steps_row = follow_steps(column->steps, model, row);
	}
	return cell->steps_row;
}

bool field_read(const struct field_column *column, const struct model *model, const void *row,
		struct field_cell *cell)
{
	const void *at = (const char *)(row = row_of(column, model, row, cell)) + column->offset;

	if (column->has && !column->has(row))
		return false;
	switch (column->value) {
	case FIELD_VALUE_U32:
		return set_number(cell, column, FIELD_CELL_U64, half_at(at, 0));
	case FIELD_VALUE_I32:
		return set_number(cell, column, FIELD_CELL_I64,
				  (uint64_t)(int64_t)(int32_t)half_at(at, 0));
	case FIELD_VALUE_U64:
		return set_number(cell, column, FIELD_CELL_U64, word_at(at, 0));
	case FIELD_VALUE_I64:
		return set_number(cell, column, FIELD_CELL_I64, word_at(at, 0));
	case FIELD_VALUE_TIME:
		return set_number(cell, column, FIELD_CELL_TIME, word_at(at, 0));
	case FIELD_VALUE_STACK:
		return set_number(cell, column, FIELD_CELL_STACK, half_at(at, 0));
	case FIELD_VALUE_TEXT:
		return set_text(cell, model_text(model, half_at(at, 0), "")) &&
		       (half_at(at, 0) || !column->is_optional);
	case FIELD_VALUE_NEXT:
		set_number(cell, column, FIELD_CELL_I64, (uint64_t)((int64_t)half_at(at, 0) - 1));
		return half_at(at, 0) != 0;
	case FIELD_VALUE_SIZES:
		return set_sizes(cell, at, row);
	case FIELD_VALUE_BIT:
		return set_number(cell, column, FIELD_CELL_BOOL,
				  (half_at(at, 0) & column->bit) != 0);
	case FIELD_VALUE_NAME:
		return set_text(cell, column->of.name(half_at(at, 0))) &&
		       (half_at(at, 0) || !column->is_optional);
	case FIELD_VALUE_TEXT_OF:
		return set_text(cell, column->of.text(model, row, cell->buffer));
	case FIELD_VALUE_TIME_OF:
		return set_number(cell, column, FIELD_CELL_TIME, column->of.number(model, row));
	case FIELD_VALUE_BOOL_OF:
		return set_number(cell, column, FIELD_CELL_BOOL, column->of.number(model, row));
	case FIELD_VALUE_DOUBLE_OF:
		return set_real(cell, column->of.real(model, row));
	default:
		return set_number(cell, column, FIELD_CELL_U64, column->of.number(model, row));
	}
}
