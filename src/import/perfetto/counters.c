/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/counters.c - counters of tracks
 *
 * Runs in:  our own process
 * Gets:     counter events
 * Gives:    readings of series
 * Owns:     the last value of each counter
 * Fails:    errors of the target
 * Why a value is written when the next one comes: in a Perfetto trace a value holds from its time
 *           to that of the next one
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/perfetto/import.h"
#include "import/target.h"
#include "perfetto_trace.numbers.h"

/* Order of the counters that duet recorded; others are computed from the slices. */
enum { RANK_RECORDED = 50 };

/* rocprofv3 names counters "ALLOCATE BYTES on Agent [4] (GPU)". */
static int find_device(struct perfetto_import *import, const char *name, uint32_t *ret_device)
{
	const char *agent = strstr(name, " on Agent [");
	char key[32];
	unsigned long number;
	char *end;

	if (!agent)
		return 0;
	number = strtoul(agent + strlen(" on Agent ["), &end, 10);
	if (*end != ']')
		return 0;
	snprintf(key, sizeof(key), "Agent-%lu", number);
	return perfetto_commands_agent(import, key, strstr(end, "(CPU)") ? DEVICE_CPU : DEVICE_GPU,
				       ret_device);
}

/* The row that a counter belongs to; "" if that is its process, which its series has. */
static const char *name_above(struct perfetto_import *import, struct perfetto_track *track)
{
	const struct perfetto_track *above = perfetto_tracks_parent(&import->tracks, track);

	return above && above->type != TRACK_PROCESS ? perfetto_tracks_name(&import->tracks, above)
						     : "";
}

static int describe(struct perfetto_import *import, struct perfetto_track *track)
{
	const char *name = perfetto_tracks_name(&import->tracks, track);
	const char *unit = perfetto_import_text(import, track->unit_name);
	const char *above = name_above(import, track);
	struct event_series row = {.type = SERIES_LEVEL};
	char metric[256];
	int error = find_device(import, name, &row.device);

	if (track->unit == PF_UNIT_SIZE_BYTES)
		unit = "bytes";
	else if (track->unit == PF_UNIT_TIME_NS)
		unit = "ns";
	if (!error && !row.device)
		error = perfetto_tracks_owner(&import->tracks, track, &row.process);
	if (row.device || import->tracks.is_own || !*above || strcmp(above, name) == 0)
		snprintf(metric, sizeof(metric), "%s", name);
	else
		snprintf(metric, sizeof(metric), "%s (%s)", name, above);
	return error ? error
		     : import_target_describe_series(import->target, *metric ? metric : "[unnamed]",
						     unit, &row, &track->series);
}

static int write_value(struct perfetto_import *import, const struct perfetto_track *track,
		       uint64_t end_ns)
{
	const struct event_counter row = {.begin = track->value_ns,
					  .end = end_ns > track->value_ns ? end_ns
									  : track->value_ns,
					  .value = track->value,
					  .series = track->series};

	return import_target_counter(import->target, &row);
}

static int64_t whole_of(double value)
{
	return value >= 9e18 ? INT64_MAX : value <= -9e18 ? INT64_MIN : llround(value);
}

int perfetto_counters_take(struct perfetto_import *import, const struct perfetto_event *event,
			   struct perfetto_sequence *sequence)
{
	struct perfetto_track *track = perfetto_tracks_find(&import->tracks, event->track);
	double value = event->is_whole ? (double)event->whole_value : event->value;
	int64_t whole = event->is_whole ? event->whole_value : 0;
	int error = 0;

	if (!track)
		return -ENOMEM;
	if (import->pass != PASS_CALLS || !event->has_value || !isfinite(value) ||
	    (import->tracks.is_own && track->rank != RANK_RECORDED))
		return 0;
	if (event->is_whole && track->is_incremental) {
		whole += (int64_t)hash_map_get(&sequence->values, track->uuid, 0);
		if (hash_map_put(&sequence->values, track->uuid, (uint64_t)whole))
			return -ENOMEM;
	}
	if (!event->is_whole) {
		import->counts.rounded += value != rint(value);
		whole = whole_of(value);
	}
	if (__builtin_mul_overflow(whole, track->multiplier, &whole))
		whole = INT64_MAX;
	if (!track->series)
		error = describe(import, track);
	else
		error = write_value(import, track, event->time_ns);
	track->value = whole;
	track->value_ns = event->time_ns;
	return error;
}

int perfetto_counters_end(struct perfetto_import *import)
{
	int error = 0;

	for (size_t i = 0; i < import->tracks.count && !error; i++)
		if (import->tracks.rows[i].series)
			error = write_value(import, &import->tracks.rows[i], import->last_ns);
	return error;
}
