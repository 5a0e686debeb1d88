/* SPDX-License-Identifier: MIT
 *
 * ui/draw_private.h - parts of the screen; private to ui/draw*.c
 */
#pragma once

#include "ui/canvas.h"
#include "ui/state.h"
#include "ui/table.h"

struct live_snapshot;

/* A rectangle of the canvas. */
struct ui_area {
	int row, column, rows, columns;
};

/* Draws devices from `row` on, in at most `max_rows`; returns the rows that it took. note: why
 * there is none; "": not known. */
int ui_draw_devices(struct canvas *canvas, int row, int max_rows,
		    const struct live_snapshot *snapshot, const char *note);
/* Rows for all devices; is_tall: each cause of idle time has its own. */
int ui_devices_rows(const struct live_snapshot *snapshot, bool is_tall);

/* Draws a table, its heading included. With `is_chosen` it has the mark, and sets what the next
 * keys refer to in `state`. */
void ui_draw_table(struct canvas *canvas, const struct ui_area *area, const struct ui_table *table,
		   struct ui_state *state, bool is_chosen);

/* Draws the views below the devices. -ENOMEM. */
int ui_draw_views(struct canvas *canvas, const struct ui_area *area,
		  const struct live_snapshot *snapshot, struct ui_state *state);

void ui_draw_help(struct canvas *canvas, const struct ui_state *state);
