/* SPDX-License-Identifier: MIT
 *
 * collect/feed/rows.c - the rows of another recorder that are ours, with ids of this recording
 *
 * Runs in:  the recorder
 * Gets:     rows of another recorder of the same user (untrusted)
 * Gives:    the same rows with ids of this recording, those that it is to contain
 * Owns:     nothing
 * Fails:    a command without a number is left out, and a note says so
 * Why:      A process keeps its row and its threads, whichever recorder its guest is attached to.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/devices.h"
#include "collect/feed/private.h"
#include "collect/host_clocks.h"
#include "collect/processes.h"

enum { EARLIER_MAX = 1 << 20 };

/* A guest says that it records up to this time after the answer to its hello. */
#define LATE_NS UINT64_C(100000000)

/* The rows that come from guests. */
#define FEED_KINDS                                                                               \
	(1u << EVENT_API | 1u << EVENT_LAUNCH | 1u << EVENT_DEPENDENCY | 1u << EVENT_EXECUTION | \
	 1u << EVENT_RANGE | 1u << EVENT_INSTRUCTION_SAMPLE | 1u << EVENT_LOSS)

/* ---- ids of this recording ------------------------------------------------------------------- */

static bool is_wanted(const struct taken_feed *feed, const struct event_process *process)
{
	return process->guest_begin_ns && hash_map_find(&feed->source.processes, process->id) &&
	       feed->feeds->options.wants(feed->feeds->options.context, process);
}

static bool has_entity(void *context, enum event_kind kind, const void *row)
{
	const struct taken_feed *feed = context;

	switch (kind) {
	case EVENT_PROCESS:
		return is_wanted(feed, row);
	case EVENT_COLLECTOR:
		return ((const struct event_collector *)row)->process != 0;
	case EVENT_THREAD:
	case EVENT_CONTEXT:
	case EVENT_QUEUE:
	case EVENT_CODE:
		return true;
	default: /* if another row refers to it */
		return false;
	}
}

static void hint_process(const struct taken_feed *feed, const struct event_process *row)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "the calls of process %u are taken over from the recorder in process %d, to which "
		 "its guest is attached",
		 row->pid, (int)feed->source.pid);
	recording_hint(feed->feeds->recording, text);
}

const struct feed_owned *feeds_find_own(const struct feeds *feeds, uint32_t process)
{
	for (size_t i = 0; i < feeds->own_count; i++)
		if (feeds->own[i].process == process)
			return &feeds->own[i];
	return NULL;
}

/* The guest may have attached here before the other recorder's rows of it were read. */
static const struct process *find_taken_back(const struct taken_feed *feed,
					     const struct event_process *row)
{
	const struct process *process = processes_find(feed->feeds->recording->processes, row->pid);

	return process && !row->ended && process->row.start_ticks == row->start_ticks &&
			       feeds_find_own(feed->feeds, process->row.id)
		       ? process
		       : NULL;
}

/* When the calls of a process begin in the other recording. */
static uint64_t begin_of(const struct taken_feed *feed, uint32_t source_id, uint64_t otherwise)
{
	uint64_t begin_ns = UINT64_MAX;

	for (size_t i = 0; i < feed->source.owned_count; i++) {
		const struct feed_owned *owned = &feed->source.owned[i];

		if (owned->process == source_id && owned->begin_ns && owned->begin_ns < begin_ns)
			begin_ns = owned->begin_ns;
	}
	if (begin_ns == UINT64_MAX)
		begin_ns = otherwise;
	return begin_ns < feed->feeds->begin_ns ? feed->feeds->begin_ns : begin_ns;
}

/* The other recorder follows the process since known_ns, before its guest attached there: a third
 * recorder had it, and our recording lacks these calls. */
static void miss_start(struct taken_feed *feed, uint32_t source_id, uint32_t id, uint64_t known_ns)
{
	for (size_t i = 0; i < feed->source.owned_count; i++)
		if (feed->source.owned[i].process == source_id)
			coverage_add(&feed->feeds->coverage, id, feed->source.owned[i].guest,
				     known_ns, known_ns + 1);
}

/* True: it is new. */
static bool adopt_process(struct taken_feed *feed, struct event_process *row)
{
	struct recording *recording = feed->feeds->recording;
	const uint32_t source_id = row->id;
	const uint64_t known_ns = row->guest_begin_ns < feed->feeds->begin_ns
					  ? feed->feeds->begin_ns
					  : row->guest_begin_ns;
	uint64_t begin_ns = begin_of(feed, row->id, row->guest_begin_ns);
	struct taken_process *taken;
	struct process *process;
	bool is_new;

	row->host = recording->host;
	process_adopt(recording->processes, row->pid, row);
	is_new = !feed_identities_find(&feed->feeds->identities, row->id);
	taken = feed_identities_add(&feed->feeds->identities, row->id, row->pid, row->uid);
	if (is_new && begin_ns > known_ns + LATE_NS) {
		miss_start(feed, source_id, row->id, known_ns);
		begin_ns = known_ns;
	}
	if (taken && !taken->begin_ns)
		taken->begin_ns = begin_ns;
	feed->feeds->options.on_process(feed->feeds->options.context, row);
	process = processes_find(recording->processes, row->pid);
	if (process) {
		process->is_fed = true;
		process->row.labels_string = row->labels_string;
		/* a guest that attaches here later inherits it */
		process->row.guest_begin_ns = taken ? taken->begin_ns : begin_ns;
	}
	return is_new;
}

static uint32_t find_process(struct taken_feed *feed, struct event_process *row)
{
	const struct process *own;

	/* a thread or queue of another process refers to it */
	if (!is_wanted(feed, row))
		return 0;
	own = find_taken_back(feed, row);
	if (own) {
		feed_identities_add(&feed->feeds->identities, own->row.id, row->pid, row->uid);
		return own->row.id;
	}
	if (adopt_process(feed, row))
		feed->feeds->processes++;
	hint_process(feed, row);
	return row->id;
}

static uint32_t find_thread(struct taken_feed *feed, struct event_thread *row)
{
	struct recording *recording = feed->feeds->recording;
	const struct event_process *process;
	struct event_process found;

	if (!trace_writer_find_entity(recording->writer, EVENT_PROCESS, row->process, &found))
		return 0;
	process = &found;
	process_thread_adopt(recording->processes, process->pid, row);
	hash_map_put(&feed->threads, row->id, row->process);
	return row->id;
}

static uint32_t find_device(const struct taken_feed *feed, const struct event_device *row)
{
	struct recording *recording = feed->feeds->recording;
	char key[512];
	uint32_t id;

	snprintf(key, sizeof(key), "%s", trace_writer_text(recording->writer, row->key_string));
	id = devices_find(recording, key);
	if (id) {
		devices_take_sketch(recording, id);
		return id;
	}
	id = ++recording->last_device;
	devices_remember(recording, key, id);
	return id;
}

static uint32_t find_clock(struct recording *recording, const struct event_clock *row)
{
	return row->type == CLOCK_TYPE_DEVICE ? ++recording->last_clock : row->id;
}

/* Host clocks have the same ids in all traces. */
static uint32_t find_id(void *context, enum event_kind kind, void *row)
{
	struct taken_feed *feed = context;
	struct recording *recording = feed->feeds->recording;

	switch (kind) {
	case EVENT_HOST:
		return recording->host;
	case EVENT_PROCESS:
		return find_process(feed, row);
	case EVENT_THREAD:
		return find_thread(feed, row);
	case EVENT_DEVICE:
		return find_device(feed, row);
	case EVENT_CONTEXT:
		return ++recording->last_context;
	case EVENT_QUEUE:
		return ++recording->last_queue;
	case EVENT_CLOCK:
		return find_clock(recording, row);
	case EVENT_CODE:
		return ++recording->last_code;
	case EVENT_COLLECTOR:
		return ++recording->last_collector;
	default:
		return 0;
	}
}

/* The labels are our own recording's, if it has some. The account must not expect earlier calls.
 * The end of the other recording is not the end of the process. */
static void update_process(const struct taken_feed *feed, struct event_process *row)
{
	struct process *process = processes_find(feed->feeds->recording->processes, row->pid);
	const struct taken_process *taken = feed_identities_find(&feed->feeds->identities, row->id);

	if (process && process->row.id == row->id) {
		if (process->row.labels_string)
			row->labels_string = process->row.labels_string;
		/* the pid's next image has a row of its own */
		process->is_fed &= !row->ended;
	}
	if (taken && taken->begin_ns)
		row->guest_begin_ns = taken->begin_ns;
	if (!row->ended)
		row->end_ns = 0;
	feed->feeds->options.complete(feed->feeds->options.context, row);
}

/* A recording that ends gives all its threads an end. */
static void update_thread(const struct taken_feed *feed, struct event_thread *row)
{
	struct event_process process;
	char path[64];

	if (!row->end_ns || !trace_writer_find_entity(feed->feeds->recording->writer, EVENT_PROCESS,
						      row->process, &process))
		return;
	snprintf(path, sizeof(path), "/proc/%u/task/%u", process.pid, row->tid);
	if (access(path, F_OK) == 0)
		row->end_ns = 0;
}

static bool update(void *context, enum event_kind kind, void *row)
{
	const struct taken_feed *feed = context;

	switch (kind) {
	case EVENT_PROCESS: /* our own row has more */
		if (feeds_find_own(feed->feeds, ((const struct event_process *)row)->id))
			return false;
		update_process(feed, row);
		return true;
	case EVENT_THREAD:
		update_thread(feed, row);
		return true;
	case EVENT_CLOCK:
		return ((const struct event_clock *)row)->type == CLOCK_TYPE_DEVICE;
	default:
		return kind != EVENT_HOST;
	}
}

/* A call that waits for a queue has the queue's id as its argument. */
static void translate_wait(const struct taken_feed *feed, struct event_api *row)
{
	if (row->type == API_TYPE_WAIT && row->argument && row->argument <= UINT32_MAX)
		row->argument = trace_copy_id(feed->copy, EVENT_QUEUE, (uint32_t)row->argument);
}

/* Whether a time of the guests' clock lies in our recording. */
static bool is_inside(const struct taken_feed *feed, uint64_t time)
{
	return time >= feed->feeds->begin_time && time <= feed->feeds->end_time;
}

void feed_note_gap(struct taken_feed *feed)
{
	struct feeds *feeds = feed->feeds;
	char text[200];

	if (feed->has_gap)
		return;
	feed->has_gap = true;
	snprintf(text, sizeof(text),
		 "some rows of programs that process %d records are missing: a part of its file "
		 "was dropped or could not be read",
		 (int)feed->source.pid);
	recording_note(feeds->recording, "recorder", COLLECTOR_PARTIAL, 0, text);
}

static uint32_t process_of(const struct taken_feed *feed, uint32_t thread)
{
	return (uint32_t)hash_map_get(&feed->threads, thread, 0);
}

/* False: our recording was not to contain the process then. */
static bool is_recorded(const struct taken_feed *feed, uint32_t process, uint64_t time)
{
	return is_inside(feed, time) &&
	       !feed_identities_is_paused(&feed->feeds->identities, process, time, 0);
}

/* A process may be taken over from several recorders, one after the other. 0 stays: no command.
 * False: it has no number. */
static bool take_correlation(struct taken_feed *feed, uint32_t process, uint64_t *inout_correlation)
{
	if (!*inout_correlation ||
	    feed_identities_translate(&feed->feeds->identities, process, feed->place,
				      *inout_correlation, inout_correlation))
		return true;
	feed_note_gap(feed);
	feed->has_unnumbered = true;
	return false;
}

static bool has_launch(struct taken_feed *feed, struct event_launch *row)
{
	const uint32_t process = process_of(feed, row->thread);

	if (!take_correlation(feed, process, &row->correlation))
		return false;
	if (is_recorded(feed, process, row->enter))
		return true;
	if (row->correlation && feed->earlier.count < EARLIER_MAX)
		pair_map_put(&feed->earlier, process, row->correlation, 1);
	return false;
}

static bool has_execution(struct taken_feed *feed, struct event_execution *row)
{
	return take_correlation(feed, row->process, &row->correlation) &&
	       is_inside(feed, row->seen) &&
	       !feed_identities_is_paused(&feed->feeds->identities, row->process, row->seen,
					  feed->feeds->last_time) &&
	       pair_map_remove(&feed->earlier, row->process, row->correlation) == PAIR_MAP_NONE;
}

static bool has_range(const struct taken_feed *feed, const struct event_range *row)
{
	return row->end >= feed->feeds->begin_time && row->begin <= feed->feeds->end_time &&
	       !feed_identities_is_paused(&feed->feeds->identities, row->process, row->end, 0);
}

static bool has_call(const struct taken_feed *feed, struct event_api *row)
{
	translate_wait(feed, row);
	return is_recorded(feed, process_of(feed, row->thread), row->begin);
}

/* Samples have the device's times, so the present counts: they are 1.3 s old. */
static bool has_sample(struct taken_feed *feed, struct event_instruction_sample *row)
{
	return take_correlation(feed, row->process, &row->correlation) &&
	       !feed_identities_is_paused(&feed->feeds->identities, row->process,
					  recording_now(feed->feeds->recording), 0);
}

/* Without a process it is a loss of the other recording. */
static bool has_loss(const struct taken_feed *feed, struct event_loss *row)
{
	const uint64_t begin_ns = feed->feeds->begin_ns, end_ns = feed->feeds->end_ns;

	if (!row->process || row->end < begin_ns || row->begin > end_ns)
		return false;
	if (row->begin < begin_ns)
		row->begin = begin_ns;
	if (row->end > end_ns)
		row->end = end_ns;
	return true;
}

static bool has_row(void *context, enum event_kind kind, void *row)
{
	struct event_dependency *dependency = row;
	struct taken_feed *feed = context;

	switch (kind) {
	case EVENT_LAUNCH:
		return has_launch(feed, row);
	case EVENT_EXECUTION:
		return has_execution(feed, row);
	case EVENT_RANGE:
		return has_range(feed, row);
	case EVENT_DEPENDENCY:
		return take_correlation(feed, dependency->process, &dependency->correlation) &&
		       is_recorded(feed, dependency->process, dependency->time);
	case EVENT_API:
		return has_call(feed, row);
	case EVENT_INSTRUCTION_SAMPLE:
		return has_sample(feed, row);
	case EVENT_LOSS:
		return has_loss(feed, row);
	default:
		return true;
	}
}

const struct trace_copy_options feed_copy_options = {.has_entity = has_entity,
						     .find_id = find_id,
						     .update = update,
						     .has_row = has_row,
						     .only_own = true,
						     .kinds = FEED_KINDS};
