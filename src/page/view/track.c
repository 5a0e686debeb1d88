/* SPDX-License-Identifier: MIT
 *
 * page/view/track.c - creates the tracks of a view, and adds spans to them
 *
 * Runs in:  our own process
 * Gets:     kinds and entities of tracks, spans
 * Gives:    tracks, items of tracks, lists in the arena
 * Owns:     nothing; the tracks own all data
 * Fails:    -ENOMEM, errors of the store
 * Why apart from tracks.c: the files for tracks of one kind need this, and tracks.c calls those
 *           files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "page/view/tracks.h"

#define MAX_TIME (INT64_C(1) << 53) /* largest integer range that a double represents exactly */

static const struct {
	enum pyramid_type type;
	unsigned int columns;
} kinds[VIEW_KIND_COUNT] = {
	[VIEW_CALLS] = {PYRAMID_SPANS, 8},      [VIEW_OFF] = {PYRAMID_SPANS, 7},
	[VIEW_SAMPLES] = {PYRAMID_MOMENTS, 4},  [VIEW_DEVICE] = {PYRAMID_SPANS, 7},
	[VIEW_CONTEXT] = {PYRAMID_SPANS, 7},    [VIEW_QUEUE] = {PYRAMID_SPANS, 7},
	[VIEW_TRANSFERS] = {PYRAMID_SPANS, 7},  [VIEW_WAITING] = {PYRAMID_CROWDS, 7},
	[VIEW_REJECTED] = {PYRAMID_SPANS, 7},   [VIEW_METRIC] = {PYRAMID_VALUES, 2},
	[VIEW_CLOCK] = {PYRAMID_VALUES, 2},     [VIEW_RANGES] = {PYRAMID_SPANS, 7},
	[VIEW_COUNTER] = {PYRAMID_READINGS, 4}, [VIEW_PROCESSOR] = {PYRAMID_SPANS, 7},
	[VIEW_ITERATIONS] = {PYRAMID_SPANS, 7},
};

int64_t view_tracks_time(const struct view_tracks *tracks, uint64_t host_ns)
{
	uint64_t begin_ns = tracks->analysis->begin_ns;

	if (host_ns >= begin_ns)
		return host_ns - begin_ns < MAX_TIME ? (int64_t)(host_ns - begin_ns) : MAX_TIME;
	return begin_ns - host_ns < MAX_TIME ? -(int64_t)(begin_ns - host_ns) : -MAX_TIME;
}

int view_tracks_new(struct view_tracks *tracks, enum view_kind kind, size_t entity,
		    struct view_track **ret_track)
{
	const struct analysis *analysis = tracks->analysis;
	int64_t from = view_tracks_time(tracks, analysis->from_ns), to = MAX_TIME;
	struct view_track *track = calloc(1, sizeof(*track));

	if (!track || array_grow(tracks->all, tracks->capacity, tracks->count + 1)) {
		free(track);
		return -ENOMEM;
	}
	if (analysis->has_window)
		to = view_tracks_time(tracks, analysis->to_ns);
	if (kind == VIEW_CALLS || kind == VIEW_OFF || kind == VIEW_SAMPLES || kind == VIEW_RANGES)
		tracks->has_threads[tracks->process_of[entity]] = true;
	track->kind = kind;
	track->entity = entity;
	pyramid_init(&track->pyramid, kinds[kind].type, kinds[kind].columns, 2 * kind, from,
		     to > from ? to : from + 1, tracks->store);
	tracks->all[tracks->count++] = track;
	*ret_track = track;
	return 0;
}

uint64_t view_tracks_length(const struct view_tracks *tracks, uint64_t begin, uint64_t end)
{
	return (uint64_t)(view_tracks_time(tracks, end) - view_tracks_time(tracks, begin));
}

int view_tracks_add_span(struct view_tracks *tracks, struct view_track *track,
			 const struct view_span *span)
{
	uint64_t length = view_tracks_length(tracks, span->begin, span->end), values[7];
	const struct pyramid_item item = {.begin_ns = view_tracks_time(tracks, span->begin),
					  .duration_ns = length,
					  .what = span->what,
					  .is_uncovered = span->is_uncovered,
					  .values = values};
	size_t lane;

	if (lanes_place_command(&track->lanes, span->begin, span->end, &lane))
		return -ENOMEM;
	memcpy(values,
	       (uint64_t[]){length, lane, span->what, span->stack, span->link, span->extra,
			    span->argument},
	       sizeof(values));
	return pyramid_add(&track->pyramid, &item);
}

void *view_tracks_list(struct view_tracks *tracks, size_t count, size_t size)
{
	void *list = arena_alloc(&tracks->lists, count * size);

	return list ? memset(list, 0, count * size) : NULL;
}
