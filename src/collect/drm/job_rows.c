/* SPDX-License-Identifier: MIT
 *
 * collect/drm/job_rows.c - jobs of GPUs as rows of a recording
 *
 * Runs in:  the recorder
 * Gets:     jobs, of all processes   Gives: launches and executions, with their devices, queues, processes, threads
 * Owns:     the processes that are seen here alone
 * Fails:    without memory a job has no row; who is too many is counted
 * Why:      a driver knows buffers of commands and not what is in them. Where a runtime tells of its own commands, its
 *           process's jobs would be the same work once more, so that only those of others are written. A job may be
 *           handed to its ring before the one ahead of it has ended: it starts when that has.
 */
#include "collect/drm/job_rows.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/devices.h"
#include "collect/processes.h"
#include "event/event.h"

enum {
	RINGS_MOST = 256,
	QUEUES_MOST = 1024,
	KEY_BYTES = 160,
	/* Guests count commands anew with each attachment, in the highest byte: this one is never theirs alone. */
	CORRELATION_SHIFT = 56
};
#define CORRELATION_BASE (UINT64_C(0xff) << CORRELATION_SHIFT)

struct job_rows {
	struct recording *recording;
	const struct cards *cards;
	struct processes others; /* who is not recorded */
	struct identities rings; /* "DEVICE RING": index, and 1 */
	uint64_t done_ns[RINGS_MOST];
	uint32_t rings_count;
	struct identities queues; /* "PROCESS DEVICE RING" */
	uint32_t queues_count;
	uint64_t last_correlation;
	struct job_rows_counts counts;
};

struct job_rows *job_rows_new(struct recording *recording, const struct cards *cards)
{
	struct job_rows *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return NULL;
	rows->recording = recording;
	rows->cards = cards;
	processes_init(&rows->others, recording);
	identities_init(&rows->rings);
	identities_init(&rows->queues);
	return rows;
}

void job_rows_free(struct job_rows *rows)
{
	if (!rows)
		return;
	processes_fini(&rows->others);
	identities_fini(&rows->rings);
	identities_fini(&rows->queues);
	free(rows);
}

/* ---- whose, where ------------------------------------------------------------------------------ */

/* A fence does not say on which device it is: it is the card's, where its driver has one alone. */
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
	*ret_table = &rows->others;
	process = processes_find(&rows->others, job->tgid);
	return process ? process : processes_begin(&rows->others, job->tgid, job->queued_ns);
}

/* Index of its ring; RINGS_MOST: there are too many. */
static uint32_t ring_of(struct job_rows *rows, uint32_t device, const struct job *job)
{
	char key[KEY_BYTES];
	uint32_t ring;

	snprintf(key, sizeof(key), "%u %s", device, job->ring);
	ring = identities_find(&rows->rings, key);
	if (ring)
		return ring - 1;
	if (rows->rings_count < RINGS_MOST)
		identities_remember(&rows->rings, key, ++rows->rings_count);
	return rows->rings_count < RINGS_MOST ? rows->rings_count - 1 : RINGS_MOST;
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

	recording->kept_bytes += IDENTITY_BYTES + THING_BYTES;
	trace_writer_thing(recording->writer, EVENT_QUEUE, &row);
	return row.id;
}

/* 0: there are too many. */
static uint32_t queue_of(struct job_rows *rows, const struct job *job, uint32_t process,
			 uint32_t device)
{
	char key[KEY_BYTES];
	uint32_t id;

	snprintf(key, sizeof(key), "%u %u %s", process, device, job->ring);
	id = identities_find(&rows->queues, key);
	if (id || rows->queues_count == QUEUES_MOST)
		return id;
	rows->queues_count++;
	id = describe_queue(rows, job, process, device);
	identities_remember(&rows->queues, key, id);
	return id;
}

/* ---- rows -------------------------------------------------------------------------------------- */

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

/* When the ring has come to it; 0: nobody knows. */
static uint64_t start_of(struct job_rows *rows, const struct job *job, uint32_t device)
{
	const uint32_t ring = ring_of(rows, device, job);
	uint64_t start = job->run_ns;

	if (ring == RINGS_MOST || !job->done_ns)
		return start;
	if (start && start < rows->done_ns[ring])
		start = rows->done_ns[ring];
	if (job->done_ns > rows->done_ns[ring])
		rows->done_ns[ring] = job->done_ns;
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
	return process_thread_describe(table, process, thread);
}

void job_rows_put(struct job_rows *rows, const struct job *job)
{
	struct event_execution execution = {.correlation = 0};
	struct processes *table;
	struct process *process;
	uint32_t device, thread;
	uint64_t start_ns;

	if (!job->queued_ns || !job->tgid) {
		rows->counts.ownerless++;
		return;
	}
	device = device_of(rows, job);
	start_ns = start_of(rows, job, device);
	process = process_of(rows, job, &table);
	if (!process)
		return;
	thread = describe_thread(job, table, process);
	if (devices_has_user(rows->recording, device, process->row.id)) {
		rows->counts.told++;
		return;
	}
	execution.process = process->row.id;
	execution.queue = queue_of(rows, job, process->row.id, device);
	if (!execution.queue) {
		rows->counts.crowded++;
		return;
	}
	execution.correlation = CORRELATION_BASE | ++rows->last_correlation;
	put_launch(rows, job, thread, &execution);
	put_execution(rows, job, start_ns, &execution);
}

/* Nobody tells of their ends, and their numbers are used again. */
static void see_ends(struct job_rows *rows, uint64_t now_ns)
{
	size_t cursor = 0;
	uint64_t pid, value;

	while (hash_map_next(&rows->others.by_pid, &cursor, &pid, &value))
		if (!((const struct process *)(uintptr_t)value)->has_ended && kill((pid_t)pid, 0) &&
		    errno == ESRCH)
			processes_end(&rows->others, (uint32_t)pid, now_ns);
}

void job_rows_each_second(struct job_rows *rows, uint64_t now_ns)
{
	see_ends(rows, now_ns);
	processes_forget(&rows->others, now_ns);
}

const struct job_rows_counts *job_rows_counted(const struct job_rows *rows)
{
	return &rows->counts;
}
