/* SPDX-License-Identifier: MIT
 *
 * page/view/counters.c - counter tracks of a view: a chart for each series
 *
 * Runs in:  our own process
 * Gets:     readings during the sweep of an analysis
 * Gives:    items of tracks
 * Owns:     nothing; the tracks own all data
 * Fails:    -ENOMEM, errors of the store
 * Why items are raw readings and not displayed values: the page adds up the readings of a selected
 *           range, so that its mean equals the mean in the report. Bins are only displayed, so they
 *           contain displayed values.
 */
#include <errno.h>
#include <math.h>

#include "analyze/model.h"
#include "page/view/tracks.h"

#define MAX_VALUE (INT64_C(1) << 53) /* largest integer range that a double represents exactly */

int view_counters_init(struct view_tracks *tracks)
{
	entity_index_init(&tracks->series, tracks->model->reader, EVENT_SERIES);
	tracks->counters =
		view_tracks_list(tracks, tracks->series.count + 1, sizeof(*tracks->counters));
	tracks->units = view_tracks_list(tracks, tracks->series.count + 1, sizeof(*tracks->units));
	if (!tracks->counters || !tracks->units)
		return -ENOMEM;
	for (size_t i = 0; i < tracks->series.count; i++)
		tracks->units[i] =
			unit_shown_of(tracks->model, entity_index_row(&tracks->series, i));
	return 0;
}

static int64_t clamp_value(int64_t value)
{
	if (value < -MAX_VALUE)
		return -MAX_VALUE;
	return value > MAX_VALUE ? MAX_VALUE : value;
}

/* The displayed value of a reading. A rate without time between two readings is undefined; it is
 * drawn as 0 with no width. */
static int64_t shown(const struct unit_shown *unit, uint32_t type, const struct event_counter *row)
{
	double value = unit_value_of(unit, type, row) * VIEW_METRIC_ONE;

	if (isnan(value))
		return 0;
	if (fabs(value) >= (double)MAX_VALUE)
		return value < 0 ? -MAX_VALUE : MAX_VALUE;
	return llround(value);
}

/* Adds a reading; ignores it if the trace does not describe its series. */
int view_counters_row(struct view_tracks *tracks, const struct event_counter *row)
{
	size_t index = entity_index_find(&tracks->series, row->series);
	const struct event_series *series = entity_index_row(&tracks->series, index);
	struct view_track **track = &tracks->counters[index];
	int64_t begin = view_tracks_time(tracks, row->begin);
	uint64_t length = (uint64_t)(view_tracks_time(tracks, row->end) - begin);
	uint64_t values[3];
	int error = 0;

	if (!series || !analysis_shows(tracks->analysis, row->begin, row->end))
		return 0;
	if (!*track)
		error = view_tracks_new(tracks, VIEW_COUNTER, index, track);
	if (error)
		return error;
	if (series->process)
		tracks->has_threads[entity_index_find(&tracks->processes, series->process)] = true;
	values[0] = length;
	values[1] = view_zigzag(clamp_value(row->value));
	values[2] = row->of < (uint64_t)MAX_VALUE ? row->of : (uint64_t)MAX_VALUE;
	return pyramid_add(
		&(*track)->pyramid,
		&(struct pyramid_item){.begin_ns = begin,
				       .duration_ns = length,
				       .value = shown(&tracks->units[index], series->type, row),
				       .values = values});
}
