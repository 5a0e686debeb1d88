/* SPDX-License-Identifier: MIT
 *
 * ui/draw.c - draw the screen of duet top: title, summary, devices, views, hints
 *
 * Runs in:  our own process, in duet top
 * Gets:     a snapshot, the state
 * Gives:    a canvas, or lines for --batch
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why devices take at most half of the rows: a machine with 16 GPUs would leave no room for the
 *           views below
 */
#include "ui/draw.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/format.h"
#include "live/snapshot.h"
#include "ui/draw_private.h"

/* ---- the title ------------------------------------------------------------------------------- */

static void format_clock(const struct live_snapshot *snapshot, char *ret_text, size_t size)
{
	const time_t seconds = (time_t)(snapshot->real_ns / 1000000000);
	struct tm local;

	if (snapshot->real_ns && localtime_r(&seconds, &local))
		strftime(ret_text, size, "%H:%M:%S", &local);
	else
		snprintf(ret_text, size, "%.3f s",
			 (double)(snapshot->end_ns - snapshot->start_ns) / 1e9);
}

/* "frozen  14:03:12  1 s": end and length of the interval. */
static void format_right(const struct live_snapshot *snapshot, const struct ui_state *state,
			 char *ret_text, size_t size)
{
	const char *mode = state->is_frozen ? "FROZEN  " : state->has_ended ? "ENDED  " : "";
	const char *recording = state->is_recording ? "RECORDING  " : "";
	char clock[32] = "";

	if (snapshot)
		format_clock(snapshot, clock, sizeof(clock));
	snprintf(ret_text, size, "%s%s%s  %g s ", recording, mode, clock,
		 (double)state->interval_ns / 1e9);
}

static void put_title(struct canvas *canvas, const struct live_snapshot *snapshot,
		      const struct ui_state *state)
{
	char left[UI_TEXT + 16], right[96];
	int width;

	canvas_paint(canvas, 0, 0, canvas->columns, STYLE_TITLE);
	format_right(snapshot, state, right, sizeof(right));
	width = canvas_text_width(right);
	canvas_put_right(canvas, 0, 0, canvas->columns, STYLE_TITLE, right);
	snprintf(left, sizeof(left), "duet top  %s", state->title);
	canvas_put(canvas, 0, 1, canvas->columns - width - 2, STYLE_TITLE, left);
}

/* ---- the summary ----------------------------------------------------------------------------- */

static size_t count_active(const struct live_snapshot *snapshot)
{
	size_t count = 0;

	for (size_t i = 0; i < snapshot->processes_count; i++)
		count += snapshot->processes[i].launches || snapshot->processes[i].calls;
	return count;
}

static void format_summary(const struct live_snapshot *snapshot, const struct ui_state *state,
			   char *ret_text, size_t size)
{
	const size_t devices = snapshot->devices_count, processes = count_active(snapshot);

	if (state->pid && *state->kernel)
		snprintf(ret_text, size, "process %s %d › kernel %s   (Esc: back)", state->process,
			 (int)state->pid, state->kernel);
	else if (state->pid)
		snprintf(ret_text, size, "process %s %d   (Esc: back)", state->process,
			 (int)state->pid);
	else if (*state->kernel)
		snprintf(ret_text, size, "kernel %s   (Esc: back)", state->kernel);
	else
		snprintf(ret_text, size, "%zu %s, %zu %s with calls", devices,
			 format_noun(devices, "device", "devices"), processes,
			 format_noun(processes, "process", "processes"));
}

static void put_summary(struct canvas *canvas, const struct live_snapshot *snapshot,
			const struct ui_state *state)
{
	const uint64_t lost = snapshot->ledger.lost_rows + snapshot->ledger.dropped;
	char text[4 * UI_TEXT];
	int used;

	format_summary(snapshot, state, text, sizeof(text));
	used = canvas_put(canvas, 1, 1, canvas->columns - 1, STYLE_FAINT, text);
	if (state->silent_ns)
		snprintf(text, sizeof(text), "  no data: the recorder is late by %.0f s",
			 (double)state->silent_ns / 1e9);
	else if (lost)
		snprintf(text, sizeof(text),
			 "  The numbers on this screen are too low: %llu %s lost.",
			 (unsigned long long)lost, format_noun(lost, "row was", "rows were"));
	else
		return;
	canvas_put(canvas, 1, 1 + used, canvas->columns - 1 - used, STYLE_WARNING, text);
}

/* ---- hints ----------------------------------------------------------------------------------- */

static const struct hint {
	const char *key, *text;
} hints[] = {{"q", "quit"},    {"?", "help"},      {"Tab", "view"},          {"Enter", "open"},
	     {"s", "sort"},    {"/", "find"},      {"r", "record"},          {"Space", "freeze"},
	     {"↑↓", "choose"}, {"+-", "interval"}, {"←→", "earlier, later"}, {"Esc", "back"}};

static void put_hints(struct canvas *canvas, int row)
{
	int at = 1;

	for (size_t i = 0; i < ARRAY_COUNT(hints); i++) {
		const int key = canvas_text_width(hints[i].key);
		const int width = key + 1 + (int)strlen(hints[i].text);

		if (at + width > canvas->columns)
			return;
		canvas_put(canvas, row, at, key, STYLE_KEY, hints[i].key);
		canvas_put(canvas, row, at + key + 1, width, STYLE_FAINT, hints[i].text);
		at += width + 2;
	}
}

static void put_message(struct canvas *canvas, int row, const struct ui_state *state)
{
	canvas_put(canvas, row, 1, canvas->columns - 1,
		   state->is_warning ? STYLE_WARNING : STYLE_KEY, state->message);
}

/* ---- the screen ------------------------------------------------------------------------------ */

static int put_body(struct canvas *canvas, const struct live_snapshot *snapshot,
		    struct ui_state *state, int end)
{
	const int room = end - 2, tall = ui_devices_rows(snapshot, true);
	const int needed = tall <= room / 2 ? tall : ui_devices_rows(snapshot, false);
	struct ui_area area = {.columns = canvas->columns};
	int used;

	put_summary(canvas, snapshot, state);
	used = ui_draw_devices(canvas, 2, needed < room / 2 ? needed : room / 2, snapshot,
			       state->note);
	area.row = 2 + used + 1;
	area.rows = end - area.row;
	return ui_draw_views(canvas, &area, snapshot, state);
}

const char *ui_empty_text(const struct ui_state *state)
{
	if (state->steps_back)
		return "The recording does not have this time: it begins later.";
	return state->has_ended ? "The recording has no rows."
				: "The first interval has not ended yet.";
}

int ui_draw(struct canvas *canvas, const struct live_snapshot *snapshot, struct ui_state *state)
{
	const int end = canvas->rows - 1 - (*state->message != '\0');

	if (state->shows_help) {
		ui_draw_help(canvas, state);
		return 0;
	}
	put_title(canvas, snapshot, state);
	put_hints(canvas, canvas->rows - 1);
	if (*state->message)
		put_message(canvas, end, state);
	if (snapshot)
		return put_body(canvas, snapshot, state, end);
	canvas_put(canvas, 2, 1, canvas->columns - 1, STYLE_FAINT, ui_empty_text(state));
	return 0;
}

/* ---- plain lines ----------------------------------------------------------------------------- */

static int print_view(FILE *file, int columns, bool is_ascii, enum ui_view view,
		      const struct live_snapshot *snapshot, struct ui_state *state, size_t max_rows)
{
	struct ui_table table;
	struct canvas canvas;
	struct ui_area area = {.columns = columns};
	int error = ui_table_make(&table, view, snapshot, state);

	if (!error && table.count) {
		area.rows = (int)(table.count < max_rows ? table.count : max_rows) + 1;
		error = canvas_init(&canvas, area.rows, columns, is_ascii);
		if (!error) {
			ui_draw_table(&canvas, &area, &table, state, false);
			fputc('\n', file);
			canvas_print(&canvas, file);
			if (table.count > max_rows)
				fprintf(file, " %zu more rows\n", table.count - max_rows);
		}
		canvas_fini(&canvas);
	}
	ui_table_fini(&table);
	return error;
}

static int print_devices(FILE *file, int columns, bool is_ascii,
			 const struct live_snapshot *snapshot, const struct ui_state *state)
{
	const int rows = ui_devices_rows(snapshot, false) + 1 + !snapshot->devices_count;
	struct canvas canvas;
	int error = canvas_init(&canvas, rows, columns, is_ascii);

	if (error)
		return error;
	put_title(&canvas, snapshot, state);
	ui_draw_devices(&canvas, 1, rows, snapshot, state->note);
	canvas_print(&canvas, file);
	canvas_fini(&canvas);
	return 0;
}

int ui_print(FILE *file, int columns, bool is_ascii, const struct live_snapshot *snapshot,
	     struct ui_state *state, size_t max_rows)
{
	int error = print_devices(file, columns, is_ascii, snapshot, state);

	for (int view = VIEW_PROCESSES; view <= VIEW_COUNTERS && !error; view++)
		error = print_view(file, columns, is_ascii, (enum ui_view)view, snapshot, state,
				   max_rows);
	fputc('\n', file);
	return error;
}
