/* SPDX-License-Identifier: MIT
 *
 * ui/top.c - the loop of the terminal view: a picture each second, and keys meanwhile
 *
 * Runs in:  our own process, in duet top
 * Gets:     snapshots, keys
 * Gives:    pictures
 * Owns:     the present snapshot
 * Fails:    -errno with the error chain, after the terminal was given back
 * Why keys do not read the recording: moving the mark redraws the present snapshot. Only what needs
 *           other numbers, such as a process to look into, analyses again
 */
#include "ui/top.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock_ns.h"
#include "base/error.h"
#include "base/number.h"
#include "live/snapshot.h"
#include "live/watch.h"
#include "ui/canvas.h"
#include "ui/draw.h"
#include "ui/screen.h"
#include "ui/state.h"
#include "ui/tty.h"

struct top {
	const struct ui_top_options *options;
	struct ui_screen *screen;
	struct ui_state state;
	struct live_snapshot *snapshot; /* NULL: nothing was recorded in the interval */
	uint64_t next_ns;               /* time of the next picture */
	uint64_t frozen_ns;             /* end of the interval at which the screen was frozen; 0 */
	bool is_ascii;
};

/* ---- pictures -------------------------------------------------------------------------------- */

/* The end of the interval to show; 0: the newest one. */
static uint64_t find_end(struct top *top)
{
	const struct ui_state *state = &top->state;
	const uint64_t back_ns = (uint64_t)state->steps_back * state->interval_ns;

	if (!state->is_frozen && !state->steps_back)
		return top->frozen_ns = 0;
	if (!top->frozen_ns)
		top->frozen_ns = live_watch_end_ns(top->options->watch);
	return top->frozen_ns > back_ns ? top->frozen_ns - back_ns : 1;
}

static int look(struct top *top)
{
	const struct live_look look = {.interval_ns = top->state.interval_ns,
				       .end_ns = find_end(top),
				       .has_stacks = top->state.pid || *top->state.kernel,
				       .pid = top->state.pid};
	struct live_snapshot *snapshot = NULL;
	int error = live_watch_look(top->options->watch, &look, &snapshot);

	if (error)
		return error;
	live_snapshot_free(top->snapshot);
	top->snapshot = snapshot;
	top->state.has_ended = live_watch_has_ended(top->options->watch);
	top->state.silent_ns = live_watch_silent_ns(top->options->watch);
	return 0;
}

static int draw(struct top *top)
{
	struct canvas canvas;
	int rows, columns, error;

	ui_screen_size(top->screen, &rows, &columns);
	error = canvas_init(&canvas, rows, columns, top->is_ascii);
	if (!error)
		error = ui_draw(&canvas, top->snapshot, &top->state);
	if (!error)
		ui_screen_show(top->screen, &canvas);
	canvas_fini(&canvas);
	return error ? error_set(error, "out of memory") : 0;
}

static void show_news(struct top *top)
{
	const struct ui_top_options *options = top->options;
	bool is_over = false;
	const char *text =
		options->on_picture ? options->on_picture(options->context, &is_over) : NULL;

	if (text) {
		snprintf(top->state.message, sizeof(top->state.message), "%s", text);
		top->state.is_warning = true;
	}
	top->state.has_ended |= is_over;
}

static void explain(struct top *top)
{
	const struct ui_top_options *options = top->options;
	const char *text = NULL;

	if (top->snapshot && !top->snapshot->devices_count && options->explain_no_device)
		text = options->explain_no_device(options->context);
	snprintf(top->state.note, sizeof(top->state.note), "%s", text ? text : "");
}

/* A failure to read is shown, because the next picture may succeed. */
static int refresh(struct top *top)
{
	if (look(top)) {
		snprintf(top->state.message, sizeof(top->state.message), "%s", error_text());
		top->state.is_warning = true;
		error_clear();
	}
	show_news(top);
	explain(top);
	return draw(top);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int record(struct top *top)
{
	const struct ui_top_options *options = top->options;
	struct ui_state *state = &top->state;
	const int32_t pid = state->pid ? state->pid : state->selected_pid;

	state->is_warning = options->on_record(options->context, pid, &state->is_recording,
					       state->message, sizeof(state->message)) != 0;
	error_clear();
	return draw(top);
}

/* Returns 1 to leave. */
static int take_key(struct top *top, uint32_t key)
{
	switch (ui_state_key(&top->state, key)) {
	case UI_QUIT:
		return 1;
	case UI_RECORD:
		return record(top);
	case UI_REFRESH:
		return refresh(top);
	case UI_REDRAW:
		return draw(top);
	default:
		return 0;
	}
}

/* Waits for a key until the next picture, or for a short time. */
static int wait_for_key(struct top *top, uint64_t left_ns)
{
	const uint32_t key = ui_screen_key(top->screen, smaller(left_ns, LIVE_NOTE_NS));

	if (key != UI_KEY_NONE)
		return take_key(top, key);
	return left_ns > LIVE_NOTE_NS ? live_watch_note(top->options->watch) : 0;
}

/* A frozen screen still takes keys. */
static int run_until_next(struct top *top)
{
	int result = 0;

	while (!result && !ui_screen_signal(top->screen)) {
		const uint64_t now = clock_ns(CLOCK_MONOTONIC);

		if (now >= top->next_ns)
			return 0;
		result = wait_for_key(top, top->next_ns - now);
	}
	return result;
}

static bool changes(const struct top *top)
{
	return !top->state.is_frozen && !top->state.steps_back;
}

static int run(struct top *top)
{
	const uint64_t count = top->options->count;
	int result = refresh(top);

	for (uint64_t i = 1; !result && !ui_screen_signal(top->screen) && i != count; i++) {
		top->next_ns = clock_ns(CLOCK_MONOTONIC) + top->state.interval_ns;
		result = run_until_next(top);
		if (!result && !ui_screen_signal(top->screen) && changes(top))
			result = refresh(top);
	}
	return result < 0 ? result : 0;
}

int ui_top_run(const struct ui_top_options *options, int *ret_signal)
{
	struct top top = {.options = options, .is_ascii = !tty_has_utf8()};
	int error;

	ui_state_init(&top.state, options->interval_ns);
	snprintf(top.state.title, sizeof(top.state.title), "%s", options->title);
	error = ui_screen_open(&top.screen);
	if (error)
		return error;
	error = run(&top);
	*ret_signal = ui_screen_signal(top.screen);
	ui_screen_close(top.screen);
	live_snapshot_free(top.snapshot);
	return error;
}
