/* SPDX-License-Identifier: MIT
 *
 * export/otlp/counters.c - export counters as metrics of OpenTelemetry
 *
 * Runs in:  our own process
 * Gets:     series and their readings
 * Gives:    gauges of levels and ratios, sums of amounts (delta)
 * Owns:     the points of each metric until all are read
 * Fails:    -ENOMEM, errors of the reader
 * Why all points are kept in memory (about 80 bytes each): a metric contains all of its points, of
 *           all processors and disks, while readings come tick by tick. Also, the message must be
 *           complete before its length can be written.
 */
#include "export/otlp/counters.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/entity_index.h"
#include "analyze/filter.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "base/array.h"
#include "base/string.h"
#include "export/common/protobuf.h"
#include "export/otlp/common.h"
#include "otlp.numbers.h"

/* The series of one name, type and unit. */
struct metric {
	const struct event_series *series; /* the first */
	struct protobuf points;
};

struct counters {
	struct filter filter;
	struct entity_index series;
	uint32_t *metric_of; /* by series */
	struct metric *metrics;
	size_t count, capacity;
	uint64_t points;
};

/* ---- metrics of series ---- */

static bool is_same(const struct event_series *a, const struct event_series *b)
{
	return a->metric_string == b->metric_string && a->type == b->type &&
	       a->unit_string == b->unit_string;
}

static int find_metric(struct counters *counters, size_t index)
{
	const struct event_series *row = entity_index_row(&counters->series, index);
	size_t i = 0;

	while (i < counters->count && !is_same(counters->metrics[i].series, row))
		i++;
	if (i == counters->count) {
		if (array_grow(counters->metrics, counters->capacity, i + 1))
			return -ENOMEM;
		counters->metrics[counters->count++] = (struct metric){.series = row};
	}
	counters->metric_of[index] = (uint32_t)i;
	return 0;
}

static int find_metrics(struct counters *counters)
{
	int error = 0;

	entity_index_init(&counters->series, counters->filter.model->reader, EVENT_SERIES);
	counters->metric_of = calloc(counters->series.count + 1, sizeof(*counters->metric_of));
	if (!counters->metric_of)
		return -ENOMEM;
	for (size_t i = 0; i < counters->series.count && !error; i++)
		error = find_metric(counters, i);
	return error;
}

/* ---- points ---- */

static void put_of(const struct model *model, struct protobuf *message,
		   const struct event_series *series)
{
	const struct event_process *process = model_entity(model, EVENT_PROCESS, series->process);
	const struct event_device *device = model_entity(model, EVENT_DEVICE, series->device);

	if (process) {
		otlp_put_int(message, OTLP_NUMBER_DATA_POINT_ATTRIBUTES, "process.pid",
			     process->pid);
		otlp_put_text(message, OTLP_NUMBER_DATA_POINT_ATTRIBUTES, "process.command",
			      model_text(model, process->name_string, ""));
	}
	if (device)
		otlp_put_text(message, OTLP_NUMBER_DATA_POINT_ATTRIBUTES, "hw.id",
			      model_text(model, device->key_string, ""));
	if (series->cpu)
		otlp_put_int(message, OTLP_NUMBER_DATA_POINT_ATTRIBUTES, "cpu.logical_number",
			     (int64_t)series->cpu - 1);
	otlp_put_text(message, OTLP_NUMBER_DATA_POINT_ATTRIBUTES, "duet.instance",
		      model_text(model, series->instance_string, ""));
}

static int put_point(struct counters *counters, const struct event_counter *row)
{
	size_t index = entity_index_find(&counters->series, row->series);
	const struct event_series *series = entity_index_row(&counters->series, index);
	const struct model *model = counters->filter.model;
	struct protobuf *message;
	uint64_t begin_ns, end_ns;
	size_t begin;

	if (!series || (series->type == SERIES_RATIO && !row->of) ||
	    !model_wall_clock(model, row->begin, &begin_ns) ||
	    !model_wall_clock(model, row->end, &end_ns))
		return 0;
	message = &counters->metrics[counters->metric_of[index]].points;
	begin = protobuf_begin(message, OTLP_SUM_DATA_POINTS);
	if (series->type != SERIES_LEVEL)
		protobuf_fixed64(message, OTLP_NUMBER_DATA_POINT_START_TIME_UNIX_NANO, begin_ns);
	protobuf_fixed64(message, OTLP_NUMBER_DATA_POINT_TIME_UNIX_NANO, end_ns);
	if (series->type == SERIES_RATIO)
		protobuf_double(message, OTLP_NUMBER_DATA_POINT_AS_DOUBLE,
				(double)row->value / (double)row->of);
	else
		protobuf_fixed64(message, OTLP_NUMBER_DATA_POINT_AS_INT, (uint64_t)row->value);
	put_of(model, message, series);
	protobuf_end(message, begin);
	counters->points++;
	return message->error;
}

static int put_points(struct counters *counters)
{
	const struct order_options options = {.kinds = 1u << EVENT_COUNTER};
	struct order *order = NULL;
	struct order_item item;
	int error = model_order(counters->filter.model, &options, &order), status;

	while (!error && (status = order_next(order, &item)) != 0) {
		if (status < 0)
			error = status;
		else if (filter_has_time(&counters->filter, item.time_ns))
			error = put_point(counters, item.row);
	}
	order_free(order);
	return error;
}

/* ---- metrics ---- */

/* Writes the unit in UCUM, which OpenTelemetry requires; a unit that UCUM does not have becomes an
 * annotation. */
static void put_unit(const struct model *model, struct protobuf *message,
		     const struct event_series *series)
{
	static const char *const units[][2] = {{"bytes", "By"}, {"ns", "ns"}, {"mC", "mCel"},
					       {"uJ", "uJ"},    {"Hz", "Hz"}, {"mW", "mW"}};
	const char *unit = model_text(model, series->unit_string, "");
	char text[64];

	snprintf(text, sizeof(text), "{%.40s}", unit);
	for (size_t i = 0; i < ARRAY_COUNT(units); i++)
		if (strcmp(units[i][0], unit) == 0)
			snprintf(text, sizeof(text), "%s", units[i][1]);
	protobuf_text(message, OTLP_METRIC_UNIT, series->type == SERIES_RATIO ? "1" : text);
}

static void put_metric(const struct model *model, struct protobuf *message,
		       const struct metric *metric)
{
	const struct event_series *series = metric->series;
	bool is_sum = series->type == SERIES_AMOUNT;
	size_t begin = protobuf_begin(message, OTLP_SCOPE_METRICS_METRICS), data;
	struct string_builder name = {0};

	string_builder_appendf(&name, "duet.counter.%s",
			       model_text(model, series->metric_string, "unnamed"));
	protobuf_text(message, OTLP_METRIC_NAME, string_builder_text(&name));
	string_builder_fini(&name);
	protobuf_text(message, OTLP_METRIC_DESCRIPTION,
		      model_text(model, series->source_string, ""));
	put_unit(model, message, series);
	data = protobuf_begin(message, is_sum ? OTLP_METRIC_SUM : OTLP_METRIC_GAUGE);
	protobuf_append(message, metric->points.bytes, metric->points.size);
	if (is_sum) {
		protobuf_u64(message, OTLP_SUM_AGGREGATION_TEMPORALITY,
			     OTLP_AGGREGATION_TEMPORALITY_DELTA);
		protobuf_u64(message, OTLP_SUM_IS_MONOTONIC, 1);
	}
	protobuf_end(message, data);
	protobuf_end(message, begin);
}

int otlp_put_counters(struct protobuf *message, const struct model *model,
		      const struct output_options *options, uint64_t *inout_points)
{
	struct counters counters = {0};
	int error = filter_open(&counters.filter, model, options);

	if (!error)
		error = find_metrics(&counters);
	if (!error)
		error = put_points(&counters);
	for (size_t i = 0; i < counters.count; i++) {
		if (!error && counters.metrics[i].points.size)
			put_metric(model, message, &counters.metrics[i]);
		protobuf_fini(&counters.metrics[i].points);
	}
	*inout_points += counters.points;
	free(counters.metric_of);
	free(counters.metrics);
	return error;
}
