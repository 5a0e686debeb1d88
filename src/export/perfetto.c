/* SPDX-License-Identifier: MIT
 *
 * export/perfetto.c - Perfetto's native trace format: a timeline for ui.perfetto.dev
 *
 * Runs in:  our own process
 * Gets:     a model and filters   Gives: TracePackets (proto/perfetto_trace.proto)
 * Owns:     the slices that are open and the launches whose execution is still to come
 * Fails:    -ENOMEM, what the reader fails with; -EPIPE ends it quietly
 * Why CLOCK_MONOTONIC is the file's primary clock: the viewer's own is BOOTTIME, and a conversion in
 *           the viewer moves both ends of a slice by offsets of different snapshots. So every sum
 *           of durations is the report's, to the nanosecond; where the trace knows BOOTTIME and
 *           REALTIME, two snapshots relate them for whoever merges traces.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/correlate.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/error.h"
#include "export/commands.h"
#include "export/formats.h"
#include "export/perfetto_about.h"
#include "export/perfetto_counters.h"
#include "export/moments.h"
#include "export/perfetto_packets.h"
#include "export/perfetto_samples.h"
#include "export/perfetto_schema.h"
#include "export/perfetto_states.h"
#include "export/perfetto_tracks.h"
#include "export/verdicts.h"

#define STEPS_MOST 3
#define NO_SLICE   UINT32_MAX

/* A counter changes. */
struct step {
	uint32_t counter; /* index */
	int64_t by;
};

struct steps {
	struct step steps[STEPS_MOST];
	size_t count;
};

/* A launch that was not executed yet. */
struct waiting {
	struct event_launch row;
	uint64_t flow; /* 0: no arrow */
};

/* Something with a begin and an end. Not shown: only its counters are. It is filled in its place, with what its kind
 * has: to copy all of it took a tenth of an export. */
struct slice {
	uint64_t track;
	enum event_kind kind;
	bool is_shown;
	bool has_launch;      /* executions */
	enum verdict verdict; /* of a launch */
	uint64_t flow;        /* of a launch; 0: no arrow */
	struct steps at_begin, at_end;
	uint32_t next_free;
	union {
		struct event_api api;
		struct event_launch launch;
		struct event_execution execution;
		struct event_loss loss;
		struct event_cpu_sample sample;
		struct event_switch change;
		struct event_range range;
		struct event_counter counter;
		uint32_t thread; /* that ends */
	} row;
	struct waiting waiting; /* of an execution: its launch */
};

struct perfetto {
	const struct model *model;
	const struct export_options *options;
	struct packets packets;
	struct tracks tracks;
	struct counters counters;
	struct samples samples;
	struct states states;
	struct verdicts verdicts;
	struct moments moments;
	struct correlate correlate;
	struct waiting *waiting; /* by place of the correlation */
	size_t waiting_capacity;
	struct slice *slices;
	size_t slices_count, slices_capacity;
	uint32_t free_slice;
	uint64_t from_ns, to_ns;
	uint64_t clock_error_ns;
	uint64_t flows;   /* given out */
	uint64_t last_ns; /* of the last moment */
	uint64_t rows;
	bool has_counters, has_flows, has_states;
};

/* ---- what is wanted ---- */

static bool is_of_process(const struct perfetto *perfetto, uint32_t process)
{
	const struct event_process *row;

	if (!perfetto->options->pid)
		return true;
	row = model_thing(perfetto->model, EVENT_PROCESS, process);
	return row && row->pid == perfetto->options->pid;
}

static bool is_of_thread(const struct perfetto *perfetto, uint32_t thread)
{
	return !perfetto->options->pid ||
	       is_of_process(perfetto, model_process_of(perfetto->model, thread));
}

static bool is_inside(const struct perfetto *perfetto, uint64_t time_ns)
{
	return time_ns >= perfetto->from_ns && time_ns < perfetto->to_ns;
}

static bool is_shown(const struct perfetto *perfetto, const char *kind, uint64_t time_ns)
{
	return is_inside(perfetto, time_ns) &&
	       export_is_wanted(perfetto->options->kinds, kind, kind);
}

/* ---- arguments of events ---- */

/* Before `end`; returns where they begin. printf took a twentieth of an export. */
static char *write_digits(char *end, uint64_t value)
{
	do
		*--end = (char)('0' + value % 10);
	while (value /= 10);
	return end;
}

static void put_sizes(struct packets *packets, enum packets_key key, const uint64_t sizes[3],
		      uint32_t count)
{
	char text[80] = "", *at = text + sizeof(text) - 1;

	if (!count || !sizes[0])
		return;
	for (uint32_t i = count < 3 ? count : 3; i-- > 0;) {
		at = write_digits(at, sizes[i]);
		if (i)
			*--at = 'x';
	}
	packets_text(packets, key, at);
}

static void put_command(struct perfetto *perfetto, const struct event_launch *launch)
{
	struct packets *packets = &perfetto->packets;

	if (launch->bytes)
		packets_u64(packets, KEY_BYTES, launch->bytes);
	put_sizes(packets, KEY_GLOBAL, launch->global_size, launch->dimensions);
	put_sizes(packets, KEY_LOCAL, launch->local_size, launch->dimensions);
}

static const char *launch_name(const struct perfetto *perfetto, const struct event_launch *launch)
{
	const char *kernel = model_kernel_name(perfetto->model, launch->kernel);

	if (*kernel)
		return kernel;
	return analysis_command_name(analysis_launch_command(perfetto->model, launch));
}

static void put_api(struct perfetto *perfetto, const struct slice *slice)
{
	const struct event_api *row = &slice->row.api;
	struct packets *packets = &perfetto->packets;

	packets_category(packets, row->type == API_TYPE_WAIT   ? CATEGORY_WAIT
				  : row->type == API_TYPE_DUET ? CATEGORY_META
							       : CATEGORY_API);
	packets_known_name(packets, model_text(perfetto->model, row->function_string, "[unknown]"));
	if (row->result)
		packets_i64(packets, KEY_RESULT, row->result);
	if (row->argument)
		packets_u64(packets, KEY_ARGUMENT, row->argument);
}

/* What the command is stands at its execution, or here where there is none. */
static void put_launch(struct perfetto *perfetto, const struct slice *slice)
{
	const struct event_launch *row = &slice->row.launch;
	const char *why = verdict_text(slice->verdict);
	struct packets *packets = &perfetto->packets;

	packets_category(packets, CATEGORY_LAUNCH);
	if (row->flags & LAUNCH_BLOCKING)
		packets_category(packets, CATEGORY_WAIT);
	packets_known_name(packets, model_text(perfetto->model, row->function_string, "[unknown]"));
	if (slice->flow)
		protobuf_fixed64(&packets->packet, PF_TRACK_EVENT_FLOW_IDS, slice->flow);
	packets_known(packets, KEY_COMMAND, launch_name(perfetto, row));
	if (row->correlation)
		packets_u64(packets, KEY_CORRELATION, row->correlation);
	if (row->result)
		packets_i64(packets, KEY_RESULT, row->result);
	if (why) {
		packets_known(packets, KEY_NO_EXECUTION, why);
		put_command(perfetto, row);
	}
}

static enum packets_category category_of(const struct perfetto *perfetto, const struct slice *slice)
{
	enum account_class class = ACCOUNT_OTHER;

	if (ledger_rejects(&slice->row.execution))
		return CATEGORY_REJECTED;
	if (slice->has_launch)
		class = analysis_class(
			analysis_launch_command(perfetto->model, &slice->waiting.row));
	if (class == ACCOUNT_KERNEL)
		return CATEGORY_KERNEL;
	return class == ACCOUNT_COPY ? CATEGORY_COPY : CATEGORY_OTHER;
}

static void put_delays(struct perfetto *perfetto, const struct slice *slice)
{
	const struct event_execution *row = &slice->row.execution;
	uint64_t enter = slice->has_launch ? slice->waiting.row.enter : 0;
	struct packets *packets = &perfetto->packets;

	if (slice->has_launch && row->started >= enter)
		packets_u64(packets, KEY_ENTER_TO_STARTED, row->started - enter);
	if (!(row->valid & EXECUTION_SUBMITTED))
		return;
	if ((row->valid & EXECUTION_QUEUED) && row->submitted >= row->queued)
		packets_u64(packets, KEY_QUEUED_TO_SUBMITTED, row->submitted - row->queued);
	if (row->started >= row->submitted)
		packets_u64(packets, KEY_SUBMITTED_TO_STARTED, row->started - row->submitted);
}

static void put_execution(struct perfetto *perfetto, const struct slice *slice)
{
	const struct event_execution *row = &slice->row.execution;
	const struct waiting *waiting = &slice->waiting;
	struct packets *packets = &perfetto->packets;

	packets_category(packets, category_of(perfetto, slice));
	packets_known_name(packets, slice->has_launch ? launch_name(perfetto, &waiting->row)
						      : "[no launch]");
	if (slice->has_launch && waiting->flow)
		protobuf_fixed64(&packets->packet, PF_TRACK_EVENT_TERMINATING_FLOW_IDS,
				 waiting->flow);
	packets_u64(packets, KEY_CORRELATION, row->correlation);
	put_delays(perfetto, slice);
	if (slice->has_launch)
		put_command(perfetto, &waiting->row);
	else
		packets_known(packets, KEY_NO_LAUNCH, "its launch is not in the trace");
	if (row->status)
		packets_i64(packets, KEY_STATUS, row->status);
	if (row->valid & ORDER_IMPOSSIBLE)
		packets_bool(packets, KEY_IMPOSSIBLE, true);
	if (command_is_estimated(perfetto->model, row))
		packets_bool(packets, KEY_ESTIMATED, true);
}

static void put_loss(struct perfetto *perfetto, const struct slice *slice)
{
	const struct event_loss *row = &slice->row.loss;
	const struct event_process *process =
		model_thing(perfetto->model, EVENT_PROCESS, row->process);
	struct packets *packets = &perfetto->packets;
	char name[64];

	snprintf(name, sizeof(name), "lost: %s", analysis_kind_name(row->kind));
	packets_category(packets, CATEGORY_LOSS);
	packets_name(packets, name);
	if (row->count != LOSS_COUNT_UNKNOWN)
		packets_u64(packets, KEY_COUNT_LOST, row->count);
	packets_constant(packets, KEY_REASON, analysis_loss_name(row->reason));
	packets_u64(packets, KEY_DURATION, row->end - row->begin);
	if (process)
		packets_u64(packets, KEY_PID, process->pid);
}

static void put_range(struct perfetto *perfetto, const struct slice *slice)
{
	const struct event_range *row = &slice->row.range;
	struct packets *packets = &perfetto->packets;

	packets_category(packets, CATEGORY_RANGE);
	packets_name(packets, model_range_name(perfetto->model, row));
	packets_constant(packets, KEY_DOMAIN, model_text(perfetto->model, row->domain_string, ""));
	if (row->flags & RANGE_OPEN)
		packets_bool(packets, KEY_OPEN, true);
	if (row->flags & RANGE_UNBEGUN)
		packets_bool(packets, KEY_UNBEGUN, true);
}

/* ---- moments to packets ---- */

static void put_slice(struct perfetto *perfetto, const struct slice *slice)
{
	switch (slice->kind) {
	case EVENT_API:
		put_api(perfetto, slice);
		break;
	case EVENT_LAUNCH:
		put_launch(perfetto, slice);
		break;
	case EVENT_EXECUTION:
		put_execution(perfetto, slice);
		break;
	case EVENT_RANGE:
		put_range(perfetto, slice);
		break;
	default:
		put_loss(perfetto, slice);
	}
}

static void take_steps(struct perfetto *perfetto, const struct steps *steps)
{
	for (size_t i = 0; i < steps->count; i++)
		perfetto->tracks.counters[steps->steps[i].counter].value += steps->steps[i].by;
}

/* Values that ride on an event of another track: 6 bytes instead of a packet of 25. */
static void put_extra(struct perfetto *perfetto, const struct steps *steps)
{
	struct protobuf *packet = &perfetto->packets.packet;

	for (size_t i = 0; i < steps->count; i++) {
		const struct tracks_counter *counter =
			&perfetto->tracks.counters[steps->steps[i].counter];

		protobuf_u64(packet, PF_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS, counter->uuid);
		protobuf_i64(packet, PF_TRACK_EVENT_EXTRA_COUNTER_VALUES, counter->value);
	}
}

static int write_counters(struct perfetto *perfetto, uint64_t time_ns, const struct steps *steps)
{
	int error = 0;

	for (size_t i = 0; i < steps->count && !error; i++) {
		const struct tracks_counter *counter =
			&perfetto->tracks.counters[steps->steps[i].counter];

		packets_event_begin(&perfetto->packets, time_ns, PF_TYPE_COUNTER, counter->uuid);
		protobuf_i64(&perfetto->packets.packet, PF_TRACK_EVENT_COUNTER_VALUE,
			     counter->value);
		error = packets_event_end(&perfetto->packets);
	}
	return error;
}

/* What has no end of its own. */
static bool is_instant(const struct slice *slice)
{
	if (slice->kind == EVENT_RANGE)
		return slice->row.range.type == RANGE_MARK;
	return slice->kind != EVENT_API && slice->kind != EVENT_LAUNCH &&
	       slice->kind != EVENT_EXECUTION;
}

static int write_event(struct perfetto *perfetto, const struct moment *moment,
		       const struct slice *slice, const struct steps *steps)
{
	unsigned int type = PF_TYPE_SLICE_BEGIN;

	if (moment_is_end(moment))
		type = PF_TYPE_SLICE_END;
	else if (is_instant(slice))
		type = PF_TYPE_INSTANT;
	packets_event_begin(&perfetto->packets, moment->time, type, slice->track);
	if (!moment_is_end(moment))
		put_slice(perfetto, slice);
	put_extra(perfetto, steps);
	return packets_event_end(&perfetto->packets);
}

/* Who does something is on a processor. */
static int tell_states(struct perfetto *perfetto, const struct slice *slice, uint64_t time_ns)
{
	struct states *states = &perfetto->states;

	switch (slice->kind) {
	case EVENT_API:
		return states_back(states, slice->row.api.thread, time_ns);
	case EVENT_LAUNCH:
		return states_back(states, slice->row.launch.thread, time_ns);
	case EVENT_CPU_SAMPLE:
		return states_back(states, slice->row.sample.thread, time_ns);
	case EVENT_THREAD:
		return states_back(states, slice->row.thread, time_ns);
	case EVENT_RANGE:
		return states_back(states, slice->row.range.thread, time_ns);
	case EVENT_SWITCH:
		return states_switch(states, &slice->row.change, slice->is_shown);
	default:
		return 0;
	}
}

static int write_shown(struct perfetto *perfetto, const struct moment *moment,
		       const struct slice *slice, const struct steps *steps)
{
	if (slice->kind == EVENT_SWITCH || (moment_is_end(moment) && is_instant(slice)))
		return 0;
	if (slice->kind == EVENT_CPU_SAMPLE)
		return samples_write(&perfetto->samples, &slice->row.sample);
	if (slice->kind == EVENT_COUNTER)
		return counters_write(&perfetto->counters, &slice->row.counter);
	return write_event(perfetto, moment, slice, steps);
}

static void free_slice(struct perfetto *perfetto, uint32_t index)
{
	perfetto->slices[index].next_free = perfetto->free_slice;
	perfetto->free_slice = index;
}

static int on_moment(struct perfetto *perfetto, const struct moment *moment)
{
	const struct slice *slice = &perfetto->slices[moment->slice];
	bool is_end = moment_is_end(moment);
	const struct steps *steps = is_end ? &slice->at_end : &slice->at_begin;
	int error = is_end ? 0 : tell_states(perfetto, slice, moment->time);

	take_steps(perfetto, steps);
	if (error)
		return error;
	if (slice->is_shown)
		error = write_shown(perfetto, moment, slice, steps);
	else if (is_inside(perfetto, moment->time))
		error = write_counters(perfetto, moment->time, steps);
	if (is_end)
		free_slice(perfetto, moment->slice);
	return error;
}

static int write_until(struct perfetto *perfetto, uint64_t limit)
{
	struct moment moment;
	int error = 0;

	while (!error && moments_take(&perfetto->moments, limit, &moment)) {
		error = on_moment(perfetto, &moment);
		perfetto->last_ns = moment.time;
	}
	return error;
}

/* ---- rows to moments ---- */

static int make_room(struct perfetto *perfetto)
{
	if (perfetto->free_slice != NO_SLICE)
		return 0;
	if (perfetto->slices_count >= NO_SLICE - 1 ||
	    array_grow(perfetto->slices, perfetto->slices_capacity, perfetto->slices_count + 1))
		return -ENOMEM;
	perfetto->slices[perfetto->slices_count].next_free = NO_SLICE;
	perfetto->free_slice = (uint32_t)perfetto->slices_count++;
	return 0;
}

/* A free one, to be filled and added. It stays free until then. NULL without memory. */
static struct slice *new_slice(struct perfetto *perfetto, enum event_kind kind)
{
	struct slice *slice;

	if (make_room(perfetto))
		return NULL;
	slice = &perfetto->slices[perfetto->free_slice];
	slice->track = 0;
	slice->kind = kind;
	slice->is_shown = slice->has_launch = false;
	slice->flow = 0;
	slice->at_begin.count = slice->at_end.count = 0;
	return slice;
}

/* The one that new_slice gave. */
static int add_slice(struct perfetto *perfetto, const struct slice *slice, uint64_t begin,
		     uint64_t end)
{
	uint32_t index = perfetto->free_slice;

	if (!slice->is_shown && !slice->at_begin.count && !slice->at_end.count &&
	    !perfetto->has_states)
		return 0;
	perfetto->free_slice = slice->next_free;
	perfetto->rows += slice->is_shown;
	return moments_add(&perfetto->moments, index, begin, end,
			   slice->kind == EVENT_API || slice->kind == EVENT_LAUNCH ||
				   slice->kind == EVENT_RANGE);
}

static void add_step(struct steps *steps, uint32_t counter, int64_t by)
{
	steps->steps[steps->count++] = (struct step){counter, by};
}

static int on_api(struct perfetto *perfetto, const struct event_api *row)
{
	struct slice *slice;
	int error = 0;

	if (!is_of_thread(perfetto, row->thread))
		return 0;
	slice = new_slice(perfetto, EVENT_API);
	if (!slice)
		return -ENOMEM;
	slice->row.api = *row;
	slice->is_shown = is_shown(perfetto, "api", row->begin);
	if (slice->is_shown)
		error = tracks_place_call(&perfetto->tracks, row->thread, row->begin, row->end,
					  &slice->track);
	return error ? error : add_slice(perfetto, slice, row->begin, row->end);
}

static int remember_launch(struct perfetto *perfetto, uint32_t process,
			   const struct event_launch *row, uint64_t flow)
{
	struct waiting waiting = {*row, flow};
	uint32_t place;
	int error;

	waiting.row.handle = 0; /* nobody asks who waits for whom */
	error = correlate_launch(&perfetto->correlate, process, &waiting.row, &place);
	if (!error && array_grow(perfetto->waiting, perfetto->waiting_capacity, (size_t)place + 1))
		error = -ENOMEM;
	if (!error)
		perfetto->waiting[place] = waiting;
	return error;
}

static int on_launch(struct perfetto *perfetto, const struct event_launch *row)
{
	uint32_t process = model_process_of(perfetto->model, row->thread), counter = 0;
	struct slice *slice;
	int error = 0;

	if (!is_of_process(perfetto, process))
		return 0;
	slice = new_slice(perfetto, EVENT_LAUNCH);
	if (!slice)
		return -ENOMEM;
	slice->row.launch = *row;
	slice->is_shown = is_shown(perfetto, "launch", row->enter);
	slice->verdict = verdicts_of(&perfetto->verdicts, row);
	if (slice->is_shown && slice->verdict == VERDICT_DRAWN && perfetto->has_flows)
		slice->flow = ++perfetto->flows;
	if (row->result == 0)
		error = remember_launch(perfetto, process, row, slice->flow);
	if (!error && slice->is_shown)
		error = tracks_place_call(&perfetto->tracks, row->thread, row->enter, row->exit,
					  &slice->track);
	if (!error && row->result == 0 && perfetto->has_counters &&
	    verdicts_has_end(&perfetto->verdicts, slice->verdict)) {
		error = tracks_depth(&perfetto->tracks, row->queue, &counter);
		add_step(&slice->at_begin, counter, 1);
	}
	return error ? error : add_slice(perfetto, slice, row->enter, row->exit);
}

/* Mapping a buffer of a CPU device moves nothing: as the report has it. */
static bool moves_bytes(const struct perfetto *perfetto, uint32_t queue, uint32_t command)
{
	const struct event_queue *row = model_thing(perfetto->model, EVENT_QUEUE, queue);
	const struct event_device *device =
		row ? model_thing(perfetto->model, EVENT_DEVICE, row->device) : NULL;
	bool is_map = command == COMMAND_MAP || command == COMMAND_UNMAP;

	return analysis_class(command) == ACCOUNT_COPY &&
	       !(is_map && device && device->type == DEVICE_CPU);
}

/* Bytes per second of a copy; 0: it tells none. */
static int64_t rate_of(const struct perfetto *perfetto, const struct slice *slice)
{
	const struct event_launch *launch = &slice->waiting.row;
	uint64_t length = slice->row.execution.ended - slice->row.execution.started;
	uint32_t command = analysis_launch_command(perfetto->model, launch);
	unsigned __int128 rate;

	if (!slice->has_launch || !launch->bytes || length <= perfetto->clock_error_ns || !length ||
	    !moves_bytes(perfetto, slice->row.execution.queue, command))
		return 0;
	rate = (unsigned __int128)launch->bytes * 1000000000 / length;
	return rate < INT64_MAX / 1024 ? (int64_t)rate : 0;
}

static int add_counters(struct perfetto *perfetto, struct slice *slice)
{
	const struct event_execution *row = &slice->row.execution;
	uint32_t counter = TRACKS_NO_COUNTER;
	int64_t rate;
	int error = tracks_busy(&perfetto->tracks, row->queue, &counter);

	if (error)
		return error;
	add_step(&slice->at_begin, counter, 1);
	add_step(&slice->at_end, counter, -1);
	rate = rate_of(perfetto, slice);
	if (!rate)
		return 0;
	error = tracks_rate(&perfetto->tracks, row->queue,
			    analysis_launch_command(perfetto->model, &slice->waiting.row),
			    &counter);
	if (error)
		return error;
	add_step(&slice->at_begin, counter, rate);
	add_step(&slice->at_end, counter, -rate);
	return 0;
}

/* It left the queue. */
static int add_done(struct perfetto *perfetto, struct slice *slice)
{
	uint32_t counter;
	int error;

	if (!slice->has_launch || !perfetto->has_counters)
		return 0;
	error = tracks_depth(&perfetto->tracks, slice->waiting.row.queue, &counter);
	if (!error)
		add_step(&slice->at_end, counter, -1);
	return error;
}

/* Without a span: the queue is shorter by one when that was seen, and that is all. */
static int on_untimed(struct perfetto *perfetto, struct slice *slice)
{
	uint64_t seen = slice->row.execution.seen;
	int error = add_done(perfetto, slice);

	if (slice->has_launch && seen < slice->waiting.row.enter)
		seen = slice->waiting.row.enter;
	return error ? error : add_slice(perfetto, slice, seen, seen);
}

static int on_timed(struct perfetto *perfetto, struct slice *slice)
{
	const struct event_execution *row = &slice->row.execution;
	int error = 0;

	slice->is_shown = is_shown(perfetto, "execution", row->started);
	if (slice->is_shown)
		error = tracks_place_command(&perfetto->tracks, row->queue, row->started,
					     row->ended, &slice->track);
	if (!error && !ledger_rejects(row) && perfetto->has_counters)
		error = add_counters(perfetto, slice);
	if (!error)
		error = add_done(perfetto, slice);
	return error ? error : add_slice(perfetto, slice, row->started, row->ended);
}

static int on_execution(struct perfetto *perfetto, const struct event_execution *row)
{
	struct slice *slice;
	uint32_t place;
	int error;

	if (!is_of_process(perfetto, row->process))
		return 0;
	slice = new_slice(perfetto, EVENT_EXECUTION);
	if (!slice)
		return -ENOMEM;
	slice->row.execution = *row;
	place = correlate_find(&perfetto->correlate, row->process, row->correlation);
	slice->has_launch = place != CORRELATE_NONE;
	if (slice->has_launch)
		slice->waiting = perfetto->waiting[place];
	error = verdict_is_drawable(row) ? on_timed(perfetto, slice) : on_untimed(perfetto, slice);
	if (error || place == CORRELATE_NONE)
		return error;
	return correlate_done(&perfetto->correlate, place, 0);
}

static int on_loss(struct perfetto *perfetto, const struct event_loss *row)
{
	struct slice *slice = new_slice(perfetto, EVENT_LOSS);

	if (!slice)
		return -ENOMEM;
	slice->track = perfetto->tracks.duet;
	slice->row.loss = *row;
	slice->is_shown =
		is_of_process(perfetto, row->process) && is_shown(perfetto, "loss", row->begin);
	return add_slice(perfetto, slice, row->begin, row->begin);
}

static int on_sample(struct perfetto *perfetto, const struct event_cpu_sample *row)
{
	struct slice *slice = new_slice(perfetto, EVENT_CPU_SAMPLE);

	if (!slice)
		return -ENOMEM;
	slice->row.sample = *row;
	slice->is_shown =
		is_of_thread(perfetto, row->thread) && is_shown(perfetto, "cpu_sample", row->time);
	return add_slice(perfetto, slice, row->time, row->time);
}

static int on_switch(struct perfetto *perfetto, const struct event_switch *row)
{
	struct slice *slice = new_slice(perfetto, EVENT_SWITCH);

	if (!slice)
		return -ENOMEM;
	slice->row.change = *row;
	slice->is_shown = row->previous && row->reason != SWITCH_EXITED &&
			  is_of_thread(perfetto, row->previous) &&
			  is_shown(perfetto, "switch", row->time);
	return add_slice(perfetto, slice, row->time, row->time);
}

static int on_range(struct perfetto *perfetto, const struct event_range *row)
{
	struct slice *slice;
	int error = 0;

	if (!is_of_process(perfetto, row->process))
		return 0;
	slice = new_slice(perfetto, EVENT_RANGE);
	if (!slice)
		return -ENOMEM;
	slice->row.range = *row;
	slice->is_shown = is_shown(perfetto, "range", row->begin);
	if (slice->is_shown && row->type == RANGE_START)
		error = tracks_place_started(&perfetto->tracks, row->thread, row->begin, row->end,
					     &slice->track);
	else if (slice->is_shown)
		error = tracks_place_call(&perfetto->tracks, row->thread, row->begin, row->end,
					  &slice->track);
	return error ? error : add_slice(perfetto, slice, row->begin, row->end);
}

static int on_counter(struct perfetto *perfetto, const struct event_counter *row)
{
	const struct event_series *series = model_thing(perfetto->model, EVENT_SERIES, row->series);
	struct slice *slice;

	if (!series || !is_of_process(perfetto, series->process) ||
	    !is_shown(perfetto, "counter", row->begin))
		return 0;
	slice = new_slice(perfetto, EVENT_COUNTER);
	if (!slice)
		return -ENOMEM;
	slice->row.counter = *row;
	slice->is_shown = true;
	return add_slice(perfetto, slice, row->begin, row->begin);
}

static int on_item(struct perfetto *perfetto, const struct order_item *item)
{
	switch (item->kind) {
	case EVENT_API:
		return on_api(perfetto, item->row);
	case EVENT_LAUNCH:
		return on_launch(perfetto, item->row);
	case EVENT_EXECUTION:
		return on_execution(perfetto, item->row);
	case EVENT_CPU_SAMPLE:
		return on_sample(perfetto, item->row);
	case EVENT_SWITCH:
		return on_switch(perfetto, item->row);
	case EVENT_RANGE:
		return on_range(perfetto, item->row);
	case EVENT_COUNTER:
		return on_counter(perfetto, item->row);
	default:
		return on_loss(perfetto, item->row);
	}
}

/* ---- the whole ---- */

/* Who ended is no longer away. */
static int add_ends(struct perfetto *perfetto)
{
	const struct event_thread *threads;
	const void *rows = NULL;
	size_t count = model_things(perfetto->model, EVENT_THREAD, &rows);
	int error = 0;

	threads = rows;
	for (size_t i = 0; i < count && !error && perfetto->has_states; i++) {
		struct slice *slice = new_slice(perfetto, EVENT_THREAD);

		if (!slice)
			return -ENOMEM;
		slice->row.thread = threads[i].id;
		if (threads[i].end_ns)
			error = add_slice(perfetto, slice, threads[i].end_ns, threads[i].end_ns);
	}
	return error;
}

/* Threads that are still away stay so until everything ends. */
static int write_rest(struct perfetto *perfetto, uint64_t end_ns)
{
	int error = write_until(perfetto, UINT64_MAX);

	if (end_ns < perfetto->last_ns)
		end_ns = perfetto->last_ns;
	return error ? error : states_end(&perfetto->states, end_ns);
}

static int write_items(struct perfetto *perfetto, struct order *order, uint64_t end_ns)
{
	uint64_t delay_ns = perfetto->verdicts.delay_ns;
	struct order_item item;
	int error = add_ends(perfetto), status;

	while (!error && (status = order_next(order, &item)) != 0) {
		if (status < 0)
			return status;
		/* What is still to come begins at most the delay before this row's place. */
		if (item.time_ns > delay_ns)
			error = write_until(perfetto, item.time_ns - delay_ns);
		if (!error)
			error = on_item(perfetto, &item);
	}
	return error ? error : write_rest(perfetto, end_ns);
}

static void set_window(struct perfetto *perfetto, uint64_t begin_ns)
{
	const struct export_options *options = perfetto->options;

	perfetto->to_ns = UINT64_MAX;
	if (options->has_from &&
	    __builtin_add_overflow(begin_ns, options->from_ns, &perfetto->from_ns))
		perfetto->from_ns = UINT64_MAX;
	if (options->has_to && __builtin_add_overflow(begin_ns, options->to_ns, &perfetto->to_ns))
		perfetto->to_ns = UINT64_MAX;
}

static int new_order(const struct perfetto *perfetto, struct order **ret_order)
{
	struct order_options options = {.kinds = 1u << EVENT_API | 1u << EVENT_LAUNCH |
						 1u << EVENT_EXECUTION | 1u << EVENT_RANGE |
						 1u << EVENT_COUNTER | 1u << EVENT_LOSS,
					.execution_delay_ns = perfetto->verdicts.delay_ns};

	if (perfetto->has_states)
		options.kinds |= 1u << EVENT_SWITCH;
	if (perfetto->has_states ||
	    export_is_wanted(perfetto->options->kinds, "cpu_sample", "cpu_sample"))
		options.kinds |= 1u << EVENT_CPU_SAMPLE;
	return model_order(perfetto->model, &options, ret_order);
}

/* The order has the delay, which is known once the verdicts are, which need the window. */
static int judge(struct perfetto *perfetto, struct about *about)
{
	struct order *order;
	int error = new_order(perfetto, &order);

	if (error)
		return error;
	about_window(about, perfetto->model, order);
	order_free(order);
	set_window(perfetto, about->window_begin_ns);
	return verdicts_init(&perfetto->verdicts, perfetto->model, perfetto->from_ns,
			     perfetto->to_ns);
}

static int write_all(struct perfetto *perfetto)
{
	struct about about = {0};
	struct order *order;
	int error = judge(perfetto, &about);

	if (!error)
		error = packets_start(&perfetto->packets);
	if (!error)
		error = about_write_begin(&about, perfetto->model, &perfetto->packets);
	if (!error)
		error = tracks_init(&perfetto->tracks, perfetto->model, &perfetto->packets,
				    perfetto->options->pid);
	if (!error)
		error = states_init(&perfetto->states, perfetto->model, &perfetto->packets,
				    &perfetto->tracks, &perfetto->samples);
	if (!error)
		error = counters_init(&perfetto->counters, &perfetto->tracks, &perfetto->packets);
	if (!error)
		error = about_write(&about, perfetto->model, &perfetto->packets,
				    perfetto->tracks.duet, &perfetto->verdicts.ledger);
	if (!error)
		error = new_order(perfetto, &order);
	if (error)
		return error;
	error = write_items(perfetto, order, about.has_end ? about.end_ns : 0);
	order_free(order);
	if (!error)
		error = about_write_end(&about, perfetto->model, &perfetto->packets);
	return error ? error : packets_flush(&perfetto->packets);
}

static void perfetto_fini(struct perfetto *perfetto)
{
	packets_fini(&perfetto->packets);
	counters_fini(&perfetto->counters);
	tracks_fini(&perfetto->tracks);
	samples_fini(&perfetto->samples);
	states_fini(&perfetto->states);
	verdicts_fini(&perfetto->verdicts);
	moments_fini(&perfetto->moments);
	correlate_fini(&perfetto->correlate);
	free(perfetto->waiting);
	free(perfetto->slices);
}

static int write_perfetto(const struct model *model, const struct export_options *options,
			  FILE *file, uint64_t *ret_rows)
{
	const char *kinds = options->kinds;
	struct perfetto perfetto = {.model = model,
				    .options = options,
				    .free_slice = NO_SLICE,
				    .clock_error_ns = clocks_device_error_ns(model->clocks),
				    .has_counters = export_is_wanted(kinds, "counter", "counter"),
				    .has_states = export_is_wanted(kinds, "switch", "switch"),
				    .has_flows = export_is_wanted(kinds, "launch", "launch") &&
						 export_is_wanted(kinds, "execution", "execution")};
	int error;

	packets_init(&perfetto.packets, file);
	correlate_init(&perfetto.correlate);
	error = samples_init(&perfetto.samples, model, options, &perfetto.packets);
	if (!error)
		error = write_all(&perfetto);
	*ret_rows = perfetto.rows;
	perfetto_fini(&perfetto);
	if (error && !*error_text())
		return error_set(error, "write the trace for Perfetto: %s", strerror(-error));
	return error;
}

const struct exporter export_perfetto = {
	.name = "perfetto",
	.help = "a timeline for ui.perfetto.dev and trace_processor: Perfetto's native protobuf "
		"trace",
	.kinds = "api, launch, execution, cpu_sample, switch, range, loss, counter",
	.has_no_instructions = true,
	.is_binary = true,
	.write = write_perfetto,
};
