/* SPDX-License-Identifier: MIT
 *
 * agent/recorder.c - the child process that records
 *
 * Runs in:  a child of the agent, one session per process
 * Gets:     a configuration
 * Gives:    a ring in the spool, and a file per segment that is cut out of it
 * Owns:     the spool, the processes' tables
 * Fails:    with an exit status, and the reason in the status; a segment that cannot be written is
 *           counted and the recording goes on
 * Why:      a process of its own gives up its rights and frees all its memory at its end. The agent
 *           starts a new one with all rights after a crash, for a new configuration, and when
 *           tables that only grow have reached the limit
 */
#include "agent/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/metrics.h"
#include "agent/processes.h"
#include "agent/spool.h"
#include "agent/user.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/number.h"
#include "event/event.h"
#include "trace/tail.h"
#include "trace/writer.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
	COPIED_BYTES = 4 << 20, /* per tick; takes some 4 ms */
	LOCK_WAIT_S = 15,       /* for a recorder that still ends */
	FORGET_TICKS = 100,
	HOST_ID = 1 /* the machine's; a recording has one */
};

struct recorder {
	const struct agent_settings *settings; /* borrowed */
	struct agent_status *status;           /* borrowed */
	struct agent_seen *seen;               /* borrowed */
	struct spool *spool;                   /* owned */
	struct agent_processes processes;      /* owned */
	struct agent_user user;
	bool has_entered;              /* has become the user */
	char *ring;                    /* owned; path */
	bool is_saving_left;           /* the ring is that of a killed recorder */
	struct trace_cutting *cutting; /* owned; a segment is being copied */
	struct trace_cut next;         /* start of the next cut */
	uint64_t not_before_ns;        /* a failed cut is tried again then */
	uint64_t cut_bytes;            /* bytes of the writer at the last cut */
	uint64_t next_second_ns, ticks;
	struct trace_writer_stats counted; /* counts of this writer that the status includes */
};

static void note_error(struct recorder *recorder)
{
	agent_errors_add(&recorder->status->recorder_errors, error_text());
	error_clear();
}

/* ---- status ---------------------------------------------------------------------------------- */

static void show_spool(struct recorder *recorder)
{
	const struct spool *spool = recorder->spool;
	const struct spool_counts *counts = &spool->counts;
	const struct agent_spool_state state = {.bytes = spool->bytes,
						.files = spool->files_count,
						.ring_bytes = spool_ring_bytes(spool),
						.next_sequence = spool->next_sequence,
						.added = counts->added,
						.added_bytes = counts->added_bytes,
						.dropped = counts->dropped,
						.dropped_bytes = counts->dropped_bytes,
						.dropped_full = counts->dropped_full,
						.skipped = counts->skipped,
						.skipped_ns = counts->skipped_ns,
						.salvaged = counts->salvaged,
						.killed = counts->killed,
						.killed_ns = counts->killed_ns,
						.rows_lost = counts->rows_lost,
						.ring_end = spool_ring_end(spool),
						.start_real_ns = spool->start_real_ns};

	recorder->status->spool_state = state;
}

static void count_rows(struct recorder *recorder, const struct trace_writer_stats *stats)
{
	STATUS_ADD(recorder->status->counts.rows, stats->rows - recorder->counted.rows);
	recorder->spool->counts.rows_lost += stats->rows_lost - recorder->counted.rows_lost;
	recorder->counted = *stats;
}

/* ---- a ring that was left -------------------------------------------------------------------- */

/* is_copied: into a new file; otherwise the ring itself is made to become the file, which needs no
 * disk space but has the ring's size with a hole. */
static int save_ring(struct recorder *recorder, uint64_t cut_ns, const char *path, bool is_copied)
{
	struct trace_tail *tail = NULL;
	auto_close int out = -1;
	uint64_t bytes;
	int fd = open(recorder->ring, (is_copied ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW);
	int error = fd < 0 ? -errno : trace_tail_new(fd, &tail);

	if (!error)
		error = trace_tail_update(tail);
	out = error || !is_copied ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (!error && is_copied)
		error = out < 0 ? -errno : trace_tail_copy(tail, cut_ns, out, &bytes);
	if (!error && !is_copied)
		error = trace_tail_trim(tail, cut_ns);
	if (tail)
		trace_tail_free(tail);
	return error && error != -ENODATA ? error_set(error, "'%s': save its last segments: %s",
						      recorder->ring, strerror(-error))
					  : error;
}

static int add_ring(struct recorder *recorder, uint64_t cut_ns, bool is_copied)
{
	const uint64_t bytes = is_copied ? spool_ring_bytes(recorder->spool) : 0;
	auto_free char *path = spool_begin(recorder->spool, bytes);
	int error = path ? save_ring(recorder, cut_ns, path, is_copied)
			 : error_set(-ENOMEM, "spool: out of memory");

	return error ? error
		     : spool_commit(recorder->spool,
				    &(struct spool_content){.cut_ns = SPOOL_ALL_CUT,
							    .is_salvaged = recorder->is_saving_left,
							    .is_ring = !is_copied});
}

/* Makes a file of what the ring has and no file yet. The newest recording is worth more than the
 * oldest one, but not more than a full disk leaves. The ring becomes the file where a copy would
 * exceed the limit. Not all file systems can do that. */
static void save_rest(struct recorder *recorder, uint64_t cut_ns)
{
	int error = add_ring(recorder, cut_ns, spool_has_room_for_copy(recorder->spool));

	if (error == -EOPNOTSUPP) {
		error_clear();
		error = add_ring(recorder, cut_ns, true);
	}
	while (error && spool_retry(recorder->spool, error)) {
		error_clear();
		error = add_ring(recorder, cut_ns, true);
	}
	if (error == -ENOSPC || error == -EDQUOT) {
		error_clear();
		error = add_ring(recorder, cut_ns, false);
	}
	if (error && error != -ENODATA) {
		spool_retry(recorder->spool, error);
		spool_skip(recorder->spool, 0, SPOOL_ALL_CUT);
		note_error(recorder);
	}
	unlink(recorder->ring);
}

static void save_left_ring(struct recorder *recorder)
{
	recorder->is_saving_left = spool_count_killed(recorder->spool);
	if (recorder->is_saving_left)
		save_rest(recorder, recorder->spool->cut_ns);
	else
		unlink(recorder->ring);
	recorder->is_saving_left = false;
	spool_note_ring(recorder->spool);
}

/* ---- cuts ------------------------------------------------------------------------------------ */

/* The ring keeps the present segment and the one before it, or half of the disk's share. */
static uint64_t ring_limit(const struct agent_settings *settings)
{
	const uint64_t wanted = AGENT_RING_SEGMENTS * 2 * settings->segment_bytes;
	const uint64_t share = settings->max_disk_bytes / 2;

	return settings->max_disk_bytes && share < wanted ? share : wanted;
}

/* A quarter of a small ring is due too, so that the ring still has a segment when it is copied. */
static uint64_t due_bytes(const struct agent_settings *settings)
{
	return smaller(settings->segment_bytes, ring_limit(settings) / 4);
}

static bool is_due(const struct recorder *recorder, const struct trace_writer_stats *stats,
		   uint64_t now_ns)
{
	return now_ns >= recorder->not_before_ns &&
	       (now_ns - recorder->next.from_ns >= recorder->settings->segment_ns ||
		stats->bytes - recorder->cut_bytes >= due_bytes(recorder->settings));
}

/* Numbers the file that the next cut makes. Without the mark it is a recording like others. */
static void mark_segment(const struct recorder *recorder, struct trace_writer *writer)
{
	struct event_host host;

	if (!trace_writer_find_entity(writer, EVENT_HOST, HOST_ID, &host) ||
	    host.segment == recorder->spool->next_sequence)
		return;
	host.segment = (uint32_t)recorder->spool->next_sequence;
	if (trace_writer_entity(writer, EVENT_HOST, &host))
		error_clear();
}

/* The time up to now is in a file, or given up. */
static void begin_segment(struct recorder *recorder, const struct trace_cut *cut, uint64_t now_ns,
			  uint64_t bytes)
{
	recorder->next = (struct trace_cut){.from_ns = cut ? cut->to_ns : now_ns,
					    .first_segment = cut ? cut->last_segment + 1 : 0};
	recorder->cut_bytes = bytes;
	spool_note_cut(recorder->spool, recorder->next.from_ns);
	show_spool(recorder);
}

/* On a full disk the next tick tries again, with the oldest file dropped. If no file is left, the
 * ring keeps the time for later attempts as long as it can. */
static void fail_cut(struct recorder *recorder, int error, uint64_t now_ns, uint64_t bytes)
{
	recorder->cutting = NULL;
	if (error == -EAGAIN) {
		spool_retry(recorder->spool, error);
		error_clear();
		return;
	}
	note_error(recorder);
	if (spool_retry(recorder->spool, error))
		return;
	recorder->not_before_ns = now_ns + recorder->settings->segment_ns / 8;
	if (now_ns - recorder->next.from_ns < AGENT_RING_SEGMENTS * recorder->settings->segment_ns)
		return;
	spool_skip(recorder->spool, now_ns - recorder->next.from_ns, now_ns);
	begin_segment(recorder, NULL, now_ns, bytes);
}

static void start_cut(struct recorder *recorder, struct trace_writer *writer, uint64_t now_ns,
		      uint64_t bytes)
{
	auto_free char *path = spool_begin(recorder->spool, bytes - recorder->cut_bytes);
	int error =
		path ? trace_cut_start(writer, now_ns, path, &recorder->next, &recorder->cutting)
		     : error_set(-ENOMEM, "spool: out of memory");

	if (error)
		fail_cut(recorder, error, now_ns, bytes);
}

static void continue_cut(struct recorder *recorder, uint64_t now_ns, uint64_t bytes)
{
	struct trace_cut cut;
	int result = trace_cut_step(recorder->cutting, COPIED_BYTES, &cut);

	if (!result)
		return;
	recorder->cutting = NULL;
	/* the ring was full, and dropped segments before this cut began */
	if (result > 0 && cut.from_ns > recorder->next.from_ns)
		spool_skip(recorder->spool, cut.from_ns - recorder->next.from_ns, cut.from_ns);
	if (result > 0)
		result =
			spool_commit(recorder->spool, &(struct spool_content){.cut_ns = cut.to_ns});
	if (result)
		fail_cut(recorder, result, now_ns, bytes);
	else
		begin_segment(recorder, &cut, now_ns, bytes);
}

/* ---- ticks ----------------------------------------------------------------------------------- */

/* The collectors are open now, so the rights to open them are not needed any more. */
static bool enter_user(struct recorder *recorder)
{
	int error;

	recorder->has_entered = true;
	/* A collector may have given up this right already; the ring then stays root's, and is
	 * read. The folder is the user's, who could have put a link there. */
	if (recorder->user.is_set)
		(void)!fchownat(recorder->spool->folder, SPOOL_RING, recorder->user.uid,
				recorder->user.gid, AT_SYMLINK_NOFOLLOW);
	error = agent_user_enter(&recorder->user);
	/* The kernel clears it when the user changes. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (error)
		note_error(recorder);
	return error == 0;
}

static void do_each_second(struct recorder *recorder, uint64_t now_ns)
{
	recorder->next_second_ns = now_ns + SECOND_NS;
	spool_beat(recorder->spool);
	show_spool(recorder);
	if (++recorder->ticks % FORGET_TICKS == 0) {
		spool_trim(recorder->spool);
		agent_processes_forget(&recorder->processes);
	}
}

static bool on_tick(void *context, struct trace_writer *writer, uint64_t now_ns)
{
	struct recorder *recorder = context;
	struct trace_writer_stats stats;

	if (!recorder->has_entered && !enter_user(recorder))
		return true;
	trace_writer_stats(writer, &stats);
	count_rows(recorder, &stats);
	if (!recorder->next.from_ns)
		begin_segment(recorder, NULL, now_ns, 0);
	if (recorder->cutting)
		continue_cut(recorder, now_ns, stats.bytes);
	else if (is_due(recorder, &stats, now_ns))
		start_cut(recorder, writer, now_ns, stats.bytes);
	if (!recorder->cutting)
		mark_segment(recorder, writer);
	if (now_ns >= recorder->next_second_ns)
		do_each_second(recorder, now_ns);
	STATUS_SET(recorder->status->beat_ns, now_ns);
	STATUS_SET(recorder->status->is_ready, 1);
	return getppid() == 1 && recorder->status->pid != 1;
}

/* ---- the process ----------------------------------------------------------------------------- */

static void on_warning(void *context, const char *text)
{
	struct recorder *recorder = context;

	agent_errors_add(&recorder->status->recorder_errors, text);
}

/* The agent prints it within a second. */
static void on_wait(void *context, int pid)
{
	struct recorder *recorder = context;
	char text[AGENT_ERROR_TEXT];

	snprintf(text, sizeof(text), "spool '%.160s': waiting for the recorder with pid %d to end",
		 recorder->settings->spool, pid);
	agent_errors_add(&recorder->status->recorder_errors, text);
}

static int open_recorder(struct recorder *recorder, const struct agent_setup *setup)
{
	const struct agent_settings *settings = recorder->settings;
	const struct spool_options spool = {.max_bytes = settings->max_disk_bytes,
					    .max_age_ns = settings->max_age_ns,
					    .ring_bytes = ring_limit(settings),
					    .on_wait = on_wait,
					    .context = recorder};
	int error = settings->user ? agent_user_find(settings->user, &recorder->user) : 0;

	recorder->user.keeps_events = session_collects(&setup->session, "cpu");
	if (!error)
		error = spool_open(settings->spool, &spool, LOCK_WAIT_S * SECOND_NS,
				   &recorder->spool);
	if (!error)
		error = agent_processes_init(&recorder->processes, settings, recorder->status,
					     recorder->seen);
	if (error)
		return error;
	recorder->ring = spool_ring_path(recorder->spool);
	if (!recorder->ring)
		return error_set(-ENOMEM, "out of memory");
	save_left_ring(recorder);
	show_spool(recorder);
	if (recorder->user.is_set)
		error = spool_give(recorder->spool, recorder->user.uid, recorder->user.gid);
	return error ? error : agent_user_prepare(&recorder->user);
}

static int record(struct recorder *recorder, const struct agent_setup *setup)
{
	const struct agent_settings *settings = recorder->settings;
	struct session_options options = setup->session;
	struct session_result result;
	int exec_error, error;

	options.output = recorder->ring;
	options.writer.is_ring = true;
	options.writer.max_bytes = ring_limit(settings);
	options.writer.keep_ns = AGENT_RING_SEGMENTS * settings->segment_ns;
	if (metrics_is_wanted(setup)) {
		options.writer.flush_ns = METRICS_FLUSH_NS;
		options.writer.segment_ns = METRICS_SEGMENT_NS;
	}
	options.any = true;
	options.duration_ns = 0;
	options.command = NULL;
	options.archive = NULL;
	options.on_tick = on_tick;
	options.tick_context = recorder;
	options.wants_process = agent_processes_want;
	options.describe_process = agent_processes_describe;
	options.process_context = &recorder->processes;
	options.on_warning = on_warning;
	options.warning_context = recorder;
	error = session_run(&options, &result, &exec_error);
	if (error)
		return error;
	count_rows(recorder, &(struct trace_writer_stats){.rows = result.rows,
							  .rows_lost = result.rows_lost});
	save_rest(recorder, recorder->next.from_ns);
	return 0;
}

static void close_recorder(struct recorder *recorder)
{
	agent_processes_fini(&recorder->processes);
	if (recorder->spool)
		show_spool(recorder);
	spool_close(recorder->spool);
	free(recorder->ring);
}

int recorder_run(const struct agent_setup *setup, struct agent_status *status,
		 struct agent_seen *seen)
{
	struct recorder recorder = {.settings = &setup->settings, .status = status, .seen = seen};
	int error = open_recorder(&recorder, setup);

	if (!error)
		error = record(&recorder, setup);
	if (error)
		note_error(&recorder);
	close_recorder(&recorder);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
