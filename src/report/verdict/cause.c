/* SPDX-License-Identifier: MIT
 *
 * report/verdict/cause.c - a cause of idle time as a sentence
 *
 * Runs in:  our own process
 * Gets:     causes of the verdict
 * Gives:    "the main thread computed in reload_metadata (train.py:51)"
 * Owns:     nothing
 * Fails:    never; a long sentence is cut
 */
#include "report/verdict/cause.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "report/report.h"
#include "report/verdict/sentence.h"

static void say_process(struct sentence *sentence, const struct event_process *process)
{
	if (process)
		say(sentence, " of process %" PRIu32, process->pid);
}

const char *thread_name(const struct report *report, uint32_t id)
{
	const struct event_thread *thread = model_entity(report->model, EVENT_THREAD, id);

	return thread ? model_text(report->model, thread->name_string, "") : "";
}

void say_one_thread(const struct report *report, struct sentence *sentence, uint32_t id)
{
	const struct event_thread *thread =
		id ? model_entity(report->model, EVENT_THREAD, id) : NULL;
	const struct event_process *process =
		thread ? model_entity(report->model, EVENT_PROCESS, thread->process) : NULL;
	const char *name;

	if (!thread) {
		say(sentence, "the launching thread");
		return;
	}
	name = model_text(report->model, thread->name_string, "");
	if (process && thread->tid == process->pid)
		say(sentence, "the main thread");
	else if (strncmp(name, "thread ", 7) == 0) /* imported */
		say(sentence, "%.60s", name);
	else if (*name)
		say(sentence, "thread %" PRIu32 " (%.40s)", thread->tid, name);
	else
		say(sentence, "thread %" PRIu32, thread->tid);
	if (report->analysis->processes_called > 1)
		say_process(sentence, process);
}

static const struct event_process *process_of(const struct report *report, uint32_t id)
{
	const struct event_thread *thread =
		id ? model_entity(report->model, EVENT_THREAD, id) : NULL;

	return thread ? model_entity(report->model, EVENT_PROCESS, thread->process) : NULL;
}

void group_name(const char *name, const struct verdict_group *group,
		char ret_name[NAME_PATTERN_BYTES])
{
	ret_name[0] = '\0';
	if (!group->has_other_names)
		snprintf(ret_name, NAME_PATTERN_BYTES, "%s", name);
	else if (!group->has_other_patterns)
		name_pattern(name, ret_name);
}

void say_thread(const struct report *report, struct sentence *sentence, uint32_t id,
		const struct verdict_group *threads)
{
	char name[NAME_PATTERN_BYTES];

	if (threads->count < 2) {
		say_one_thread(report, sentence, id);
		return;
	}
	group_name(thread_name(report, id), threads, name);
	say(sentence, "one of %" PRIu32 " threads", threads->count);
	if (*name)
		say(sentence, " (%.40s)", name);
}

/* As say_thread, for the thread for which a launching thread waited: it may be in another process.
 */
static void say_other_thread(const struct report *report, struct sentence *sentence,
			     const struct verdict_cause *cause)
{
	const struct event_process *other = process_of(report, cause->other_thread);

	say_thread(report, sentence, cause->other_thread, &cause->others);
	if (report->analysis->processes_called <= 1 && other &&
	    other != process_of(report, cause->thread))
		say_process(sentence, other);
}

void say_in(struct sentence *sentence, const char *word, const struct verdict_place *place)
{
	if (!place->function)
		return;
	say(sentence, " %s ", word);
	say_place(sentence, place->function, place->file, place->line);
}

void report_write_place(const struct verdict_place *place, struct json_writer *json)
{
	if (!place->function)
		return;
	json_pair_text(json, "function", place->function);
	if (place->file)
		json_pair_text(json, "file", place->file);
	if (place->line)
		json_pair_u64(json, "line", place->line);
}

/* ", which loader held in parse (loader.py:51)" */
static void say_holder(const struct report *report, struct sentence *sentence,
		       const struct verdict_cause *cause)
{
	if (!cause->other_thread)
		return;
	say(sentence, ", which ");
	say_other_thread(report, sentence, cause);
	say(sentence, " held");
	say_in(sentence, "in", &cause->other);
}

static const char *wait_words(enum verdict_kind kind)
{
	static const char *const words[VERDICT_KIND_COUNT] = {
		[VERDICT_PYTHON_GIL] = "waited for the Python GIL",
		[VERDICT_LOCK] = "waited for a lock",
		[VERDICT_THREAD_WAIT] = "waited for another thread",
		[VERDICT_FILE_READ] = "waited for a file",
		[VERDICT_FILE_WRITE] = "waited to write a file",
		[VERDICT_FILE_SYNC] = "waited for data to reach the disk",
		[VERDICT_NETWORK] = "waited for the network",
		[VERDICT_PIPE] = "waited for a pipe",
		[VERDICT_MESSAGE] = "waited for a message",
		[VERDICT_CHILD_PROCESS] = "waited for a child process",
		[VERDICT_SLEEP] = "slept",
		[VERDICT_EVENT_WAIT] = "waited for an event",
		[VERDICT_BLOCKED] = "was blocked",
		[VERDICT_PREEMPTED] = "was preempted",
	};

	return array_text(words, ARRAY_COUNT(words), kind, "waited");
}

/* Whether the object of a wait says more than its kind. */
static bool has_object(enum verdict_kind kind)
{
	return kind != VERDICT_PYTHON_GIL && kind != VERDICT_LOCK && kind != VERDICT_THREAD_WAIT &&
	       kind != VERDICT_SLEEP;
}

/* ", which computed in parse (loader.py:51)" */
static void say_meanwhile(struct sentence *sentence, const struct verdict_cause *cause)
{
	const bool is_away = cause->other_away_ns > cause->ns / 2;
	const bool has_name = cause->other_named_ns > cause->other_away_ns / 4 * 3;
	const char *object =
		is_away && has_name && has_object(cause->other_kind) ? cause->other_what : "";

	if (!cause->other.function)
		return;
	if (!is_away)
		say(sentence, ", which computed");
	else if (!has_name || (cause->other_kind == VERDICT_BLOCKED && !*object))
		say(sentence, ", which waited");
	else
		say(sentence, ", which %s", wait_words(cause->other_kind));
	if (*object)
		say(sentence, ", %.*s,", SENTENCE_NAME, object);
	say_in(sentence, "in", &cause->other);
}

static void say_awaited(const struct report *report, struct sentence *sentence,
			const struct verdict_cause *cause)
{
	say(sentence, " for ");
	if (!cause->other_thread) {
		say(sentence, "another thread");
		return;
	}
	say_other_thread(report, sentence, cause);
	say_meanwhile(sentence, cause);
}

bool say_late_rank(const struct report *report, struct sentence *sentence,
		   const struct verdict_cause *cause)
{
	const struct event_process *process = process_of(report, cause->other_thread);
	char rank[64];

	say(sentence, " for ");
	if (!cause->other.function || !process) {
		say(sentence, "other ranks");
		return false;
	}
	if (cause->other_ns < cause->ns / 10 * 9)
		say(sentence, "other ranks, %s of that time for ",
		    format_percent(cause->other_ns, cause->ns).text);
	if (cause->others.count > 1)
		say(sentence, "one of %" PRIu32 " ranks", cause->others.count);
	else
		say(sentence, "%s", analysis_rank_text(process, rank, sizeof(rank)));
	return true;
}

void say_waiting_process(const struct report *report, struct sentence *sentence,
			 const struct verdict_cause *cause)
{
	const struct event_process *process = process_of(report, cause->thread);
	char rank[64];

	if (!process)
		return;
	if (cause->threads.has_other_processes)
		say(sentence, "several %s", process->rank ? "ranks" : "processes");
	else if (process->rank)
		say(sentence, "%s", analysis_rank_text(process, rank, sizeof(rank)));
	else
		say(sentence, "process %" PRIu32, process->pid);
}

/* "waited in exchange (halo.c:70) for rank 1 of 2, which computed in refine (mesh.c:51)" */
static void say_rank(const struct report *report, struct sentence *sentence,
		     const struct verdict_cause *cause)
{
	say(sentence, " waited");
	say_in(sentence, "in", &cause->place);
	if (!say_late_rank(report, sentence, cause))
		return;
	say_meanwhile(sentence, cause);
}

/* The words between the thread and its place, such as "waited for fsync (disk sda)". */
static void say_wait(const struct verdict_cause *cause, struct sentence *sentence)
{
	say(sentence, " %s", wait_words(cause->kind));
	if (*cause->what)
		say(sentence, ", %s%.*s%s", cause->whats.count > 1 ? "most often " : "",
		    SENTENCE_NAME, cause->what, cause->place.function ? "," : "");
}

/* A system call of files in which the thread ran. */
static bool is_running_call(const struct verdict_cause *cause)
{
	return cause->cause == CAUSE_ON_CPU && *cause->what &&
	       (cause->kind == VERDICT_FILE_READ || cause->kind == VERDICT_FILE_WRITE ||
		cause->kind == VERDICT_FILE_SYNC);
}

static const char *own_code(enum verdict_kind kind)
{
	return kind == VERDICT_GARBAGE_COLLECTION ? "collected Python's garbage"
	       : kind == VERDICT_PAGE_FAULT       ? "handled page faults"
						  : "computed";
}

void say_what(const struct verdict_cause *cause, struct sentence *sentence)
{
	char name[NAME_PATTERN_BYTES];

	if (cause->whats.count < 2 || cause->kind != VERDICT_PREEMPTED) {
		say(sentence, "%.*s", SENTENCE_NAME, cause->what);
		return;
	}
	if (cause->whats.has_other_names)
		name_pattern(cause->what, name);
	else
		name_without_process(cause->what, name);
	say(sentence, "%.*s", SENTENCE_NAME, name);
	if (!cause->whats.has_other_patterns)
		say(sentence, "%.40s", name_process_of(cause->what));
	else if (cause->whats.has_other_names)
		say(sentence, " (several processes)");
	else
		say(sentence, " (%" PRIu32 " processes)", cause->whats.count);
}

/* "the main thread was preempted in step (train.py:70), most often by stress (process 71)" */
static void say_preempted(const struct report *report, const struct verdict_cause *cause,
			  struct sentence *sentence)
{
	say_thread(report, sentence, cause->thread, &cause->threads);
	say(sentence, " was preempted");
	say_in(sentence, "in", &cause->place);
	if (cause->own_kind == VERDICT_OTHER_RANK)
		say(sentence, " while it waited for other ranks");
	if (*cause->what) {
		say(sentence, ", most often by ");
		say_what(cause, sentence);
	}
	if (cause->preempted_ns < cause->ns)
		say(sentence, " (and %s there for %s of that time)", own_code(cause->own_kind),
		    format_percent(cause->ns - cause->preempted_ns, cause->ns).text);
}

void say_device(const struct report *report, struct sentence *sentence, uint32_t device)
{
	say(sentence, "device %" PRIu32 " (%.60s)", device - 1,
	    report->analysis->devices[device - 1].name);
}

/* "commands from step (train.py:70) waited for a user event, which thread 7 (load) set in
 * load_rows (load.py:9)" */
static void say_dependency(const struct report *report, const struct verdict_cause *cause,
			   struct sentence *sentence)
{
	say(sentence, "commands");
	say_in(sentence, "from", &cause->place);
	say(sentence, " waited for ");
	if (cause->is_event) {
		say(sentence, "a user event, which ");
		say_thread(report, sentence, cause->other_thread, &cause->others);
		say(sentence, " set");
		say_in(sentence, "in", &cause->other);
		return;
	}
	say(sentence, cause->other_device ? "commands on " : "other commands");
	if (cause->other_device)
		say_device(report, sentence, cause->other_device);
	say_in(sentence, "from", &cause->other);
}

/* " was in cuLaunchKernel and cuMemAlloc called from step (train.py:70)" */
static void say_call(const struct verdict_cause *cause, struct sentence *sentence)
{
	say(sentence, " was in %.*s", SENTENCE_NAME, *cause->what ? cause->what : "a call");
	if (cause->also)
		say(sentence, " and %.*s%s", SENTENCE_NAME, cause->also,
		    cause->whats.count > 2 ? " and others" : "");
	say_in(sentence, "called from", &cause->place);
}

static void say_device_wait(const struct report *report, const struct verdict_cause *cause,
			    struct sentence *sentence)
{
	say(sentence, " waited for ");
	if (cause->other_device)
		say_device(report, sentence, cause->other_device);
	else
		say(sentence, "the device");
	say(sentence, " in %.*s", SENTENCE_NAME, *cause->what ? cause->what : "a call");
	say_in(sentence, "called from", &cause->place);
}

static void say_full(const struct report *report, const struct verdict_cause *cause,
		     struct sentence *sentence)
{
	say(sentence, " %swaited in %.*s",
	    report->analysis->program.full.is_reported ? "" : "probably ", SENTENCE_NAME,
	    *cause->what ? cause->what : "a launch");
	say_in(sentence, "called from", &cause->place);
	say(sentence, " because the command buffer was full");
}

/* " waited for the device in cuStreamSynchronize called from step (train.py:70) before it launched
 * again (launch-bound: 64.13 ms, 8167 times 7.852 us)" */
static void say_launch_bound(const struct verdict_cause *cause, struct sentence *sentence)
{
	say(sentence, " waited for the device in %.*s", SENTENCE_NAME,
	    *cause->what ? cause->what : "a call");
	say_in(sentence, "called from", &cause->place);
	say(sentence, " before it launched again (launch-bound: %s",
	    format_duration(cause->ns).text);
	if (cause->times)
		say(sentence, ", %" PRIu64 " times %s", cause->times,
		    format_duration(cause->ns / cause->times).text);
	say(sentence, ")");
}

/* " waited in step (train.py:70) for a lock, which loader held in parse (loader.py:51)" */
static void say_thread_wait(const struct report *report, const struct verdict_cause *cause,
			    struct sentence *sentence)
{
	say(sentence, " waited");
	say_in(sentence, "in", &cause->place);
	if (cause->kind == VERDICT_THREAD_WAIT) {
		say_awaited(report, sentence, cause);
		return;
	}
	say(sentence, cause->kind == VERDICT_LOCK ? " for a lock" : " for the Python GIL");
	if (cause->kind == VERDICT_LOCK && *cause->what && !verdict_is_futex(cause->what))
		say(sentence, ", %.*s", SENTENCE_NAME, cause->what);
	say_holder(report, sentence, cause);
}

static void say_computing(const struct verdict_cause *cause, struct sentence *sentence)
{
	say(sentence, " %s", own_code(cause->kind));
	say_in(sentence, "in", &cause->place);
	if (cause->preempted_ns > cause->ns / 10)
		say(sentence, " (preempted there for %s of that time)",
		    format_percent(cause->preempted_ns, cause->ns).text);
}

/* A wait in a system call, or the time on a processor in it. */
static void say_system_call(const struct report *report, const struct verdict_cause *cause,
			    struct sentence *sentence)
{
	if (is_running_call(cause)) {
		say(sentence, " was %sin %.*s", cause->whats.count > 1 ? "most often " : "",
		    SENTENCE_NAME, cause->what);
		say_in(sentence, "called from", &cause->place);
		return;
	}
	say_wait(cause, sentence);
	say_in(sentence, "in", &cause->place);
	if (cause->other_thread)
		say_awaited(report, sentence, cause);
}

static void say_by_kind(const struct report *report, const struct verdict_cause *cause,
			struct sentence *sentence)
{
	switch (cause->kind) {
	case VERDICT_COMPUTING:
	case VERDICT_PAGE_FAULT:
	case VERDICT_GARBAGE_COLLECTION:
		say_computing(cause, sentence);
		break;
	case VERDICT_HOST_FUNCTION:
		if (*cause->what) {
			say_call(cause, sentence);
			break;
		}
		say(sentence,
		    cause->place.function ? " was" : " was outside of recorded functions");
		say_in(sentence, "in", &cause->place);
		break;
	case VERDICT_DATA_LOADING:
		say(sentence, " loaded data in %.*s", SENTENCE_NAME, cause->what);
		if (cause->place.is_own) /* otherwise the place is inside of the loader */
			say_in(sentence, "called from", &cause->place);
		break;
	case VERDICT_THROTTLED:
		say(sentence, " could not run for the CPU limit of its cgroup (cpu.max)");
		say_in(sentence, "in", &cause->place);
		break;
	case VERDICT_DUET_ITSELF:
		say(sentence, " was in duet's own code");
		say_in(sentence, "in", &cause->place);
		break;
	case VERDICT_PROFILER_OVERHEAD:
		say(sentence, " was held by the recording tool itself");
		say_in(sentence, "before a launch in", &cause->place);
		break;
	case VERDICT_PYTHON_GIL:
	case VERDICT_LOCK:
	case VERDICT_THREAD_WAIT:
		say_thread_wait(report, cause, sentence);
		break;
	case VERDICT_OTHER_RANK:
		say_rank(report, sentence, cause);
		break;
	case VERDICT_BUILD:
	case VERDICT_MODULE_LOAD:
	case VERDICT_ALLOCATION:
	case VERDICT_FREE:
	case VERDICT_CALL:
	case VERDICT_LAUNCH_CALL:
		say_call(cause, sentence);
		break;
	case VERDICT_LAUNCH_BOUND:
		say_launch_bound(cause, sentence);
		break;
	case VERDICT_COMMAND_BUFFER_FULL:
		say_full(report, cause, sentence);
		break;
	case VERDICT_STREAM_CAPTURE:
		if (*cause->what)
			say(sentence, " was in %.*s", SENTENCE_NAME, cause->what);
		else
			say(sentence, " captured a stream into a graph");
		say_in(sentence, *cause->what ? "called from" : "in", &cause->place);
		break;
	case VERDICT_DEVICE_WAIT:
	case VERDICT_OTHER_DEVICE:
		say_device_wait(report, cause, sentence);
		break;
	default:
		say_system_call(report, cause, sentence);
	}
}

static void say_unknown(const struct report *report, const struct verdict_cause *cause,
			struct sentence *sentence)
{
	if (cause->cause == CAUSE_HOST)
		say(sentence, "the program worked or waited outside of recorded calls");
	else if (cause->cause == CAUSE_UNKNOWN && model_imported_from(report->model))
		say(sentence, "not known, because the file lacks the launching calls");
	else
		say(sentence, "not known");
}

void say_cause(const struct report *report, const struct verdict_cause *cause,
	       struct sentence *sentence)
{
	if (cause->kind == VERDICT_PREEMPTED) {
		say_preempted(report, cause, sentence);
	} else if (cause->kind == VERDICT_SUBMISSION ||
		   cause->kind == VERDICT_LAUNCHED_NOT_STARTED) {
		say(sentence, "commands");
		say_in(sentence, "from", &cause->place);
		say(sentence, " had been launched but not %s",
		    cause->kind == VERDICT_SUBMISSION ? "submitted" : "started");
	} else if (cause->cause == CAUSE_DEPENDENCY) {
		say_dependency(report, cause, sentence);
	} else if (cause->kind == VERDICT_UNKNOWN) {
		say_unknown(report, cause, sentence);
	} else {
		say_thread(report, sentence, cause->thread, &cause->threads);
		say_by_kind(report, cause, sentence);
	}
}
