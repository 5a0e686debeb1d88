/* SPDX-License-Identifier: MIT
 *
 * ui/batch.c - duet top without a terminal: lines, or one JSON document per interval
 *
 * Runs in:  our own process, in duet top --batch
 * Gets:     snapshots
 * Gives:    text or JSON on stdout
 * Owns:     nothing
 * Fails:    -errno with the error chain
 * Why a recording that has ended is not waited for: its last intervals are printed at once, so that
 *           a script gets the same numbers each time
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "base/format.h"
#include "base/json.h"
#include "base/number.h"
#include "live/snapshot.h"
#include "live/snapshot_json.h"
#include "live/watch.h"
#include "ui/draw.h"
#include "ui/state.h"
#include "ui/tty.h"
#include "ui/top.h"

#define WAIT_NS       UINT64_C(10000000)
#define MAX_BEHIND_NS UINT64_C(5000000000)

enum { COLUMNS = 120, MAX_ROWS = 20 };

/* SIGINT and SIGTERM arrive only between pictures. */
static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP};

static void block_signals(sigset_t *ret_mask)
{
	sigemptyset(ret_mask);
	for (size_t i = 0; i < ARRAY_COUNT(end_signals); i++)
		sigaddset(ret_mask, end_signals[i]);
	sigprocmask(SIG_BLOCK, ret_mask, NULL);
}

/* The signal that arrived; 0: none. */
static int wait_for(const sigset_t *mask, uint64_t ns)
{
	const struct timespec timeout = {.tv_sec = (time_t)(ns / 1000000000),
					 .tv_nsec = (long)(ns % 1000000000)};
	const int number = sigtimedwait(mask, NULL, &timeout);

	return number > 0 ? number : 0;
}

static int print_json(const struct live_snapshot *snapshot)
{
	struct json_writer json;

	json_init_file(&json, stdout);
	json_object_begin(&json);
	json_pair_text(&json, "schema", "duet.top/1");
	if (snapshot)
		live_snapshot_write(snapshot, &json);
	json_object_end(&json);
	fputc('\n', stdout);
	return json_error(&json);
}

static int print_text(const struct ui_top_options *options, const struct live_snapshot *snapshot)
{
	const char *note = NULL;
	struct ui_state state;

	ui_state_init(&state, options->interval_ns);
	snprintf(state.title, sizeof(state.title), "%s", options->title);
	if (snapshot && !snapshot->devices_count && options->explain_no_device)
		note = options->explain_no_device(options->context);
	snprintf(state.note, sizeof(state.note), "%s", note ? note : "");
	if (snapshot)
		return ui_print(stdout, COLUMNS, !tty_has_utf8(), snapshot, &state, MAX_ROWS);
	state.has_ended = live_watch_has_ended(options->watch);
	printf("%s\n\n", ui_empty_text(&state));
	return 0;
}

/* skips_empty: prints nothing for an interval without rows. *ret_is_printed may be NULL. */
static int print_picture(const struct ui_top_options *options, uint64_t interval_ns,
			 uint64_t end_ns, bool skips_empty, bool *ret_is_printed)
{
	const struct live_look look = {.interval_ns = interval_ns, .end_ns = end_ns};
	struct live_snapshot *snapshot = NULL;
	int error = live_watch_look(options->watch, &look, &snapshot);

	if (ret_is_printed)
		*ret_is_printed = !error && (snapshot || !skips_empty);
	if (error || (!snapshot && skips_empty))
		return error;
	error = options->has_json ? print_json(snapshot) : print_text(options, snapshot);
	live_snapshot_free(snapshot);
	if (!error && fflush(stdout))
		error = -errno;
	return error ? error_set(error, "stdout: %s", strerror(-error)) : 0;
}

/* The last `count` intervals of a recording that has ended, or as many as it has. The first one may
 * begin before the recording. */
static int print_last(const struct ui_top_options *options, uint64_t end_ns, uint64_t count)
{
	const uint64_t start_ns = smaller(live_watch_start_ns(options->watch), end_ns);
	const uint64_t most = (end_ns - start_ns + options->interval_ns - 1) / options->interval_ns;
	int error = 0;

	for (uint64_t i = larger(smaller(count, most), 1); i-- > 0 && !error;)
		error = print_picture(options, options->interval_ns,
				      end_ns - i * options->interval_ns, i != 0, NULL);
	return error;
}

/* Prints what the recorder says, on stderr. Returns whether the recording has ended. */
static bool is_over(const struct ui_top_options *options)
{
	bool over = false;
	const char *message =
		options->on_picture ? options->on_picture(options->context, &over) : NULL;

	if (message)
		fprintf(stderr, "duet top: %s\n", format_text(message).text);
	return over || live_watch_has_ended(options->watch);
}

struct growing {
	const struct ui_top_options *options;
	sigset_t mask;
	uint64_t newest_ns; /* rows are complete up to here */
	bool is_over, is_late;
	bool has_printed; /* empty intervals before the first one are left out */
	int signal;       /* that ended the wait; 0: none */
};

/* Says once that the recorder is late. No interval is printed until its rows are there. */
static void note_late(struct growing *growing)
{
	const uint64_t silent_ns = live_watch_silent_ns(growing->options->watch);

	if (silent_ns && !growing->is_late)
		fprintf(stderr, "duet top: no data: the recorder is late by %.0f s\n",
			(double)silent_ns / 1e9);
	growing->is_late = silent_ns != 0;
}

/* Waits until rows up to end_ns are complete, the recording has ended or a signal has arrived. */
static int wait_until(struct growing *growing, uint64_t end_ns)
{
	uint64_t left_ns = 0;

	for (;;) {
		int error;

		growing->signal = wait_for(&growing->mask, left_ns);
		if (growing->signal)
			return 0;
		/* asked first: the rows from before the end are read after it */
		growing->is_over = is_over(growing->options);
		error = live_watch_newest(growing->options->watch, &growing->newest_ns);
		note_late(growing);
		if (error || growing->is_over || growing->newest_ns >= end_ns)
			return error;
		left_ns = end_ns - growing->newest_ns;
		left_ns = smaller(larger(left_ns, WAIT_NS), LIVE_NOTE_NS);
	}
}

/* The interval that ends at end_ns, or the part of it before the recording's end. *ret_is_last: no
 * interval is left. */
static int print_next(struct growing *growing, uint64_t end_ns, bool *ret_is_last)
{
	const uint64_t newest_ns = growing->newest_ns;
	const uint64_t late_ns = end_ns > newest_ns ? end_ns - newest_ns : 0;
	const uint64_t whole_ns = growing->options->interval_ns;

	bool is_printed = true;
	int error = 0;

	*ret_is_last = growing->is_over && end_ns >= newest_ns;
	if (!growing->is_over || !late_ns)
		error = print_picture(growing->options, whole_ns, end_ns,
				      !growing->has_printed && !*ret_is_last, &is_printed);
	else if (late_ns < whole_ns)
		error = print_picture(growing->options, whole_ns - late_ns, newest_ns, false, NULL);
	growing->has_printed |= is_printed;
	return error;
}

/* The start of the recording; 0: the file does not have it yet. */
static int look_for_start(const struct growing *growing, uint64_t *ret_start_ns)
{
	const struct live_look look = {.interval_ns = UINT64_MAX};
	struct live_snapshot *snapshot = NULL;
	const int error = live_watch_look(growing->options->watch, &look, &snapshot);

	*ret_start_ns = snapshot && snapshot->start_ns ? snapshot->begin_ns : 0;
	live_snapshot_free(snapshot);
	return error;
}

/* The start of a recording that has just begun; without rows, its newest time. */
static int find_start(struct growing *growing, uint64_t *ret_start_ns)
{
	uint64_t start_ns = 0;
	bool was_over = false;
	int error = 0;

	while (!error && !start_ns && !was_over && !growing->signal) {
		was_over = growing->is_over;
		error = wait_until(growing, growing->newest_ns + WAIT_NS);
		if (!error)
			error = look_for_start(growing, &start_ns);
	}
	*ret_start_ns = start_ns ? start_ns : growing->newest_ns;
	return error;
}

/* The start is known better when the recorder has found the processes: the first interval is a
 * whole one. */
static int correct_first(struct growing *growing, uint64_t *end_ns)
{
	uint64_t start_ns = 0;
	int error = 0;

	if (growing->options->from_start && !growing->has_printed && !growing->is_over)
		error = look_for_start(growing, &start_ns);
	if (start_ns && start_ns + growing->options->interval_ns > *end_ns)
		*end_ns = start_ns + growing->options->interval_ns;
	return error;
}

/* Each interval begins where the one before has ended; the first lies after the start of duet top,
 * or begins with a recording of its own. A reader
 * that is too slow leaves intervals out, because the recorder's memory has lost old ones. */
static int print_growing(struct growing *growing)
{
	const struct ui_top_options *options = growing->options;
	int error = live_watch_newest(options->watch, &growing->newest_ns);
	uint64_t start_ns = growing->newest_ns, end_ns;
	bool is_last = false;

	if (!error && options->from_start)
		error = find_start(growing, &start_ns);
	end_ns = start_ns + options->interval_ns;

	for (uint64_t i = 0; !error && !is_last && (!options->count || i < options->count);) {
		error = wait_until(growing, end_ns);
		if (!error && !growing->signal)
			error = correct_first(growing, &end_ns);
		if (error || growing->signal)
			break;
		if (!growing->is_over && growing->newest_ns < end_ns)
			continue;
		if (!growing->is_over && growing->newest_ns > end_ns + MAX_BEHIND_NS)
			end_ns = growing->newest_ns;
		error = print_next(growing, end_ns, &is_last);
		i += growing->has_printed;
		end_ns += options->interval_ns;
	}
	return error;
}

int ui_top_print(const struct ui_top_options *options, int *ret_signal)
{
	const struct live_look look = {.interval_ns = options->interval_ns};
	struct live_snapshot *snapshot = NULL;
	struct growing growing = {.options = options};
	int error;

	block_signals(&growing.mask);
	error = live_watch_look(options->watch, &look, &snapshot);
	live_snapshot_free(snapshot);
	if (error)
		return error;
	if (live_watch_has_ended(options->watch) && !options->from_start)
		return print_last(options, live_watch_end_ns(options->watch), options->count);
	error = print_growing(&growing);
	*ret_signal = growing.signal;
	return error;
}
