/* SPDX-License-Identifier: MIT
 *
 * ui/draw_table.c - draw the rows of one view
 *
 * Runs in:  our own process, in duet top
 * Gets:     a table, a rectangle
 * Gives:    a heading and rows
 * Owns:     nothing
 * Fails:    never; rows that do not fit are reached by the keys
 * Why columns disappear on narrow screens: a cut number is a wrong number
 */
#include <string.h>

#include "ui/draw_private.h"

enum { GAP = 2, BAR_TEXT = 8 };

/* The columns that a width has room for. */
struct fitting {
	const struct ui_column *columns;
	int starts[UI_COLUMNS]; /* -1: left out */
	int widths[UI_COLUMNS];
};

static void fit_columns(const struct ui_area *area, enum ui_view view, struct fitting *fitting)
{
	int left = area->columns - 2, at = area->column + 1;

	fitting->columns = ui_columns(view);
	for (size_t i = 0; fitting->columns[i].title; i++) {
		const struct ui_column *column = &fitting->columns[i];
		const int width = column->width + (i ? GAP : 0);

		fitting->starts[i] = -1;
		fitting->widths[i] = column->width;
		if (area->columns < column->min_columns || width > left)
			continue;
		fitting->starts[i] = 0;
		left -= width;
	}
	fitting->widths[0] += left > 0 ? left : 0;
	for (size_t i = 0; fitting->columns[i].title; i++) {
		if (fitting->starts[i] < 0)
			continue;
		fitting->starts[i] = at;
		at += fitting->widths[i] + GAP;
	}
}

/* ---- the heading ----------------------------------------------------------------------------- */

static void put_mark(struct canvas *canvas, int row, int at, enum canvas_style style,
		     const struct ui_rows *rows)
{
	canvas_put(canvas, row, at, 1, style, rows->is_reversed ? "▲" : "▼");
}

static void put_heading(struct canvas *canvas, const struct ui_area *area,
			const struct fitting *fitting, const struct ui_rows *rows, bool is_chosen)
{
	const enum canvas_style style = is_chosen ? STYLE_TITLE : STYLE_HEADING;

	canvas_paint(canvas, area->row, area->column, area->columns, style);
	for (size_t i = 0; fitting->columns[i].title; i++) {
		const struct ui_column *column = &fitting->columns[i];
		const int width = fitting->widths[i], length = (int)strlen(column->title);
		const bool is_right = column->kind == COLUMN_RIGHT;
		const int start = fitting->starts[i];

		if (start < 0)
			continue;
		if (is_right)
			canvas_put_right(canvas, area->row, start, width, style, column->title);
		else
			canvas_put(canvas, area->row, start, width, style, column->title);
		if (is_chosen && i == rows->column)
			put_mark(canvas, area->row,
				 is_right ? start + width - length - 1 : start + length, style,
				 rows);
	}
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void put_bar(struct canvas *canvas, int row, int start, int width,
		    const struct ui_cell *cell)
{
	const struct canvas_part part = {cell->share, STYLE_KERNEL};

	canvas_put_bar(canvas, row, start, width - BAR_TEXT, &part, 1);
	canvas_put_right(canvas, row, start + width - BAR_TEXT, BAR_TEXT, STYLE_PLAIN, cell->text);
}

static void put_row(struct canvas *canvas, int at, const struct fitting *fitting,
		    const struct ui_row *row)
{
	canvas_put(canvas, at, fitting->starts[0], fitting->widths[0], STYLE_PLAIN, row->name);
	for (size_t i = 1; fitting->columns[i].title; i++) {
		const int start = fitting->starts[i], width = fitting->widths[i];
		const struct ui_cell *cell = &row->cells[i];

		if (start < 0)
			continue;
		if (fitting->columns[i].kind == COLUMN_BAR)
			put_bar(canvas, at, start, width, cell);
		else if (fitting->columns[i].kind == COLUMN_RIGHT)
			canvas_put_right(canvas, at, start, width, STYLE_PLAIN, cell->text);
		else
			canvas_put(canvas, at, start, width, STYLE_PLAIN, cell->text);
	}
}

/* The chosen row by its key; where it is gone, the row at its place. */
static void find_selected(const struct ui_table *table, struct ui_rows *rows)
{
	for (size_t i = 0; rows->selected_key && i < table->count; i++)
		if (table->rows[i].key == rows->selected_key)
			rows->selected = i;
	if (rows->selected >= table->count)
		rows->selected = table->count ? table->count - 1 : 0;
	rows->selected_key = table->count ? table->rows[rows->selected].key : 0;
}

static void scroll(struct ui_rows *rows)
{
	if (rows->selected < rows->first)
		rows->first = rows->selected;
	if (rows->shown && rows->selected >= rows->first + rows->shown)
		rows->first = rows->selected - rows->shown + 1;
	if (rows->first + rows->shown > rows->count)
		rows->first = rows->count > rows->shown ? rows->count - rows->shown : 0;
}

static void choose(const struct ui_table *table, struct ui_state *state, struct ui_rows *rows)
{
	const struct ui_row *row;

	find_selected(table, rows);
	scroll(rows);
	state->selected_pid = 0;
	*state->selected_name = '\0';
	if (!table->count)
		return;
	row = &table->rows[rows->selected];
	state->selected_pid = row->pid;
	memcpy(state->selected_name, row->name, sizeof(state->selected_name));
}

void ui_draw_table(struct canvas *canvas, const struct ui_area *area, const struct ui_table *table,
		   struct ui_state *state, bool is_chosen)
{
	struct ui_rows *rows = &state->rows[table->view];
	struct fitting fitting = {.columns = NULL};
	size_t first = 0;

	if (area->rows < 1)
		return;
	fit_columns(area, table->view, &fitting);
	put_heading(canvas, area, &fitting, rows, is_chosen);
	rows->count = table->count;
	rows->shown = (size_t)area->rows - 1;
	if (is_chosen) {
		choose(table, state, rows);
		first = rows->first;
	}
	for (size_t i = 0; i < rows->shown && first + i < table->count; i++) {
		const int at = area->row + 1 + (int)i;

		put_row(canvas, at, &fitting, &table->rows[first + i]);
		if (is_chosen && first + i == rows->selected)
			canvas_paint(canvas, at, area->column, area->columns, STYLE_SELECTED);
	}
	if (!table->count && area->rows > 1)
		canvas_put(canvas, area->row + 1, area->column + 1, area->columns - 1, STYLE_FAINT,
			   *state->filter && is_chosen ? "no row contains the text after /"
						       : ui_view_empty(table->view));
}
