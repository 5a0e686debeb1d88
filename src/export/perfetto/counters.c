/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/counters.c - write the recorded counters of a timeline
 *
 * Runs in:  our own process
 * Gets:     readings ordered by start
 * Gives:    counter tracks below the track of their process, device or machine, and the values
 * Owns:     units and numbers of tracks
 * Fails:    -ENOMEM, errors of writing
 * Why a value is written at the start of its reading: the viewer shows a value from its time to
 *           that of the next value, and a rate describes the time after its start. Perfetto cannot
 *           express an unknown value: in a gap between readings the viewer continues to show the
 *           last value.
 */
#include "export/perfetto/counters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "analyze/text/row_names.h"
#include "analyze/text/units.h"
#include "base/string.h"
#include "export/perfetto/packets.h"
#include "export/perfetto/tracks.h"
#include "perfetto_trace.numbers.h"

int counters_init(struct counters *counters, struct tracks *tracks, struct packets *packets)
{
	*counters = (struct counters){.packets = packets, .tracks = tracks};
	entity_index_init(&counters->series, tracks->model->reader, EVENT_SERIES);
	counters->units = calloc(counters->series.count + 1, sizeof(*counters->units));
	counters->uuids = calloc(counters->series.count + 1, sizeof(*counters->uuids));
	if (!counters->units || !counters->uuids)
		return -ENOMEM;
	for (size_t i = 0; i < counters->series.count; i++)
		counters->units[i] =
			unit_shown_of(tracks->model, entity_index_row(&counters->series, i));
	return 0;
}

void counters_fini(struct counters *counters)
{
	if (!counters)
		return;
	free(counters->units);
	free(counters->uuids);
	*counters = (struct counters){0};
}

/* The viewer scales bytes (KiB, MiB); other units are written as text. */
static bool is_bytes(const struct counters *counters, const struct event_series *series)
{
	return series->type == SERIES_LEVEL &&
	       strcmp(model_text(counters->tracks->model, series->unit_string, ""), "bytes") == 0;
}

static int find_parent(struct counters *counters, const struct event_series *series,
		       uint64_t *ret_uuid)
{
	uint64_t uuid = 0;
	int error = 0;

	if (series->process)
		uuid = tracks_process(counters->tracks, series->process);
	else if (series->device)
		uuid = tracks_device(counters->tracks, series->device);
	if (!uuid && !counters->system)
		error = tracks_describe(counters->tracks, 0, "system", &counters->system);
	*ret_uuid = uuid ? uuid : counters->system;
	return error;
}

static int describe(struct counters *counters, size_t index, const struct event_series *series)
{
	const struct tracks_counter_about about = {
		.unit = is_bytes(counters, series) ? PF_UNIT_SIZE_BYTES : PF_UNIT_UNSPECIFIED,
		.unit_name = counters->units[index].text,
		.description = model_text(counters->tracks->model, series->source_string, "")};
	struct string_builder name = {0};
	uint64_t parent;
	int error = find_parent(counters, series, &parent);

	if (error)
		return error;
	row_name_series(counters->tracks->model, series, &name);
	error = tracks_describe_counter(counters->tracks, parent, string_builder_text(&name),
					&about, &counters->uuids[index]);
	string_builder_fini(&name);
	return error;
}

int counters_write(struct counters *counters, const struct event_counter *row)
{
	size_t index = entity_index_find(&counters->series, row->series);
	const struct event_series *series = entity_index_row(&counters->series, index);
	double value = series ? unit_value_of(&counters->units[index], series->type, row) : NAN;
	int error = 0;

	if (isnan(value))
		return 0;
	if (!counters->uuids[index])
		error = describe(counters, index, series);
	if (error)
		return error;
	packets_event_begin(counters->packets, row->begin, PF_TYPE_COUNTER, counters->uuids[index]);
	if (is_bytes(counters, series))
		protobuf_i64(&counters->packets->packet, PF_TRACK_EVENT_COUNTER_VALUE, row->value);
	else
		protobuf_double(&counters->packets->packet, PF_TRACK_EVENT_DOUBLE_COUNTER_VALUE,
				value);
	return packets_event_end(counters->packets);
}
