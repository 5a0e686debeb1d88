/* SPDX-License-Identifier: MIT
 *
 * collect/session/collectors.c - calls the collectors of a session: open, attach, drain, close
 *
 * Runs in:  the recorder; one thread
 * Gets:     the registry, the options of the session
 * Gives:    open collectors (session.states), guests in the environment
 * Owns:     nothing; the states belong to the session
 * Fails:    a collector that cannot run is noted and skipped
 * Why:      This file has all loops over the collectors of a session, so that the other files of
 *           session/ do not depend on which collectors exist. The exception is the registry's first
 *           collector (opencl), which notes.c and session.c use directly.
 */
#include "collect/session/private.h"
#include "collect/processes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* The collector itself notes why its guest cannot be loaded. The reason of the first collector is
 * also part of the session's result. */
static int arm_guest(struct session *session, size_t index, bool *ret_armed)
{
	struct session_result *result = session->result;
	const char *why = NULL;
	int error = collectors[index]->way->arm(&session->recording, session->options,
						&session->environment, ret_armed, &why);

	if (!error && why && !*ret_armed && !result->note[0])
		snprintf(result->note, sizeof(result->note), "%s", why);
	return error;
}

int session_arm_guests(struct session *session, bool *ret_armed)
{
	int error = 0;

	*ret_armed = false;
	for (size_t i = 0; i < collectors_count && !error; i++) {
		bool is_armed = false;

		if (collectors[i]->way && collector_is_chosen(collectors[i], session->options))
			error = arm_guest(session, i, &is_armed);
		*ret_armed |= is_armed;
	}
	return error;
}

/* Notes the error and goes on without the collector. */
static void refuse_collector(struct session *session, size_t index)
{
	recording_note(&session->recording, collectors[index]->name, COLLECTOR_REFUSED, 0,
		       error_text());
	recording_warn(&session->recording, error_text());
	error_clear();
	collectors[index]->work->close(session->states[index]);
	session->states[index] = NULL;
}

int session_check(const struct session_options *options)
{
	int error = 0;

	for (size_t i = 0; i < collectors_count && !error; i++)
		if (collectors[i]->work && collectors[i]->work->check)
			error = collectors[i]->work->check(options);
	return error;
}

void session_open_collectors(struct session *session)
{
	for (size_t i = 0; i < collectors_count; i++) {
		const struct collector *collector = collectors[i];

		if (!collector->work)
			continue;
		if (collector->work->open(&session->recording, session->options,
					  &session->states[i]))
			refuse_collector(session, i);
		else if (session->states[i])
			recording_note(&session->recording, collector->name, COLLECTOR_AVAILABLE, 0,
				       "");
	}
}

bool session_has_other_collectors(const struct session_options *options)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (collectors[i]->work && collector_is_chosen(collectors[i], options))
			return true;
	return false;
}

bool session_has_guests(const struct session_options *options)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (collectors[i]->way && collector_is_chosen(collectors[i], options))
			return true;
	return false;
}

bool session_has_collectors(const struct session *session)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (session->states[i])
			return true;
	return false;
}

void session_watch_program(void *context, pid_t pid)
{
	struct session *session = context;

	for (size_t i = 0; i < collectors_count; i++)
		if (session->states[i] && collectors[i]->work->watch(session->states[i], pid))
			refuse_collector(session, i);
}

static void attach_running(struct session *session, size_t index)
{
	const struct running *running = &session->running;

	for (size_t i = 0; i < running->count && session->states[index]; i++) {
		int error = collectors[index]->work->attach(session->states[index],
							    running->processes[i].pid,
							    running->processes[i].fd);

		if (error && error != -ESRCH)
			refuse_collector(session, index);
		else if (error)
			error_clear();
	}
}

void session_attach_guest(struct session *session, pid_t pid, int pid_fd)
{
	/* Another collector may know the process already. */
	if (!session->options->any ||
	    !processes_begin_attaching(session->recording.processes, (uint32_t)pid))
		return;
	for (size_t i = 0; i < collectors_count; i++)
		if (session->states[i] && collectors[i]->work->attach &&
		    collectors[i]->work->attach(session->states[i], pid, pid_fd))
			error_clear(); /* it has ended, or the user may not look at it */
}

void session_attach_running(struct session *session)
{
	for (size_t i = 0; i < collectors_count; i++)
		attach_running(session, i);
}

size_t session_poll_collectors(const struct session *session, struct pollfd *entries)
{
	size_t count = 0;

	for (size_t i = 0; i < collectors_count; i++)
		if (session->states[i] && collectors[i]->work->descriptor)
			entries[count++] = (struct pollfd){
				.fd = collectors[i]->work->descriptor(session->states[i]),
				.events = POLLIN};
	return count;
}

uint64_t session_next_drain_ns(const struct session *session, uint64_t now_ns)
{
	uint64_t earliest_ns = UINT64_MAX;

	for (size_t i = 0; i < collectors_count; i++) {
		uint64_t next_ns = UINT64_MAX;

		if (session->states[i])
			next_ns = now_ns + collectors[i]->work->interval_ns(session->states[i]);
		if (next_ns < earliest_ns)
			earliest_ns = next_ns;
	}
	return earliest_ns;
}

uint64_t session_look_ahead(struct session *session)
{
	uint64_t least_ns = UINT64_MAX, ns;

	for (size_t i = 0; i < collectors_count; i++) {
		if (!session->states[i] || !collectors[i]->work->look_ahead)
			continue;
		ns = collectors[i]->work->look_ahead(session->states[i]);
		least_ns = ns < least_ns ? ns : least_ns;
	}
	return least_ns;
}

void session_second_collectors(struct session *session, uint64_t now_ns)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (session->states[i])
			collectors[i]->work->each_second(session->states[i], now_ns);
}

void session_drain_collectors(struct session *session)
{
	for (size_t i = 0; i < collectors_count; i++) {
		const struct collector_work *work = collectors[i]->work;

		if (session->states[i] && work->drain) {
			work->drain(session->states[i]);
		} else if (session->states[i]) {
			work->look(session->states[i]);
			work->catch_up(session->states[i], UINT64_MAX);
		}
	}
}

void session_close_collectors(struct session *session)
{
	for (size_t i = 0; i < collectors_count; i++) {
		if (session->states[i])
			collectors[i]->work->close(session->states[i]);
		session->states[i] = NULL;
	}
}

/* A text behind ':' in the name distinguishes guests of one collector. */
size_t session_find_collector(const struct attach_hello *hello)
{
	const char *name = hello->hello.guest;
	const size_t length = strcspn(name, ":");

	for (size_t i = 0; i < collectors_count; i++) {
		const char *guest = collectors[i]->way ? collectors[i]->way->name : NULL;

		if (guest && strlen(guest) == length && strncmp(guest, name, length) == 0)
			return i;
	}
	return collectors_count;
}

void session_note_missing(struct session *session)
{
	for (size_t i = 0; i < collectors_count; i++) {
		const struct guest_way *way = collectors[i]->way;
		struct session_result *result = session->result;
		char text[400];

		if (!way || !way->explain_missing ||
		    !way->explain_missing(session->options, session->has_greeted[i],
					  session->recording.last_device != 0, text, sizeof(text)))
			continue;
		recording_note(&session->recording, collectors[i]->name,
			       session->has_greeted[i] ? COLLECTOR_PARTIAL : COLLECTOR_REFUSED, 0,
			       text);
		result->missed = way->runtime;
		snprintf(result->note, sizeof(result->note), "%s", text);
	}
}
