/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/schedule.c - write switches as events of the scheduler, one track per processor
 *
 * Runs in:  our own process
 * Gets:     switches, ordered by time
 * Gives:    sched_switch events of ftrace, from which the viewer makes processors and thread states
 * Owns:     the state of processors
 * Fails:    -ENOMEM, errors of writing
 * Why FTRACE_CLOCK_GLOBAL: the viewer has no ftrace clock for CLOCK_MONOTONIC. It converts this one
 *           by a pair of times in the first event. Version 20 takes BOOTTIME without conversion.
 */
#include "export/perfetto/schedule.h"

#include "analyze/model.h"
#include "export/perfetto/packets.h"
#include "perfetto_trace.numbers.h"

/* trace_processor refuses a file with a higher number. */
enum { MAX_CPUS = 1024 };

/* Values of prev_state; that of an unknown reason is "blocked", as on the track off-CPU. */
enum { STATE_RUNNABLE = 0, STATE_SLEEPING = 1, STATE_DEAD = 16 };

void schedule_init(struct schedule *schedule, const struct model *model, struct packets *packets,
		   uint64_t pid)
{
	*schedule = (struct schedule){.model = model, .packets = packets, .pid = pid};
}

void schedule_fini(struct schedule *schedule)
{
	if (schedule)
		processors_fini(&schedule->processors);
}

/* The id, or 0 if the thread is not recorded or not exported. */
static uint32_t known_thread(const struct schedule *schedule, uint32_t id)
{
	const struct event_thread *row = model_entity(schedule->model, EVENT_THREAD, id);

	if (!row || (schedule->pid && model_pid(schedule->model, row->process) != schedule->pid))
		return 0;
	return id;
}

static uint32_t tid_of(const struct schedule *schedule, uint32_t id)
{
	const struct event_thread *row = model_entity(schedule->model, EVENT_THREAD, id);

	return row ? row->tid & INT32_MAX : 0;
}

static void put_clock(struct schedule *schedule)
{
	struct protobuf *packet = &schedule->packets->packet;

	protobuf_u64(packet, PF_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK, PF_FTRACE_CLOCK_GLOBAL);
	if (schedule->has_begun)
		return;
	schedule->has_begun = true;
	protobuf_u64(packet, PF_FTRACE_EVENT_BUNDLE_FTRACE_TIMESTAMP, schedule->host_ns);
	protobuf_u64(packet, PF_FTRACE_EVENT_BUNDLE_BOOT_TIMESTAMP, schedule->boot_ns);
}

static void put_switch(struct schedule *schedule, uint32_t previous, unsigned int state,
		       uint32_t next)
{
	struct protobuf *packet = &schedule->packets->packet;
	size_t begin = protobuf_begin(packet, PF_FTRACE_EVENT_SCHED_SWITCH);

	protobuf_text(packet, PF_SCHED_SWITCH_FTRACE_EVENT_PREV_COMM,
		      processors_thread_name(schedule->model, previous));
	protobuf_u64(packet, PF_SCHED_SWITCH_FTRACE_EVENT_PREV_PID, tid_of(schedule, previous));
	protobuf_u64(packet, PF_SCHED_SWITCH_FTRACE_EVENT_PREV_STATE, state);
	protobuf_text(packet, PF_SCHED_SWITCH_FTRACE_EVENT_NEXT_COMM,
		      processors_thread_name(schedule->model, next));
	protobuf_u64(packet, PF_SCHED_SWITCH_FTRACE_EVENT_NEXT_PID, tid_of(schedule, next));
	protobuf_end(packet, begin);
}

static unsigned int state_of(const struct event_switch *row, const struct processors_step *step)
{
	static const unsigned int states[] = {[PROCESSORS_RUNNABLE] = STATE_RUNNABLE,
					      [PROCESSORS_BLOCKED] = STATE_SLEEPING,
					      [PROCESSORS_EXITED] = STATE_DEAD};

	return states[processors_leave_of(row, step)];
}

static int write_switch(void *context, const struct event_switch *row,
			const struct processors_step *step)
{
	struct schedule *schedule = context;
	struct protobuf *packet = &schedule->packets->packet;
	size_t bundle, event;

	packets_begin(schedule->packets);
	bundle = protobuf_begin(packet, PF_TRACE_PACKET_FTRACE_EVENTS);
	protobuf_u64(packet, PF_FTRACE_EVENT_BUNDLE_CPU, row->cpu);
	event = protobuf_begin(packet, PF_FTRACE_EVENT_BUNDLE_EVENT);
	protobuf_u64(packet, PF_FTRACE_EVENT_TIMESTAMP, row->time);
	protobuf_u64(packet, PF_FTRACE_EVENT_PID, tid_of(schedule, step->previous));
	put_switch(schedule, step->previous, state_of(row, step), step->next);
	protobuf_end(packet, event);
	put_clock(schedule);
	protobuf_end(packet, bundle);
	return packets_end(schedule->packets);
}

int schedule_switch(struct schedule *schedule, const struct event_switch *row)
{
	uint32_t previous = known_thread(schedule, row->previous);
	uint32_t next = known_thread(schedule, row->next);

	if (row->cpu >= MAX_CPUS || (!previous && !next))
		return 0;
	return processors_switch(&schedule->processors, row, previous, next, write_switch,
				 schedule);
}
