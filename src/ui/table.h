/* SPDX-License-Identifier: MIT
 *
 * ui/table.h - the rows of one view, made of a snapshot
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/canvas.h"
#include "ui/state.h"

struct live_snapshot;

enum { UI_COLUMNS = 9, UI_CELL = 40 };

enum ui_column_kind {
	COLUMN_NAME,  /* as wide as there is room; only the first column */
	COLUMN_LEFT,  /* a text */
	COLUMN_RIGHT, /* a number */
	COLUMN_BAR    /* a bar and its percentage */
};

struct ui_column {
	const char *title; /* NULL ends the columns */
	enum ui_column_kind kind;
	int width;
	int min_columns;  /* it is left out on narrower screens */
	const char *help; /* one sentence for the help screen, at most 58 columns */
};

/* The columns of a view. */
const struct ui_column *ui_columns(enum ui_view view);
size_t ui_columns_count(enum ui_view view);
const char *ui_view_name(enum ui_view view);  /* "Processes", …: tabs */
const char *ui_view_empty(enum ui_view view); /* a sentence for a view without rows */

struct ui_cell {
	char text[UI_CELL];
	double sort;  /* larger first */
	double share; /* COLUMN_BAR: 0 to 1 */
};

struct ui_row {
	char name[UI_TEXT];
	uint64_t key;                     /* identity of the row, not 0 */
	int32_t pid;                      /* pid of the process; 0: none */
	uint32_t index;                   /* in the snapshot's list */
	struct ui_cell cells[UI_COLUMNS]; /* cells[0] is not used: the name */
};

/* All zero: empty. */
struct ui_table {
	enum ui_view view;
	struct ui_row *rows; /* owned */
	size_t count, capacity;
};

/* The rows of a view, without those that the filter or the chosen kernel leaves out, in the order
 * of the state. -ENOMEM. */
int ui_table_make(struct ui_table *table, enum ui_view view, const struct live_snapshot *snapshot,
		  const struct ui_state *state);
void ui_table_fini(struct ui_table *table);

/* "1: NVIDIA H100 …": the number, as --device takes it, comes first if there are several devices,
 * because the end may be cut. "" for LIVE_NO_INDEX. Returns ret_text. */
const char *ui_device_name(const struct live_snapshot *snapshot, uint32_t index, char *ret_text,
			   size_t size);
