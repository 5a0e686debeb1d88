/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/feed.c - cuts a growing recording into intervals that follow each other
 *
 * Runs in:  our own process, the agent's child for endpoints
 * Gets:     a file that a recorder writes, or replaces by a new one
 * Gives:    snapshots of a second each
 * Owns:     the open file
 * Fails:    an interval that could not be read is skipped, with the error
 * Why one second of delay: the recorder writes rows out every 0.1 s, and an interval must be whole
 *           when it is counted, because it is counted once.
 */
#include "agent/endpoints/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "agent/endpoints/crossing.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/number.h"
#include "event/event.h"
#include "live/follow.h"
#include "live/snapshot.h"
#include "trace/reader.h"

/* Limits the memory of one interval. A recorder that writes more makes its intervals incomplete. */
enum { MAX_BYTES = 64 << 20 };

void feed_init(struct feed *feed, const char *path, uint64_t begin_ns, uint64_t lag_ns)
{
	*feed = (struct feed){
		.path = path, .lag_ns = lag_ns ? lag_ns : FEED_LAG_NS, .cursor_ns = begin_ns};
}

void feed_fini(struct feed *feed)
{
	live_follow_free(feed->follow);
	feed->follow = NULL;
}

/* ---- the file ---- */

static void open_file(struct feed *feed)
{
	auto_close int fd = open(feed->path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		return;
	if (live_follow_new(take_fd(&fd), &feed->follow)) {
		error_clear();
		return;
	}
	feed->device = status.st_dev;
	feed->inode = status.st_ino;
	feed->has_ended = false;
	feed->abandoned_ns = 0;
	feed->newest_ns = 0;
}

/* A recorder that has just created its file has neither locked it nor written to it yet. */
static bool is_abandoned(struct feed *feed, uint64_t now_ns)
{
	if (!live_follow_is_abandoned(feed->follow)) {
		feed->abandoned_ns = 0;
		return false;
	}
	if (!feed->abandoned_ns)
		feed->abandoned_ns = now_ns;
	return now_ns - feed->abandoned_ns >= (feed->newest_ns ? FEED_STEP_NS : FEED_STEP_MAX_NS);
}

static bool is_replaced(const struct feed *feed)
{
	struct stat status;

	return !stat(feed->path, &status) &&
	       (status.st_dev != feed->device || status.st_ino != feed->inode);
}

/* Opens the file, or the one that replaced it after its end. */
static int update_file(struct feed *feed, uint64_t now_ns)
{
	bool is_done = feed->has_ended && feed->cursor_ns > feed->newest_ns;
	int error;

	if (feed->follow && is_done && is_replaced(feed))
		feed_fini(feed);
	if (!feed->follow)
		open_file(feed);
	if (!feed->follow || feed->has_ended)
		return 0;
	error = live_follow_update(feed->follow, &feed->newest_ns);
	if (!error)
		feed->has_ended = live_follow_has_ended(feed->follow) || is_abandoned(feed, now_ns);
	return error;
}

/* ---- intervals ---- */

/* The end of the next interval; the cursor: none is due. */
static uint64_t end_of_next(const struct feed *feed, uint64_t now_ns)
{
	uint64_t due_ns = now_ns > feed->lag_ns ? now_ns - feed->lag_ns : 0, steps;

	/* The rest of an ended recording is due at once. */
	if (feed->follow && feed->has_ended && feed->newest_ns >= feed->cursor_ns)
		return smaller(feed->newest_ns + 1, feed->cursor_ns + FEED_STEP_MAX_NS);
	if (due_ns < feed->cursor_ns + FEED_STEP_NS)
		return feed->cursor_ns;
	steps = smaller(due_ns - feed->cursor_ns, FEED_STEP_MAX_NS) / FEED_STEP_NS;
	return feed->cursor_ns + steps * FEED_STEP_NS;
}

/* The end of a loss is the time at which it was noticed and written. */
static int copy_losses(const struct live_window *window, struct feed_interval *interval)
{
	const struct event_loss *losses = NULL;
	size_t count = trace_reader_losses(window->reader, &losses);

	interval->losses = calloc(count + 1, sizeof(*losses));
	if (!interval->losses)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		if (losses[i].end >= interval->begin_ns && losses[i].end < interval->end_ns)
			interval->losses[interval->losses_count++] = losses[i];
	return 0;
}

static int analyse(struct feed *feed, struct feed_interval *interval)
{
	struct crossings crossings = {.end_ns = interval->end_ns};
	const struct analysis_observer observer = crossings_observer(&crossings);
	const struct live_window_options options = {.begin_ns = interval->begin_ns,
						    .end_ns = interval->end_ns,
						    .observer = &observer,
						    .max_bytes = MAX_BYTES};
	const struct live_snapshot_options all = {.max_kernels = 0};
	struct live_window window = {0};
	int error = live_follow_analyse(feed->follow, &options, &window);

	if (!error)
		error = copy_losses(&window, interval);
	if (!error)
		error = live_snapshot_new(window.analysis, &all, &interval->snapshot);
	if (!error)
		crossings_subtract(&crossings, interval->snapshot);
	crossings_fini(&crossings);
	live_window_fini(&window);
	return error;
}

static void fill_interval(struct feed *feed, struct feed_interval *interval)
{
	int error;

	interval->state = TOTALS_EMPTY;
	if (!feed->follow || (feed->has_ended && interval->begin_ns > feed->newest_ns))
		return;
	error = analyse(feed, interval);
	if (!error) {
		interval->state = TOTALS_ANALYSED;
	} else if (error != -ENODATA) {
		interval->state = TOTALS_SKIPPED;
		interval->error = error;
	}
}

bool feed_next(struct feed *feed, uint64_t now_ns, struct feed_interval *ret_interval)
{
	int error = update_file(feed, now_ns);
	struct feed_interval interval = {.begin_ns = feed->cursor_ns,
					 .end_ns = end_of_next(feed, now_ns)};

	if (interval.end_ns == interval.begin_ns)
		return false;
	if (now_ns > feed->cursor_ns + FEED_BEHIND_MAX_NS && !feed->has_ended) {
		interval.end_ns = now_ns - feed->lag_ns - FEED_STEP_NS;
		interval.state = TOTALS_SKIPPED;
	} else if (error) {
		interval.state = TOTALS_SKIPPED;
		interval.error = error;
	} else {
		fill_interval(feed, &interval);
	}
	feed->cursor_ns = interval.end_ns;
	*ret_interval = interval;
	return true;
}

uint64_t feed_due_ns(const struct feed *feed)
{
	return feed->cursor_ns + FEED_STEP_NS + feed->lag_ns;
}

bool feed_is_complete(const struct feed *feed)
{
	return feed->follow && feed->has_ended && feed->cursor_ns > feed->newest_ns;
}
