/* SPDX-License-Identifier: MIT
 *
 * ui/state.c - what keys do to the screen of duet top
 *
 * Runs in:  our own process, in duet top
 * Gets:     keys
 * Gives:    the changed state, and what the caller must do
 * Owns:     nothing
 * Fails:    never; an unknown key changes nothing
 * Why apart from the terminal: tests press keys without one
 */
#include "ui/state.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "ui/table.h"

static const uint64_t intervals_ns[] = {200000000,  500000000,  1000000000,
					2000000000, 5000000000, 10000000000};

void ui_state_init(struct ui_state *state, uint64_t interval_ns)
{
	*state = (struct ui_state){.interval_ns = interval_ns};
	for (size_t i = 0; i < VIEW_COUNT; i++)
		state->rows[i].column = 1;
	state->rows[VIEW_COUNTERS].column = 0;
}

/* ---- the filter ------------------------------------------------------------------------------ */

static void append_filter(struct ui_state *state, uint32_t key)
{
	const size_t length = strlen(state->filter);

	if (key < ' ' || key > '~' || length + 1 >= sizeof(state->filter))
		return;
	state->filter[length] = (char)key;
	state->filter[length + 1] = '\0';
}

static enum ui_action type_filter(struct ui_state *state, uint32_t key)
{
	const size_t length = strlen(state->filter);

	switch (key) {
	case UI_KEY_ENTER:
		state->is_typing = false;
		break;
	case UI_KEY_ESCAPE:
		state->is_typing = false;
		*state->filter = '\0';
		break;
	case UI_KEY_BACKSPACE:
		if (length)
			state->filter[length - 1] = '\0';
		break;
	default:
		append_filter(state, key);
	}
	state->rows[state->view].selected = 0;
	state->rows[state->view].selected_key = 0;
	return UI_REDRAW;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static enum ui_action move(struct ui_state *state, int64_t by)
{
	struct ui_rows *rows = &state->rows[state->view];
	int64_t to = (int64_t)rows->selected + by;

	if (to >= (int64_t)rows->count)
		to = (int64_t)rows->count - 1;
	rows->selected = to > 0 ? (size_t)to : 0;
	rows->selected_key = 0;
	return UI_REDRAW;
}

static enum ui_action sort_by_next(struct ui_state *state)
{
	struct ui_rows *rows = &state->rows[state->view];

	rows->column = (rows->column + 1) % (unsigned int)ui_columns_count(state->view);
	rows->is_reversed = false;
	return UI_REDRAW;
}

/* ---- views ----------------------------------------------------------------------------------- */

static bool is_inside(const struct ui_state *state)
{
	return state->pid || *state->kernel;
}

static enum ui_action go_to(struct ui_state *state, enum ui_view view)
{
	state->view = view;
	*state->filter = '\0';
	if (view != VIEW_STACKS)
		*state->kernel = '\0';
	return UI_REDRAW;
}

/* The stacks of a process or kernel are one more view. Inside of a process there is no list of
 * processes. */
static enum ui_action go_by(struct ui_state *state, int by)
{
	const int first = state->pid ? VIEW_KERNELS : VIEW_PROCESSES;
	const int last = is_inside(state) ? VIEW_STACKS : VIEW_IDLE;
	int view = (int)state->view + by;

	if (view > last)
		view = first;
	if (view < first)
		view = last;
	return go_to(state, (enum ui_view)view);
}

/* Process -> its kernels -> their stacks. */
static enum ui_action go_into(struct ui_state *state)
{
	if (state->view == VIEW_PROCESSES && state->selected_pid) {
		state->pid = state->selected_pid;
		snprintf(state->process, sizeof(state->process), "%s", state->selected_name);
		state->rows[VIEW_KERNELS].selected_key = 0;
		go_to(state, VIEW_KERNELS);
		return UI_REFRESH;
	}
	if (state->view == VIEW_KERNELS && *state->selected_name) {
		snprintf(state->kernel, sizeof(state->kernel), "%s", state->selected_name);
		state->rows[VIEW_STACKS].selected_key = 0;
		go_to(state, VIEW_STACKS);
		return UI_REFRESH;
	}
	return UI_NOTHING;
}

/* Clears the filter, then leaves the kernel, then the process. A message goes with any of them. */
static enum ui_action go_out(struct ui_state *state)
{
	const bool had_message = *state->message;

	*state->message = '\0';
	if (*state->filter) {
		*state->filter = '\0';
		return UI_REDRAW;
	}
	if (*state->kernel) {
		*state->kernel = '\0';
		go_to(state, VIEW_KERNELS);
		return UI_REFRESH;
	}
	if (state->pid) {
		state->pid = 0;
		go_to(state, VIEW_PROCESSES);
		return UI_REFRESH;
	}
	return had_message ? UI_REDRAW : UI_NOTHING;
}

/* ---- time ------------------------------------------------------------------------------------ */

static enum ui_action change_interval(struct ui_state *state, int by)
{
	const size_t count = ARRAY_COUNT(intervals_ns);
	size_t at = 0;

	while (at + 1 < count && intervals_ns[at] < state->interval_ns)
		at++;
	if ((by < 0 && !at) || (by > 0 && at + 1 == count))
		return UI_NOTHING;
	state->interval_ns = intervals_ns[by < 0 ? at - 1 : at + 1];
	snprintf(state->message, sizeof(state->message), "each picture shows %g s now",
		 (double)state->interval_ns / 1e9);
	state->is_warning = false;
	return UI_REFRESH;
}

static enum ui_action freeze(struct ui_state *state)
{
	state->is_frozen = !state->is_frozen;
	if (!state->is_frozen)
		state->steps_back = 0;
	return state->is_frozen ? UI_REDRAW : UI_REFRESH;
}

/* Earlier and later intervals are shown while the screen is frozen or the recording has ended. */
static enum ui_action step(struct ui_state *state, int by)
{
	if (!state->is_frozen && !state->has_ended)
		freeze(state);
	if (state->steps_back + by < 0)
		return UI_NOTHING;
	state->steps_back += by;
	return UI_REFRESH;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static enum ui_action take_moves(struct ui_state *state, uint32_t key)
{
	const int64_t page = (int64_t)state->rows[state->view].shown;

	switch (key) {
	case UI_KEY_UP:
	case 'k':
		return move(state, -1);
	case UI_KEY_DOWN:
	case 'j':
		return move(state, 1);
	case UI_KEY_PAGE_UP:
		return move(state, page > 1 ? -page : -1);
	case UI_KEY_PAGE_DOWN:
		return move(state, page > 1 ? page : 1);
	case UI_KEY_HOME:
		return move(state, INT32_MIN);
	case UI_KEY_END:
		return move(state, INT32_MAX);
	case UI_KEY_LEFT:
		return step(state, 1);
	case UI_KEY_RIGHT:
		return step(state, -1);
	case UI_KEY_TAB:
		return go_by(state, 1);
	case UI_KEY_BACK_TAB:
		return go_by(state, -1);
	case UI_KEY_ENTER:
		return go_into(state);
	case UI_KEY_ESCAPE:
	case UI_KEY_BACKSPACE:
		return go_out(state);
	case UI_KEY_RESIZE:
		return UI_REDRAW;
	default:
		return UI_NOTHING;
	}
}

static enum ui_action take_letters(struct ui_state *state, uint32_t key)
{
	switch (key) {
	case 'q':
		return UI_QUIT;
	case 's':
		return sort_by_next(state);
	case 'S':
		state->rows[state->view].is_reversed ^= true;
		return UI_REDRAW;
	case '/':
		state->is_typing = true;
		return UI_REDRAW;
	case ' ':
		return freeze(state);
	case '?':
	case 'h':
		state->shows_help = true;
		return UI_REDRAW;
	case '+':
	case '=':
		return change_interval(state, 1);
	case '-':
		return change_interval(state, -1);
	case 'r':
		return UI_RECORD;
	default:
		return take_moves(state, key);
	}
}

enum ui_action ui_state_key(struct ui_state *state, uint32_t key)
{
	if (state->shows_help && key != UI_KEY_RESIZE) {
		state->shows_help = false;
		return key == 'q' ? UI_QUIT : UI_REDRAW;
	}
	if (state->is_typing)
		return type_filter(state, key);
	if (key >= '1' && key <= '6' && !(state->pid && key == '1'))
		return go_to(state, (enum ui_view)(VIEW_PROCESSES + (key - '1')));
	return take_letters(state, key);
}
