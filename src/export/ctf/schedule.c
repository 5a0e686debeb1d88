/* SPDX-License-Identifier: MIT
 *
 * export/ctf/schedule.c - the streams of processors: switches as the kernel's tracers write them
 *
 * Runs in:  our own process
 * Gets:     switches, ordered by time
 * Gives:    events sched_switch and sched_wakeup with the fields of LTTng, a stream per processor
 * Owns:     the streams, the state of processors
 * Fails:    -ENOMEM, -errno of files
 * Why a stream per processor: Trace Compass takes the processor of an event from its packet
 * Why sched_wakeup precedes its switch by 1 ns: a trace has the waker but not the time of the wake.
 *           The event must come before the switch, on the processor where the waker runs.
 */
#include "export/ctf/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/filter.h"
#include "analyze/model.h"
#include "base/array.h"
#include "event/event.h"
#include "export/ctf/metadata.h"
#include "export/ctf/stream.h"

/* Linux has at most 8192 processors. */
enum { MAX_CPUS = 8192 };

/* Values of prev_state; that of an unknown reason is "blocked". */
enum { STATE_RUNNABLE = 0, STATE_SLEEPING = 1, STATE_DEAD = 64 };

#define PRIORITY_UNKNOWN (-1)

/* ---- threads ---- */

struct thread_words {
	const char *name;
	uint32_t tid, pid;
};

static struct thread_words words_of(const struct ctf_schedule *schedule, uint32_t id)
{
	const struct model *model = schedule->filter->model;
	const struct event_thread *row = model_entity(model, EVENT_THREAD, id);
	const struct event_process *process =
		model_entity(model, EVENT_PROCESS, row ? row->process : 0);
	struct thread_words words = {processors_thread_name(model, id), row ? row->tid : 0,
				     process ? process->pid : 0};

	/* babeltrace2 2.0.4 prints the previous text in place of an empty one */
	if (!*words.name)
		words.name = "[none]";
	return words;
}

static uint32_t known_thread(const struct ctf_schedule *schedule, uint32_t id)
{
	return model_entity(schedule->filter->model, EVENT_THREAD, id) &&
			       filter_has_thread(schedule->filter, id)
		       ? id
		       : 0;
}

/* ---- streams ---- */

static int find_stream(struct ctf_schedule *schedule, uint32_t cpu, struct ctf_stream **ret_stream)
{
	size_t before = schedule->count;

	if (cpu >= before) {
		if (array_grow(schedule->streams, schedule->capacity, (size_t)cpu + 1))
			return -ENOMEM;
		schedule->count = (size_t)cpu + 1;
		memset(&schedule->streams[before], 0,
		       (schedule->count - before) * sizeof(*schedule->streams));
	}
	*ret_stream = &schedule->streams[cpu];
	return (*ret_stream)->file
		       ? 0
		       : ctf_stream_open_cpu(*ret_stream, schedule->folder, cpu, CTF_STREAM_CPUS,
					     schedule->uuid, schedule->filter->begin_ns);
}

/* The stream of the processor where the thread runs, if an event at time_ns may follow there. */
static struct ctf_stream *find_waker(struct ctf_schedule *schedule, uint32_t thread,
				     uint64_t time_ns)
{
	uint32_t cpu;

	if (!processors_find(&schedule->processors, thread, &cpu) || cpu >= schedule->count ||
	    !schedule->streams[cpu].file || schedule->streams[cpu].last_ns > time_ns)
		return NULL;
	return &schedule->streams[cpu];
}

/* ---- events ---- */

static void begin_event(struct ctf_schedule *schedule, struct ctf_stream *stream,
			enum ctf_event event, uint64_t time_ns, const struct thread_words *context)
{
	schedule->rows++;
	ctf_stream_begin(stream, event, time_ns);
	ctf_stream_u32(stream, context->pid);
	ctf_stream_u32(stream, context->tid);
	ctf_stream_text(stream, context->name);
}

static int write_wakeup(struct ctf_schedule *schedule, const struct event_switch *row,
			uint32_t woken)
{
	const uint64_t time_ns = row->time - 1;
	struct ctf_stream *stream = row->time > schedule->filter->begin_ns
					    ? find_waker(schedule, row->waker, time_ns)
					    : NULL;
	const struct thread_words waker = words_of(schedule, row->waker);
	const struct thread_words words = words_of(schedule, woken);

	if (!stream)
		return 0;
	begin_event(schedule, stream, CTF_SCHED_WAKEUP, time_ns, &waker);
	ctf_stream_text(stream, words.name);
	ctf_stream_u32(stream, words.tid);
	ctf_stream_i32(stream, PRIORITY_UNKNOWN);
	ctf_stream_u32(stream, row->cpu);
	return ctf_stream_end(stream);
}

static uint64_t state_of(const struct event_switch *row, const struct processors_step *step)
{
	static const uint64_t states[] = {[PROCESSORS_RUNNABLE] = STATE_RUNNABLE,
					  [PROCESSORS_BLOCKED] = STATE_SLEEPING,
					  [PROCESSORS_EXITED] = STATE_DEAD};

	return states[processors_leave_of(row, step)];
}

static int write_step(void *context, const struct event_switch *row,
		      const struct processors_step *step)
{
	struct ctf_schedule *schedule = context;
	const struct thread_words previous = words_of(schedule, step->previous);
	const struct thread_words next = words_of(schedule, step->next);
	const struct model *model = schedule->filter->model;
	struct ctf_stream *stream;
	int error = find_stream(schedule, row->cpu, &stream);

	if (error)
		return error;
	begin_event(schedule, stream, CTF_SCHED_SWITCH, row->time, &previous);
	ctf_stream_text(stream, previous.name);
	ctf_stream_u32(stream, previous.tid);
	ctf_stream_i32(stream, PRIORITY_UNKNOWN);
	ctf_stream_u64(stream, state_of(row, step));
	ctf_stream_text(stream, next.name);
	ctf_stream_u32(stream, next.tid);
	ctf_stream_i32(stream, PRIORITY_UNKNOWN);
	ctf_stream_text(stream, step->is_unseen ? "not seen" : analysis_switch_name(row->reason));
	ctf_stream_text(stream, step->is_unseen ? "" : model_text(model, row->wait_string, ""));
	return ctf_stream_end(stream);
}

int ctf_schedule_switch(struct ctf_schedule *schedule, const struct event_switch *row)
{
	uint32_t previous = known_thread(schedule, row->previous);
	uint32_t next = known_thread(schedule, row->next);
	int error = 0;

	if (row->cpu >= MAX_CPUS || (!previous && !next))
		return 0;
	if (next)
		error = write_wakeup(schedule, row, next);
	return error ? error
		     : processors_switch(&schedule->processors, row, previous, next, write_step,
					 schedule);
}

int ctf_schedule_close(struct ctf_schedule *schedule)
{
	int error = 0;

	for (size_t i = 0; i < schedule->count; i++) {
		int failed = ctf_stream_close(&schedule->streams[i]);

		error = error ? error : failed;
	}
	free(schedule->streams);
	processors_fini(&schedule->processors);
	schedule->streams = NULL;
	schedule->count = schedule->capacity = 0;
	schedule->processors = (struct processors){0};
	return error;
}
