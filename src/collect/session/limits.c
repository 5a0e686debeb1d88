/* SPDX-License-Identifier: MIT
 *
 * collect/session/limits.c - applies --max-overhead to each guest
 *
 * Runs in:  the recorder; one thread
 * Gets:     counts of launches and duet's own time from guests
 * Gives:    the level at which each guest records; the measured cost as counters of its process
 * Owns:     a limit for each guest, and the ids of its series
 * Fails:    without memory the guest is recorded without a limit, and a note says so
 * Why:      The rules are in collect/limit, which is pure. This file connects them to shared memory
 *           and to the trace.
 */
#include "collect/session/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collect/host_clocks.h"
#include "collect/limit/limit.h"
#include "collect/limit/waits.h"
#include "collect/proc.h"

enum limit_series { LIMIT_LEVEL, LIMIT_COST, LIMIT_ERROR, LIMIT_OWN, LIMIT_SERIES };

/* To read the rest of a process's ranges at the end of a window. */
enum { READ_NS = 1000000 };

/* docs/design/overhead.md describes them; analyze/cost.c reads them. */
static const struct {
	const char *metric, *unit;
} limit_series[LIMIT_SERIES] = {
	[LIMIT_LEVEL] = {"duet.detail_level", "level"},
	[LIMIT_COST] = {"duet.overhead", "ppm"},
	[LIMIT_ERROR] = {"duet.overhead.error", "ppm"},
	[LIMIT_OWN] = {"duet.overhead.own", "ppm"},
};

struct session_limit {
	struct limit limit;
	struct limit_waits waits;
	uint64_t due_ns;
	uint64_t level_ns[LIMIT_LEVELS]; /* time at each level */
	bool has_range;                  /* ranges are the yardstick, from the first one on */
	uint64_t ranges_before;
	uint32_t steps;
	uint32_t series[LIMIT_SERIES]; /* ids in the trace; 0: not described yet */
	bool is_unmeasured;            /* for some time only by duet's own time */
	enum limit_level level;        /* in the last result */
};

static uint32_t detail_of(const struct limit *limit)
{
	const enum limit_level level = limit_now(limit);

	switch (level) {
	case LIMIT_STACKS:
		return RING_DETAIL_ALL;
	case LIMIT_COUNTERS:
		return RING_DETAIL_COUNTERS;
	case LIMIT_SPANS:
		return RING_DETAIL_SPANS;
	default:
		return RING_DETAIL_SAMPLED | limit_every(level) << RING_DETAIL_SHIFT;
	}
}

void session_begin_limit(struct session *session, struct attached *attached)
{
	const struct session_options *options = session->options;
	struct injected *injected = attached->injected;
	const uint64_t now_ns = host_clocks_now_ns();
	const struct guest_way *way = NULL;
	struct limit_options about = {
		.max = options->max_overhead,
		.has_stacks = options->native_stacks || options->python_stacks,
		.seed = (uint32_t)now_ns,
	};

	if (options->overhead_range)
		injected->process->yardstick_string =
			recording_string(&session->recording, options->overhead_range);
	for (size_t i = 0; i < collectors_count && !way; i++)
		if (collectors[i]->name == injected->kind.collector)
			way = collectors[i]->way;
	if (!(options->max_overhead > 0) || !way || !way->runtime)
		return;
	about.can_leave_out = way->leaves_out;
	attached->limit = calloc(1, sizeof(*attached->limit));
	if (!attached->limit) {
		session_note(session, COLLECTOR_PARTIAL,
			     "--max-overhead is not applied to a process: out of memory");
		return;
	}
	limit_init(&attached->limit->limit, &about, now_ns);
	attached->limit->ranges_before = injected->process->yardsticks;
	session->times.limits_ns = now_ns;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The program may have overwritten the counts from which a value was computed. */
static int64_t rounded(double value)
{
	const double most = 9e18;

	if (!(value > -most && value < most))
		return value > 0 ? (int64_t)most : -(int64_t)most;
	return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

static uint32_t get_series(struct session *session, struct attached *attached,
			   enum limit_series which, uint64_t begin_ns)
{
	struct recording *recording = &session->recording;
	uint32_t *id = &attached->limit->series[which];
	struct event_series row;

	if (*id)
		return *id;
	*id = ++recording->last_series;
	row = (struct event_series){
		.id = *id,
		.metric_string = recording_string(recording, limit_series[which].metric),
		.unit_string = recording_string(recording, limit_series[which].unit),
		.source_string = recording_string(recording, "duet itself"),
		.instance_string = recording_string(recording, attached->injected->kind.collector),
		.type = SERIES_LEVEL,
		.process = attached->injected->process->row.id,
		.limit = which == LIMIT_LEVEL
				 ? 0
				 : (uint64_t)rounded(session->options->max_overhead * 1e6),
		.begin_ns = begin_ns,
	};
	recording->kept_bytes += ENTITY_BYTES;
	trace_writer_entity(recording->writer, EVENT_SERIES, &row);
	return *id;
}

static void put_value(struct session *session, struct attached *attached, enum limit_series which,
		      const struct limit_result *result, double value)
{
	const struct trace_source source = {attached->injected->process->row.id, CLOCK_ID_MONOTONIC,
					    CLOCK_ID_MONOTONIC};
	const struct event_counter row = {
		.begin = result->begin_ns,
		.end = result->end_ns,
		.value = rounded(value),
		.series = get_series(session, attached, which, result->begin_ns),
	};

	trace_writer_row(session->writer, EVENT_COUNTER, &source, &row);
}

static void put_result(struct session *session, struct attached *attached,
		       const struct limit_result *result)
{
	struct session_limit *own = attached->limit;
	const double cost_ppm = result->cost * 1e6;

	own->steps += own->level != result->level;
	own->level = result->level;
	own->level_ns[result->level] += result->end_ns - result->begin_ns;
	put_value(session, attached, LIMIT_LEVEL, result, result->level);
	if (result->method == LIMIT_BY_WINDOWS) {
		put_value(session, attached, LIMIT_COST, result, cost_ppm);
		put_value(session, attached, LIMIT_ERROR, result, result->half_width * 1e6);
	} else if (result->method == LIMIT_BY_OWN_TIME) {
		own->is_unmeasured = true;
		put_value(session, attached, LIMIT_OWN, result, cost_ppm);
	}
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The recorder slows a program down only as far as it takes processors from it. So its time counts
 * as a part of all processors. */
static uint64_t recorder_ns(void)
{
	static long processors; /* reading it opens a file */
	struct timespec cpu = {0};

	if (!processors)
		processors = sysconf(_SC_NPROCESSORS_ONLN);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return ((uint64_t)cpu.tv_sec * SECOND_NS + (uint64_t)cpu.tv_nsec) /
	       (uint64_t)(processors > 0 ? processors : 1);
}

/* Reads how long the threads that have launched since the last look waited for a processor. */
static void look_at_waits(struct session_limit *own, const struct injected *injected,
			  uint64_t now_ns)
{
	uint64_t launches, waited_ns;

	if (now_ns < own->waits.due_ns)
		return;
	for (uint32_t i = 0; i < injected->round.rings_seen; i++) {
		const struct injected_ring *ring = &injected->rings[i];

		launches = injected_ring_launches(ring);
		if (!ring->used || !limit_waits_wants(&own->waits, i, ring->thread.tid, launches) ||
		    !proc_waited_ns(injected->process->row.pid, ring->thread.tid, &waited_ns))
			continue;
		limit_waits_add(&own->waits, i, ring->thread.tid, launches, waited_ns, now_ns);
	}
	limit_waits_end(&own->waits, now_ns);
}

/* Ranges are counted when they are read: those of the rings' present content are needed too. */
static void read_ranges(struct session *session, const struct injected *injected)
{
	for (size_t i = 0; i < session->guests.count; i++) {
		const struct attached *other = &session->guests.all[i];
		const uid_t uid = injected->process->row.uid;

		if (other->injected->process != injected->process || other->limit || other->dead ||
		    !other->injected->region.shared)
			continue;
		other->injected->looks = user_quotas_looks(&session->shares, uid);
		injected_drain(other->injected, READ_NS);
		user_quotas_put_looks(&session->shares, uid, &other->injected->looks);
	}
}

/* With the first range of the name the measurement begins anew, with another yardstick. */
static void change_yardstick(struct session *session, struct attached *attached,
			     const struct limit_reading *reading)
{
	struct session_limit *own = attached->limit;
	const struct limit_options options = own->limit.options;
	struct limit_result result;

	limit_end(&own->limit, reading->now_ns);
	while (limit_take(&own->limit, &result))
		put_result(session, attached, &result);
	limit_init(&own->limit, &options, reading->now_ns);
	own->limit.last = *reading;
	own->has_range = true;
}

static void count_ranges(struct session *session, struct attached *attached,
			 struct limit_reading *reading)
{
	struct session_limit *own = attached->limit;
	const struct injected *injected = attached->injected;

	read_ranges(session, injected);
	if (!own->has_range && injected->process->yardsticks == own->ranges_before)
		return;
	reading->launches = injected->process->yardsticks;
	if (!own->has_range)
		change_yardstick(session, attached, reading);
}

/* The program may have overwritten its counts. */
static uint64_t grown(uint64_t count, uint64_t before)
{
	return count > before ? count : before;
}

static void step_limit(struct session *session, struct attached *attached, uint64_t now_ns)
{
	struct session_limit *own = attached->limit;
	struct injected *injected = attached->injected;
	const struct limit_reading *last = &own->limit.last;
	struct limit_reading reading = {
		.launches = grown(injected_launches(injected), last->launches),
		.guest_ns = grown(injected_guest_ns(injected), last->guest_ns),
		.long_ns = grown(injected_long_ns(injected), last->long_ns),
		.recorder_ns = recorder_ns(),
	};
	struct limit_result result;

	look_at_waits(own, injected, now_ns);
	reading.known_ns = own->waits.known_ns;
	reading.waited_ns = own->waits.known_waited_ns;
	reading.now_ns = host_clocks_now_ns();
	if (session->options->overhead_range)
		count_ranges(session, attached, &reading);
	own->due_ns = limit_step(&own->limit, &reading);
	injected_set_detail(injected, detail_of(&own->limit), now_ns);
	while (limit_take(&own->limit, &result))
		put_result(session, attached, &result);
}

void session_step_limits(struct session *session, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	if (now_ns < session->times.limits_ns)
		return;
	for (size_t i = 0; i < session->guests.count; i++) {
		struct attached *attached = &session->guests.all[i];

		if (!attached->limit || attached->dead || !attached->injected->region.shared)
			continue;
		if (now_ns >= attached->limit->due_ns)
			step_limit(session, attached, host_clocks_now_ns());
		if (attached->limit->due_ns < next_ns)
			next_ns = attached->limit->due_ns;
	}
	session->times.limits_ns = next_ns;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void note_levels(struct session *session, const struct attached *attached)
{
	const struct session_limit *own = attached->limit;
	const struct injected *injected = attached->injected;
	const enum limit_level top = own->limit.options.has_stacks ? LIMIT_STACKS : LIMIT_SPANS;
	uint64_t all_ns = 0;
	char text[400];
	int length;

	for (int i = 0; i < LIMIT_LEVELS; i++)
		all_ns += own->level_ns[i];
	if (own->level_ns[top] == all_ns)
		return;
	length = snprintf(text, sizeof(text), "process %u (%s): to hold --max-overhead %g %%,",
			  injected->process->row.pid, injected->name,
			  session->options->max_overhead * 100);
	for (int i = 0; i < LIMIT_LEVELS && length < (int)sizeof(text); i++)
		if (own->level_ns[i])
			length += snprintf(text + length, sizeof(text) - (size_t)length,
					   " %.1f s with %s,", (double)own->level_ns[i] / 1e9,
					   limit_level_name((enum limit_level)i));
	if (length < (int)sizeof(text))
		text[length - 1] = '\0'; /* the last comma */
	recording_note(&session->recording, injected->kind.collector, COLLECTOR_PARTIAL,
		       injected->process->row.id, text);
}

static void note_no_range(struct session *session, const struct attached *attached)
{
	const struct injected *injected = attached->injected;
	char text[400];

	snprintf(text, sizeof(text),
		 "process %u (%s): launches were the yardstick of --max-overhead, because no range "
		 "'%.100s' was completed",
		 injected->process->row.pid, injected->name, session->options->overhead_range);
	recording_note(&session->recording, injected->kind.collector, COLLECTOR_PARTIAL,
		       injected->process->row.id, text);
}

void session_end_limit(struct session *session, struct attached *attached)
{
	struct session_limit *own = attached->limit;
	const uint64_t now_ns = host_clocks_now_ns();
	struct limit_result result;

	if (!own)
		return;
	if (attached->injected->region.shared)
		injected_count_left_out(attached->injected, now_ns);
	limit_end(&own->limit, now_ns);
	while (limit_take(&own->limit, &result))
		put_result(session, attached, &result);
	note_levels(session, attached);
	if (session->options->overhead_range && !own->has_range)
		note_no_range(session, attached);
	for (int i = 0; i < LIMIT_SERIES; i++)
		if (own->series[i])
			trace_writer_end_entity(session->writer, EVENT_SERIES, own->series[i],
						now_ns);
	limit_waits_fini(&own->waits);
	free(own);
	attached->limit = NULL;
}
