/* SPDX-License-Identifier: MIT
 *
 * collect/drm/job_rows.c - writes jobs of GPUs as rows of a recording
 *
 * Runs in:  the recorder
 * Gets:     jobs, of all processes
 * Gives:    launches and executions, with their devices, queues, processes, threads
 * Owns:     rings and queues
 * Fails:    a job has no row when memory runs out; jobs above the limit are counted and written as
 *           lost
 * Why:      A driver knows command buffers but not their contents. If a guest records the runtime
 *           of a process, rows of the process's jobs would count the same work twice, so only jobs
 *           of other processes are written. A job may be handed to its ring before the previous job
 *           has ended; it starts when the previous one has ended. Ring names are not unique:
 *           nouveau and panthor have a scheduler per queue, all with one name.
 */
#include "collect/drm/job_rows.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "collect/devices.h"
#include "collect/host_clocks.h"
#include "collect/processes.h"
#include "event/event.h"

enum {
	MAX_DEFERRED = 256,
	DEFERRED_NS = 1000000000,
	MAX_RINGS =
		1024, /* the ring that was idle longest is replaced; no job waits for it any more */
	/* The highest byte of a correlation id. Guests put the number of their attachment there. */
	CORRELATION_SHIFT = 56
};
#define CORRELATION_BASE (UINT64_C(0xff) << CORRELATION_SHIFT)

/* Key of a ring or queue. process 0: the ring as a whole. It has no padding, because it is compared
 * as bytes. */
struct place {
	uint32_t process, device;
	uint64_t scheduler;
	char ring[DRM_NAME_BYTES];
};

struct ring {
	struct place place;
	uint64_t done_ns; /* end of its last job */
};

struct queue {
	struct place place;
	uint32_t id, pid;
};

/* A job whose driver call may be reported later, when the call ends. */
struct deferred {
	struct job job;
	uint64_t start_ns, since_ns;
	uint32_t device;
};

struct job_rows {
	struct recording *recording;
	const struct cards *cards;
	struct ring rings[MAX_RINGS];
	size_t rings_count;
	struct hash_map by_ring; /* key_of() -> index into rings */
	struct queue queues[MAX_JOB_QUEUES];
	size_t queues_count;
	struct hash_map by_queue; /* key_of() -> index into queues */
	struct deferred deferred[MAX_DEFERRED];
	size_t deferred_count;
	uint64_t last_correlation;
	struct job_rows_counts counts;
	struct job_rows_lost reported; /* losses that are written already */
	uint64_t reported_crowded;
};

struct job_rows *job_rows_new(struct recording *recording, const struct cards *cards)
{
	struct job_rows *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return NULL;
	rows->recording = recording;
	rows->cards = cards;
	return rows;
}

void job_rows_free(struct job_rows *rows)
{
	if (!rows)
		return;
	hash_map_fini(&rows->by_ring);
	hash_map_fini(&rows->by_queue);
	free(rows);
}

/* ---- processes, devices, queues -------------------------------------------------------------- */

/* A fence does not name its device. If its driver has only one card, it is that card. */
static const struct card *card_of(const struct job_rows *rows, const struct job *job)
{
	const struct card *found = cards_match(rows->cards, job->device, job->driver);

	for (const struct card *card = found; !*job->device && card; card++) {
		if (card == rows->cards->all + rows->cards->count)
			break;
		if (card != found && strcmp(card->driver, job->driver) == 0)
			return NULL;
	}
	return found && found->id ? found : NULL;
}

static uint32_t device_of(struct job_rows *rows, const struct job *job)
{
	const struct card *card = card_of(rows, job);
	const struct device_facts facts = {.address = *job->device ? job->device : job->driver,
					   .name = job->driver,
					   .driver = job->driver};

	return card ? card->id : devices_meet(rows->recording, &facts);
}

static struct process *process_of(struct job_rows *rows, const struct job *job,
				  struct processes **ret_table)
{
	struct process *process = processes_find(rows->recording->processes, job->tgid);

	*ret_table = rows->recording->processes;
	if (process)
		return process;
	*ret_table = rows->recording->others;
	process = processes_find(rows->recording->others, job->tgid);
	return process ? process
		       : processes_begin(rows->recording->others, job->tgid, job->queued_ns);
}

static struct place place_of(uint32_t process, uint32_t device, const struct job *job)
{
	struct place place = {.process = process, .device = device, .scheduler = job->scheduler};

	snprintf(place.ring, sizeof(place.ring), "%s", job->ring);
	return place;
}

/* FNV-1a. If two entries have one key, the later one is found, so the caller compares the
 * places. */
static uint64_t key_of(const struct place *place)
{
	const unsigned char *bytes = (const unsigned char *)place;
	uint64_t key = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < sizeof(*place); i++)
		key = (key ^ bytes[i]) * UINT64_C(0x100000001b3);
	return key;
}

static bool is_same(const struct place *a, const struct place *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static void forget(struct hash_map *map, const struct place *place, size_t index)
{
	const uint64_t key = key_of(place);

	if (hash_map_get(map, key, UINT64_MAX) == index)
		hash_map_remove(map, key, NULL);
}

/* Returns a free entry for a ring. */
static struct ring *make_ring(struct job_rows *rows)
{
	struct ring *oldest = rows->rings;

	if (rows->rings_count < MAX_RINGS)
		return &rows->rings[rows->rings_count++];
	for (size_t i = 1; i < MAX_RINGS; i++)
		if (rows->rings[i].done_ns < oldest->done_ns)
			oldest = &rows->rings[i];
	forget(&rows->by_ring, &oldest->place, (size_t)(oldest - rows->rings));
	return oldest;
}

static struct ring *ring_of(struct job_rows *rows, uint32_t device, const struct job *job)
{
	const struct place place = place_of(0, device, job);
	const uint64_t index = hash_map_get(&rows->by_ring, key_of(&place), UINT64_MAX);
	struct ring *ring;

	if (index != UINT64_MAX && is_same(&rows->rings[index].place, &place))
		return &rows->rings[index];
	ring = make_ring(rows);
	*ring = (struct ring){.place = place};
	/* Without memory, the ring is not found again, and each job gets a new entry. */
	hash_map_put(&rows->by_ring, key_of(&place), (uint64_t)(ring - rows->rings));
	return ring;
}

static uint32_t describe_queue(struct job_rows *rows, const struct job *job, uint32_t process,
			       uint32_t device)
{
	struct recording *recording = rows->recording;
	const struct event_queue row = {
		.id = ++recording->last_queue,
		.process = process,
		.device = device,
		.clock = CLOCK_ID_MONOTONIC,
		.flags = QUEUE_TIMED,
		.begin_ns = job->queued_ns,
		.name_string = recording_string(recording, job->ring),
	};

	recording->kept_bytes += IDENTITY_BYTES + ENTITY_BYTES;
	trace_writer_entity(recording->writer, EVENT_QUEUE, &row);
	return row.id;
}

/* Returns 0 if there are too many. */
static uint32_t queue_of(struct job_rows *rows, const struct job *job, uint32_t process,
			 uint32_t device)
{
	const struct place place = place_of(process, device, job);
	const uint64_t index = hash_map_get(&rows->by_queue, key_of(&place), UINT64_MAX);
	struct queue *queue;

	if (index != UINT64_MAX && is_same(&rows->queues[index].place, &place))
		return rows->queues[index].id;
	if (rows->queues_count == MAX_JOB_QUEUES ||
	    hash_map_put(&rows->by_queue, key_of(&place), rows->queues_count))
		return 0;
	queue = &rows->queues[rows->queues_count++];
	*queue = (struct queue){place, describe_queue(rows, job, process, device), job->tgid};
	return queue->id;
}

/* Ends a queue. The last queue moves into its entry. */
static void drop_queue(struct job_rows *rows, size_t index, uint64_t now_ns)
{
	const size_t last = --rows->queues_count;
	struct queue *queue = &rows->queues[index];

	trace_writer_end_entity(rows->recording->writer, EVENT_QUEUE, queue->id, now_ns);
	forget(&rows->by_queue, &queue->place, index);
	if (index == last)
		return;
	forget(&rows->by_queue, &rows->queues[last].place, last);
	*queue = rows->queues[last];
	/* Without memory, the queue is not found again and is described once more. */
	hash_map_put(&rows->by_queue, key_of(&queue->place), index);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void put_launch(struct job_rows *rows, const struct job *job, uint32_t thread,
		       const struct event_execution *execution)
{
	const struct trace_source source = {.source = thread, .clock = CLOCK_ID_MONOTONIC};
	struct event_launch row = {
		.enter = job->queued_ns,
		.exit = job->queued_ns,
		.thread = thread,
		.queue = execution->queue,
		.correlation = execution->correlation,
		.command = COMMAND_BATCH,
	};
	char name[DRM_NAME_BYTES + 8];

	snprintf(name, sizeof(name), "%s %s", job->driver,
		 job->flags & JOB_IS_FENCE ? "fence" : "job");
	row.function_string = recording_string(rows->recording, name);
	trace_writer_row(rows->recording->writer, EVENT_LAUNCH, &source, &row);
}

/* Returns the time at which the ring reached the job; 0: unknown. */
static uint64_t start_of(struct job_rows *rows, const struct job *job, uint32_t device)
{
	struct ring *ring = ring_of(rows, device, job);
	uint64_t start = job->run_ns;

	if (!job->done_ns)
		return start;
	if (start && start < ring->done_ns)
		start = ring->done_ns;
	if (job->done_ns > ring->done_ns)
		ring->done_ns = job->done_ns;
	return start < job->done_ns ? start : job->done_ns;
}

static void put_execution(struct job_rows *rows, const struct job *job, uint64_t start_ns,
			  struct event_execution *row)
{
	const struct trace_source source = {.source = row->queue,
					    .clock = CLOCK_ID_MONOTONIC,
					    .seen_clock = CLOCK_ID_MONOTONIC};

	row->queued = job->queued_ns;
	row->submitted = job->run_ns;
	row->started = start_ns;
	row->ended = row->seen = job->done_ns;
	row->valid = EXECUTION_QUEUED | (job->run_ns ? EXECUTION_SUBMITTED : 0) |
		     (start_ns ? EXECUTION_STARTED : 0) | (job->done_ns ? EXECUTION_ENDED : 0);
	trace_writer_row(rows->recording->writer, EVENT_EXECUTION, &source, row);
}

static uint32_t describe_thread(const struct job *job, struct processes *table,
				struct process *process)
{
	struct process_thread *thread = process_thread(table, process, job->tid, job->queued_ns);

	if (!thread)
		return 0;
	if (!*thread->name)
		process_thread_rename(table, process, thread, job->thread, job->queued_ns);
	thread->has_launched = true;
	return process_thread_describe(table, process, thread);
}

/* Whether submissions of this job's driver are recorded. */
static bool is_expected(const struct job_rows *rows, const struct job *job)
{
	return rows->recording->submissions.catch_up &&
	       (strcmp(job->driver, "xe") == 0 || strcmp(job->driver, "i915") == 0);
}

/* False: the call that queued the job may still be reported. */
static bool put_job(struct job_rows *rows, const struct deferred *deferred, bool is_last)
{
	const struct job *job = &deferred->job;
	const bool is_fence = job->flags & JOB_IS_FENCE;
	struct event_execution execution = {.correlation = 0};
	struct processes *table;
	struct process *process = process_of(rows, job, &table);
	uint32_t thread;

	if (!process)
		return true;
	thread = describe_thread(job, table, process);
	execution.process = process->row.id;
	if (devices_has_user(rows->recording, deferred->device, execution.process)) {
		rows->counts.has_runtime++;
		return true;
	}
	execution.correlation = submissions_take(&rows->recording->submissions, execution.process,
						 job->tid, job->queued_ns, is_fence);
	if (!execution.correlation && !is_last && is_expected(rows, job))
		return false;
	/* a call queues several jobs, of which only one is the work */
	if (execution.correlation && is_fence) {
		rows->counts.has_runtime++;
		return true;
	}
	execution.queue = queue_of(rows, job, execution.process, deferred->device);
	if (!execution.queue) {
		rows->counts.crowded++;
		return true;
	}
	if (!execution.correlation) {
		execution.correlation = CORRELATION_BASE | ++rows->last_correlation;
		put_launch(rows, job, thread, &execution);
	}
	put_execution(rows, job, deferred->start_ns, &execution);
	return true;
}

void job_rows_put(struct job_rows *rows, const struct job *job)
{
	struct deferred deferred = {.job = *job};

	if (!job->queued_ns || !job->tgid) {
		rows->counts.ownerless++;
		return;
	}
	deferred.device = device_of(rows, job);
	deferred.start_ns = start_of(rows, job, deferred.device);
	if (put_job(rows, &deferred, rows->deferred_count == MAX_DEFERRED))
		return;
	deferred.since_ns = host_clocks_now_ns();
	rows->deferred[rows->deferred_count++] = deferred;
}

void job_rows_retry(struct job_rows *rows, bool is_last)
{
	const uint64_t now_ns = host_clocks_now_ns();
	size_t kept = 0;

	for (size_t i = 0; i < rows->deferred_count; i++) {
		const struct deferred *deferred = &rows->deferred[i];

		if (!put_job(rows, deferred, is_last || now_ns - deferred->since_ns > DEFERRED_NS))
			rows->deferred[kept++] = *deferred;
	}
	rows->deferred_count = kept;
}

/* Ends processes that have gone: their ends are not reported, and their pids are reused. */
static void see_ends(struct job_rows *rows, uint64_t now_ns)
{
	size_t cursor = 0;
	uint64_t pid, value;

	while (hash_map_next(&rows->recording->others->by_pid, &cursor, &pid, &value))
		if (!((const struct process *)(uintptr_t)value)->has_ended && kill((pid_t)pid, 0) &&
		    errno == ESRCH)
			processes_end(rows->recording->others, (uint32_t)pid, now_ns);
}

static bool is_there(const struct job_rows *rows, const struct queue *queue)
{
	const struct processes *const tables[] = {rows->recording->processes,
						  rows->recording->others};

	for (size_t i = 0; i < ARRAY_COUNT(tables); i++) {
		const struct process *process = processes_find(tables[i], queue->pid);

		if (process && process->row.id == queue->place.process)
			return true;
	}
	return false;
}

void job_rows_each_second(struct job_rows *rows, uint64_t now_ns)
{
	see_ends(rows, now_ns);
	processes_forget(rows->recording->others, now_ns);
	for (size_t i = rows->queues_count; i-- > 0;)
		if (!is_there(rows, &rows->queues[i]))
			drop_queue(rows, i, now_ns);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void put_loss(struct job_rows *rows, uint32_t kind, uint32_t reason, uint64_t count,
		     uint64_t *inout_reported, uint64_t now_ns)
{
	recording_lose_more(rows->recording, kind, reason, now_ns, now_ns, count, inout_reported);
}

void job_rows_put_lost(struct job_rows *rows, const struct job_rows_lost *lost, uint64_t now_ns)
{
	put_loss(rows, EVENT_EXECUTION, LOSS_RING_FULL, lost->records, &rows->reported.records,
		 now_ns);
	/* The launch of such a job was written. */
	put_loss(rows, EVENT_EXECUTION, LOSS_TRACKING, lost->unended, &rows->reported.unended,
		 now_ns);
	put_loss(rows, EVENT_LAUNCH, LOSS_TRACKING, rows->counts.crowded, &rows->reported_crowded,
		 now_ns);
}

const struct job_rows_counts *job_rows_counted(const struct job_rows *rows)
{
	return &rows->counts;
}
