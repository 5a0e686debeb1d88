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
#include "base/json.h"
#include "live/snapshot.h"
#include "live/snapshot_json.h"
#include "live/watch.h"
#include "ui/draw.h"
#include "ui/state.h"
#include "ui/tty.h"
#include "ui/top.h"

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
	struct ui_state state;

	ui_state_init(&state, options->interval_ns);
	snprintf(state.title, sizeof(state.title), "%s", options->title);
	if (snapshot)
		return ui_print(stdout, COLUMNS, !tty_has_utf8(), snapshot, &state, MAX_ROWS);
	puts("nothing was recorded in this interval\n");
	return 0;
}

static int print_picture(const struct ui_top_options *options, uint64_t end_ns)
{
	const struct live_look look = {.interval_ns = options->interval_ns, .end_ns = end_ns};
	struct live_snapshot *snapshot = NULL;
	int error = live_watch_look(options->watch, &look, &snapshot);

	if (error)
		return error;
	error = options->has_json ? print_json(snapshot) : print_text(options, snapshot);
	live_snapshot_free(snapshot);
	if (!error && fflush(stdout))
		error = -errno;
	return error ? error_set(error, "stdout: %s", strerror(-error)) : 0;
}

/* The last `count` intervals of a recording that has ended. */
static int print_last(const struct ui_top_options *options, uint64_t end_ns, uint64_t count)
{
	int error = 0;

	for (uint64_t i = count ? count : 1; i-- > 0 && !error;) {
		const uint64_t back_ns = i * options->interval_ns;

		if (back_ns < end_ns)
			error = print_picture(options, end_ns - back_ns);
	}
	return error;
}

static bool is_over(const struct ui_top_options *options)
{
	bool over = false;

	if (options->on_picture)
		options->on_picture(options->context, &over);
	return over || live_watch_has_ended(options->watch);
}

/* The first interval is awaited, so that it lies after the start. */
static int print_growing(const struct ui_top_options *options, const sigset_t *mask,
			 int *ret_signal)
{
	int error = 0;

	is_over(options);
	for (uint64_t i = 0; !options->count || i < options->count; i++) {
		*ret_signal = wait_for(mask, options->interval_ns);
		if (*ret_signal)
			return 0;
		error = print_picture(options, 0);
		if (error || is_over(options))
			return error;
	}
	return 0;
}

int ui_top_print(const struct ui_top_options *options, int *ret_signal)
{
	const struct live_look look = {.interval_ns = options->interval_ns};
	struct live_snapshot *snapshot = NULL;
	sigset_t mask;
	int error;

	block_signals(&mask);
	error = live_watch_look(options->watch, &look, &snapshot);
	live_snapshot_free(snapshot);
	if (error)
		return error;
	if (live_watch_has_ended(options->watch))
		return print_last(options, live_watch_end_ns(options->watch), options->count);
	return print_growing(options, &mask, ret_signal);
}
