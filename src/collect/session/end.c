/* SPDX-License-Identifier: MIT
 *
 * collect/session/end.c - ends a recording
 *
 * Runs in:  the recorder; one thread
 * Gets:     a session that is over
 * Gives:    the last rows, and notes that need the whole recording
 * Owns:     nothing
 * Fails:    never; a failed write is in the result
 * Why:      Runtimes hold back data about finished commands, so each guest gets 500 ms to hand them
 *           over. Then the records left in the rings are read; for users with a quota this takes at
 *           most 1 s.
 */
#include "collect/session/private.h"

#include <stdio.h>
#include <time.h>

#include "collect/host_clocks.h"

static bool is_asked(const struct attached *attached)
{
	return attached->is_asked && attached_is_alive(attached) &&
	       !injected_has_given_last(attached->injected);
}

/* Counts living guests that were asked and have not answered yet. */
static size_t count_asked(const struct session *session)
{
	size_t count = 0;

	for (size_t i = 0; i < session->guests.count; i++)
		count += is_asked(&session->guests.all[i]);
	return count;
}

static void note_silent(struct session *session)
{
	char text[200];

	for (size_t i = 0; i < session->guests.count; i++) {
		const struct injected *injected = session->guests.all[i].injected;

		if (!is_asked(&session->guests.all[i]))
			continue;
		snprintf(text, sizeof(text),
			 "the last commands of process %u appear as unfinished: its runtime did "
			 "not deliver their times within %d ms of the recording's end",
			 injected->process->row.pid, ANSWER_NS / 1000000);
		recording_note(&session->recording, injected->kind.collector, COLLECTOR_PARTIAL,
			       injected->process->row.id, text);
	}
}

/* Asks all guests for data that their runtimes hold back, and reads all rings while it waits. A
 * guest that does not answer in time is noted. */
static void gather_last(struct session *session)
{
	static const struct timespec tick = {0, POLL_LEAST_NS};
	const uint64_t end_ns = host_clocks_now_ns() + ANSWER_NS;

	for (size_t i = 0; i < session->guests.count; i++)
		session->guests.all[i].is_asked =
			injected_ask_last(session->guests.all[i].injected);
	while (count_asked(session) && host_clocks_now_ns() < end_ns) {
		session_drain_collectors(session);
		user_quotas_begin_round(&session->shares);
		for (size_t i = 0; i < session->guests.count; i++)
			if (session->guests.all[i].injected->region.shared)
				session_drain_guest(session, &session->guests.all[i]);
		nanosleep(&tick, NULL);
	}
	note_silent(session);
}

/* Reads what the rings hold now. The rings of limited users are read for at most 1 s. */
static void drain_last(struct session *session)
{
	uint64_t end_ns = host_clocks_now_ns() + LAST_NS;
	bool has_more = true;

	for (size_t i = 0; i < session->guests.count; i++)
		if (session->guests.all[i].injected->region.shared &&
		    !session->guests.all[i].injected->round.is_frozen)
			injected_freeze(session->guests.all[i].injected);
	while (has_more) {
		has_more = false;
		user_quotas_begin_round(&session->shares);
		for (size_t i = 0; i < session->guests.count; i++) {
			struct attached *attached = &session->guests.all[i];
			uid_t uid = attached->injected->process->row.uid;

			if (!attached->injected->region.shared ||
			    (user_quotas_is_limited(&session->shares, uid) &&
			     host_clocks_now_ns() >= end_ns))
				continue;
			session_drain_guest(session, attached);
			has_more |= attached->injected->round.has_more;
		}
	}
}

static void keep_files(struct session *session)
{
	size_t failed = retained_files_finish(&session->recording.kept, session->options->archive);
	char text[128];

	if (!failed)
		return;
	snprintf(text, sizeof(text), "%zu files that were deleted or replaced could not be copied",
		 failed);
	session_note(session, COLLECTOR_PARTIAL, text);
}

static void call_on_end(struct session *session)
{
	const struct session_options *options = session->options;
	bool has_status = session->result->has_program && !session->child.pid;

	if (options->on_end)
		options->on_end(options->tick_context, session->writer, host_clocks_now_ns(),
				has_status ? &session->result->program_status : NULL);
}

void session_end_recording(struct session *session)
{
	uint64_t now_ns;

	/* Takes the hellos that have arrived. Then the sockets are closed, so that no guest waits
	 * for an answer. */
	now_ns = host_clocks_now_ns();
	while (!session_take_hellos(session) && host_clocks_now_ns() - now_ns < LAST_NS / 4)
		;
	session->foreign = session->attach.foreign;
	attach_close(&session->attach);
	enterings_end(&session->enterings, &session->recording, session->options);
	session_note_no_guest(session);
	session_note_missing(session);
	session->result->has_others = session_has_collectors(session);
	gather_last(session);
	for (size_t i = 0; i < session->guests.count; i++)
		session_stop_guest(&session->guests.all[i]);
	drain_last(session);
	session_close_collectors(session);
	for (size_t i = 0; i < session->guests.count; i++) {
		struct attached *attached = &session->guests.all[i];

		attached->dead |= !attached_is_alive(attached);
		/* A process counts once, with its last guest. */
		if (!attached->dead && attached->injected->pid != session->child.pid &&
		    attached->injected->process->references == 1)
			session->result->survivors++;
		session_end_guest(session, attached);
	}
	session->guests.count = 0;
	keep_files(session);
	session_note_refusals(session);
	/* other recorders need not wait for this one's end to read its last rows */
	feed_server_finish(&session->feed_server, session->writer, host_clocks_now_ns());
	host_clocks_read(session->writer, session->recording.tsc, &session->recording.last_tsc);
	now_ns = host_clocks_now_ns();
	/* other recorders write the rows of this time a little later */
	feeds_finish(&session->feeds, now_ns);
	session->result->processes += session->feeds.processes;
	feeds_close(&session->feeds);
	/* before the host gets its end, which a cut removes */
	call_on_end(session);
	recording_describe_host(&session->recording, session->times.begin_ns, now_ns);
}

void session_close_writer(struct session *session)
{
	struct trace_writer_stats stats = {0};
	int error;

	if (!session->writer)
		return;
	error = trace_writer_finish(session->writer, host_clocks_now_ns(), &stats);
	session->writer = NULL;
	session->result->rows = stats.rows;
	session->result->rows_lost = stats.rows_lost;
	session->result->bytes = stats.bytes;
	session->result->write_error = stats.error ? stats.error : error;
}
