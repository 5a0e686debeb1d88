/* SPDX-License-Identifier: MIT
 *
 * collect/session/notes.c - notes about refusals and about programs without a recorded call
 *
 * Runs in:  the recorder; one thread
 * Gets:     refusals, and facts about the program
 * Gives:    notes in the trace, the note of the result
 * Owns:     nothing
 * Fails:    never
 * Why:      The first refusal of each kind is noted, and their number at the end. A program whose
 *           guest is refused 1000 times per second must not fill the trace with notes.
 */
#include "collect/session/private.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "collect/host_clocks.h"
#include "collect/proc.h"
#include "collect/unrecorded.h"

static const char late_text[] = "a program is not recorded: it had ended, or had stopped waiting, "
				"when the recorder read its request";

/* A guest that attaches later than this after the start of the recording is noted. */
#define LATE_NS UINT64_C(100000000)

bool session_collects_first(const struct session *session)
{
	return collector_is_chosen(collectors[0], session->options);
}

void session_note(struct session *session, uint32_t state, const char *text)
{
	recording_note(&session->recording, collectors[0]->name, state, 0, text);
	if (!session->result->note[0])
		snprintf(session->result->note, sizeof(session->result->note), "%s", text);
}

/* Notes that the program cannot load a guest. Its children, or the program after an exec, may have
 * been recorded. */
static void note_program(struct session *session)
{
	const char *name = session->options->command ? session->options->command[0] : NULL;
	const char *why = name ? program_kind_text(program_kind_of(name, false)) : NULL;
	char text[512];

	if (!why || session->child.has_guest)
		return;
	snprintf(text, sizeof(text), "%s calls of '%.200s' itself are not recorded: %s",
		 collectors[0]->way->runtime, name, why);
	session_note(session, session->result->processes ? COLLECTOR_PARTIAL : COLLECTOR_REFUSED,
		     text);
}

void session_refuse(struct session *session, enum refusal refusal, const char *text)
{
	if (session->refused[refusal]++ == 0)
		session_note(session, COLLECTOR_PARTIAL, text);
}

void session_note_refusals(struct session *session)
{
	uint64_t count = 0;
	char text[128];

	for (int i = 0; i < REFUSALS; i++)
		count += session->refused[i];
	if (count < 2)
		return;
	snprintf(text, sizeof(text), "%llu attempts of programs to be recorded were refused",
		 (unsigned long long)count);
	recording_note(&session->recording, collectors[0]->name, COLLECTOR_PARTIAL, 0, text);
}

void session_refuse_for_descriptors(struct session *session)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "the recorder ran out of file descriptors (processes attached: %zu); raise its "
		 "hard limit (ulimit -Hn)",
		 session->guests.count);
	session_refuse(session, REFUSED_DESCRIPTORS, text);
}

void session_refuse_late(struct session *session)
{
	session_refuse(session, REFUSED_LATE, late_text);
}

static void refuse_many(struct session *session, enum refusal refusal, uint64_t *count,
			const char *text)
{
	for (; *count; --*count)
		session_refuse(session, refusal, text);
}

void session_note_turned_away(struct session *session)
{
	struct attach *attach = &session->attach;

	for (; attach->turned_away; attach->turned_away--)
		session_refuse_for_descriptors(session);
	refuse_many(session, REFUSED_LATE, &attach->late, late_text);
	refuse_many(session, REFUSED_SILENT, &attach->evicted,
		    "connections without a request were closed to make room for others");
}

void session_note_gap(struct session *session, struct injected *injected)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "events of process %u are missing for the time in which it had lost its "
		 "connection to the recorder",
		 injected->process->row.pid);
	injected->notes.id = recording_note(&session->recording, injected->kind.collector,
					    COLLECTOR_PARTIAL, injected->process->row.id, text);
}

/* Whether a process was running when the recording started. */
static bool was_running(const struct session *session, const struct event_process *process)
{
	const uint64_t ticks_per_s = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec boot;
	uint64_t boot_ns;

	if (!process->start_ticks || clock_gettime(CLOCK_BOOTTIME, &boot) < 0)
		return false;
	boot_ns = (uint64_t)boot.tv_sec * SECOND_NS + (uint64_t)boot.tv_nsec;
	return (process->start_ticks + 1) * (SECOND_NS / ticks_per_s) +
		       (host_clocks_now_ns() - session->times.begin_ns) <=
	       boot_ns;
}

void session_note_joined(struct session *session, const struct injected *injected)
{
	const struct event_process *process = &injected->process->row;
	const uint64_t late_ns = process->guest_begin_ns - session->times.begin_ns;
	char text[200];

	if (late_ns < LATE_NS || !was_running(session, process))
		return;
	snprintf(text, sizeof(text),
		 "calls of process %u (%s) are known from %.1f ms on, when its guest had found the "
		 "recorder. Earlier work of its devices is unknown",
		 process->pid, injected->name, (double)late_ns / 1e6);
	recording_note(&session->recording, injected->kind.collector, COLLECTOR_PARTIAL,
		       process->id, text);
}

void session_look_at_running(struct session *session)
{
	const struct running *running = &session->running;

	if (!session_collects_first(session) || session->result->processes ||
	    session->feeds.processes)
		return;
	for (size_t i = 0; i < running->count && i < EXPLAINED_MAX; i++) {
		const uint32_t pid = (uint32_t)running->processes[i].pid;

		if (proc_is_alive(running->processes[i].fd, pid))
			unrecorded_explain(pid, collectors[0]->way->why_unrecorded,
					   session->unrecorded[i], sizeof(session->unrecorded[i]));
	}
}

/* For a process that has ended, the reason is that of the last look at it. */
static void note_unrecorded_running(struct session *session)
{
	session_look_at_running(session);
	for (size_t i = 0; i < session->running.count && i < EXPLAINED_MAX; i++)
		if (session->unrecorded[i][0] ||
		    unrecorded_explain((uint32_t)session->running.processes[i].pid,
				       collectors[0]->way->why_unrecorded, session->unrecorded[i],
				       sizeof(session->unrecorded[i])))
			session_note(session, COLLECTOR_REFUSED, session->unrecorded[i]);
}

/* Explains why the program has no recorded call. */
static void note_unrecorded_program(struct session *session)
{
	const struct program_user *user = &session->options->user;
	char text[500];

	if (session->child.is_filtered) {
		snprintf(text, sizeof(text), "process %d (%.100s) %s",
			 (int)session->child.begun_pid, session->options->command[0],
			 unrecorded_filtered);
		session_note(session, COLLECTOR_REFUSED, text);
	}
	if (session->child.obstacle) {
		snprintf(text, sizeof(text), "process %d (%.100s) %s",
			 (int)session->child.begun_pid, session->options->command[0],
			 session->child.obstacle);
		session_note(session, COLLECTOR_REFUSED, text);
	}
	if (!session->foreign.pid)
		return;
	snprintf(text, sizeof(text),
		 "process %d runs as user %u, and this recording takes programs of user %u only. "
		 "As root, duet record --user NAME starts the program as that user, and duet "
		 "record -a takes the programs of all users",
		 (int)session->foreign.pid, (unsigned)session->foreign.uid,
		 (unsigned)(user->set ? user->uid : geteuid()));
	session_note(session, COLLECTOR_REFUSED, text);
}

/* Notes daemons of the program, which are still running when the recording ends. */
static void note_left(struct session *session)
{
	char *text = session->result->left;
	struct unrecorded_left left;

	if (session->child.pid || !session->child.begun_pid)
		return;
	unrecorded_find_left(session->child.begun_pid, session->child.mark, &left);
	if (!left.count)
		return;
	snprintf(text, sizeof(session->result->left),
		 "the recording ended with the program, but processes that it started still run: "
		 "%s; duet record -p %u records them",
		 left.names, left.first_pid);
	if (left.has_guest || !session->result->processes)
		session_note(session,
			     session->result->processes ? COLLECTOR_PARTIAL : COLLECTOR_REFUSED,
			     text);
}

/* Notes programs that a recording of all programs (-a) has missed because they have no guest. */
static void note_without_guest(struct session *session)
{
	char *text = session->result->without_guest;
	struct unrecorded_left found = {0};
	const struct guest_way *way = NULL;

	for (size_t i = 0; i < collectors_count && !found.count; i++) {
		way = collectors[i]->way;
		if (way && way->library && collector_is_chosen(collectors[i], session->options))
			unrecorded_find_users(way->library, &found);
	}
	if (!found.count)
		return;
	snprintf(text, sizeof(session->result->without_guest),
		 "%u %s %s without duet's guest: %s; to record calls, start the program with duet "
		 "record -- PROGRAM, or anew after duet install --system",
		 found.count, found.count == 1 ? "process uses" : "processes use", way->runtime,
		 found.names);
	session_note(session, COLLECTOR_REFUSED, text);
}

void session_note_no_guest(struct session *session)
{
	const bool is_empty = !session->result->processes && !session->feeds.processes;

	if (!session_collects_first(session))
		return;
	note_program(session);
	if (is_empty && session->options->pids_count)
		note_unrecorded_running(session);
	if (is_empty && session->child.begun_pid)
		note_unrecorded_program(session);
	if (is_empty && session->options->any)
		note_without_guest(session);
	note_left(session);
}
