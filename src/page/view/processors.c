/* SPDX-License-Identifier: MIT
 *
 * page/view/processors.c - a track for each processor: which recorded thread ran on it
 *
 * Runs in:  our own process
 * Gets:     switches in the order of time
 * Gives:    items of tracks
 * Owns:     the list of processors
 * Fails:    -ENOMEM, errors of the store
 * Why a thread's first stretch is missing: a recording starts while threads run, and only their
 *           next switch has the number of the processor.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/model.h"
#include "base/array.h"
#include "page/view/tracks.h"

#define MAX_PROCESSORS 8192 /* larger numbers are damage */

int view_processors_init(struct view_tracks *tracks)
{
	tracks->processors.names = view_tracks_list(tracks, tracks->threads.count + 1,
						    sizeof(*tracks->processors.names));
	tracks->processors.cpus = view_tracks_list(tracks, tracks->threads.count + 1,
						   sizeof(*tracks->processors.cpus));
	return tracks->processors.names && tracks->processors.cpus ? 0 : -ENOMEM;
}

void view_processors_fini(struct view_tracks *tracks)
{
	free(tracks->processors.list);
	tracks->processors = (struct view_processors){0};
}

static struct view_running *find_processor(struct view_tracks *tracks, uint32_t cpu)
{
	struct view_processors *processors = &tracks->processors;

	if (cpu >= MAX_PROCESSORS ||
	    array_grow(processors->list, processors->capacity, cpu + (size_t)1))
		return NULL;
	while (processors->count <= cpu)
		processors->list[processors->count++] = (struct view_running){.thread = SIZE_MAX};
	return &processors->list[cpu];
}

static int name_thread(struct view_tracks *tracks, size_t thread, uint32_t *ret_name)
{
	const struct event_thread *row = entity_index_row(&tracks->threads, thread);
	char text[128];
	int error;

	*ret_name = tracks->processors.names[thread];
	if (*ret_name)
		return 0;
	snprintf(text, sizeof(text), "%.100s %u",
		 row ? model_text(tracks->model, row->name_string, "thread") : "thread",
		 row ? row->tid : 0);
	error = view_code_name(tracks->code, text, ret_name);
	tracks->processors.names[thread] = *ret_name;
	return error;
}

/* Ends the stretch of the thread that runs on a processor. */
static int end_running(struct view_tracks *tracks, size_t cpu, uint64_t time_ns)
{
	struct view_running *running = &tracks->processors.list[cpu];
	const size_t thread = running->thread;
	struct view_span span = {.begin = running->since_ns, .end = time_ns};
	uint32_t name;
	int error;

	running->thread = SIZE_MAX;
	if (thread == SIZE_MAX || running->since_ns >= time_ns ||
	    !analysis_shows(tracks->analysis, running->since_ns, time_ns))
		return 0;
	error = name_thread(tracks, thread, &name);
	if (!error && !running->track)
		error = view_tracks_new(tracks, VIEW_PROCESSOR, cpu, &running->track);
	if (error)
		return error;
	span.what = name;
	return view_tracks_add_span(tracks, running->track, &span);
}

/* A thread that comes to one processor or leaves it has left all others, whatever the rows say. */
static int end_elsewhere(struct view_tracks *tracks, size_t thread, const struct event_switch *row)
{
	const uint32_t last = thread < tracks->threads.count ? tracks->processors.cpus[thread] : 0;

	return last && last - 1 != row->cpu && tracks->processors.list[last - 1].thread == thread
		       ? end_running(tracks, last - 1, row->time)
		       : 0;
}

int view_processors_switch(struct view_tracks *tracks, const struct event_switch *row)
{
	const size_t next = entity_index_find(&tracks->threads, row->next);
	struct view_running *running;
	int error;

	if (row->cpu >= MAX_PROCESSORS)
		return 0;
	running = find_processor(tracks, row->cpu);
	if (!running)
		return -ENOMEM;
	error = end_running(tracks, row->cpu, row->time);
	if (!error)
		error = end_elsewhere(tracks, entity_index_find(&tracks->threads, row->previous),
				      row);
	if (!error)
		error = end_elsewhere(tracks, next, row);
	if (!error && next < tracks->threads.count) {
		running->thread = next;
		running->since_ns = row->time;
		tracks->processors.cpus[next] = row->cpu + 1;
	}
	return error;
}

int view_processors_finish(struct view_tracks *tracks)
{
	int error = 0;

	for (size_t i = 0; i < tracks->processors.count && !error; i++)
		error = end_running(tracks, i, tracks->analysis->end_ns);
	return error;
}
