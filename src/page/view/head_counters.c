/* SPDX-License-Identifier: MIT
 *
 * page/view/head_counters.c - the part of a view's head that describes the counter tracks
 *
 * Runs in:  our own process
 * Gets:     the series that have a track
 * Gives:    objects of JSON: charts, groups of charts
 * Owns:     the order of the series
 * Fails:    -ENOMEM
 * Why groups: 256 processors appear as one collapsed row, not as 256 rows. The hundred metrics of a
 *           machine appear as one row per family; the family is the first word of a metric's name.
 */
#include "page/view/head.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "analyze/text/row_names.h"
#include "base/array.h"
#include "base/json.h"
#include "base/string.h"
#include "page/view/tracks.h"

static const struct event_series *row_at(const struct view_head_counters *counters, size_t index)
{
	return entity_index_row(&counters->tracks->series, counters->series[index]);
}

/* Whether a series belongs to a whole machine, process or device, and not to one processor, disk or
 * interface. */
static bool is_whole(const struct event_series *row)
{
	return !row->cpu && !row->instance_string;
}

static const char *metric_of(const struct view_head_counters *counters,
			     const struct event_series *row)
{
	return model_text(counters->tracks->model, row->metric_string, "");
}

/* Compares families, the first words of metrics. All series of a process or device are one
 * family. */
static int compare_families(const struct view_head_counters *counters,
			    const struct event_series *left, const struct event_series *right)
{
	const char *a = metric_of(counters, left), *b = metric_of(counters, right);
	size_t length = strcspn(a, "."), other = strcspn(b, ".");
	int order = memcmp(a, b, length < other ? length : other);

	if (left->process || left->device)
		return 0;
	return order ? order : (length > other) - (length < other);
}

/* ---- the order ---- */

static int compare_numbers(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

/* Sorts by string id as well; ids follow the order of recording, so the metrics of a collector keep
 * their order. */
static int compare(const void *left, const void *right, void *context)
{
	const struct view_head_counters *counters = context;
	const size_t *a = left, *b = right;
	const struct event_series *rows[] = {entity_index_row(&counters->tracks->series, *a),
					     entity_index_row(&counters->tracks->series, *b)};
	const struct {
		uint64_t left, right;
	} keys[] = {{rows[0]->metric_string, rows[1]->metric_string},
		    {!is_whole(rows[0]), !is_whole(rows[1])},
		    {rows[0]->cpu, rows[1]->cpu},
		    {*a, *b}};
	int order = compare_numbers(rows[0]->process, rows[1]->process);

	if (!order)
		order = compare_numbers(rows[0]->device, rows[1]->device);
	if (!order)
		order = compare_families(counters, rows[0], rows[1]);
	for (size_t i = 0; i < ARRAY_COUNT(keys) && !order; i++)
		order = compare_numbers(keys[i].left, keys[i].right);
	return order;
}

int view_head_counters_init(struct view_head_counters *counters, const struct view_tracks *tracks)
{
	size_t count = tracks->series.count;

	*counters = (struct view_head_counters){
		.tracks = tracks, .series = calloc(count + 1, sizeof(*counters->series))};
	if (!counters->series)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (tracks->counters[i])
			counters->series[counters->count++] = i;
	qsort_r(counters->series, counters->count, sizeof(*counters->series), compare, counters);
	return 0;
}

void view_head_counters_fini(struct view_head_counters *counters)
{
	free(counters->series);
}

/* Whether a series sorts before those of a process and device. */
static bool is_before(const struct event_series *row, uint32_t process, uint32_t device)
{
	return row->process != process ? row->process < process : row->device < device;
}

static size_t find_series(const struct view_head_counters *counters, uint32_t process,
			  uint32_t device)
{
	return LOWER_BOUND(counters->count, i, is_before(row_at(counters, i), process, device));
}

/* ---- tracks ---- */

static void write_chart(const struct view_head_counters *counters, struct view_track_writer *writer,
			size_t parent, size_t index)
{
	const struct view_tracks *tracks = counters->tracks;
	const struct event_series *row = row_at(counters, index);
	const struct unit_shown *unit = &tracks->units[counters->series[index]];
	struct json_writer *json = writer->json;
	struct string_builder name = {0};

	row_name_series(tracks->model, row, &name);
	view_track_begin(writer, "counter", parent, string_builder_text(&name));
	string_builder_fini(&name);
	json_pair_text(json, "detail", model_text(tracks->model, row->source_string, ""));
	json_pair_text(json, "type", analysis_series_type(row->type));
	json_pair_text(json, "unit", unit->text);
	json_pair_double(json, "factor", unit->factor);
	if (row->limit)
		json_pair_double(json, "max", unit_limit(unit, row->type, row->limit));
	if (row->interval_ns)
		json_pair_u64(json, "interval_ns", row->interval_ns);
	view_track_end(writer, tracks->counters[counters->series[index]]);
}

/* Number of series, from index on, that are parts of the same metric: one per processor or
 * instance. */
static size_t count_parts(const struct view_head_counters *counters, size_t index, size_t end)
{
	const struct event_series *first = row_at(counters, index);
	size_t count = 0;

	if (is_whole(first))
		return 1;
	while (index + count < end) {
		const struct event_series *row = row_at(counters, index + count);

		if (row->metric_string != first->metric_string || !row->cpu != !first->cpu)
			break;
		count++;
	}
	return count;
}

static size_t write_group(struct view_track_writer *writer, size_t parent, const char *name,
			  const char *detail)
{
	size_t self = writer->written;

	view_track_begin(writer, "metrics", parent, name);
	json_pair_text(writer->json, "detail", detail);
	view_track_end(writer, NULL);
	return self;
}

/* Writes the charts of `count` series from `first` on, below `parent`. */
static void write_parts(const struct view_head_counters *counters, struct view_track_writer *writer,
			size_t parent, size_t first, size_t count)
{
	const struct event_series *row = row_at(counters, first);
	char detail[32];

	if (count > 1) {
		snprintf(detail, sizeof(detail), "%zu %s", count,
			 row->cpu ? "processors" : "parts");
		parent = write_group(writer, parent, metric_of(counters, row), detail);
	}
	for (size_t i = first; i < first + count; i++)
		write_chart(counters, writer, parent, i);
}

static void write_metrics(const struct view_head_counters *counters,
			  struct view_track_writer *writer, size_t parent, size_t at, size_t end)
{
	while (at < end) {
		size_t count = count_parts(counters, at, end);

		write_parts(counters, writer, parent, at, count);
		at += count;
	}
}

/* The index after the last series of the family of `at`. */
static size_t end_of_family(const struct view_head_counters *counters, size_t at, size_t end)
{
	const struct event_series *first = row_at(counters, at);

	while (at < end && !compare_families(counters, first, row_at(counters, at)))
		at++;
	return at;
}

/* Writes a family, as a group unless it is the only one. */
static void write_family(const struct view_head_counters *counters,
			 struct view_track_writer *writer, size_t parent, size_t at, size_t end)
{
	const char *name = metric_of(counters, row_at(counters, at));
	char family[64], detail[32];

	if (count_parts(counters, at, end) < end - at) {
		snprintf(family, sizeof(family), "%.*s", (int)strcspn(name, "."), name);
		snprintf(detail, sizeof(detail), "%zu charts", end - at);
		parent = write_group(writer, parent, family, detail);
	}
	write_metrics(counters, writer, parent, at, end);
}

static const char *host_name(const struct model *model)
{
	const struct event_host *host;

	if (model_entities(model, EVENT_HOST, &host) != 1)
		return "";
	return model_text(model, host->name_string, "");
}

void view_head_counters_write(const struct view_head_counters *counters,
			      struct view_track_writer *writer, size_t parent, uint32_t process,
			      uint32_t device)
{
	size_t at = find_series(counters, process, device),
	       end = find_series(counters, process, device + 1);

	if (at >= end)
		return;
	if (parent != VIEW_TRACK_NONE) {
		parent = write_group(writer, parent, "metrics", "");
		write_metrics(counters, writer, parent, at, end);
		return;
	}
	parent = write_group(writer, parent, "system", host_name(counters->tracks->model));
	while (at < end) {
		size_t family_end = end_of_family(counters, at, end);

		write_family(counters, writer, parent, at, family_end);
		at = family_end;
	}
}
