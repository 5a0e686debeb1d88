/* SPDX-License-Identifier: MIT
 *
 * export/view_counters.c - the tracks of what was counted: a chart of each series
 *
 * Runs in:  our own process
 * Gets:     readings while an analysis sweeps   Gives: items of tracks
 * Owns:     nothing; all is the tracks'
 * Fails:    -ENOMEM, errors of the store
 * Why items are the readings as they were read, and not what is shown of them: the page's sums over a range are sums of
 *           these, so that a mean of it is the report's. Bins, which are only looked at, have what is shown.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "export/view_tracks.h"

#define VALUE_MOST (INT64_C(1) << 53) /* what a double holds */

int view_counters_init(struct view_tracks *tracks)
{
	things_init(&tracks->series, tracks->model->reader, EVENT_SERIES);
	tracks->counters = calloc(tracks->series.count + 1, sizeof(*tracks->counters));
	tracks->units = calloc(tracks->series.count + 1, sizeof(*tracks->units));
	if (!tracks->counters || !tracks->units)
		return -ENOMEM;
	for (size_t i = 0; i < tracks->series.count; i++)
		tracks->units[i] = unit_shown_of(tracks->model, things_row(&tracks->series, i));
	return 0;
}

void view_counters_fini(struct view_tracks *tracks)
{
	free(tracks->counters);
	free(tracks->units);
}

static int64_t clamp_value(int64_t value)
{
	if (value < -VALUE_MOST)
		return -VALUE_MOST;
	return value > VALUE_MOST ? VALUE_MOST : value;
}

/* What says nothing, because no time is between two readings, is drawn as 0 of no width. */
static int64_t shown(const struct unit_shown *unit, uint32_t type, const struct event_counter *row)
{
	double value = unit_value_of(unit, type, row) * VIEW_METRIC_ONE;

	if (isnan(value))
		return 0;
	if (fabs(value) >= (double)VALUE_MOST)
		return value < 0 ? -VALUE_MOST : VALUE_MOST;
	return llround(value);
}

/* Nobody can say what a reading is of whose series is not described. */
int view_counters_row(struct view_tracks *tracks, const struct event_counter *row)
{
	size_t index = things_index(&tracks->series, row->series);
	const struct event_series *series = things_row(&tracks->series, index);
	struct view_track **track = &tracks->counters[index];
	int64_t begin = view_tracks_time(tracks, row->begin);
	uint64_t length = (uint64_t)(view_tracks_time(tracks, row->end) - begin);
	uint64_t values[3];
	int error = 0;

	if (!series || !view_tracks_is_shown(tracks, row->begin, row->end))
		return 0;
	if (!*track)
		error = view_tracks_new(tracks, VIEW_COUNTER, index, track);
	if (error)
		return error;
	if (series->process)
		tracks->has_threads[things_index(&tracks->processes, series->process)] = true;
	values[0] = length;
	values[1] = view_zigzag(clamp_value(row->value));
	values[2] = row->of < (uint64_t)VALUE_MOST ? row->of : (uint64_t)VALUE_MOST;
	return pyramid_add(
		&(*track)->pyramid,
		&(struct pyramid_item){.begin_ns = begin,
				       .duration_ns = length,
				       .value = shown(&tracks->units[index], series->type, row),
				       .values = values});
}
