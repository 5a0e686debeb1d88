/* SPDX-License-Identifier: MIT
 *
 * page/view/tracks.c - the tracks of a view, filled during the sweep of an analysis
 *
 * Runs in:  our own process
 * Gets:     rows, commands and spans of the account
 * Gives:    items of tracks
 * Owns:     the tracks, and the open spans of each thread, device and process
 * Fails:    -ENOMEM, errors of the store
 * Why tracks are created on demand: a machine-wide recording describes thousands of threads, but
 *           only a few of them have events.
 */
#include "page/view/tracks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/entity_index.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/verdict/verdict.h"
#include "base/array.h"
#include "base/string.h"

#define FIRST_PATH 16 /* device tracks: smaller numbers are causes */

_Static_assert(CAUSE_COUNT <= FIRST_PATH, "causes and paths have numbers of their own");

/* list: the tracks of one kind, by index of the entity. */
static int find_track(struct view_tracks *tracks, struct view_track **list, enum view_kind kind,
		      size_t entity, struct view_track **ret_track)
{
	int error = list[entity] ? 0 : view_tracks_new(tracks, kind, entity, &list[entity]);

	*ret_track = list[entity];
	return error;
}

/* ---- spans ---- */

/* Adds a span to the track of `thing`, see find_track. name: number in view_code. */
static int add_named(struct view_tracks *tracks, struct view_track **list, enum view_kind kind,
		     size_t entity, uint32_t name, uint32_t stack_id, struct view_span *span)
{
	struct view_track *track;
	uint32_t stack;
	int error = find_track(tracks, list, kind, entity, &track);

	if (!error)
		error = view_code_stack(tracks->code, stack_id, &stack);
	if (error)
		return error;
	span->what = name;
	span->stack = stack;
	return view_tracks_add_span(tracks, track, span);
}

/* ---- thread activity ---- */

/* Whether a wait is for a lock. The thread that ends such a wait has held the lock. */
static int is_lock(struct view_tracks *tracks, const struct event_switch *row, bool *ret_is_lock)
{
	uint32_t known = pair_map_find(&tracks->waits.locks, row->wait_string, row->stack);
	const struct frame_name *names;
	size_t count;
	int error = 0;

	if (known == PAIR_MAP_NONE) {
		error = frames_of_stack(tracks->code->frames, row->stack, &names, &count);
		if (error)
			return error;
		known = verdict_kind_of_wait(tracks->code->frames,
					     model_text(tracks->model, row->wait_string, ""), names,
					     count) == VERDICT_LOCK;
		error = pair_map_put(&tracks->waits.locks, row->wait_string, row->stack, known);
	}
	*ret_is_lock = known;
	return error;
}

/* The other thread of a span off the processor. waker: id of the thread that ended it; 0: none, or
 * not known. */
static int find_other(struct view_tracks *tracks, const struct event_switch *row, uint32_t waker,
		      uint64_t *ret_extra)
{
	enum { HELD, ENDED, RAN, ROLES = 4 };
	const uint32_t other = row->holder ? row->holder : waker;
	uint32_t role = row->reason == SWITCH_PREEMPTED ? RAN : HELD;
	bool was_held = true;
	int error = 0;

	*ret_extra = 0;
	if (!other || (role == RAN && !row->holder))
		return 0;
	if (!row->holder)
		error = is_lock(tracks, row, &was_held);
	if (!was_held)
		role = ENDED;
	*ret_extra = ROLES * (entity_index_find(&tracks->threads, other) + 1) + role;
	return error;
}

/* The thread is on a processor again, or showed activity: ends its span off the processor. */
static int end_away(struct view_tracks *tracks, size_t thread, uint64_t time_ns, uint32_t waker)
{
	struct view_away *away = &tracks->waits.away[thread];
	const struct event_switch *row = &away->row;
	struct view_span span = {.begin = away->since_ns, .end = time_ns};
	uint32_t name;
	int error;

	away->since_ns = UINT64_MAX;
	if (span.begin >= time_ns || !analysis_shows(tracks->analysis, span.begin, time_ns))
		return 0;
	if (row->wait_string)
		error = view_code_string(tracks->code, row->wait_string, &name);
	else
		error = view_code_name(tracks->code,
				       row->reason == SWITCH_NOT_KNOWN
					       ? "reason not known"
					       : analysis_switch_name(row->reason),
				       &name);
	if (error)
		return error;
	error = find_other(tracks, row, waker, &span.extra);
	if (error)
		return error;
	return add_named(tracks, tracks->off, VIEW_OFF, thread, name, row->stack, &span);
}

static int add_call(struct view_tracks *tracks, uint32_t thread_id, uint32_t function,
		    uint32_t stack_id, struct view_span *span)
{
	size_t thread = entity_index_find(&tracks->threads, thread_id);
	uint32_t name;
	int error = end_away(tracks, thread, span->begin, 0);

	if (error || !analysis_shows(tracks->analysis, span->begin, span->end))
		return error;
	error = view_code_string(tracks->code, function, &name);
	return error ? error
		     : add_named(tracks, tracks->calls, VIEW_CALLS, thread, name, stack_id, span);
}

static int on_api(struct view_tracks *tracks, const struct event_api *row)
{
	struct view_span span = {.begin = row->begin,
				 .end = row->end,
				 .extra = view_zigzag(row->result),
				 .argument = row->argument};

	return add_call(tracks, row->thread, row->function_string, row->stack, &span);
}

static int on_launch(struct view_tracks *tracks, const struct event_launch *row, uint64_t number)
{
	struct view_span span = {.begin = row->enter,
				 .end = row->exit,
				 .link = number,
				 .extra = view_zigzag(row->result),
				 .argument = row->bytes};

	return add_call(tracks, row->thread, row->function_string, row->stack, &span);
}

static int find_samples(struct view_tracks *tracks, size_t thread, uint32_t source,
			struct view_track **ret_track)
{
	uint32_t index = pair_map_find(&tracks->samples, thread, source);
	int error;

	if (index != PAIR_MAP_NONE) {
		*ret_track = tracks->all[index];
		return 0;
	}
	error = view_tracks_new(tracks, VIEW_SAMPLES, thread, ret_track);
	if (error)
		return error;
	(*ret_track)->source = source;
	tracks->has_samples[thread] = true;
	return pair_map_put(&tracks->samples, thread, source, (uint32_t)tracks->count - 1);
}

static int on_sample(struct view_tracks *tracks, const struct event_cpu_sample *row)
{
	size_t thread = entity_index_find(&tracks->threads, row->thread);
	struct view_track *track;
	uint32_t stack;
	int error = end_away(tracks, thread, row->time, 0);

	if (!error)
		error = view_values_sampled(tracks, thread, row);
	if (error || !analysis_shows(tracks->analysis, row->time, row->time))
		return error;
	error = find_samples(tracks, thread, row->source_string, &track);
	if (!error)
		error = view_code_stack(tracks->code, row->stack, &stack);
	if (error)
		return error;
	return pyramid_add(
		&track->pyramid,
		&(struct pyramid_item){
			.begin_ns = view_tracks_time(tracks, row->time),
			.weight = row->weight,
			.what = stack,
			.values = (uint64_t[]){row->weight, stack, row->mode == MODE_KERNEL}});
}

static int on_switch(struct view_tracks *tracks, const struct event_switch *row)
{
	size_t previous = entity_index_find(&tracks->threads, row->previous);
	size_t next = entity_index_find(&tracks->threads, row->next);
	int error = view_processors_switch(tracks, row);

	if (error)
		return error;
	if (previous != tracks->threads.count && row->reason != SWITCH_EXITED &&
	    tracks->waits.away[previous].since_ns == UINT64_MAX)
		tracks->waits.away[previous] = (struct view_away){row->time, *row};
	return end_away(tracks, next, row->time, row->waker);
}

/* Every payload may be another text, and the page has all texts: later ones are left out. */
enum { MAX_TEXTS = 200000 };

/* The name of a range's domain, and its attributes if it has any: see view.md. */
static int name_domain(struct view_tracks *tracks, const struct event_range *row,
		       uint32_t *ret_name)
{
	const struct model *model = tracks->model;
	bool has_payload = row->payload_string && tracks->code->texts.count < MAX_TEXTS;
	struct string_builder text = {0};
	int error;

	if (!row->category_string && !row->colour && !has_payload)
		return view_code_string(tracks->code, row->domain_string, ret_name);
	string_builder_appendf(&text, "%s\x1f%s\x1f", model_text(model, row->domain_string, ""),
			       model_text(model, row->category_string, ""));
	if (row->colour)
		string_builder_appendf(&text, "#%06" PRIx32, row->colour & 0xffffff);
	string_builder_appendf(&text, "\x1f%s",
			       has_payload ? model_text(model, row->payload_string, "") : "");
	error = text.error ? text.error
			   : view_code_name(tracks->code, string_builder_text(&text), ret_name);
	string_builder_fini(&text);
	return error;
}

static int on_range(struct view_tracks *tracks, const struct event_range *row)
{
	struct view_span span = {.begin = row->begin, .end = row->end};
	size_t thread = entity_index_find(&tracks->threads, row->thread);
	uint32_t name, domain;
	int error;

	if (!analysis_shows(tracks->analysis, row->begin, row->end))
		return 0;
	error = view_code_name(tracks->code, model_range_name(tracks->model, row), &name);
	if (!error)
		error = name_domain(tracks, row, &domain);
	if (error)
		return error;
	span.extra = domain;
	return add_named(tracks, tracks->ranges, VIEW_RANGES, thread, name, row->stack, &span);
}

static int on_item(void *context, const struct order_item *item, uint64_t launches)
{
	struct view_tracks *tracks = context;

	switch (item->kind) {
	case EVENT_API:
		return on_api(tracks, item->row);
	case EVENT_LAUNCH:
		return on_launch(tracks, item->row, launches);
	case EVENT_CPU_SAMPLE:
		return on_sample(tracks, item->row);
	case EVENT_RANGE:
		return on_range(tracks, item->row);
	case EVENT_COUNTER:
		return view_counters_row(tracks, item->row);
	default:
		return on_switch(tracks, item->row);
	}
}

/* ---- device activity ---- */

/* Adds the waiting time of a command, from its earliest timestamp to its start. Without both
 * timestamps, all of it counts as time in the device's queue. */
static int add_waiting(struct view_tracks *tracks, const struct observed_command *command)
{
	const struct event_execution *row = command->row;
	bool has_queued = row->valid & EXECUTION_QUEUED;
	bool has_submitted = row->valid & EXECUTION_SUBMITTED;
	uint64_t begin = has_queued ? row->queued : row->submitted, between = begin, values[6];
	struct view_track *track;
	size_t lane;
	int error;

	if (!has_queued && !has_submitted)
		return 0;
	if (has_queued && has_submitted)
		between = row->submitted;
	error = find_track(tracks, tracks->waiting, VIEW_WAITING, command->queue, &track);
	if (!error && lanes_place_command(&track->lanes, begin, row->started, &lane))
		error = -ENOMEM;
	if (error)
		return error;
	memcpy(values,
	       (uint64_t[]){view_tracks_length(tracks, begin, between), lane,
			    view_tracks_length(tracks, between, row->started), command->path,
			    command->launch, 0},
	       sizeof(values));
	return pyramid_add(&track->pyramid,
			   &(struct pyramid_item){.begin_ns = view_tracks_time(tracks, begin),
						  .duration_ns = values[0] + values[2],
						  .what = command->path,
						  .values = values});
}

const struct view_track *view_tracks_context(const struct view_tracks *tracks, size_t device,
					     size_t context)
{
	uint32_t index = pair_map_find(&tracks->contexts, device, context);

	return index == PAIR_MAP_NONE ? NULL : tracks->all[index];
}

/* Adds a command to the track of its context, unless that is unknown or has only one queue. */
static int add_to_context(struct view_tracks *tracks, const struct observed_command *command,
			  const struct view_span *span)
{
	struct view_track *track;
	uint32_t index;
	int error;

	if (!tracks->shares_context[command->queue] ||
	    !tracks->analysis->contexts[command->context].context)
		return 0;
	index = pair_map_find(&tracks->contexts, command->device, command->context);
	if (index != PAIR_MAP_NONE)
		return view_tracks_add_span(tracks, tracks->all[index], span);
	error = view_tracks_new(tracks, VIEW_CONTEXT, command->context, &track);
	if (!error)
		error = pair_map_put(&tracks->contexts, command->device, command->context,
				     (uint32_t)tracks->count - 1);
	return error ? error : view_tracks_add_span(tracks, track, span);
}

static int add_execution(struct view_tracks *tracks, const struct observed_command *command)
{
	const struct event_execution *row = command->row;
	struct view_span span = {.begin = row->started,
				 .end = row->ended,
				 .what = command->path,
				 .link = command->launch,
				 .extra = command->bytes ? command->bytes : command->work_items};
	const bool is_copy = tracks->analysis->paths[command->path].class == ACCOUNT_COPY;
	struct view_track *track;
	int error = find_track(tracks, is_copy ? tracks->transfers : tracks->queues,
			       is_copy ? VIEW_TRANSFERS : VIEW_QUEUE, command->queue, &track);

	if (!error)
		error = view_tracks_add_span(tracks, track, &span);
	span.extra = 0;
	return error ? error : add_to_context(tracks, command, &span);
}

/* Adds a rejected command: its device times contradict each other, so it is in no account. The span
 * lasts from its launch to the time at which the host saw its end. */
static int add_rejected(struct view_tracks *tracks, const struct observed_command *command)
{
	const struct event_execution *row = command->row;
	uint64_t begin = command->enter ? command->enter : row->seen;
	struct view_span span = {.begin = begin < row->seen ? begin : row->seen,
				 .end = row->seen,
				 .link = command->launch,
				 .extra = view_zigzag(row->status)};
	uint32_t name;
	int error;

	if (!analysis_shows(tracks->analysis, span.begin, span.end))
		return 0;
	error = view_code_name(tracks->code, command->name, &name);
	return error ? error
		     : add_named(tracks, tracks->rejected, VIEW_REJECTED, command->queue, name,
				 command->stack, &span);
}

static int on_command(void *context, const struct observed_command *command)
{
	struct view_tracks *tracks = context;
	const struct event_execution *row = command->row;
	int error;

	if (command->is_rejected)
		return add_rejected(tracks, command);
	if (!command->is_in_account || !analysis_shows(tracks->analysis, row->started, row->ended))
		return 0;
	error = add_execution(tracks, command);
	return error ? error : add_waiting(tracks, command);
}

static int put_state(struct view_tracks *tracks, size_t device)
{
	const struct account_span *span = &tracks->states[device].span;
	struct view_span item = {
		.begin = span->begin, .end = span->end, .is_uncovered = !span->is_busy};
	struct view_track *track;
	int error = find_track(tracks, tracks->devices, VIEW_DEVICE, device, &track);

	item.what = span->is_busy ? (uint64_t)span->tag + FIRST_PATH : span->cause;
	if (!span->is_busy && span->has_owner)
		item.stack = (uint64_t)span->tag + 1;
	return error ? error : view_tracks_add_span(tracks, track, &item);
}

static bool goes_on(const struct view_state *state, const struct account_span *span)
{
	const struct account_span *last = &state->span;

	return state->has_span && last->end == span->begin && last->is_busy == span->is_busy &&
	       last->has_owner == span->has_owner && last->tag == span->tag &&
	       last->cause == span->cause;
}

static int on_span(void *context, size_t device, const struct account_span *span)
{
	struct view_tracks *tracks = context;
	struct view_state *state = &tracks->states[device];
	int error = 0;

	if (goes_on(state, span)) {
		state->span.end = span->end;
		return 0;
	}
	if (state->has_span)
		error = put_state(tracks, device);
	*state = (struct view_state){true, *span};
	return error;
}

/* ---- creation and release ---- */

static void init_thread(struct view_tracks *tracks, size_t thread)
{
	const struct event_thread *row = entity_index_row(&tracks->threads, thread);

	tracks->waits.away[thread].since_ns = UINT64_MAX;
	tracks->process_of[thread] =
		(uint32_t)entity_index_find(&tracks->processes, row ? row->process : 0);
}

/* Marks queues that share a context. first: (device, context) -> its first queue. */
static int init_queue(struct view_tracks *tracks, size_t index, struct pair_map *first)
{
	const struct analysis_queue *queue = &tracks->analysis->queues[index];
	uint32_t other = pair_map_find(first, queue->device, queue->context);

	if (other == PAIR_MAP_NONE)
		return pair_map_put(first, queue->device, queue->context, (uint32_t)index);
	tracks->shares_context[index] = tracks->shares_context[other] = true;
	return 0;
}

static int init_queues(struct view_tracks *tracks)
{
	struct pair_map first = {0};
	int error = 0;

	for (size_t i = 0; i <= tracks->event_queues.count && !error; i++)
		error = init_queue(tracks, i, &first);
	pair_map_fini(&first);
	return error;
}

static int make_lists(struct view_tracks *tracks)
{
	size_t threads = tracks->threads.count + 1, queues = tracks->event_queues.count + 1;
	size_t devices = tracks->devices_count + 1, processes = tracks->processes_count + 1;

	tracks->calls = view_tracks_list(tracks, threads, sizeof(*tracks->calls));
	tracks->off = view_tracks_list(tracks, threads, sizeof(*tracks->off));
	tracks->ranges = view_tracks_list(tracks, threads, sizeof(*tracks->ranges));
	tracks->waits.away = view_tracks_list(tracks, threads, sizeof(*tracks->waits.away));
	tracks->has_samples = view_tracks_list(tracks, threads, sizeof(*tracks->has_samples));
	tracks->process_of = view_tracks_list(tracks, threads, sizeof(*tracks->process_of));
	tracks->has_threads = view_tracks_list(tracks, processes, sizeof(*tracks->has_threads));
	tracks->queues = view_tracks_list(tracks, queues, sizeof(*tracks->queues));
	tracks->transfers = view_tracks_list(tracks, queues, sizeof(*tracks->transfers));
	tracks->waiting = view_tracks_list(tracks, queues, sizeof(*tracks->waiting));
	tracks->rejected = view_tracks_list(tracks, queues, sizeof(*tracks->rejected));
	tracks->shares_context = view_tracks_list(tracks, queues, sizeof(*tracks->shares_context));
	tracks->devices = view_tracks_list(tracks, devices, sizeof(*tracks->devices));
	tracks->states = view_tracks_list(tracks, devices, sizeof(*tracks->states));
	if (!tracks->calls || !tracks->off || !tracks->ranges || !tracks->waits.away ||
	    !tracks->queues || !tracks->waiting || !tracks->rejected || !tracks->devices ||
	    !tracks->states || !tracks->has_samples || !tracks->process_of ||
	    !tracks->shares_context || !tracks->has_threads || !tracks->transfers)
		return -ENOMEM;
	for (size_t i = 0; i < threads; i++)
		init_thread(tracks, i);
	return init_queues(tracks);
}

static int on_begin(void *context, const struct analysis *analysis)
{
	struct view_tracks *tracks = context;
	const struct trace_reader *reader = analysis->model->reader;
	struct view_tracks empty = {.model = analysis->model,
				    .analysis = analysis,
				    .store = tracks->store,
				    .code = tracks->code,
				    .devices_count = analysis->devices_count,
				    .contexts_count = analysis->contexts_count,
				    .processes_count = analysis->processes_count};
	int error = view_store_clear(tracks->store);

	view_tracks_fini(tracks);
	*tracks = empty;
	entity_index_init(&tracks->threads, reader, EVENT_THREAD);
	entity_index_init(&tracks->processes, reader, EVENT_PROCESS);
	entity_index_init(&tracks->event_queues, reader, EVENT_QUEUE);
	if (!error)
		error = make_lists(tracks);
	if (!error)
		error = view_values_init(tracks);
	if (!error)
		error = view_processors_init(tracks);
	return error ? error : view_counters_init(tracks);
}

void view_tracks_observe(struct view_tracks *tracks, struct view_store *store,
			 struct view_code *code, struct analysis_observer *ret_observer)
{
	tracks->store = store;
	tracks->code = code;
	*ret_observer = (struct analysis_observer){.context = tracks,
						   .on_begin = on_begin,
						   .on_row = on_item,
						   .on_command = on_command,
						   .on_flight = view_values_flight,
						   .on_span = on_span};
}

void view_tracks_fini(struct view_tracks *tracks)
{
	if (!tracks)
		return;
	for (size_t i = 0; i < tracks->count; i++) {
		pyramid_fini(&tracks->all[i]->pyramid);
		lanes_fini(&tracks->all[i]->lanes);
		free(tracks->all[i]);
	}
	view_values_fini(tracks);
	view_processors_fini(tracks);
	free(tracks->all);
	arena_fini(&tracks->lists);
	pair_map_fini(&tracks->contexts);
	pair_map_fini(&tracks->samples);
	pair_map_fini(&tracks->waits.locks);
	*tracks = (struct view_tracks){0};
}

int view_tracks_finish(struct view_tracks *tracks)
{
	uint64_t wall_ns = tracks->analysis->end_ns - tracks->analysis->begin_ns;
	int error = 0;

	for (size_t i = 0; i < tracks->threads.count && !error; i++)
		error = end_away(tracks, i, tracks->analysis->end_ns, 0);
	for (size_t i = 0; i <= tracks->devices_count && !error; i++)
		error = tracks->states[i].has_span ? put_state(tracks, i) : 0;
	if (!error)
		error = view_values_finish(tracks);
	if (!error)
		error = view_processors_finish(tracks);
	if (!error)
		error = view_iterations_add(tracks);
	for (size_t i = 0; i < tracks->count && !error; i++)
		error = pyramid_finish(&tracks->all[i]->pyramid, wall_ns);
	return error;
}
