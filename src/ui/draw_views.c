/* SPDX-License-Identifier: MIT
 *
 * ui/draw_views.c - lay out the views below the devices: one of them, or all on a large screen
 *
 * Runs in:  our own process, in duet top
 * Gets:     a snapshot, a rectangle
 * Gives:    tables; the frames of the chosen stack
 * Owns:     the rows while they are drawn
 * Fails:    -ENOMEM
 * Why rows are shared out in turns: a list of 200 counters would leave no row for two processes
 */
#include <stdio.h>
#include <string.h>

#include "live/snapshot.h"
#include "ui/draw_private.h"

/* ALL: rows and columns from which all views are shown, side by side if the screen is WIDE. */
enum { ALL_ROWS = 24, ALL_COLUMNS = 100, WIDE = 150, SIDE_GAP = 2, MIN_TABLE = 3 };

/* ---- one view -------------------------------------------------------------------------------- */

static bool is_inside(const struct ui_state *state)
{
	return state->pid || *state->kernel;
}

static void put_tabs(struct canvas *canvas, int row, const struct ui_state *state)
{
	const int last = is_inside(state) ? VIEW_STACKS : VIEW_IDLE;
	int at = 1;
	char text[32];

	for (int view = state->pid ? VIEW_KERNELS : VIEW_PROCESSES; view <= last; view++) {
		const bool is_chosen = view == (int)state->view;

		if (view == VIEW_STACKS)
			snprintf(text, sizeof(text), " %s ", ui_view_name(VIEW_STACKS));
		else
			snprintf(text, sizeof(text), " %d %s ", view + 1,
				 ui_view_name((enum ui_view)view));
		at += canvas_put(canvas, row, at, canvas->columns - at,
				 is_chosen ? STYLE_TITLE : STYLE_PLAIN, text);
		at++;
	}
	if (*state->filter || state->is_typing)
		canvas_put(canvas, row, at, canvas->columns - at, STYLE_KEY, "  with:");
	if (*state->filter || state->is_typing) {
		snprintf(text, sizeof(text), " %.24s%s", state->filter,
			 state->is_typing ? "_" : "");
		canvas_put(canvas, row, at + 7, canvas->columns - at - 7, STYLE_PLAIN, text);
	}
}

/* The frames of the chosen stack, innermost first, one per row. */
static void put_frames(struct canvas *canvas, const struct ui_area *area,
		       const struct live_stack *stack)
{
	const char *end = stack->text + strlen(stack->text);
	char text[512];

	canvas_paint(canvas, area->row, area->column, area->columns, STYLE_HEADING);
	snprintf(text, sizeof(text), "%s was launched by", stack->kernel);
	canvas_put(canvas, area->row, area->column + 1, area->columns - 1, STYLE_HEADING, text);
	for (int row = 1; row < area->rows && end > stack->text; row++) {
		const char *at = end;

		while (at > stack->text && at[-1] != ';')
			at--;
		snprintf(text, sizeof(text), "%s%.*s", row > 1 ? "called by " : "", (int)(end - at),
			 at);
		canvas_put(canvas, area->row + row, area->column + 3, area->columns - 3,
			   STYLE_PLAIN, text);
		end = at > stack->text ? at - 1 : stack->text;
	}
}

static int draw_stacks(struct canvas *canvas, const struct ui_area *area,
		       const struct live_snapshot *snapshot, struct ui_state *state)
{
	struct ui_area list = *area, frames = *area;
	struct ui_table table;
	int error = ui_table_make(&table, VIEW_STACKS, snapshot, state);

	list.rows = (int)table.count + 2 < area->rows / 2 ? (int)table.count + 2 : area->rows / 2;
	if (list.rows < MIN_TABLE)
		list.rows = area->rows < MIN_TABLE ? area->rows : MIN_TABLE;
	frames.row += list.rows;
	frames.rows -= list.rows;
	if (!error) {
		list.rows -= list.rows > MIN_TABLE;
		ui_draw_table(canvas, &list, &table, state, true);
		if (table.count && frames.rows > 1)
			put_frames(canvas, &frames,
				   &snapshot->stacks[table.rows[state->rows[VIEW_STACKS].selected]
							     .index]);
	}
	ui_table_fini(&table);
	return error;
}

static int draw_one(struct canvas *canvas, const struct ui_area *area,
		    const struct live_snapshot *snapshot, struct ui_state *state)
{
	struct ui_area below = *area;
	struct ui_table table;
	int error;

	put_tabs(canvas, area->row, state);
	below.row++;
	below.rows--;
	if (state->view == VIEW_STACKS)
		return draw_stacks(canvas, &below, snapshot, state);
	error = ui_table_make(&table, state->view, snapshot, state);
	if (!error)
		ui_draw_table(canvas, &below, &table, state, true);
	ui_table_fini(&table);
	return error;
}

/* ---- all views ------------------------------------------------------------------------------- */

/* Shares out rows: MIN_TABLE to each table, then one to each in turn that has more. The table of
 * the chosen view gets two at a time. */
static void share_rows(const struct ui_table *tables, size_t count, int rows, enum ui_view chosen,
		       int *ret_rows)
{
	bool is_given = true;

	for (size_t i = 0; i < count; i++) {
		ret_rows[i] = MIN_TABLE < rows ? MIN_TABLE : rows;
		rows -= ret_rows[i];
	}
	while (rows > 0 && is_given) {
		is_given = false;
		for (size_t i = 0; i < count; i++) {
			const int needed = (int)tables[i].count + 2 - ret_rows[i];
			int given = tables[i].view == chosen ? 2 : 1;

			given = given < needed ? given : needed;
			given = given < rows ? given : rows;
			if (given <= 0)
				continue;
			ret_rows[i] += given;
			rows -= given;
			is_given = true;
		}
	}
}

/* One table below the other, each with an empty row at its end. */
static int draw_column(struct canvas *canvas, const struct ui_area *area, enum ui_view first,
		       enum ui_view last, const struct live_snapshot *snapshot,
		       struct ui_state *state)
{
	struct ui_table tables[VIEW_COUNT] = {0};
	const size_t count = (size_t)(last - first) + 1;
	struct ui_area at = *area;
	int rows[VIEW_COUNT], error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = ui_table_make(&tables[i], (enum ui_view)(first + i), snapshot, state);
	share_rows(tables, count, area->rows, state->view, rows);
	for (size_t i = 0; i < count; i++) {
		at.rows = rows[i] - 1;
		if (!error)
			ui_draw_table(canvas, &at, &tables[i], state,
				      tables[i].view == state->view);
		at.row += rows[i];
		ui_table_fini(&tables[i]);
	}
	return error;
}

static int draw_all(struct canvas *canvas, const struct ui_area *area,
		    const struct live_snapshot *snapshot, struct ui_state *state)
{
	const int left_columns = (area->columns - SIDE_GAP) * 11 / 20;
	struct ui_area left = *area, right = *area;
	int error;

	if (area->columns < WIDE)
		return draw_column(canvas, area, VIEW_PROCESSES, VIEW_COUNTERS, snapshot, state);
	left.columns = left_columns;
	right.column += left_columns + SIDE_GAP;
	right.columns -= left_columns + SIDE_GAP;
	error = draw_column(canvas, &left, VIEW_PROCESSES, VIEW_QUEUES, snapshot, state);
	if (!error)
		error = draw_column(canvas, &right, VIEW_COPIES, VIEW_COUNTERS, snapshot, state);
	return error;
}

int ui_draw_views(struct canvas *canvas, const struct ui_area *area,
		  const struct live_snapshot *snapshot, struct ui_state *state)
{
	const bool has_room = area->rows >= ALL_ROWS && area->columns >= ALL_COLUMNS;

	if (area->rows < 2)
		return 0;
	return has_room && state->view != VIEW_IDLE && !is_inside(state) && !*state->filter &&
			       !state->is_typing
		       ? draw_all(canvas, area, snapshot, state)
		       : draw_one(canvas, area, snapshot, state);
}
