/* SPDX-License-Identifier: MIT
 *
 * tests/unit/ui/test_state.c - what keys do
 */
#include <string.h>

#include "harness.h"
#include "ui/state.h"
#include "ui/table.h"

static struct ui_state new_state(void)
{
	struct ui_state state;

	ui_state_init(&state, 1000000000);
	for (int view = 0; view < VIEW_COUNT; view++) {
		state.rows[view].count = 30;
		state.rows[view].shown = 10;
	}
	return state;
}

static void press(struct ui_state *state, const char *keys)
{
	for (; *keys; keys++)
		ui_state_key(state, (uint32_t)*keys);
}

TEST(rows_stay_in_the_list)
{
	struct ui_state state = new_state();

	ui_state_key(&state, UI_KEY_UP);
	CHECK_EQUAL(state.rows[VIEW_PROCESSES].selected, 0);
	ui_state_key(&state, UI_KEY_PAGE_DOWN);
	CHECK_EQUAL(state.rows[VIEW_PROCESSES].selected, 10);
	ui_state_key(&state, UI_KEY_END);
	CHECK_EQUAL(state.rows[VIEW_PROCESSES].selected, 29);
	ui_state_key(&state, UI_KEY_DOWN);
	CHECK_EQUAL(state.rows[VIEW_PROCESSES].selected, 29);
	ui_state_key(&state, UI_KEY_HOME);
	CHECK_EQUAL(state.rows[VIEW_PROCESSES].selected, 0);
}

TEST(a_filter_takes_letters_that_are_keys)
{
	struct ui_state state = new_state();

	press(&state, "/qs1");
	CHECK(state.is_typing);
	CHECK_TEXT(state.filter, "qs1");
	ui_state_key(&state, UI_KEY_BACKSPACE);
	CHECK_TEXT(state.filter, "qs");
	ui_state_key(&state, UI_KEY_ENTER);
	CHECK(!state.is_typing);
	CHECK_TEXT(state.filter, "qs");
	ui_state_key(&state, UI_KEY_ESCAPE);
	CHECK_TEXT(state.filter, "");
	for (int i = 0; i < 200; i++)
		press(&state, i ? "a" : "/");
	CHECK(strlen(state.filter) < sizeof(state.filter));
}

TEST(sorting_goes_round_the_columns)
{
	struct ui_state state = new_state();
	const size_t count = ui_columns_count(VIEW_PROCESSES);

	CHECK_EQUAL(state.rows[VIEW_PROCESSES].column, 1);
	for (size_t i = 0; i < count; i++)
		press(&state, "s");
	CHECK_EQUAL(state.rows[VIEW_PROCESSES].column, 1);
	press(&state, "S");
	CHECK(state.rows[VIEW_PROCESSES].is_reversed);
	press(&state, "s");
	CHECK(!state.rows[VIEW_PROCESSES].is_reversed);
}

TEST(views_in_turn_and_by_number)
{
	struct ui_state state = new_state();

	for (int i = 0; i < 6; i++)
		ui_state_key(&state, UI_KEY_TAB);
	CHECK_EQUAL(state.view, VIEW_PROCESSES);
	ui_state_key(&state, UI_KEY_BACK_TAB);
	CHECK_EQUAL(state.view, VIEW_IDLE);
	press(&state, "3");
	CHECK_EQUAL(state.view, VIEW_QUEUES);
}

TEST(enter_and_escape)
{
	struct ui_state state = new_state();

	CHECK_EQUAL(ui_state_key(&state, UI_KEY_ENTER), UI_NOTHING);
	state.selected_pid = 12;
	snprintf(state.selected_name, sizeof(state.selected_name), "app");
	CHECK_EQUAL(ui_state_key(&state, UI_KEY_ENTER), UI_REFRESH);
	CHECK_EQUAL(state.pid, 12);
	CHECK_EQUAL(state.view, VIEW_KERNELS);
	press(&state, "1"); /* a process has no list of processes */
	CHECK_EQUAL(state.view, VIEW_KERNELS);
	snprintf(state.selected_name, sizeof(state.selected_name), "gemm");
	ui_state_key(&state, UI_KEY_ENTER);
	CHECK_EQUAL(state.view, VIEW_STACKS);
	snprintf(state.message, sizeof(state.message), "a note goes with the key");
	CHECK_EQUAL(ui_state_key(&state, UI_KEY_ESCAPE), UI_REFRESH);
	CHECK_TEXT(state.message, "");
	CHECK_TEXT(state.kernel, "");
	CHECK_EQUAL(state.pid, 12);
	CHECK_EQUAL(ui_state_key(&state, UI_KEY_ESCAPE), UI_REFRESH);
	CHECK_EQUAL(state.pid, 0);
	CHECK_EQUAL(ui_state_key(&state, UI_KEY_ESCAPE), UI_NOTHING);
}

TEST(time_stands_still_and_goes_back)
{
	struct ui_state state = new_state();

	CHECK_EQUAL(ui_state_key(&state, UI_KEY_RIGHT), UI_NOTHING);
	CHECK_EQUAL(ui_state_key(&state, UI_KEY_LEFT), UI_REFRESH);
	CHECK(state.is_frozen);
	CHECK_EQUAL(state.steps_back, 1);
	CHECK_EQUAL(ui_state_key(&state, ' '), UI_REFRESH);
	CHECK(!state.is_frozen);
	CHECK_EQUAL(state.steps_back, 0);
	CHECK_EQUAL(ui_state_key(&state, ' '), UI_REDRAW);
	CHECK(state.is_frozen);
}

TEST(intervals_have_limits)
{
	struct ui_state state = new_state();

	press(&state, "++++++");
	CHECK_EQUAL(state.interval_ns, 10000000000);
	press(&state, "----------");
	CHECK_EQUAL(state.interval_ns, 200000000);
}

TEST(any_key_leaves_the_help)
{
	struct ui_state state = new_state();

	press(&state, "?");
	CHECK(state.shows_help);
	press(&state, "s");
	CHECK(!state.shows_help);
	CHECK_EQUAL(state.rows[VIEW_PROCESSES].column, 1);
	CHECK_EQUAL(ui_state_key(&state, 'q'), UI_QUIT);
}

int main(void)
{
	RUN(rows_stay_in_the_list);
	RUN(a_filter_takes_letters_that_are_keys);
	RUN(sorting_goes_round_the_columns);
	RUN(views_in_turn_and_by_number);
	RUN(enter_and_escape);
	RUN(time_stands_still_and_goes_back);
	RUN(intervals_have_limits);
	RUN(any_key_leaves_the_help);
	return harness_end();
}
