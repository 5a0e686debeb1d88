/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/perfetto.c - export to Perfetto's native trace format: a timeline for
 * ui.perfetto.dev
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    TracePackets (proto/perfetto_trace.proto)
 * Owns:     the slices that are not written completely
 * Fails:    -ENOMEM, errors of the reader; -EPIPE ends it silently
 * Why CLOCK_MONOTONIC is the file's primary clock: the viewer's own clock is BOOTTIME, and its
 *           conversion may move the two ends of a slice by the offsets of different snapshots.
 *           Without conversion every sum of durations equals that of the report, to the nanosecond.
 *           If the trace contains BOOTTIME and REALTIME, two snapshots relate them for tools that
 *           merge traces.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/filter.h"
#include "analyze/join/commands.h"
#include "analyze/join/launch_outcomes.h"
#include "analyze/join/ordered_points.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "base/array.h"
#include "base/error.h"
#include "base/number.h"
#include "export/formats.h"
#include "export/perfetto/about.h"
#include "export/perfetto/counters.h"
#include "export/perfetto/instructions.h"
#include "export/perfetto/packets.h"
#include "export/perfetto/samples.h"
#include "export/perfetto/schedule.h"
#include "export/perfetto/slice.h"
#include "export/perfetto/states.h"
#include "export/perfetto/tracks.h"
#include "perfetto_trace.numbers.h"

#define NO_SLICE UINT32_MAX

struct perfetto {
	const struct model *model;
	const struct output_options *options;
	struct packets packets;
	struct tracks tracks;
	struct counters counters;
	struct samples samples;
	struct instructions instructions;
	uint64_t instructions_total;
	struct states states;
	struct schedule schedule;
	struct verdicts verdicts;
	struct moments moments;
	struct slice *slices;
	size_t slices_count, slices_capacity;
	uint32_t free_slice;
	uint64_t from_ns, to_ns;
	uint64_t clock_error_ns;
	uint64_t flows;   /* number of assigned flow ids */
	uint64_t last_ns; /* time of the last moment */
	uint64_t rows;
	bool has_counters, has_flows, has_states;
};

/* ---- filters ---- */

static bool is_of_process(const struct perfetto *perfetto, uint32_t process)
{
	uint64_t pid = perfetto->options->pid;

	return !pid || model_pid(perfetto->model, process) == pid;
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
	       filter_is_wanted(perfetto->options->kinds, kind, kind);
}

/* ---- moments to packets ---- */

static void take_steps(struct perfetto *perfetto, const struct slice_steps *steps)
{
	for (size_t i = 0; i < steps->count; i++)
		perfetto->tracks.counters[steps->steps[i].counter].value += steps->steps[i].by;
}

/* Adds counter values to an event of another track, which takes 6 bytes instead of a packet of
 * 25. */
static void put_extra(struct perfetto *perfetto, const struct slice_steps *steps)
{
	struct protobuf *packet = &perfetto->packets.packet;

	for (size_t i = 0; i < steps->count; i++) {
		const struct tracks_counter *counter =
			&perfetto->tracks.counters[steps->steps[i].counter];

		protobuf_u64(packet, PF_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS, counter->uuid);
		protobuf_i64(packet, PF_TRACK_EVENT_EXTRA_COUNTER_VALUES, counter->value);
	}
}

static int write_counters(struct perfetto *perfetto, uint64_t time_ns,
			  const struct slice_steps *steps)
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

static int write_event(struct perfetto *perfetto, const struct moment *moment,
		       const struct slice *slice, const struct slice_steps *steps)
{
	const struct slice_writer writer = {perfetto->model, &perfetto->packets};
	unsigned int type = PF_TYPE_SLICE_BEGIN;

	if (moment_is_end(moment))
		type = PF_TYPE_SLICE_END;
	else if (slice_is_instant(slice))
		type = PF_TYPE_INSTANT;
	packets_event_begin(&perfetto->packets, moment->time, type, slice->track);
	if (!moment_is_end(moment))
		slice_write(&writer, slice);
	put_extra(perfetto, steps);
	return packets_event_end(&perfetto->packets);
}

static int update_processors(struct perfetto *perfetto, const struct slice *slice)
{
	const struct event_switch *row = &slice->row.change;
	int error = states_switch(&perfetto->states, row, slice->is_shown);

	if (!error && is_inside(perfetto, row->time))
		error = schedule_switch(&perfetto->schedule, row);
	return error;
}

/* Updates the thread states: a thread with any activity is on a processor. */
static int update_states(struct perfetto *perfetto, const struct slice *slice, uint64_t time_ns)
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
		return update_processors(perfetto, slice);
	default:
		return 0;
	}
}

static int write_shown(struct perfetto *perfetto, const struct moment *moment,
		       const struct slice *slice, const struct slice_steps *steps)
{
	if (slice->kind == EVENT_SWITCH || (moment_is_end(moment) && slice_is_instant(slice)))
		return 0;
	if (slice->kind == EVENT_CPU_SAMPLE)
		return samples_write(&perfetto->samples, &slice->row.sample);
	if (slice->kind == EVENT_INSTRUCTION_SAMPLE)
		return instructions_write(&perfetto->instructions, &slice->row.instruction);
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
	const struct slice_steps *steps = is_end ? &slice->at_end : &slice->at_begin;
	int error = is_end ? 0 : update_states(perfetto, slice, moment->time);

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

/* Returns a free slice, which the caller fills and passes to add_slice. It stays free until then.
 * NULL without memory. */
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

/* Takes the slice that new_slice returned into use. */
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

static void add_step(struct slice_steps *steps, uint32_t counter, int64_t by)
{
	steps->steps[steps->count++] = (struct slice_step){counter, by};
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

/* Rows come in order of time up to a delay, so all moments before time_ns minus the delay are
 * complete. */
static int write_before(struct perfetto *perfetto, uint64_t time_ns)
{
	const uint64_t delay_ns = perfetto->verdicts.delay_ns;

	return time_ns > delay_ns ? write_until(perfetto, time_ns - delay_ns) : 0;
}

static int on_launch(void *context, const struct event_launch *row, uint64_t number,
		     uint64_t *ret_tag)
{
	struct perfetto *perfetto = context;
	uint32_t counter = 0;
	struct slice *slice;
	int error = write_before(perfetto, row->enter);

	if (error || !is_of_thread(perfetto, row->thread))
		return error;
	slice = new_slice(perfetto, EVENT_LAUNCH);
	if (!slice)
		return -ENOMEM;
	slice->row.launch = *row;
	slice->is_shown = is_shown(perfetto, "launch", row->enter);
	slice->verdict = verdicts_of(&perfetto->verdicts, row);
	if (slice->is_shown && slice->verdict == VERDICT_DRAWN && perfetto->has_flows)
		slice->flow = ++perfetto->flows;
	*ret_tag = slice->flow;
	if (slice->is_shown)
		error = tracks_place_call(&perfetto->tracks, row->thread, row->enter, row->exit,
					  &slice->track);
	if (!error && row->result == 0 && perfetto->has_counters &&
	    verdicts_has_end(&perfetto->verdicts, slice->verdict)) {
		error = tracks_depth(&perfetto->tracks, row->queue, &counter);
		add_step(&slice->at_begin, counter, 1);
	}
	return error ? error : add_slice(perfetto, slice, row->enter, row->exit);
}

/* Mapping a buffer of a CPU device moves no bytes, as in the report. */
static bool moves_bytes(const struct perfetto *perfetto, uint32_t queue, uint32_t command)
{
	const struct event_queue *row = model_entity(perfetto->model, EVENT_QUEUE, queue);
	const struct event_device *device =
		row ? model_entity(perfetto->model, EVENT_DEVICE, row->device) : NULL;
	bool is_map = command == COMMAND_MAP || command == COMMAND_UNMAP;

	return analysis_class(command) == ACCOUNT_COPY &&
	       !(is_map && device && device->type == DEVICE_CPU);
}

/* Bytes per second of a copy; 0: not known, or the copy is shorter than the clocks' error. */
static int64_t rate_of(const struct perfetto *perfetto, const struct slice *slice)
{
	const struct event_launch *launch = &slice->launched.row;
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
			    analysis_launch_command(perfetto->model, &slice->launched.row),
			    &counter);
	if (error)
		return error;
	add_step(&slice->at_begin, counter, rate);
	add_step(&slice->at_end, counter, -rate);
	return 0;
}

/* Decreases the number of commands in flight at the end of the slice. */
static int add_done(struct perfetto *perfetto, struct slice *slice)
{
	uint32_t counter;
	int error;

	if (!slice->has_launch || !perfetto->has_counters)
		return 0;
	error = tracks_depth(&perfetto->tracks, slice->launched.row.queue, &counter);
	if (!error)
		add_step(&slice->at_end, counter, -1);
	return error;
}

/* A command without device times only decreases the number in flight, when the host saw its end. */
static int on_untimed(struct perfetto *perfetto, struct slice *slice)
{
	uint64_t seen = slice->row.execution.seen;
	int error = add_done(perfetto, slice);

	if (slice->has_launch && seen < slice->launched.row.enter)
		seen = slice->launched.row.enter;
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

static int on_command(void *context, const struct command *command)
{
	struct perfetto *perfetto = context;
	const struct event_execution *row = command->execution;
	struct slice *slice;
	int error;

	if (!row)
		return 0;
	error = write_until(perfetto, command_time(command));
	if (error || !is_of_process(perfetto, row->process))
		return error;
	slice = new_slice(perfetto, EVENT_EXECUTION);
	if (!slice)
		return -ENOMEM;
	slice->row.execution = *row;
	slice->has_launch = command->launch;
	if (command->launch)
		slice->launched = (struct executed_launch){*command->launch, command->tag};
	return execution_has_span(row) ? on_timed(perfetto, slice) : on_untimed(perfetto, slice);
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

static int on_instruction(struct perfetto *perfetto, const struct event_instruction_sample *row)
{
	struct slice *slice;

	if (!is_of_process(perfetto, row->process) ||
	    !is_shown(perfetto, "instruction_sample", row->begin))
		return 0;
	slice = new_slice(perfetto, EVENT_INSTRUCTION_SAMPLE);
	if (!slice)
		return -ENOMEM;
	slice->row.instruction = *row;
	slice->is_shown = true;
	return add_slice(perfetto, slice, row->begin, row->begin);
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
	const struct event_series *series =
		model_entity(perfetto->model, EVENT_SERIES, row->series);
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

static int on_row(void *context, const struct order_item *item)
{
	struct perfetto *perfetto = context;
	int error = write_before(perfetto, item->time_ns);

	if (error)
		return error;
	switch (item->kind) {
	case EVENT_API:
		return on_api(perfetto, item->row);
	case EVENT_CPU_SAMPLE:
		return on_sample(perfetto, item->row);
	case EVENT_INSTRUCTION_SAMPLE:
		return on_instruction(perfetto, item->row);
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

/* ---- the export ---- */

/* Adds the ends of threads: an ended thread is no longer off the processor. */
static int add_ends(struct perfetto *perfetto)
{
	const struct entity_index *threads = &perfetto->tracks.all_threads;
	int error = 0;

	for (size_t i = 0; i < threads->count && !error && perfetto->has_states; i++) {
		const struct event_thread *row = entity_index_row(threads, i);
		struct slice *slice = new_slice(perfetto, EVENT_THREAD);

		if (!slice)
			return -ENOMEM;
		slice->row.thread = row->id;
		if (row->end_ns)
			error = add_slice(perfetto, slice, row->end_ns, row->end_ns);
	}
	return error;
}

/* Threads that are still off the processor stay so until the end of the trace. */
static int write_rest(struct perfetto *perfetto, uint64_t end_ns)
{
	int error = write_until(perfetto, UINT64_MAX);

	if (end_ns < perfetto->last_ns)
		end_ns = perfetto->last_ns;
	return error ? error : states_end(&perfetto->states, end_ns);
}

static uint32_t more_kinds(const struct perfetto *perfetto)
{
	uint32_t kinds =
		1u << EVENT_API | 1u << EVENT_RANGE | 1u << EVENT_COUNTER | 1u << EVENT_LOSS;

	if (perfetto->has_states)
		kinds |= 1u << EVENT_SWITCH;
	if (filter_is_wanted(perfetto->options->kinds, "instruction_sample", "instruction_sample"))
		kinds |= 1u << EVENT_INSTRUCTION_SAMPLE;
	if (perfetto->has_states ||
	    filter_is_wanted(perfetto->options->kinds, "cpu_sample", "cpu_sample"))
		kinds |= 1u << EVENT_CPU_SAMPLE;
	return kinds;
}

static int write_items(struct perfetto *perfetto, uint64_t end_ns)
{
	const struct commands_visitor visitor = {.on_launch = on_launch,
						 .on_command = on_command,
						 .more_kinds = more_kinds(perfetto),
						 .on_row = on_row,
						 .in_order = true,
						 .delay_ns = perfetto->verdicts.delay_ns};
	int error = add_ends(perfetto);

	if (!error)
		error = commands_each(perfetto->model, &visitor, perfetto);
	return error ? error : write_rest(perfetto, end_ns);
}

static void set_window(struct perfetto *perfetto, uint64_t begin_ns)
{
	const struct output_options *options = perfetto->options;

	perfetto->to_ns = UINT64_MAX;
	if (options->has_from &&
	    __builtin_add_overflow(begin_ns, options->from_ns, &perfetto->from_ns))
		perfetto->from_ns = UINT64_MAX;
	if (options->has_to && __builtin_add_overflow(begin_ns, options->to_ns, &perfetto->to_ns))
		perfetto->to_ns = UINT64_MAX;
}

static int prepare_verdicts(struct perfetto *perfetto, struct about *about)
{
	const struct order_options options = {.kinds = 1u << EVENT_LAUNCH | 1u << EVENT_EXECUTION |
						       more_kinds(perfetto)};
	struct order *order;
	int error = model_order(perfetto->model, &options, &order);

	if (error)
		return error;
	about_window(about, perfetto->model, order);
	order_free(order);
	set_window(perfetto, about->window_begin_ns);
	return verdicts_init(&perfetto->verdicts, perfetto->model, perfetto->from_ns,
			     perfetto->to_ns);
}

/* Counts the instruction samples, and those that contradict the account, which only the account
 * knows. Without such samples the analysis, which takes as long as the rest of the export, is not
 * made. */
static int count_instructions(struct perfetto *perfetto)
{
	const struct analysis_options window = filter_window(perfetto->options);
	struct analysis *analysis = NULL;
	int error;

	if (!model_has(perfetto->model, EVENT_INSTRUCTION_SAMPLE))
		return 0;
	error = analysis_new(perfetto->model, &window, &analysis);
	if (error)
		return error;
	perfetto->verdicts.ledger.contradictions = analysis->ledger.contradictions;
	for (size_t i = 0; i < analysis->instructions_count; i++)
		perfetto->instructions_total = add_saturated(perfetto->instructions_total,
							     analysis->instructions[i].samples);
	analysis_free(analysis);
	return 0;
}

static int write_all(struct perfetto *perfetto)
{
	struct about about = {0};
	int error = prepare_verdicts(perfetto, &about);

	if (!error)
		error = count_instructions(perfetto);
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
	schedule_init(&perfetto->schedule, perfetto->model, &perfetto->packets,
		      perfetto->options->pid);
	about_boottime(&about, perfetto->model, &perfetto->schedule.host_ns,
		       &perfetto->schedule.boot_ns);
	if (!error)
		error = instructions_init(&perfetto->instructions, perfetto->model,
					  &perfetto->packets, &perfetto->samples,
					  perfetto->instructions_total);
	if (!error)
		error = counters_init(&perfetto->counters, &perfetto->tracks, &perfetto->packets);
	if (!error)
		error = about_write(&about, perfetto->model, &perfetto->packets,
				    perfetto->tracks.duet, &perfetto->verdicts.ledger);
	if (!error)
		error = write_items(perfetto, about.has_end ? about.end_ns : 0);
	if (!error)
		error = about_write_end(&about, perfetto->model, &perfetto->packets);
	return error ? error : packets_flush(&perfetto->packets);
}

static void perfetto_fini(struct perfetto *perfetto)
{
	packets_fini(&perfetto->packets);
	counters_fini(&perfetto->counters);
	instructions_fini(&perfetto->instructions);
	tracks_fini(&perfetto->tracks);
	samples_fini(&perfetto->samples);
	states_fini(&perfetto->states);
	schedule_fini(&perfetto->schedule);
	verdicts_fini(&perfetto->verdicts);
	moments_fini(&perfetto->moments);
	free(perfetto->slices);
}

static int write_perfetto(const struct model *model, const struct output_options *options,
			  FILE *file, uint64_t *ret_rows)
{
	const char *kinds = options->kinds;
	struct perfetto perfetto = {.model = model,
				    .options = options,
				    .free_slice = NO_SLICE,
				    .clock_error_ns = clocks_device_error_ns(model->clocks),
				    .has_counters = filter_is_wanted(kinds, "counter", "counter"),
				    .has_states = filter_is_wanted(kinds, "switch", "switch"),
				    .has_flows = filter_is_wanted(kinds, "launch", "launch") &&
						 filter_is_wanted(kinds, "execution", "execution")};
	int error;

	packets_init(&perfetto.packets, file);
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
	.help = "a timeline in Perfetto's native protobuf, for ui.perfetto.dev and trace_processor",
	.kinds = "api, launch, execution, cpu_sample, switch, instruction_sample, range, loss, "
		 "counter",
	.is_binary = true,
	.write = write_perfetto,
};
