/* SPDX-License-Identifier: MIT
 *
 * ui/draw.h - draw the screen of duet top
 */
#pragma once

#include "ui/canvas.h"
#include "ui/state.h"

struct live_snapshot;

/* Draws all. snapshot NULL: nothing was recorded so far. Sets what the next keys refer to in
 * `state`. -ENOMEM. */
int ui_draw(struct canvas *canvas, const struct live_snapshot *snapshot, struct ui_state *state);

/* A sentence for a picture without a snapshot. */
const char *ui_empty_text(const struct ui_state *state);

/* The same as plain lines for --batch: all devices, and at most `max_rows` rows of each table that
 * has some. -ENOMEM. */
int ui_print(FILE *file, int columns, bool is_ascii, const struct live_snapshot *snapshot,
	     struct ui_state *state, size_t max_rows);
