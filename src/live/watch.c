/* SPDX-License-Identifier: MIT
 *
 * live/watch.c - choose the interval of a growing recording that is shown, and analyse it
 *
 * Runs in:  our own process, in duet top
 * Gets:     a follower
 * Gives:    snapshots
 * Owns:     the follower, the names of places
 * Fails:    -errno with the error chain
 * Why a lag: an execution is written when its command has ended, and rows wait for the next read of
 *           the rings (0.1 s) and the next flush of the file. An interval that ends now would lack
 *           its last rows and show them as idle time (docs/design/live.md)
 */
#include "live/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "analyze/observer.h"
#include "analyze/order.h"
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number.h"
#include "live/follow.h"
#include "live/in_flight.h"
#include "live/present.h"
#include "live/snapshot.h"
#include "trace/writer.h"

#define READ_NS   UINT64_C(200000000)  /* the part of the lag for the interval of the flushes */
#define SILENT_NS UINT64_C(3000000000) /* a recorder writes at least every 2 s */
#define STALL_NS  UINT64_C(2500000000) /* … and one that did not was stopped */
#define RESUME_NS UINT64_C(500000000)

/* Length of the time before the interval whose rows are read too. If the launch of a command, or
 * the command before the first idle gap, is older, the next length is tried, and used for the next
 * LONG_LOOKS pictures. */
static const uint64_t before_ns[] = {100000000, 2000000000, 15000000000};
#define MAX_BEFORE_NS UINT64_C(15000000000)
enum { LONG_LOOKS = 10 };

struct live_watch {
	struct live_follow *follow;
	struct live_places *places; /* NULL: not asked for */
	struct live_in_flight flight;
	struct live_present present;
	struct hash_map queue_devices; /* id of a queue -> id of its device, for one look */
	uint64_t lag_ns, newest_ns, end_ns;
	uint64_t hole_ns;    /* time between the last look and this one: its rows are read too */
	uint64_t written_ns; /* when the file was last written */
	uint64_t known_ns;   /* the recorder has written all rows before this time less a margin */
	uint64_t resumed_ns; /* when a recorder that was silent wrote again; 0: it was not silent */
	uint64_t *path_max_ns; /* longest execution of each path in the interval */
	size_t paths_count, paths_capacity;
	size_t before;           /* index of before_ns */
	unsigned int long_looks; /* left with that index */
	bool has_ended;
};

int live_watch_new(struct live_follow *follow, const struct live_watch_options *options,
		   struct live_watch **ret_watch)
{
	struct live_watch *watch = calloc(1, sizeof(*watch));

	if (!watch || (options->has_places && live_places_new(&watch->places))) {
		free(watch);
		live_follow_free(follow);
		return error_set(-ENOMEM, "out of memory");
	}
	watch->follow = follow;
	watch->lag_ns = options->lag_ns;
	/* The first look finds commands that were launched earlier. */
	watch->before = 1;
	watch->long_looks = 2;
	*ret_watch = watch;
	return 0;
}

void live_watch_free(struct live_watch *watch)
{
	if (!watch)
		return;
	live_follow_free(watch->follow);
	live_places_free(watch->places);
	live_in_flight_fini(&watch->flight);
	live_present_fini(&watch->present);
	hash_map_fini(&watch->queue_devices);
	free(watch->path_max_ns);
	free(watch);
}

void live_watch_set_lag(struct live_watch *watch, uint64_t lag_ns)
{
	watch->lag_ns = lag_ns;
}

#define SAME_WRITE_NS UINT64_C(1000000)

/* The time of one write differs by the time between two readings of the clock. An interval does not
 * end earlier than the one before for that. */
static void note_written(struct live_watch *watch)
{
	const uint64_t written_ns = live_follow_written_ns(watch->follow);

	if (written_ns > watch->written_ns + SAME_WRITE_NS)
		watch->written_ns = written_ns;
}

/* A recorder that was stopped may write a part of its rows first, with times of now. It is believed
 * when it has had the time to read its rings. */
static void note_known(struct live_watch *watch)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const uint64_t known_ns = larger(watch->newest_ns, watch->written_ns);
	const bool was_silent = watch->known_ns && known_ns > watch->known_ns + STALL_NS;

	if (was_silent && !watch->resumed_ns)
		watch->resumed_ns = now;
	if (was_silent && now < watch->resumed_ns + RESUME_NS)
		return;
	watch->resumed_ns = 0;
	watch->known_ns = larger(watch->known_ns, known_ns);
}

/* A recording of another boot has ended, so that its times are not compared with this clock. */
static int update(struct live_watch *watch)
{
	const int error = live_follow_update(watch->follow, &watch->newest_ns);

	note_written(watch);
	note_known(watch);
	watch->has_ended = !error && (live_follow_has_ended(watch->follow) ||
				      live_follow_is_abandoned(watch->follow));
	return error;
}

/* On a busy machine, or if it is stopped, the recorder itself is late: rows are missing up to
 * `settled`, although they are older than the lag. A program that does nothing has no new rows
 * either, but its recorder writes every second or two. */
static uint64_t newest_end(const struct live_watch *watch)
{
	const uint64_t margin_ns = watch->lag_ns > READ_NS ? watch->lag_ns - READ_NS : 0;
	const uint64_t known_ns = watch->known_ns;
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (watch->has_ended)
		return watch->newest_ns;
	return smaller(known_ns - smaller(margin_ns, known_ns), now - smaller(watch->lag_ns, now));
}

uint64_t live_watch_silent_ns(const struct live_watch *watch)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const uint64_t silent_ns = now - smaller(watch->known_ns, now);

	return watch->has_ended || silent_ns < larger(SILENT_NS, 2 * watch->lag_ns) ? 0 : silent_ns;
}

/* ---- commands without a launch --------------------------------------------------------------- */

struct lone_commands {
	uint64_t begin_ns, end_ns; /* the interval */
	uint64_t count;
	struct live_watch *watch;
	const struct analysis *analysis;
};

static int on_begin(void *context, const struct analysis *analysis)
{
	struct lone_commands *lone = context;

	lone->count = 0;
	lone->watch->paths_count = 0;
	lone->analysis = analysis;
	live_in_flight_begin(&lone->watch->flight);
	hash_map_clear(&lone->watch->queue_devices);
	for (size_t i = 0; i < analysis->queues_count; i++) {
		const size_t at = analysis->queues[i].device;
		const struct event_device *device =
			at < analysis->devices_count ? analysis->devices[at].device : NULL;

		if (device && hash_map_put(&lone->watch->queue_devices,
					   analysis->queues[i].queue->id, device->id))
			return -ENOMEM;
	}
	return live_present_begin(&lone->watch->present, lone->begin_ns, lone->end_ns);
}

static int on_row(void *context, const struct order_item *item, uint64_t launches)
{
	struct lone_commands *lone = context;
	const struct event_launch *launch = item->row;
	struct live_owner owner = {0};

	if (item->kind == EVENT_LAUNCH) {
		owner.device =
			(uint32_t)hash_map_get(&lone->watch->queue_devices, launch->queue, 0);
		owner.process = model_process_of(lone->analysis->model, launch->thread);
	}
	return live_present_row(&lone->watch->present, item, &owner);
}

static int on_open(void *context, const struct observed_open *open)
{
	return live_in_flight_open(&((struct lone_commands *)context)->watch->flight, open);
}

static int on_span(void *context, size_t device, const struct account_span *span)
{
	return 0;
}

static int note_longest(struct live_watch *watch, const struct lone_commands *lone,
			const struct observed_command *command)
{
	const struct event_execution *row = command->row;
	const size_t path = command->path;

	if (!command->is_in_account || row->ended <= lone->begin_ns || row->started >= lone->end_ns)
		return 0;
	if (array_grow(watch->path_max_ns, watch->paths_capacity, path + 1))
		return -ENOMEM;
	while (watch->paths_count <= path)
		watch->path_max_ns[watch->paths_count++] = 0;
	watch->path_max_ns[path] = larger(watch->path_max_ns[path], row->ended - row->started);
	return 0;
}

static int on_command(void *context, const struct observed_command *command)
{
	struct lone_commands *lone = context;

	lone->count += !command->launch && command->row->ended > lone->begin_ns &&
		       command->row->started < lone->end_ns;
	live_in_flight_end(&lone->watch->flight, lone->analysis, command);
	if (lone->analysis->devices[command->device].device)
		live_present_command(&lone->watch->present,
				     lone->analysis->devices[command->device].device->id,
				     command->row->ended);
	return note_longest(lone->watch, lone, command);
}

/* Whether an idle gap at the interval's start may have begun with the end of a command whose row
 * was not read. Such a gap has another cause than one before the first command of all. */
static bool lacks_earlier_command(const struct analysis *analysis, uint64_t read_from_ns)
{
	if (read_from_ns <= analysis->begin_ns)
		return false;
	for (size_t i = 0; i < analysis->devices_count; i++) {
		const struct account *account = &analysis->devices[i].account;

		if (account->commands && account->first_start > account->from)
			return true;
	}
	return false;
}

static bool needs_earlier_rows(const struct live_window_options *options,
			       const struct live_window *window, const struct lone_commands *lone)
{
	const uint64_t from_ns =
		options->begin_ns > options->before_ns ? options->begin_ns - options->before_ns : 0;

	return lone->count || lacks_earlier_command(window->analysis, from_ns);
}

/* A command without its launch is in no sum of the analysis. */
static int analyse_window(struct live_watch *watch, struct live_window_options *options,
			  struct live_window *window)
{
	struct lone_commands lone = {
		.begin_ns = options->begin_ns, .end_ns = options->end_ns, .watch = watch};
	const struct analysis_observer observer = {.context = &lone,
						   .on_begin = on_begin,
						   .on_command = on_command,
						   .on_open = on_open,
						   .on_row = on_row,
						   .on_span = on_span};
	int error;

	options->observer = &observer;
	if (watch->long_looks && !--watch->long_looks)
		watch->before = 0;
	for (;;) {
		options->before_ns =
			smaller(before_ns[watch->before] + watch->hole_ns, MAX_BEFORE_NS);
		error = live_follow_analyse(watch->follow, options, window);
		if (error || watch->before + 1 == ARRAY_COUNT(before_ns) ||
		    !needs_earlier_rows(options, window, &lone))
			break;
		live_window_fini(window);
		watch->before++;
		watch->long_looks = LONG_LOOKS;
	}
	if (!error)
		error = live_present_close(&watch->present, window->analysis);
	if (error)
		return error;
	return live_in_flight_close(&watch->flight, options->begin_ns > options->before_ns
							    ? options->begin_ns - options->before_ns
							    : 0);
}

static int make_snapshot(struct live_watch *watch, const struct live_look *look,
			 const struct analysis *analysis, struct live_snapshot **ret_snapshot)
{
	const struct live_snapshot_options snapshot_options = {
		.has_stacks = look->has_stacks,
		.places = watch->places,
		.in_flight = &watch->flight,
		.present = watch->has_ended ? NULL : &watch->present,
		.path_max_ns = watch->path_max_ns,
		.path_max_count = watch->paths_count,
		.pid = look->pid};
	return live_snapshot_new(analysis, &snapshot_options, ret_snapshot)
		       ? error_set(-ENOMEM, "out of memory")
		       : 0;
}

static int analyse(struct live_watch *watch, const struct live_look *look,
		   struct live_snapshot **ret_snapshot)
{
	struct live_window_options window_options = {
		.begin_ns =
			watch->end_ns > look->interval_ns ? watch->end_ns - look->interval_ns : 0,
		.end_ns = watch->end_ns,
		.by_thread = look->pid != 0,
		.is_brief = true};
	struct live_window window = {0};
	int error = analyse_window(watch, &window_options, &window);

	if (error == -ENODATA)
		return 0;
	if (!error)
		error = make_snapshot(watch, look, window.analysis, ret_snapshot);
	live_window_fini(&window);
	return error;
}

int live_watch_newest(struct live_watch *watch, uint64_t *ret_end_ns)
{
	const int error = update(watch);

	*ret_end_ns = error ? 0 : newest_end(watch);
	return error;
}

int live_watch_note(struct live_watch *watch)
{
	return update(watch);
}

/* The next look shows another time. Its first rows are read from further back. */
static void forget(struct live_watch *watch)
{
	live_in_flight_clear(&watch->flight);
	live_present_clear(&watch->present);
	watch->before = ARRAY_COUNT(before_ns) - 1;
	watch->long_looks = 2;
}

/* States of threads are followed from one look to the next, so that no rows are left out. */
static uint64_t hole_before(const struct live_watch *watch, uint64_t begin_ns)
{
	return watch->end_ns && begin_ns > watch->end_ns ? begin_ns - watch->end_ns : 0;
}

int live_watch_look(struct live_watch *watch, const struct live_look *look,
		    struct live_snapshot **ret_snapshot)
{
	const int error = update(watch);
	uint64_t end_ns;

	if (error)
		return error;
	*ret_snapshot = NULL;
	end_ns = look->end_ns ? look->end_ns : newest_end(watch);
	/* rows that were read do not become unread */
	if (!look->end_ns && !watch->has_ended)
		end_ns = larger(end_ns, watch->end_ns);
	if (end_ns < watch->end_ns)
		forget(watch);
	watch->hole_ns = hole_before(watch, end_ns - smaller(look->interval_ns, end_ns));
	watch->end_ns = end_ns;
	return analyse(watch, look, ret_snapshot);
}

uint64_t live_watch_start_ns(const struct live_watch *watch)
{
	return live_follow_start_ns(watch->follow);
}

uint64_t live_watch_end_ns(const struct live_watch *watch)
{
	return watch->end_ns;
}

bool live_watch_has_ended(const struct live_watch *watch)
{
	return watch->has_ended;
}

/* ---- keeping --------------------------------------------------------------------------------- */

/* The bytes of a window are whole segments with the names and processes that they use. */
int live_watch_keep(struct live_watch *watch, uint64_t ns, const char *path)
{
	struct live_window_options options = {.before_ns = 1};
	struct live_window window = {0};
	int error = update(watch);

	if (error)
		return error;
	options.end_ns = newest_end(watch);
	options.begin_ns = options.end_ns > ns ? options.end_ns - ns : 0;
	error = live_follow_analyse(watch->follow, &options, &window);
	if (error == -ENODATA)
		return error_set(error, "nothing was recorded in the last %g s", (double)ns / 1e9);
	if (!error)
		error = trace_cut_bytes(window.bytes, window.size, path);
	live_window_fini(&window);
	return error;
}
