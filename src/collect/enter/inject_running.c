/* SPDX-License-Identifier: MIT
 *
 * collect/enter/inject_running.c - injects guests into running processes, in parallel to the
 * recording
 *
 * Runs in:  the recorder; each injection in its own thread
 * Gets:     the running processes; from collectors, which guest each process needs
 * Gives:    guests that connect to the recorder; notes
 * Owns:     the threads
 * Fails:    with a note and a warning; the recording continues without that guest
 * Why:      a guest connects during its injection, and the recorder's main loop must answer it. The
 *           main loop can therefore not do the injection itself. Also, when a thread ends, the
 *           kernel releases the processes that it traces with ptrace(2), so no process stays
 *           stopped after an error.
 */
#include "collect/enter/inject_running.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "collect/collector.h"
#include "collect/enter/injector.h"
#include "collect/host_clocks.h"
#include "collect/proc.h"
#include "collect/recording.h"
#include "collect/start/running.h"

enum { ARGUMENT_BYTES = 512, MAX_STARTED = 1024 };
#define END_NS UINT64_C(2000000000) /* max total wait for all injections after the recording */

struct entering_process {
	pid_t pid;
	bool is_alone; /* no child of the recorded processes uses the runtime */
	const char *addresses, *argument;
};

struct entering {
	pthread_t thread;
	const struct collector *collector;
	struct injector_options options;
	char argument[ARGUMENT_BYTES];
	/* the guest's file; a copy, because a thread that hangs may outlive the session */
	char path[PATH_MAX];
	struct entering_outcome outcome; /* written by the thread until is_over */
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

/* Also reports the refusal to a collector that can do something about it. */
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
		       "no thread could be created to load a guest into a running process");
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

/* Whether the process can connect to the recorder: by the socket's path below its root folder, or
 * by the abstract socket name in its network namespace. Also true if that namespace cannot be
 * read. */
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

/* Reports a process whose runtime takes guests only when it starts. True: it uses that runtime. */
static bool refuse_late(struct recording *recording, const struct collector *collector, pid_t pid)
{
	const struct guest_way *way = collector->way;
	char why[512];

	if (!proc_maps_word((uint32_t)pid, way->library) ||
	    proc_maps_word((uint32_t)pid, way->file))
		return false;
	snprintf(why, sizeof(why), "process %d: %s", (int)pid, way->why_not_late);
	refuse(recording, collector, pid, why);
	return true;
}

/* True: the process uses the collector's runtime, also if the injection was refused. */
static bool try_to_enter(struct enterings *enterings, struct recording *recording,
			 const struct session_options *session, const struct collector *collector,
			 const struct entering_process *process)
{
	struct collector_guest guest;
	char why[512];

	if (collector->way->why_not_late)
		return refuse_late(recording, collector, process->pid);
	if (!collector->way->enter(session, process->pid, process->is_alone, &guest, why,
				   sizeof(why))) {
		if (why[0])
			refuse(recording, collector, process->pid, why);
		return why[0] != '\0';
	}
	if (!can_find_us(process->pid, process->addresses)) {
		snprintf(
			why, sizeof(why),
			"process %d is in a container and cannot reach duet's socket: it has "
			"another "
			"network namespace and does not see the socket's folders: run duet in that "
			"container, or share its /tmp or the host's network",
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
	pid_t *started = calloc(MAX_STARTED, sizeof(*started));
	const size_t count = started ? running_find_started(running, started, MAX_STARTED) : 0;
	char argument[ARGUMENT_BYTES];

	snprintf(argument, sizeof(argument), "%s\n%s", addresses, filters);
	for (size_t i = 0; i < collectors_count; i++) {
		const struct collector *collector = collectors[i];
		struct entering_process process = {.addresses = addresses, .argument = argument};
		bool is_any = false;

		if (!collector->way || (!collector->way->enter && !collector->way->why_not_late) ||
		    !collector_is_chosen(collector, session))
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

/* Reports a finished injection and frees it. */
static void finish(struct entering *entering, struct recording *recording,
		   const struct session_options *session)
{
	char text[512];
	uint32_t state;

	pthread_join(entering->thread, NULL);
	state = entering->collector->way->entered(session, &entering->outcome, text, sizeof(text));
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

/* The thread is blocked in the kernel until the recorder exits, so its memory is not freed. */
static void abandon(struct entering *entering, struct recording *recording)
{
	char text[512];

	pthread_detach(entering->thread);
	snprintf(text, sizeof(text),
		 "process %d: loading duet's guest did not end within 2 s of the recording's end; "
		 "a file or "
		 "memory of that process does not answer. The recorder continues without it, and "
		 "the kernel releases the process when the "
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
