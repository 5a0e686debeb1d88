/* SPDX-License-Identifier: MIT
 *
 * collect/feed/client.c - takes over rows of processes whose guests are attached to another
 * recorder
 *
 * Runs in:  the recorder
 * Gets:     trace files of other recorders of the same user, while they are written (untrusted)
 * Gives:    their rows about the wanted processes, with ids of this recording
 * Owns:     a connection and a copy for each other recorder
 * Fails:    never; a recorder that cannot be read is left, and a note says so
 * Why:      Only calls, commands and ranges are taken over, because only they come from guests.
 *           Samples and counters are this recorder's own. A row is copied about 1.3 s after it was
 *           recorded: when its segment has ended and was written.
 */
#include "collect/feed/client.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/feed/private.h"
#include "collect/host_clocks.h"
#include "collect/processes.h"
#include "trace/reader.h"

#define LOOK_NS     UINT64_C(1000000000)
#define FINISH_NS   UINT64_C(2000000000)
/* Time in which a recorder that was found names its guests, at the end of the recording. */
#define SEARCH_NS   UINT64_C(500000000)
/* After a recorder with a guest has ended: time in which others are looked for in each step. */
#define SEARCHED_NS UINT64_C(3000000000)
/* Gaps are older than this when they are reported: all recorders of the time are known. */
#define SETTLED_NS  UINT64_C(5000000000)
/* Interval of questions whether processes are still wanted. */
#define WANT_NS     UINT64_C(1000000000)
/* A command that was launched before a pause may end this much later. A guest that leaves has the
 * same time for its last answers. */
#define LAST_NS     UINT64_C(500000000)

/* ---- coverage -------------------------------------------------------------------------------- */

/* Our id of the process of an attachment; 0: it is not taken over. */
static uint32_t id_of(const struct taken_feed *feed, const struct feed_owned *owned)
{
	return trace_copy_id(feed->copy, EVENT_PROCESS, owned->process);
}

/* Calls that were under way when an attachment ended are missing. */
static uint64_t covered_until(const struct taken_feed *feed, const struct feed_owned *owned)
{
	const uint64_t until_ns = feed_source_until(&feed->source, owned);
	const uint64_t last_ns = owned->done_ns && !owned->is_over && owned->end_ns > FEED_LATE_NS
					 ? owned->end_ns - FEED_LATE_NS
					 : UINT64_MAX;

	return until_ns < last_ns ? until_ns : last_ns;
}

static void cover_attachment(struct taken_feed *feed, const struct feed_owned *owned)
{
	struct feeds *feeds = feed->feeds;
	const uint32_t process = id_of(feed, owned);
	uint64_t begin_ns = owned->begin_ns;

	if (!process || !begin_ns)
		return;
	if (begin_ns < feed->source.from_ns)
		begin_ns = feed->source.from_ns;
	if (begin_ns < feeds->begin_ns)
		begin_ns = feeds->begin_ns;
	coverage_add(&feeds->coverage, process, owned->guest, begin_ns, covered_until(feed, owned));
	if (owned->is_over)
		coverage_end(&feeds->coverage, process, owned->guest, owned->end_ns);
}

static void cover_feed(struct taken_feed *feed)
{
	for (size_t i = 0; feed->source.from_ns && i < feed->source.owned_count; i++)
		cover_attachment(feed, &feed->source.owned[i]);
}

/* Only processes that were taken over before need coverage. */
static void cover_own(struct feeds *feeds, const struct feed_owned *owned, uint64_t now_ns)
{
	if (owned->begin_ns && feed_identities_find(&feeds->identities, owned->process))
		coverage_add(&feeds->coverage, owned->process, owned->guest, owned->begin_ns,
			     now_ns);
}

static void cover_all(struct feeds *feeds, uint64_t now_ns)
{
	for (size_t i = 0; i < feeds->count; i++)
		cover_feed(feeds->all[i]);
	for (size_t i = 0; i < feeds->own_count; i++)
		cover_own(feeds, &feeds->own[i], now_ns);
}

static void report_gap(void *context, struct coverage_guest *guest, uint64_t begin_ns,
		       uint64_t end_ns)
{
	const struct trace_source source = {.source = TRACE_COPIED_SOURCE,
					    .clock = CLOCK_ID_MONOTONIC};
	const struct event_loss row = {.begin = begin_ns,
				       .end = end_ns,
				       .process = guest->process,
				       .kind = EVENT_PADDING,
				       .reason = LOSS_GAP,
				       .count = 1};
	struct feeds *feeds = context;
	struct event_process process = {0};
	char text[200];

	trace_writer_row(feeds->recording->writer, EVENT_LOSS, &source, &row);
	if (guest->is_noted)
		return;
	guest->is_noted = true;
	trace_writer_find_entity(feeds->recording->writer, EVENT_PROCESS, guest->process, &process);
	snprintf(text, sizeof(text),
		 "some calls of process %u may be missing: the recorder to which its guest was "
		 "attached ended, and for %.1f ms no other one is known to have had it",
		 process.pid, (double)(end_ns - begin_ns) / 1e6);
	recording_note(feeds->recording, "recorder", COLLECTOR_PARTIAL, guest->process, text);
}

/* The time up to which all recorders that are known have been read. */
static uint64_t read_until(const struct feeds *feeds, uint64_t now_ns)
{
	uint64_t all_ns = now_ns > SETTLED_NS ? now_ns - SETTLED_NS : 0;

	for (size_t i = 0; i < feeds->count; i++) {
		const struct feed_source *source = &feeds->all[i]->source;

		for (size_t j = 0; j < source->owned_count; j++) {
			const uint64_t until_ns = feed_source_until(source, &source->owned[j]);

			if (id_of(feeds->all[i], &source->owned[j]) && until_ns < all_ns &&
			    !(source->owned[j].done_ns && until_ns >= source->owned[j].end_ns))
				all_ns = until_ns;
		}
	}
	return all_ns;
}

void feeds_own(struct feeds *feeds, const struct feed_owned *owned)
{
	for (size_t i = 0; i < feeds->own_count; i++) {
		if (feeds->own[i].process != owned->process || feeds->own[i].guest != owned->guest)
			continue;
		if (!owned->done_ns) {
			feeds->own[i] = *owned;
			return;
		}
		cover_own(feeds, owned, owned->done_ns);
		coverage_end(&feeds->coverage, owned->process, owned->guest, owned->done_ns);
		feeds->own[i] = feeds->own[--feeds->own_count];
		return;
	}
	if (feeds->recording && !owned->done_ns &&
	    array_append(feeds->own, feeds->own_capacity, feeds->own_count, *owned))
		feeds->coverage.has_failed = true;
}

/* ---- copying --------------------------------------------------------------------------------- */

static void free_feed(struct taken_feed *feed)
{
	if (!feed)
		return;
	feed_source_close(&feed->source);
	trace_copy_free(feed->copy);
	hash_map_fini(&feed->threads);
	pair_map_fini(&feed->earlier);
	free(feed);
}

static bool is_connected(const struct feeds *feeds, unsigned int number)
{
	for (size_t i = 0; i < feeds->count; i++)
		if (feeds->all[i]->source.number == number)
			return true;
	return number == feeds->options.own_number;
}

static void add_feed(struct feeds *feeds, unsigned int number)
{
	struct trace_copy_options options = feed_copy_options;
	struct taken_feed *feed = calloc(1, sizeof(*feed));

	if (!feed)
		return;
	feed->feeds = feeds;
	feed->place = feeds->places;
	hash_map_init(&feed->threads);
	pair_map_init(&feed->earlier);
	options.context = feed;
	if (feed_source_open(&feed->source, feeds->options.uid, number) ||
	    trace_copy_new(feeds->recording->writer, &options, &feed->copy) ||
	    array_append(feeds->all, feeds->capacity, feeds->count, feed)) {
		free_feed(feed);
		error_clear();
		return;
	}
	feeds->places++;
}

static int copy_bytes(struct taken_feed *feed, const uint8_t *bytes, size_t size)
{
	struct trace_reader *reader;
	uint64_t skipped;
	int error = trace_reader_open_memory(bytes, size, &reader);

	if (error)
		return error;
	error = trace_copy_all(feed->copy, reader, &skipped);
	trace_reader_close(reader);
	return error;
}

/* Commands without a number are lost; how many is not known. */
static void lose_unnumbered(struct taken_feed *feed)
{
	if (feed->has_unnumbered)
		recording_lose(feed->feeds->recording, EVENT_PADDING, LOSS_GAP,
			       feed->feeds->begin_ns, host_clocks_now_ns(), 1);
	feed->has_unnumbered = false;
}

/* Copies some segments that have ended. False: there were none. */
static bool copy_some(struct taken_feed *feed)
{
	auto_free uint8_t *bytes = NULL;
	enum feed_part part;
	bool has_hole;
	size_t size;

	cover_feed(feed);
	part = feed_source_read(&feed->source, feed->feeds->begin_ns, &bytes, &size, &has_hole);
	if (part != FEED_ROWS)
		return part == FEED_LOOKING;
	if (has_hole)
		feed_note_gap(feed);
	if (copy_bytes(feed, bytes, size)) {
		error_clear();
		feed_note_gap(feed);
		feed->source.from_ns = feed->source.until_ns;
	}
	lose_unnumbered(feed);
	return true;
}

static void remove_feed(struct feeds *feeds, size_t index)
{
	free_feed(feeds->all[index]);
	feeds->all[index] = feeds->all[--feeds->count];
}

static void look_for_recorders(struct feeds *feeds, uint64_t now_ns)
{
	if (now_ns < feeds->next_look_ns)
		return;
	feeds->next_look_ns = now_ns < feeds->search_until_ns ? now_ns : now_ns + LOOK_NS;
	for (unsigned int number = 1; number <= FEED_NAMES; number++)
		if (!is_connected(feeds, number))
			add_feed(feeds, number);
}

void feeds_open(struct feeds *feeds, struct recording *recording,
		const struct feeds_options *options)
{
	*feeds = (struct feeds){.recording = recording,
				.options = *options,
				.begin_ns = host_clocks_now_ns(),
				.begin_time = recording_now(recording),
				.end_ns = UINT64_MAX,
				.end_time = UINT64_MAX};
	feed_identities_init(&feeds->identities);
	coverage_init(&feeds->coverage);
}

void feeds_close(struct feeds *feeds)
{
	while (feeds->count)
		remove_feed(feeds, feeds->count - 1);
	free(feeds->all);
	free(feeds->own);
	feed_identities_fini(&feeds->identities);
	coverage_fini(&feeds->coverage);
	*feeds = (struct feeds){0};
}

static void look_at_process(struct feeds *feeds, struct taken_process *process, uint64_t now_ns,
			    uint64_t time)
{
	const struct process *image = processes_find(feeds->recording->processes, process->pid);
	bool is_wanted;

	if (!image || !image->is_fed || image->row.id != process->id || image->has_ended)
		return;
	is_wanted = feeds->options.wants(feeds->options.context, &image->row);
	taken_process_want(process, is_wanted, time);
	processes_pause(feeds->recording->processes, process->pid, !is_wanted);
	if (!is_wanted)
		coverage_excuse(&feeds->coverage, process->id, now_ns - 2 * WANT_NS, now_ns);
}

/* A process may be wanted for a part of the time only. */
static void look_at_processes(struct feeds *feeds, uint64_t now_ns)
{
	const uint64_t time = recording_now(feeds->recording);

	if (now_ns < feeds->next_want_ns)
		return;
	feeds->next_want_ns = now_ns + WANT_NS;
	if (now_ns > feeds->begin_ns)
		feeds->last_time = (uint64_t)((double)(time - feeds->begin_time) * (double)LAST_NS /
					      (double)(now_ns - feeds->begin_ns));
	for (size_t i = 0; i < feeds->identities.count; i++)
		look_at_process(feeds, &feeds->identities.processes[i], now_ns, time);
	cover_all(feeds, now_ns);
	coverage_settle(&feeds->coverage, read_until(feeds, now_ns), report_gap, feeds);
}

/* The guest that a recorder has left looks for another one, which may be new. */
static void notice_partings(struct taken_feed *feed, uint64_t now_ns)
{
	const struct feed_source *source = &feed->source;

	if (feed->partings == source->partings && !(source->has_left && source->owned_count))
		return;
	feed->partings = feed->source.partings;
	feed->feeds->search_until_ns = now_ns + SEARCHED_NS;
	feed->feeds->next_look_ns = now_ns;
}

/* A recorder that has left has closed its file: its last segment has ended. */
void feeds_step(struct feeds *feeds, uint64_t now_ns)
{
	if (!feeds->recording)
		return;
	look_for_recorders(feeds, now_ns);
	for (size_t i = feeds->count; i-- > 0;) {
		struct taken_feed *feed = feeds->all[i];

		feed_source_listen(&feed->source);
		notice_partings(feed, now_ns);
		if (!copy_some(feed) && feed->source.has_left)
			remove_feed(feeds, i);
	}
	look_at_processes(feeds, now_ns);
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool is_attachment_wanted(const struct taken_feed *feed, const struct feed_owned *owned)
{
	const struct event_process process = {.pid = owned->pid, .uid = owned->uid};

	return id_of(feed, owned) ||
	       feed->feeds->options.wants(feed->feeds->options.context, &process);
}

/* Whether a recorder may still write rows of the time before end_ns. */
static bool is_behind(const struct taken_feed *feed, uint64_t end_ns)
{
	const struct feed_source *source = &feed->source;

	for (size_t i = 0; source->tail && !source->has_left && i < source->owned_count; i++) {
		const struct feed_owned *owned = &source->owned[i];
		const uint64_t last_ns =
			owned->done_ns && owned->end_ns < end_ns ? owned->end_ns : end_ns;

		if (owned->begin_ns < end_ns && feed_source_until(source, owned) < last_ns &&
		    last_ns > feed->feeds->begin_ns && is_attachment_wanted(feed, owned))
			return true;
	}
	return false;
}

static void note_behind(struct feeds *feeds, const struct taken_feed *feed)
{
	char text[200];

	snprintf(text, sizeof(text),
		 "the last rows of programs that process %d records are missing: that recorder did "
		 "not write them within 2 s",
		 (int)feed->source.pid);
	recording_note(feeds->recording, "recorder", COLLECTOR_PARTIAL, 0, text);
}

static bool is_alive(const struct feeds *feeds, uint32_t id)
{
	const struct taken_process *process = feed_identities_find(&feeds->identities, id);

	return process && (kill((pid_t)process->pid, 0) == 0 || errno == EPERM);
}

/* Whether calls of living processes are missing, which a recorder that is not known yet may have.
 */
static bool has_gap_at_end(const struct feeds *feeds, uint64_t end_ns)
{
	for (size_t i = 0; i < feeds->coverage.count; i++) {
		const struct coverage_guest *guest = &feeds->coverage.guests[i];

		if (guest->over_ns > end_ns && coverage_until(guest) < end_ns &&
		    is_alive(feeds, guest->process))
			return true;
	}
	return false;
}

/* One round of reading. False: there is nothing to wait for. */
static bool read_last(struct feeds *feeds, uint64_t end_ns, bool may_search)
{
	bool has_more;

	cover_all(feeds, end_ns);
	has_more = may_search && has_gap_at_end(feeds, end_ns);
	feeds->next_look_ns = has_more ? 0 : UINT64_MAX;
	look_for_recorders(feeds, host_clocks_now_ns());
	for (size_t i = 0; i < feeds->count; i++) {
		feed_source_listen(&feeds->all[i]->source);
		has_more |= copy_some(feeds->all[i]) || is_behind(feeds->all[i], end_ns);
	}
	return has_more;
}

void feeds_finish(struct feeds *feeds, uint64_t end_ns)
{
	static const struct timespec tick = {0, 50000000};
	const uint64_t begin_ns = host_clocks_now_ns();
	uint64_t now_ns = begin_ns;

	if (!feeds->recording)
		return;
	feeds->end_ns = end_ns;
	feeds->end_time = recording_now(feeds->recording);
	while (now_ns < begin_ns + FINISH_NS &&
	       read_last(feeds, end_ns, now_ns < begin_ns + SEARCH_NS)) {
		nanosleep(&tick, NULL);
		now_ns = host_clocks_now_ns();
	}
	for (size_t i = 0; i < feeds->count; i++)
		if (is_behind(feeds->all[i], end_ns))
			note_behind(feeds, feeds->all[i]);
	cover_all(feeds, end_ns);
	coverage_finish(&feeds->coverage, end_ns, report_gap, feeds);
}
