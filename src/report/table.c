/* SPDX-License-Identifier: MIT
 *
 * report/table.c - print a described table, as text and as JSON
 *
 * Runs in:  our own process
 * Gets:     descriptions and rows
 * Gives:    cells on stdout, items of an array
 * Owns:     nothing
 * Fails:    never; finish_output checks that stdout was written
 * Why:      names come from the recorded program. They are cut to their column, and control
 *           characters are replaced so that they do not reach the terminal. Columns are counted in
 *           code points, because the "µ" of µs takes two bytes.
 */
#include "report/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/model.h"
#include "base/json.h"
#include "base/number.h"
#include "base/string.h"
#include "report/report.h"
#include "trace/reader.h"

enum {
	MIN_NAME = 20,  /* columns of a name; numbers without room beside it are left out */
	MIN_REMARK = 8, /* a shorter remark is left out */
};

struct number format_date(const struct model *model, uint64_t host_ns)
{
	struct number number = {""};
	uint64_t realtime_ns;

	return model_wall_clock(model, host_ns, &realtime_ns) ? format_realtime(realtime_ns)
							      : number;
}

struct number format_damaged_rows(const struct trace_damage *damage)
{
	struct number number = {"not known"};

	return damage->chunks && !damage->rows ? number : format_count(damage->rows);
}

struct number format_value(double value)
{
	struct number number;
	double size = fabs(value);
	int places = size >= 1000 || size == 0 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;

	if (size >= 1e9) /* a cell has room for ten digits */
		snprintf(number.text, sizeof(number.text), "%.3e", value);
	else
		snprintf(number.text, sizeof(number.text), "%.*f", places, value);
	return number;
}

size_t table_width(const char *text)
{
	size_t width = 0, left = strlen(text);

	for (; left; width++) {
		int length = utf8_printable(text, left);
		size_t taken = (size_t)(length > 0 ? length : -length);

		text += taken;
		left -= taken;
	}
	return width;
}

void table_put_text(const char *text, size_t limit)
{
	size_t width = table_width(text), shown = 0, left = strlen(text);

	while (left) {
		int length = utf8_printable(text, left);
		size_t taken = (size_t)(length > 0 ? length : -length);

		if (++shown == limit && width > limit) {
			fputs("…", stdout);
			return;
		}
		if (length > 0)
			fwrite(text, 1, taken, stdout);
		else
			putchar('?');
		text += taken;
		left -= taken;
	}
}

/* Skips `columns` of a text. */
static const char *skip_columns(const char *text, size_t columns)
{
	size_t left = strlen(text);

	for (; columns && left; columns--) {
		const int length = utf8_printable(text, left);
		const size_t taken = (size_t)(length > 0 ? length : -length);

		text += taken;
		left -= taken;
	}
	return text;
}

/* Both ends of a text that is wider than width. */
static void put_ends(const char *text, size_t width)
{
	const size_t end = width / 2;

	table_put_text(text, width - end); /* its last column is an ellipsis */
	table_put_text(skip_columns(text, table_width(text) - end), end);
}

/* "step (train.py:30)": its end says more than its middle. */
static bool ends_with_line(const char *text)
{
	const size_t length = strlen(text);

	return length > 1 && text[length - 1] == ')' && text[length - 2] >= '0' &&
	       text[length - 2] <= '9' && strstr(text, " (");
}

/* Left-aligned, cut to width. */
void table_put_left(const char *text, size_t width)
{
	size_t used = table_width(text);

	if (used > width && ends_with_line(text))
		put_ends(text, width);
	else
		table_put_text(text, width);
	for (; used < width; used++)
		putchar(' ');
}

void table_put_right(const char *text, size_t width)
{
	for (size_t used = table_width(text); used < width; used++)
		putchar(' ');
	table_put_text(text, SIZE_MAX);
}

void table_put_title(const char *title, size_t width, const char *const *columns)
{
	putchar('\n');
	table_put_left(title, width);
	for (; *columns; columns++)
		table_put_right(*columns, TABLE_CELL);
	putchar('\n');
}

void table_put_name(const char *name, size_t width)
{
	fputs("  ", stdout);
	table_put_left(name, width - 2);
}

void table_put_name_ends(const char *name, size_t width)
{
	if (table_width(name) <= width - 2) {
		table_put_name(name, width);
		return;
	}
	fputs("  ", stdout);
	put_ends(name, width - 2);
}

void table_put_cell(struct number number)
{
	table_put_right(number.text, TABLE_CELL);
}

void table_put_rest(size_t shown, size_t all, const char *one, const char *many)
{
	if (shown < all)
		printf("  … %zu more %s (--top 0 shows all)\n", all - shown,
		       table_noun(all - shown, one, many));
}

/* ---- cells of a row -------------------------------------------------------------------------- */

static uint64_t read_integer(const struct table_member *member, const void *row)
{
	const void *place = (const char *)row + member->offset;

	if (member->type == TABLE_U64)
		return *(const uint64_t *)place;
	if (member->type == TABLE_U32)
		return *(const uint32_t *)place;
	return member->type == TABLE_BOOLEAN && *(const bool *)place;
}

static double read_number(const struct table_member *member, const void *row)
{
	return member->type == TABLE_DOUBLE ? *(const double *)((const char *)row + member->offset)
					    : (double)read_integer(member, row);
}

static const char *read_text(const struct table_member *member, const void *row)
{
	return member->type == TABLE_STRING
		       ? *(const char *const *)((const char *)row + member->offset)
		       : NULL;
}

static bool is_missing(const struct table_member *member, const void *row)
{
	if (member->type == TABLE_NO_MEMBER)
		return false;
	if (member->type == TABLE_STRING)
		return !read_text(member, row);
	return read_number(member, row) == 0;
}

static void divide_cell(const struct table_member *divisor, const void *row,
			struct table_cell *cell)
{
	if (divisor->type == TABLE_NO_MEMBER || read_integer(divisor, row) == 0)
		return;
	cell->value /= read_integer(divisor, row);
	cell->number /= read_number(divisor, row);
}

static struct table_cell read_cell(const struct report *report, const struct table_column *column,
				   const void *row)
{
	const bool is_blank = is_missing(&column->needs, row);
	struct table_cell cell = {.is_blank = true};
	const struct analysis_device *device;

	if (is_blank && column->in_json != BLANK_HAS_VALUE)
		return cell;
	if (column->get)
		return column->get(report, row);
	cell = (struct table_cell){.value = read_integer(&column->value, row),
				   .whole = read_integer(&column->whole, row),
				   .number = read_number(&column->value, row),
				   .text = read_text(&column->value, row),
				   .is_blank = is_blank};
	divide_cell(&column->per, row, &cell);
	if (column->empty && !*cell.text)
		cell.text = column->empty;
	if (column->device.type != TABLE_NO_MEMBER) {
		device = &report->analysis->devices[read_integer(&column->device, row)];
		cell.text = report_device_key(device);
		cell.whole = device->account.busy_ns;
	}
	return cell;
}

static bool is_last(const struct table_column *column)
{
	return column->unit == TABLE_END && !column->write;
}

/* ---- text ------------------------------------------------------------------------------------ */

static struct number format_number(enum table_unit unit, const struct table_cell *cell)
{
	struct number number = {""};

	switch (unit) {
	case TABLE_COUNT:
		return format_count(cell->value);
	case TABLE_TIME:
		return format_duration(cell->value);
	case TABLE_BYTES:
		return format_size((double)cell->value);
	case TABLE_SIZE:
		return format_size(cell->number);
	case TABLE_PERCENT:
		return format_percent(cell->value, cell->whole);
	case TABLE_VALUE:
		return format_value(cell->number);
	case TABLE_DECIMAL:
		snprintf(number.text, sizeof(number.text), "%.2f", cell->number);
		return number;
	default:
		return number;
	}
}

static size_t width_of(const struct table_column *column)
{
	return column->width && column->unit != TABLE_REMARK ? column->width : TABLE_CELL;
}

/* ret_pending: width of the empty cells so far, which are printed only before a cell that is not
 * empty. */
static void put_column(const struct table_column *column, const struct table_cell *cell,
		       size_t *ret_pending)
{
	const size_t width = width_of(column);
	const struct number number = format_number(column->unit, cell);
	const char *text = column->unit == TABLE_TEXT ? cell->text : number.text;

	if (cell->is_blank)
		text = column->blank ? column->blank : "-";
	if (!*text) {
		*ret_pending += width;
		return;
	}
	table_put_right(text, *ret_pending + width);
	*ret_pending = 0;
}

/* Cuts a remark to the room behind the numbers. */
static void put_remark(const struct table_column *column, const struct table_cell *cell,
		       size_t room)
{
	const size_t width = column->width ? smaller(column->width, room) : room;

	if (!cell->text || !*cell->text || cell->is_blank || room < MIN_REMARK)
		return;
	fputs("  ", stdout);
	table_put_text(cell->text, width);
}

static const char *name_row(const struct report *report, const struct table *table, const void *row,
			    char *buffer, size_t size)
{
	if (!table->format_name)
		return report_kernel_name(report, read_cell(report, table->columns, row).text);
	table->format_name(report, row, buffer, size);
	return buffer;
}

/* The widths of a table, which depend on the terminal and on the names that are shown. */
struct layout {
	size_t name, remark;
	const struct table_column *end; /* this column and those after it have no room */
};

/* Whether a column is printed as a number, with or without a title. */
static bool is_number(const struct table_column *column)
{
	return column->title && column->unit != TABLE_REMARK;
}

static void put_head(const struct table *table, const struct layout *layout)
{
	putchar('\n');
	table_put_left(table->title, layout->name);
	for (const struct table_column *column = table->columns + 1; column < layout->end; column++)
		if (column->title && *column->title &&
		    (column->unit != TABLE_REMARK || layout->remark >= MIN_REMARK))
			table_put_right(column->title, width_of(column));
	putchar('\n');
}

static void put_row(const struct report *report, const struct table *table,
		    const struct layout *layout, const void *row)
{
	char name[TABLE_NAME_BYTES];
	size_t pending = 0;

	(table->is_cut_inside ? table_put_name_ends : table_put_name)(
		name_row(report, table, row, name, sizeof(name)), layout->name);
	for (const struct table_column *column = table->columns + 1; !is_last(column); column++) {
		struct table_cell cell;

		if (!column->title || (is_number(column) && column >= layout->end))
			continue;
		cell = read_cell(report, column, row);
		if (column->unit == TABLE_REMARK)
			put_remark(column, &cell, layout->remark);
		else
			put_column(column, &cell, &pending);
	}
	putchar('\n');
	if (table->put_below)
		table->put_below(report, row);
}

static const void *row_at(const struct table_rows *rows, size_t index)
{
	const void *place = (const char *)rows->first + index * rows->stride;

	return rows->are_pointers ? *(const void *const *)place : place;
}

static bool is_shown(const struct report *report, const struct table *table, const void *row)
{
	if (table->device.type != TABLE_NO_MEMBER &&
	    !report_shows_device(report, read_integer(&table->device, row)))
		return false;
	return !is_missing(&table->needs, row) && (!table->is_shown || table->is_shown(row));
}

/* Columns of the longest name among the rows that are shown. */
static size_t longest_name(const struct report *report, const struct table *table,
			   const struct table_rows *rows)
{
	char name[TABLE_NAME_BYTES];
	size_t longest = 0, shown = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const void *row = row_at(rows, i);

		if (!is_shown(report, table, row))
			continue;
		if (table->one && report_is_over_top(report, shown++))
			break;
		longest = larger(longest,
				 table_width(name_row(report, table, row, name, sizeof(name))));
	}
	return longest;
}

/* Columns that are kept free for remarks. */
static size_t remarks_width(const struct table *table)
{
	size_t width = 0;

	for (const struct table_column *column = table->columns; !is_last(column); column++)
		if (column->title && column->unit == TABLE_REMARK)
			width += 2 + (column->width ? column->width : 2 * MIN_REMARK);
	return width;
}

/* Leaves out numbers from the right until a name has MIN_NAME columns. The name grows with the
 * terminal, but not beyond the longest name. */
static struct layout find_layout(const struct report *report, const struct table *table,
				 const struct table_rows *rows)
{
	const size_t columns = report_columns(report);
	struct layout layout = {.end = table->columns + 1};
	size_t numbers = 0, room;

	for (; !is_last(layout.end); layout.end++) {
		const size_t width = is_number(layout.end) ? width_of(layout.end) : 0;

		if (columns < REPORT_COLUMNS && numbers + width + MIN_NAME > columns)
			break;
		numbers += width;
	}
	room = columns > numbers + MIN_NAME ? columns - numbers : MIN_NAME;
	if (columns < REPORT_COLUMNS) {
		layout.name = smaller(room, table->width);
		layout.remark = room > layout.name + 2 ? room - layout.name - 2 : 0;
		return layout;
	}
	room -= smaller(room, remarks_width(table));
	layout.name = larger(table->width, smaller(room, longest_name(report, table, rows) + 2));
	layout.remark = SIZE_MAX;
	return layout;
}

size_t table_put(const struct report *report, const struct table *table, struct table_rows rows)
{
	const struct layout layout = find_layout(report, table, &rows);
	size_t shown = 0, all = 0;

	for (size_t i = 0; i < rows.count; i++) {
		const void *row = row_at(&rows, i);

		if (!is_shown(report, table, row) ||
		    (all++, table->one && report_is_over_top(report, shown)))
			continue;
		if (!shown++)
			put_head(table, &layout);
		put_row(report, table, &layout, row);
	}
	table_put_rest(shown, all, table->one, table->many);
	return shown;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_cell(const struct table_column *column, const struct table_cell *cell,
		       struct json_writer *json)
{
	json_key(json, column->key);
	if (cell->is_blank && column->in_json == BLANK_IS_NULL)
		json_null(json);
	else if (column->unit == TABLE_NAME || column->unit == TABLE_TEXT ||
		 column->unit == TABLE_REMARK)
		json_string(json, cell->text);
	else if (column->unit == TABLE_FLAG)
		json_bool(json, cell->value);
	else if (column->unit == TABLE_PERCENT)
		json_double(json,
			    cell->whole ? 100.0 * (double)cell->value / (double)cell->whole : 0);
	else if (column->unit == TABLE_SIZE || column->unit == TABLE_DECIMAL ||
		 column->unit == TABLE_VALUE)
		json_double(json, cell->number);
	else
		json_u64(json, cell->value);
}

static void write_column(const struct report *report, const struct table *table,
			 const struct table_column *column, const void *row,
			 struct json_writer *json)
{
	struct table_cell cell;
	char name[TABLE_NAME_BYTES];

	if (column->write) {
		column->write(report, row, json);
		return;
	}
	if (!column->key)
		return;
	cell = read_cell(report, column, row);
	if (column->unit == TABLE_NAME && !cell.text)
		cell.text = name_row(report, table, row, name, sizeof(name));
	if (!cell.is_blank || column->in_json != BLANK_HAS_NO_KEY)
		write_cell(column, &cell, json);
}

void table_write(const struct report *report, const struct table *table, struct table_rows rows,
		 struct json_writer *json)
{
	size_t shown = 0;

	for (size_t i = 0; i < rows.count && !report_is_over_top(report, shown); i++) {
		const void *row = row_at(&rows, i);

		if (!is_shown(report, table, row))
			continue;
		shown++;
		json_line_begin(json);
		for (const struct table_column *column = table->columns; !is_last(column); column++)
			write_column(report, table, column, row, json);
		json_object_end(json);
	}
}

void table_write_list(const struct report *report, const char *key, const struct table *table,
		      struct table_rows rows, struct json_writer *json)
{
	json_line_array(json, key);
	table_write(report, table, rows, json);
	json_array_end(json);
}

int table_print(const struct report *report, const struct table *text, const struct table *list,
		struct table_rows rows, struct json_writer *json)
{
	if (json)
		table_write(report, list, rows, json);
	else
		table_put(report, text, rows);
	return 0;
}
