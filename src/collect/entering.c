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
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/thread.h"
#include "collect/collector.h"
#include "collect/host_clocks.h"
#include "collect/injector.h"
#include "collect/recording.h"
#include "collect/running.h"
#include "ring/session.h"

enum { ARGUMENT_BYTES = 512, STARTED_MOST = 1024 };
#define END_NS UINT64_C(2000000000) /* for all of them together, after the recording */

struct entering_process {
	pid_t pid;
	bool is_alone; /* nobody that was started by those that are recorded uses what is recorded */
	const char *addresses, *argument;
};

struct entering {
	pthread_t thread;
	const struct collector *collector;
	struct injector_options options;
	char argument[ARGUMENT_BYTES];
	char path[PATH_MAX]; /* of the guest: a thread that hangs may outlive the session */
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

/* Whoever can do something about it knows of it. */
static void refuse(struct recording *recording, const struct collector *collector, pid_t pid,
		   const char *text)
{
	say(recording, collector, COLLECTOR_REFUSED, text);
	if (recording->on_refused)
		recording->on_refused(recording->refused_context, collector->name, (uint32_t)pid);
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
		snprintf(entering->path, sizeof(entering->path), "%s", guest->path);
		entering->collector = collector;
		entering->outcome.pid = pid;
		entering->options =
			(struct injector_options){.pid = pid,
						  .path = entering->path,
						  .entry = guest->entry,
						  .argument = entering->argument,
						  .is_unwanted = &entering->is_unwanted};
	}
	if (!all || !entering || !thread_start(&entering->thread, run, entering)) {
		refuse(recording, collector, pid,
		       "no thread can be had in which to bring a guest into a running process");
		free(entering);
		return;
	}
	enterings->all[enterings->count++] = entering;
}

static bool is_same(const char *left, const char *right)
{
	struct stat a, b;

	return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* By the socket's path in the folders that it sees, or by the socket's name in its network. */
static bool can_find_us(pid_t pid, const char *addresses)
{
	const int length = (int)strcspn(addresses, ",");
	char ours[512], theirs[512];

	snprintf(ours, sizeof(ours), "%.*s", length, addresses);
	snprintf(theirs, sizeof(theirs), "/proc/%d/root%.*s", (int)pid, length, addresses);
	if (ours[0] == '/' && is_same(ours, theirs))
		return true;
	snprintf(theirs, sizeof(theirs), "/proc/%d/ns/net", (int)pid);
	return access(theirs, R_OK) < 0 || is_same("/proc/self/ns/net", theirs);
}

/* True: it is one of the collector's, whether it is being entered or not. */
static bool try_to_enter(struct enterings *enterings, struct recording *recording,
			 const struct session_options *session, const struct collector *collector,
			 const struct entering_process *process)
{
	struct collector_guest guest;
	char why[512];

	if (!collector->enter(session, process->pid, process->is_alone, &guest, why, sizeof(why))) {
		if (why[0])
			refuse(recording, collector, process->pid, why);
		return why[0] != '\0';
	}
	if (!can_find_us(process->pid, process->addresses)) {
		snprintf(why, sizeof(why),
			 "process %d is in a container: it has a network of its own and sees none "
			 "of "
			 "the folders that duet's socket is in, so that a guest would not find "
			 "duet: "
			 "run duet in that container, or share its /tmp or the host's network",
			 (int)process->pid);
		refuse(recording, collector, process->pid, why);
		return true;
	}
	start(enterings, recording, collector, &guest, process->pid, process->argument);
	return true;
}

void enterings_begin(struct enterings *enterings, struct recording *recording,
		     const struct session_options *session, const struct running *running,
		     const char *addresses, const char *filters)
{
	pid_t *started = calloc(STARTED_MOST, sizeof(*started));
	const size_t count = started ? running_find_started(running, started, STARTED_MOST) : 0;
	char argument[ARGUMENT_BYTES];

	snprintf(argument, sizeof(argument), "%s\n%s", addresses, filters);
	for (size_t i = 0; i < collectors_count; i++) {
		const struct collector *collector = collectors[i];
		struct entering_process process = {.addresses = addresses, .argument = argument};
		bool is_any = false;

		if (!collector->enter || !collector_is_chosen(collector, session))
			continue;
		for (size_t k = 0; k < count; k++) {
			process.pid = started[k];
			is_any |= try_to_enter(enterings, recording, session, collector, &process);
		}
		process.is_alone = !is_any;
		for (size_t k = 0; k < running->count; k++) {
			process.pid = running->processes[k].pid;
			try_to_enter(enterings, recording, session, collector, &process);
		}
	}
	free(started);
}

/* It is over. */
static void finish(struct entering *entering, struct recording *recording,
		   const struct session_options *session)
{
	char text[512];
	uint32_t state;

	pthread_join(entering->thread, NULL);
	state = entering->collector->entered(session, &entering->outcome, text, sizeof(text));
	if (state == COLLECTOR_REFUSED && !atomic_load(&entering->is_unwanted))
		refuse(recording, entering->collector, entering->outcome.pid, text);
	else
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

static bool wait_over(const struct entering *entering, uint64_t until_ns)
{
	static const struct timespec time = {0, 1000000};

	while (!atomic_load(&entering->is_over)) {
		if (host_clocks_now_ns() >= until_ns)
			return false;
		nanosleep(&time, NULL);
	}
	return true;
}

/* Its thread waits inside of the kernel, where only the end of the recorder ends it. What it uses is left to it. */
static void abandon(struct entering *entering, struct recording *recording)
{
	char text[512];

	pthread_detach(entering->thread);
	snprintf(text, sizeof(text),
		 "process %d: the attempt to bring duet's guest into it did not end within 2 s of "
		 "the recording's end; a file or memory of that process does not answer. The "
		 "recorder goes on without it, and the kernel releases the process when the "
		 "recorder ends",
		 (int)entering->outcome.pid);
	refuse(recording, entering->collector, entering->outcome.pid, text);
}

void enterings_end(struct enterings *enterings, struct recording *recording,
		   const struct session_options *session)
{
	const uint64_t until_ns = host_clocks_now_ns() + END_NS;

	for (size_t i = 0; i < enterings->count; i++)
		if (enterings->all[i])
			atomic_store(&enterings->all[i]->is_unwanted, true);
	for (size_t i = 0; i < enterings->count; i++) {
		if (!enterings->all[i])
			continue;
		if (wait_over(enterings->all[i], until_ns))
			finish(enterings->all[i], recording, session);
		else
			abandon(enterings->all[i], recording);
	}
	free(enterings->all);
	*enterings = (struct enterings){0};
}
