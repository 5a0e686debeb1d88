/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/states.c - write the times at which threads were off the processor, as slices of
 * a track below each thread
 *
 * Runs in:  our own process
 * Gets:     activity of threads, ordered by time
 * Gives:    slices "blocked: futex", "preempted"
 * Owns:     the set of threads that are off the processor
 * Fails:    -ENOMEM, errors of writing
 * Why slices and not the viewer's own thread states: the viewer takes its thread states from
 *           scheduler events only. These need the switches of all threads of the machine, and
 *           express neither a Python lock nor its holder.
 */
#include "export/perfetto/states.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/model.h"
#include "export/perfetto/packets.h"
#include "export/perfetto/samples.h"
#include "export/perfetto/tracks.h"
#include "perfetto_trace.numbers.h"

int states_init(struct states *states, const struct model *model, struct packets *packets,
		struct tracks *tracks, struct samples *samples)
{
	*states = (struct states){
		.model = model, .packets = packets, .tracks = tracks, .samples = samples};
	states->is_away = calloc(tracks->all_threads.count + 1, sizeof(*states->is_away));
	return states->is_away ? 0 : -ENOMEM;
}

void states_fini(struct states *states)
{
	if (states)
		free(states->is_away);
}

/* NULL if the trace does not describe the thread. */
static bool *find_thread(const struct states *states, uint32_t id)
{
	const struct entity_index *threads = &states->tracks->all_threads;
	size_t index = entity_index_find(threads, id);

	return index < threads->count ? &states->is_away[index] : NULL;
}

static void put_name(struct states *states, const struct event_switch *row)
{
	const char *wait = model_text(states->model, row->wait_string, "");
	const char *state = row->reason == SWITCH_PREEMPTED ? "preempted" : "blocked";
	char name[128];

	snprintf(name, sizeof(name), "%s%s%s", state, *wait ? ": " : "", wait);
	packets_name(states->packets, name);
}

static void put_holder(struct states *states, uint32_t id)
{
	const struct event_thread *holder = model_entity(states->model, EVENT_THREAD, id);
	char text[128];

	if (!holder)
		return;
	snprintf(text, sizeof(text), "thread %" PRIu32 " (%s)", holder->tid,
		 model_text(states->model, holder->name_string, "unnamed"));
	packets_constant(states->packets, KEY_HOLDER, text);
}

static int begin_slice(struct states *states, const struct event_switch *row)
{
	const char *function;
	uint64_t track;
	int error = tracks_off_cpu(states->tracks, row->previous, &track);

	if (!error)
		error = samples_name(states->samples, row->stack, &function);
	if (error)
		return error;
	packets_event_begin(states->packets, row->time, PF_TYPE_SLICE_BEGIN, track);
	packets_category(states->packets, CATEGORY_OFF_CPU);
	put_name(states, row);
	if (function)
		packets_constant(states->packets, KEY_FUNCTION, function);
	put_holder(states, row->holder);
	return packets_event_end(states->packets);
}

static int end_slice(struct states *states, uint32_t thread, uint64_t time_ns)
{
	uint64_t track;
	int error = tracks_off_cpu(states->tracks, thread, &track);

	if (error)
		return error;
	packets_event_begin(states->packets, time_ns, PF_TYPE_SLICE_END, track);
	return packets_event_end(states->packets);
}

int states_back(struct states *states, uint32_t thread, uint64_t time_ns)
{
	bool *is_away = states->away_count ? find_thread(states, thread) : NULL;

	if (!is_away || !*is_away)
		return 0;
	*is_away = false;
	states->away_count--;
	return end_slice(states, thread, time_ns);
}

/* If a thread leaves the processor twice without a return in between, the slice starts at the first
 * time. */
static int leave_processor(struct states *states, const struct event_switch *row)
{
	const struct event_thread *thread =
		model_entity(states->model, EVENT_THREAD, row->previous);
	bool *is_away = find_thread(states, row->previous);

	if (!is_away || *is_away || (thread->end_ns && row->time >= thread->end_ns))
		return 0;
	*is_away = true;
	states->away_count++;
	return begin_slice(states, row);
}

int states_switch(struct states *states, const struct event_switch *row, bool is_drawn)
{
	int error = 0;

	if (row->reason == SWITCH_EXITED)
		error = states_back(states, row->previous, row->time);
	else if (is_drawn)
		error = leave_processor(states, row);
	return error ? error : states_back(states, row->next, row->time);
}

int states_end(struct states *states, uint64_t time_ns)
{
	const struct entity_index *threads = &states->tracks->all_threads;
	int error = 0;

	for (size_t i = 0; i < threads->count && !error; i++) {
		const struct event_thread *row = entity_index_row(threads, i);

		error = states_back(states, row->id, time_ns);
	}
	return error;
}
