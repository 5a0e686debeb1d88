/* SPDX-License-Identifier: MIT
 *
 * tests/unit/ui/test_draw.c - the screen of duet top at 80x24, 200x60 and smaller
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "live/snapshot.h"
#include "ui/canvas.h"
#include "ui/draw.h"
#include "ui/state.h"

static char kernel_a[] = "saxpy", kernel_b[] = "gemm", stack_a[] = "main;step;launch",
	    stack_b[] = "main;load";

static struct live_device devices[] = {
	{.name = "Fast GPU",
	 .key = "GPU-1",
	 .is_measured = true,
	 .busy_ns = 400000000,
	 .kernel_ns = 300000000,
	 .copy_ns = 100000000,
	 .idle_ns = 600000000,
	 .causes = {[CAUSE_ON_CPU] = 450000000, [CAUSE_API_WAIT] = 150000000},
	 .cause = CAUSE_ON_CPU,
	 .cause_ns = 450000000,
	 .place = "load_batch (data.py:31)",
	 .launches = 1000,
	 .executions = 998,
	 .in_flight = 2},
	{.name = "Other GPU", .key = "GPU-2", .in_flight = 7},
};
static struct live_process processes[] = {
	{.pid = 4711,
	 .name = "python3",
	 .command = "/usr/bin/python3 /home/me/train.py --out /tmp/x",
	 .busy_ns = 300000000,
	 .launches = 900,
	 .calls = 1800},
	{.pid = 4712, .name = "worker", .busy_ns = 100000000, .launches = 100, .calls = 200},
	{.pid = 4713, .name = "ended"},
};
static struct live_kernel kernels[] = {
	{.name = kernel_a,
	 .count = 700,
	 .share_ns = 200000000,
	 .total_ns = 210000000,
	 .max_ns = 2000000},
	{.name = kernel_b, .count = 10, .share_ns = 100000000, .total_ns = 100000000},
};
static struct live_copy copies[] = {
	{.name = "read", .count = 10, .bytes = 10485760, .total_ns = 100000000}};
static struct live_queue queues[] = {
	{.id = 3, .launches = 1000, .executions = 998, .mean_depth = 2.5, .max_depth = 9}};
static struct live_metric metrics[] = {
	{.name = "gpu.memory.used",
	 .unit = "MiB",
	 .process = LIVE_NO_INDEX,
	 .mean = 512,
	 .max = 600,
	 .limit = 1024},
	{.name = "gpu.power",
	 .unit = "W",
	 .process = LIVE_NO_INDEX,
	 .mean = 91,
	 .max = 99,
	 .limit = NAN},
	{.name = "cpu.busy",
	 .unit = "%",
	 .device = LIVE_NO_INDEX,
	 .process = LIVE_NO_INDEX,
	 .cpu = 1,
	 .mean = 5,
	 .max = 5,
	 .limit = NAN},
};
static struct live_stack stacks[] = {
	{.text = stack_a, .kernel = kernel_a, .place = "step", .busy_ns = 200000000, .count = 700},
	{.text = stack_b, .kernel = kernel_b, .place = "load", .busy_ns = 100000000, .count = 10},
};

static struct live_snapshot snapshot = {
	.begin_ns = 5000000000,
	.end_ns = 6000000000,
	.start_ns = 1000000000,
	.devices = devices,
	.devices_count = 2,
	.processes = processes,
	.processes_count = 3,
	.kernels = kernels,
	.kernels_count = 2,
	.copies = copies,
	.copies_count = 1,
	.queues = queues,
	.queues_count = 1,
	.metrics = metrics,
	.metrics_count = 3,
	.stacks = stacks,
	.stacks_count = 2,
};

static char *draw(int rows, int columns, struct ui_state *state, const struct live_snapshot *shown)
{
	struct canvas canvas;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	CHECK_EQUAL(canvas_init(&canvas, rows, columns, true), 0);
	CHECK_EQUAL(ui_draw(&canvas, shown, state), 0);
	canvas_print(&canvas, file);
	fclose(file);
	canvas_fini(&canvas);
	return text;
}

static struct ui_state new_state(void)
{
	struct ui_state state;

	ui_state_init(&state, 1000000000);
	snprintf(state.title, sizeof(state.title), "run.duet");
	return state;
}

/* Whether some row is exactly this. */
static bool has_row(const char *text, const char *row)
{
	const size_t length = strlen(row);

	for (const char *at = text; (at = strstr(at, row)); at++)
		if ((at == text || at[-1] == '\n') && at[length] == '\n')
			return true;
	return false;
}

#define CHECK_ROW(text, row)                                       \
	do {                                                       \
		if (!has_row(text, row))                           \
			printf("# no row '%s' in\n%s", row, text); \
		CHECK(has_row(text, row));                         \
	} while (0)

static const char *const small[] = {
	" duet top  run.duet                                                5.000 s  1 s",
	" 2 devices, 2 processes with calls",
	" DEVICE             BUSY               LAUNCHES/s IN FLIGHT       MEMORY   POWER",
	" 0: Fast GPU        ###=......  40.0 %       1000         2      512 MiB    91 W",
	"   idle 60 %  load_batch (data.py:31): computing 45 %; waiting in a call 15 %",
	"   load not known: its commands have no device times (duet report explains it)",
	" PROCESS       DEVICE TIMEv       PID  LAUNCHES/s  IN CALLS    ON CPU   BLOCKED",
	" python3       ##...  30.0 %     4711         900     0.0 %         -         -",
	" worker        #....  10.0 %     4712         100     0.0 %         -         -",
	" q quit  ? help  Tab view  Enter open  s sort  / find  r record  Space freeze",
};

/* Causes that do not fit are left out; none is cut. */
TEST(causes_are_not_cut)
{
	struct ui_state state = new_state();
	struct live_device own[2] = {devices[0], devices[1]};
	struct live_snapshot shown = snapshot;
	char *text;

	shown.devices = own;
	own[0].causes[CAUSE_ON_CPU] = 400000000;
	own[0].causes[CAUSE_BLOCKED] = 50000000;
	text = draw(24, 80, &state, &shown);
	CHECK(strstr(text, "waiting in a call 15 %\n") != NULL);
	CHECK(strstr(text, "blocked") == NULL);
	free(text);
	text = draw(24, 130, &state, &shown);
	CHECK(strstr(text, "waiting in a call 15 %; ") != NULL &&
	      strstr(text, "blocked 5.0 %\n") != NULL);
	free(text);
}

TEST(a_command_that_runs_for_seconds_is_named)
{
	struct ui_state state = new_state();
	struct live_device own[2] = {devices[0], devices[1]};
	struct live_snapshot shown = snapshot;
	char *text;

	shown.devices = own;
	memset(own[0].causes, 0, sizeof(own[0].causes));
	own[0].causes[CAUSE_UNKNOWN] = own[0].idle_ns;
	own[0].place[0] = '\0';
	own[0].in_flight_ns = own[1].in_flight_ns = 12000000000;
	text = draw(24, 80, &state, &shown);
	CHECK(strstr(text, "idle 60 %  a command has run for 12 s 60 %") != NULL);
	CHECK(strstr(text, "a command has run for 12 s; the load is known when it has ended") !=
	      NULL);
	own[1].executions = 1; /* it has commands without times */
	free(text);
	text = draw(24, 80, &state, &shown);
	CHECK(strstr(text, "the load is known when") == NULL);
	free(text);
}

/* The gap after the last command is still open. */
TEST(an_open_gap_is_marked_as_provisional)
{
	struct ui_state state = new_state();
	struct live_device own[2] = {devices[0], devices[1]};
	struct live_snapshot shown = snapshot;
	char *text;

	shown.devices = own;
	memset(own[0].causes, 0, sizeof(own[0].causes));
	own[0].causes[CAUSE_BLOCKED] = own[0].cause_ns = own[0].open_ns = own[0].idle_ns;
	own[0].cause = CAUSE_BLOCKED;
	own[0].is_so_far = true;
	own[0].no_command_ns = 4600000000;
	snprintf(own[0].place, sizeof(own[0].place), "take_lock");
	snprintf(own[0].wait, sizeof(own[0].wait), "a mutex");
	text = draw(24, 100, &state, &shown);
	CHECK(strstr(text, "so far: take_lock: blocked: a mutex 60 % (no command for 4.6 s)"));
	free(text);
	text = draw(60, 200, &state, &shown);
	CHECK(strstr(text, "so far: take_lock: blocked  (a mutex; no command for 4.6 s)"));
	free(text);
	own[0].causes[CAUSE_BLOCKED] = 0;
	own[0].causes[CAUSE_UNKNOWN] = own[0].idle_ns;
	own[0].cause = CAUSE_UNKNOWN;
	own[0].place[0] = own[0].wait[0] = '\0';
	text = draw(24, 100, &state, &shown);
	CHECK(strstr(text, "so far: no command for 4.6 s 60 %\n"));
	free(text);
}

TEST(missing_data_is_named)
{
	struct ui_state state = new_state();
	struct live_snapshot shown = snapshot;
	char *text;

	shown.ledger.lost_rows = 1;
	text = draw(24, 100, &state, &shown);
	CHECK(strstr(text, "The numbers on this screen are too low: 1 row was lost."));
	free(text);
	state.silent_ns = 4000000000;
	text = draw(24, 80, &state, &shown);
	CHECK(strstr(text, "no data: the recorder is late by 4 s"));
	free(text);
	text = draw(24, 80, &state, NULL);
	CHECK(strstr(text, "The first interval has not ended yet."));
	free(text);
}

/* Causes that the line of a device has no room for. */
TEST(a_view_has_all_causes)
{
	struct ui_state state = new_state();
	char *text;

	ui_state_key(&state, '6');
	text = draw(24, 80, &state, &snapshot);
	CHECK(strstr(text, " load_batch (data.py:31): computing"));
	CHECK(strstr(text, " waiting in a call  (until"));
	CHECK(strstr(text, "45.0 %") && strstr(text, "15.0 %"));
	free(text);
	text = draw(60, 200, &state, &snapshot);
	CHECK(strstr(text, " IDLE BECAUSE") && !strstr(text, " KERNEL "));
	free(text);
}

TEST(processes_with_one_name_have_their_command)
{
	struct ui_state state = new_state();
	char *text = draw(24, 120, &state, &snapshot);

	CHECK(strstr(text, "python3 train.py --out"));
	free(text);
	text = draw(60, 200, &state, &snapshot);
	CHECK(strstr(text, "python3 train.py --out"));
	free(text);
}

TEST(copies_of_two_devices_differ)
{
	static struct live_copy both[2];
	struct ui_state state = new_state();
	struct live_snapshot shown = snapshot;
	char *text;

	both[0] = both[1] = copies[0];
	both[1].device = 1;
	shown.copies = both;
	shown.copies_count = 2;
	state.view = VIEW_COPIES;
	text = draw(24, 80, &state, &shown);
	CHECK(strstr(text, " 0: read ") && strstr(text, " 1: read "));
	free(text);
	text = draw(60, 200, &state, &shown);
	CHECK(strstr(text, " 0: Fast G") && strstr(text, " 1: Other"));
	free(text);
}

TEST(units_are_not_cut)
{
	struct ui_state state = new_state();
	struct live_metric own = metrics[1];
	struct live_snapshot shown = snapshot;
	char *text;

	shown.metrics = &own;
	shown.metrics_count = 1;
	snprintf(own.unit, sizeof(own.unit), "interrupts/s");
	state.view = VIEW_COUNTERS;
	text = draw(24, 80, &state, &shown);
	CHECK(strstr(text, " interrupts/s") != NULL);
	free(text);
}

TEST(eighty_columns)
{
	struct ui_state state = new_state();
	char *text = draw(24, 80, &state, &snapshot);

	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		CHECK_ROW(text, small[i]);
	CHECK(!strstr(text, "ended"));
	CHECK_EQUAL(state.selected_pid, 4711);
	free(text);
}

TEST(a_large_screen_has_all_views)
{
	struct ui_state state = new_state();
	char *text = draw(60, 200, &state, &snapshot);

	CHECK(strstr(text, "PROCESS ") && strstr(text, "KERNEL ") && strstr(text, "QUEUE "));
	CHECK(strstr(text, "COPY ") && strstr(text, "COUNTER "));
	CHECK(strstr(text, "45.0 %  load_batch (data.py:31): computing  (on a processor"));
	CHECK(strstr(text, "10.0 MiB") && strstr(text, "0: read (device to host)"));
	CHECK(!strstr(text, "cpu.busy"));
	free(text);
}

TEST(counters_without_values_take_no_columns)
{
	struct ui_state state = new_state();
	struct live_snapshot without = snapshot;
	char *text;

	without.metrics_count = 0;
	text = draw(24, 80, &state, &without);
	CHECK(!strstr(text, "MEMORY") && strstr(text, "IN FLIGHT"));
	free(text);
}

TEST(tiny_screens_do_not_crash)
{
	for (int rows = 1; rows < 12; rows++)
		for (int columns = 1; columns < 60; columns += 7) {
			struct ui_state state = new_state();

			free(draw(rows, columns, &state, &snapshot));
			free(draw(rows, columns, &state, NULL));
			state.shows_help = true;
			free(draw(rows, columns, &state, &snapshot));
		}
	CHECK(true);
}

TEST(process_then_kernel_then_stack)
{
	struct ui_state state = new_state();
	char *text;

	free(draw(24, 80, &state, &snapshot));
	CHECK_EQUAL(ui_state_key(&state, UI_KEY_ENTER), UI_REFRESH);
	CHECK_EQUAL(state.pid, 4711);
	text = draw(24, 80, &state, &snapshot);
	CHECK(strstr(text, " process python3 4711   (Esc: back)"));
	free(text);
	CHECK_EQUAL(ui_state_key(&state, UI_KEY_ENTER), UI_REFRESH);
	CHECK_TEXT(state.kernel, "saxpy");
	text = draw(24, 80, &state, &snapshot);
	CHECK_ROW(text, " process python3 4711 > kernel saxpy   (Esc: back)");
	CHECK_ROW(text, " saxpy was launched by");
	CHECK_ROW(text, "   launch");
	CHECK_ROW(text, "   called by step");
	CHECK_ROW(text, "   called by main");
	CHECK(!strstr(text, "load  "));
	free(text);
}

TEST(lines_for_scripts)
{
	struct ui_state state = new_state();
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	CHECK_EQUAL(ui_print(file, 120, true, &snapshot, &state, 1), 0);
	fclose(file);
	CHECK(strstr(text, "python3") && !strstr(text, "worker"));
	CHECK(strstr(text, "\n KERNEL") && strstr(text, "\n COPY") && strstr(text, "\n QUEUE"));
	free(text);
}

int main(void)
{
	RUN(causes_are_not_cut);
	RUN(a_command_that_runs_for_seconds_is_named);
	RUN(an_open_gap_is_marked_as_provisional);
	RUN(missing_data_is_named);
	RUN(a_view_has_all_causes);
	RUN(processes_with_one_name_have_their_command);
	RUN(copies_of_two_devices_differ);
	RUN(units_are_not_cut);
	RUN(eighty_columns);
	RUN(a_large_screen_has_all_views);
	RUN(counters_without_values_take_no_columns);
	RUN(tiny_screens_do_not_crash);
	RUN(process_then_kernel_then_stack);
	RUN(lines_for_scripts);
	return harness_end();
}
