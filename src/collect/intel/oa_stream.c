/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_stream.c - the stream of reports of a GPU's OA unit: opens, reads and reopens it
 *
 * Runs in:  the recorder; a stream is read in the thread of its sampler
 * Gets:     a render node, and the functions of its driver (oa_driver.h)
 * Gives:    differences between reports, and their times
 * Owns:     the stream's descriptor and a read buffer
 * Fails:    on open, with a remedy. Later, lost reports are counted and a stream that ended is
 *           reopened.
 * Why:      The metric set of duet is removed from the driver's list as soon as the stream is open.
 *           The stream keeps the set that it was opened with, so no set of duet stays in the list,
 *           however the recorder ends. Report times use the smallest difference between the two
 *           clocks, because a report is read after it was written. The difference may grow by
 *           SLACK_PPM, because clocks drift.
 */
#include "collect/intel/oa_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/xe.h"
#include "base/error.h"
#include "collect/host_clocks.h"
#include "collect/intel/oa_driver.h"

enum {
	BUFFER_BYTES = 1 << 20,
	MAX_READS = 64, /* reads per tick; reports beyond these are lost and counted */
	REOPEN_NS = 20000000,
	UNKNOWN_NS = 2000000000, /* 32 bits of cycles wrap after this time at 2 GHz */
	SLACK_PPM = 100,
	TRIES = 3,
	CLOCK_MAX_HZ = 1 << 30
};

struct oa_stream {
	const struct gpu_node *node; /* borrowed */
	struct oa_facts facts;
	int fd; /* owned; -1: the stream has ended */
	uint64_t ended_ns;
	uint8_t *buffer; /* owned */
	/* state of the open stream */
	bool has_before, has_newest, has_offset, is_after_loss;
	struct oa_report before;           /* the last report that was delivered */
	struct oa_report newest;           /* the last report that was read */
	uint64_t before_time, newest_time; /* ticks of the unit's clock since the first report */
	uint64_t offset_ns, offset_at_ns;  /* offset to CLOCK_MONOTONIC, and when it was measured */
	uint64_t emitted_ns;
	struct oa_counts counts;
};

int oa_stream_ask(const struct gpu_node *node, uint32_t nth, uint32_t hz,
		  struct oa_facts *ret_facts)
{
	struct oa_facts facts = {.driver = strcmp(node->driver, "i915") == 0 ? &oa_i915_driver
									     : &oa_xe_driver};
	const int error = facts.driver->ask(node, nth, &facts);

	if (error)
		return error;
	if (!facts.clock_hz || facts.clock_hz > CLOCK_MAX_HZ)
		return error_set(-EPROTO,
				 "OA: the driver %s reports an invalid clock rate: %" PRIu64
				 " timestamps a second",
				 node->driver, facts.clock_hz);
	facts.exponent = oa_exponent_find(facts.clock_hz, hz);
	facts.period_ns = oa_period_ns(facts.clock_hz, facts.exponent);
	*ret_facts = facts;
	return 0;
}

/* ---- the stream ------------------------------------------------------------------------------ */

/* Sets the message for a metric set that existed when it was chosen. */
static int set_refused(const struct oa_facts *facts, int error)
{
	if (*facts->set && error == -ENOENT)
		return error_set(error, "OA: the metric set %s is not in the driver's list%s",
				 facts->set, facts->igdmd ? "" : " any more");
	if (facts->igdmd && error == -EPROTO)
		return error_set(-EACCES,
				 "OA: Intel's library of metric sets cannot add %s to the driver's "
				 "list: that needs root, cap_perfmon, or that all users may "
				 "observe GPUs (duet doctor)",
				 facts->set);
	return facts->driver->refused(-error);
}

/* The library's sets are in the driver's list only while the stream is being opened, as duet's own
 * set is. Later the recorder may lack the right to remove them. */
static int open_library_set(const struct gpu_node *node, struct oa_facts *facts, const char *card)
{
	const int error = igdmd_begin(facts->igdmd, facts->igdmd_set);
	int set, fd;

	if (error)
		return error;
	set = oa_sets_number(card, IGDMD_UUID);
	fd = set < 0 ? set : facts->driver->open(node, facts, set);
	igdmd_end(facts->igdmd, facts->igdmd_set);
	if (set >= 0)
		facts->driver->remove_set(node, set);
	return fd;
}

/* Opens the stream with a set of the driver's list. */
static int open_listed(const struct gpu_node *node, struct oa_facts *facts, const char *card)
{
	const int set = oa_sets_number(card, facts->set);

	return set < 0 ? set : facts->driver->open(node, facts, set);
}

/* Returns a descriptor; -errno. A set that another recorder has added may be removed between
 * finding and using it. */
static int open_fd(const struct gpu_node *node, struct oa_facts *facts)
{
	char card[200];
	int fd = -EAGAIN;

	snprintf(card, sizeof(card), "%s/card*", node->folder);
	if (facts->igdmd)
		return open_library_set(node, facts, card);
	if (*facts->set)
		return open_listed(node, facts, card);
	for (int i = 0; i < TRIES; i++) {
		const int added = facts->driver->add_set(node, facts->layout->set);
		const int set = added == -EADDRINUSE
					? oa_sets_number(card, facts->layout->set->uuid)
					: added;

		if (set == -ENOENT)
			continue;
		if (set < 0)
			return set;
		fd = facts->driver->open(node, facts, set);
		if (added > 0)
			facts->driver->remove_set(node, added);
		if (added > 0 || fd != -EINVAL)
			break;
	}
	return fd;
}

static void begin_anew(struct oa_stream *stream)
{
	stream->has_before = stream->has_newest = stream->has_offset = false;
	stream->newest_time = stream->before_time = 0;
	stream->is_after_loss = false;
}

static void end_stream(struct oa_stream *stream)
{
	close(stream->fd);
	stream->fd = -1;
	stream->ended_ns = host_clocks_now_ns();
	stream->counts.ended_ns = stream->emitted_ns ? stream->emitted_ns : stream->ended_ns;
	stream->counts.resets++;
}

static bool is_open(struct oa_stream *stream)
{
	if (stream->fd >= 0)
		return true;
	if (host_clocks_now_ns() - stream->ended_ns < REOPEN_NS)
		return false;
	stream->fd = open_fd(stream->node, &stream->facts);
	begin_anew(stream);
	if (stream->fd < 0) {
		stream->ended_ns = host_clocks_now_ns();
		return false;
	}
	stream->counts.ended_ns = 0;
	stream->counts.opened_ns = host_clocks_now_ns();
	return true;
}

int oa_stream_open(const struct gpu_node *node, const struct oa_facts *facts,
		   struct oa_stream **ret_stream)
{
	struct oa_stream *stream = calloc(1, sizeof(*stream));
	int error;

	if (!stream)
		return error_set(-ENOMEM, "OA: out of memory");
	stream->node = node;
	stream->facts = *facts;
	stream->buffer = malloc(BUFFER_BYTES);
	stream->fd = stream->buffer ? open_fd(node, &stream->facts) : -ENOMEM;
	if (stream->fd >= 0) {
		*ret_stream = stream;
		return 0;
	}
	error = set_refused(facts, stream->fd);
	free(stream->buffer);
	free(stream);
	return error;
}

void oa_stream_close(struct oa_stream *stream)
{
	if (!stream)
		return;
	if (stream->fd >= 0)
		close(stream->fd);
	free(stream->buffer);
	free(stream);
}

const struct oa_facts *oa_stream_facts(const struct oa_stream *stream)
{
	return &stream->facts;
}

struct oa_counts oa_stream_counted(const struct oa_stream *stream)
{
	return stream->counts;
}

/* ---- time ------------------------------------------------------------------------------------ */

static uint64_t host_ns(const struct oa_stream *stream, uint64_t time)
{
	return stream->offset_ns + oa_time_ns(stream->facts.clock_hz, time);
}

/* Compares the clocks: the newest report was written before now. */
static void compare_clocks(struct oa_stream *stream, uint64_t now_ns)
{
	const uint64_t found_ns = now_ns - oa_time_ns(stream->facts.clock_hz, stream->newest_time);
	const uint64_t slack_ns =
		stream->has_offset ? (now_ns - stream->offset_at_ns) / 1000000 * SLACK_PPM : 0;

	if (!stream->has_offset || found_ns < stream->offset_ns + slack_ns)
		stream->offset_ns = found_ns;
	else
		stream->offset_ns += slack_ns;
	stream->offset_at_ns = now_ns;
	stream->has_offset = true;
}

/* ---- reports --------------------------------------------------------------------------------- */

static uint64_t share(uint64_t took_ns, uint64_t part, uint64_t whole)
{
	if (!whole)
		return 0;
	return part < whole ? (uint64_t)((unsigned __int128)took_ns * part / whole) : took_ns;
}

static void fill_step(const struct oa_stream *stream, const struct oa_report *since,
		      struct oa_step *step)
{
	const struct oa_facts *facts = &stream->facts;
	const uint64_t eu_ticks = (uint64_t)since->ticks * facts->eu_count;
	const bool is_known = facts->layout->is_wired || !*facts->set;

	step->took_ns = oa_time_ns(facts->clock_hz, since->time);
	step->clock_hz =
		(uint64_t)((unsigned __int128)since->ticks * facts->clock_hz / since->time);
	step->has_busy = is_known && facts->layout->places[OA_BUSY].width != OA_ABSENT;
	step->has_eu = is_known && facts->eu_count &&
		       facts->layout->places[OA_EU_ACTIVE].width != OA_ABSENT;
	if (step->has_busy)
		step->busy_ns = share(step->took_ns, since->counters[OA_BUSY], since->ticks);
	if (step->has_eu) {
		step->eu_active_ns = share(step->took_ns, since->counters[OA_EU_ACTIVE], eu_ticks);
		step->eu_stalled_ns =
			share(step->took_ns, since->counters[OA_EU_STALLED], eu_ticks);
	}
	step->raw = since->raw;
	step->raw_count = *facts->set ? oa_raw_count(facts->layout) : 0;
}

/* Estimates the number of missing reports between two, from the time between them. */
static void count_lost(struct oa_stream *stream, uint64_t took_ns)
{
	const uint64_t periods = (took_ns + stream->facts.period_ns / 2) / stream->facts.period_ns;

	if (stream->is_after_loss)
		stream->counts.lost += periods > 2 ? periods - 1 : 1;
	stream->is_after_loss = false;
}

static void deliver_report(struct oa_stream *stream, const struct oa_report *report, uint64_t time,
			   oa_on_step on_step, void *context)
{
	const struct oa_layout *layout = stream->facts.layout;
	const struct oa_report since = oa_report_since(layout, &stream->before, report);
	const uint64_t took_ns = oa_time_ns(stream->facts.clock_hz, time - stream->before_time);
	struct oa_step step = {.end_ns = host_ns(stream, time)};

	/* reports of context switches come between those of the timer */
	if (stream->has_before && took_ns < stream->facts.period_ns / 4 * 3)
		return;
	count_lost(stream, took_ns);
	if (step.end_ns <= stream->emitted_ns)
		step.end_ns = stream->emitted_ns + 1;
	if (stream->has_before && took_ns < UNKNOWN_NS)
		fill_step(stream, &since, &step);
	on_step(context, &step);
	stream->emitted_ns = step.end_ns;
	stream->before = *report;
	stream->before_time = time;
	stream->has_before = true;
}

/* Updates the clock estimate with the newest report. */
static void follow(struct oa_stream *stream, size_t size)
{
	const struct oa_facts *facts = &stream->facts;
	const uint8_t *bytes;
	struct oa_report report;
	enum oa_next next;
	size_t at = 0;

	while ((next = facts->driver->next(facts->layout, stream->buffer, size, &at, &bytes))) {
		if (next != OA_NEXT_REPORT || !oa_report_read(facts->layout, bytes, &report))
			continue;
		if (stream->has_newest)
			stream->newest_time +=
				oa_report_since(facts->layout, &stream->newest, &report).time;
		stream->newest = report;
		stream->has_newest = true;
	}
}

static void begin_loss(struct oa_stream *stream)
{
	stream->counts.losses++;
	stream->is_after_loss = true;
}

static void take_reports(struct oa_stream *stream, size_t size, oa_on_step on_step, void *context)
{
	const struct oa_facts *facts = &stream->facts;
	const uint64_t now_ns = host_clocks_now_ns();
	struct oa_report report, last = stream->newest;
	uint64_t time = stream->newest_time;
	bool has_last = stream->has_newest;
	const uint8_t *bytes;
	enum oa_next next;
	size_t at = 0;

	follow(stream, size);
	if (stream->has_newest)
		compare_clocks(stream, now_ns);
	while ((next = facts->driver->next(facts->layout, stream->buffer, size, &at, &bytes))) {
		if (next == OA_NEXT_LOSS)
			begin_loss(stream);
		if (next != OA_NEXT_REPORT || !oa_report_read(facts->layout, bytes, &report))
			continue;
		time += has_last ? oa_report_since(facts->layout, &last, &report).time : 0;
		last = report;
		has_last = true;
		stream->counts.reports++;
		deliver_report(stream, &report, time, on_step, context);
	}
}

static void lose(struct oa_stream *stream)
{
	const struct oa_driver *driver = stream->facts.driver;
	const uint64_t status =
		driver->status ? driver->status(stream->node, stream->fd) : XE_OA_REPORT_LOST;

	if (status & (XE_OA_REPORT_LOST | XE_OA_BUFFER_OVERFLOW))
		begin_loss(stream);
	/* the previous report is no longer a valid base */
	if (status & XE_OA_COUNTER_OVERFLOW)
		stream->has_before = false;
}

void oa_stream_read(struct oa_stream *stream, oa_on_step on_step, void *context)
{
	if (!is_open(stream))
		return;
	for (int i = 0; i < MAX_READS; i++) {
		const ssize_t size = stream->node->read(stream->fd, stream->buffer, BUFFER_BYTES);

		if (size > 0)
			take_reports(stream, (size_t)size, on_step, context);
		else if (size < 0 && errno == EIO)
			lose(stream);
		else if (size == 0 || errno == EAGAIN)
			return;
		else if (errno != EINTR) {
			end_stream(stream);
			return;
		}
	}
}
