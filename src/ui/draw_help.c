/* SPDX-License-Identifier: MIT
 *
 * ui/draw_help.c - the help screen: keys, and the columns of the present view
 *
 * Runs in:  our own process, in duet top
 * Gets:     the state
 * Gives:    at most 22 rows of 80 columns
 * Owns:     nothing
 * Fails:    never
 * Why only the present view: all columns of all views need three screens of 24 rows
 */
#include <stdio.h>

#include "base/array.h"
#include "ui/draw_private.h"

static const struct key_help {
	const char *key, *text, *key2, *text2;
} keys[] = {
	{"Tab, 1 … 6", "next view; a view by number", "Space", "freeze; again: continue"},
	{"↑ ↓ PgUp PgDn", "choose a row", "← →", "earlier, later (freezes)"},
	{"Enter", "process → kernels → stacks", "+ -", "longer, shorter interval"},
	{"Esc", "back", "r", "record, or keep, to a file"},
	{"s S", "sort by next column; reverse", "?", "this help"},
	{"/", "only rows with this text", "q", "quit"},
};

static const struct line_help {
	const char *word, *text;
} lines[] = {
	{"BUSY", "share of the time in which the device worked:"},
	{"", "█ kernels, ▓ copies, ▒ other commands, · idle"},
	{"IN FLIGHT", "commands launched and not ended at the end of the interval"},
	{"idle", "first the function that was active most during idle time,"},
	{"", "then what it did; all causes: 6. Percent of all time"},
};

static int put_pair(struct canvas *canvas, int row, int column, int key_width, const char *key,
		    const char *text)
{
	canvas_put(canvas, row, column, key_width, STYLE_KEY, key);
	canvas_put(canvas, row, column + key_width, canvas->columns - column - key_width,
		   STYLE_PLAIN, text);
	return row + 1;
}

void ui_draw_help(struct canvas *canvas, const struct ui_state *state)
{
	const struct ui_column *columns = ui_columns(state->view);
	int row = 1;

	canvas_paint(canvas, 0, 0, canvas->columns, STYLE_TITLE);
	canvas_put(canvas, 0, 1, canvas->columns - 1, STYLE_TITLE,
		   "duet top: help (any key goes back; more in man duet-top)");
	for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
		put_pair(canvas, row, 1, 15, keys[i].key, keys[i].text);
		row = put_pair(canvas, row, 47, 8, keys[i].key2, keys[i].text2);
	}
	row++;
	canvas_put(canvas, row++, 1, 40, STYLE_HEADING, "DEVICES");
	for (size_t i = 0; i < ARRAY_COUNT(lines); i++)
		row = put_pair(canvas, row, 3, 14, lines[i].word, lines[i].text);
	row++;
	canvas_put(canvas, row++, 1, 40, STYLE_HEADING, ui_view_name(state->view));
	for (size_t i = 0; columns[i].title; i++)
		if (*columns[i].help)
			row = put_pair(canvas, row, 3, 14, columns[i].title, columns[i].help);
}
