/* SPDX-License-Identifier: MIT
 *
 * collect/entering.c - guests are brought into processes that run already, beside the recording
 *
 * Runs in:  the recorder; each in a thread of its own
 * Gets:     the running processes, what collectors say of them   Gives: notes, and guests that say hello
 * Owns:     the threads
 * Fails:    with a note and a warning; the recording goes on without
 * Why:      a guest's hello is answered by the recorder's own loop while its process is being entered, so that this cannot
 *           be the loop's work. And the kernel lets a thread's tracees go when that thread ends: whatever went wrong, no
 *           process stays stopped.
 */
#include "collect/entering.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/thread.h"
#include "collect/collector.h"
#include "collect/injector.h"
#include "collect/recording.h"
#include "collect/running.h"
#include "ring/session.h"

enum { ARGUMENT_BYTES = 512 };

struct entering {
	pthread_t thread;
	const struct collector *collector;
	struct injector_options options;
	char argument[ARGUMENT_BYTES];
	struct entering_outcome outcome; /* the thread's, until is_over */
	_Atomic bool is_unwanted, is_over;
};

static void *run(void *argument)
{
	struct entering *entering = argument;
	struct injector_result result;

	entering->outcome.error = injector_enter(&entering->options, &result);
	if (entering->outcome.error)
		snprintf(entering->outcome.text, sizeof(entering->outcome.text), "%s",
			 error_text());
	entering->outcome.entered = result.result;
	entering->outcome.stopped_ns = result.stopped_ns;
	error_clear();
	atomic_store(&entering->is_over, true);
	return NULL;
}

static void say(struct recording *recording, const struct collector *collector, uint32_t state,
		const char *text)
{
	recording_note(recording, collector->name, state, 0, text);
	if (state == COLLECTOR_REFUSED)
		recording_warn(recording, text);
	else
		recording_hint(recording, text);
}

static void start(struct enterings *enterings, struct recording *recording,
		  const struct collector *collector, const struct collector_guest *guest, pid_t pid,
		  const char *argument)
{
	struct entering *entering = calloc(1, sizeof(*entering));
	struct entering **all =
		realloc(enterings->all, (enterings->count + 1) * sizeof(*enterings->all));

	if (all)
		enterings->all = all;
	if (entering) {
		snprintf(entering->argument, sizeof(entering->argument), "%s", argument);
		entering->collector = collector;
		entering->outcome.pid = pid;
		entering->options =
			(struct injector_options){.pid = pid,
						  .path = guest->path,
						  .entry = guest->entry,
						  .argument = entering->argument,
						  .is_unwanted = &entering->is_unwanted};
	}
	if (!all || !entering || !thread_start(&entering->thread, run, entering)) {
		say(recording, collector, COLLECTOR_REFUSED,
		    "no thread can be had in which to bring a guest into a running process");
		free(entering);
		return;
	}
	enterings->all[enterings->count++] = entering;
}

void enterings_begin(struct enterings *enterings, struct recording *recording,
		     const struct session_options *session, const struct running *running,
		     const char *addresses, const char *filters)
{
	char argument[ARGUMENT_BYTES], why[512];

	snprintf(argument, sizeof(argument), "%s\n%s", addresses, filters);
	for (size_t i = 0; i < collectors_count; i++) {
		const struct collector *collector = collectors[i];

		if (!collector->enter || !collector_is_chosen(collector, session))
			continue;
		for (size_t k = 0; k < running->count; k++) {
			const pid_t pid = running->processes[k].pid;
			struct collector_guest guest;

			if (collector->enter(session, pid, &guest, why, sizeof(why)))
				start(enterings, recording, collector, &guest, pid, argument);
			else if (why[0])
				say(recording, collector, COLLECTOR_REFUSED, why);
		}
	}
}

/* It is over, or will be soon. */
static void finish(struct entering *entering, struct recording *recording,
		   const struct session_options *session)
{
	char text[512];
	uint32_t state;

	pthread_join(entering->thread, NULL);
	state = entering->collector->entered(session, &entering->outcome, text, sizeof(text));
	say(recording, entering->collector, state, text);
	free(entering);
}

void enterings_look(struct enterings *enterings, struct recording *recording,
		    const struct session_options *session)
{
	for (size_t i = 0; i < enterings->count; i++) {
		if (!enterings->all[i] || !atomic_load(&enterings->all[i]->is_over))
			continue;
		finish(enterings->all[i], recording, session);
		enterings->all[i] = NULL;
	}
}

void enterings_end(struct enterings *enterings, struct recording *recording,
		   const struct session_options *session)
{
	for (size_t i = 0; i < enterings->count; i++)
		if (enterings->all[i])
			atomic_store(&enterings->all[i]->is_unwanted, true);
	for (size_t i = 0; i < enterings->count; i++)
		if (enterings->all[i])
			finish(enterings->all[i], recording, session);
	free(enterings->all);
	*enterings = (struct enterings){0};
}
