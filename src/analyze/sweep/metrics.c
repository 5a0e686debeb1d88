/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/metrics.c - counters (CPU, memory, disk, devices) within each of the program's
 * ranges
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     ranges and readings in the order of their begin
 * Gives:    a row for each row of ranges and each chosen series
 * Owns:     readings that may overlap later ranges, and ranges that later readings may overlap
 * Fails:    -ENOMEM
 * Why a reading is counted only at its end: a range that begins within a reading gets a part of the
 *           reading, and the sweep reaches a range at its begin. At 100 readings per second, only
 *           the ranges of 10 ms are kept, so memory does not grow with the trace.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/text/metrics.h"
#include "analyze/text/units.h"
#include "base/array.h"

enum { RETIRE_AFTER = 1024 }; /* ranges, at least */

/* The series that matter most for a range: all series of devices, and some of the machine and its
 * processes. */
static bool is_chosen(const struct model *model, const struct event_series *series)
{
	static const char *const names[] = {"cpu.busy",           "memory.used",     "process.cpu",
					    "process.memory.rss", "disk.read",       "disk.write",
					    "process.io.read",    "process.io.write"};
	const char *metric = model_text(model, series->metric_string, "");
	bool is_found = series->device != 0;

	for (size_t i = 0; i < ARRAY_COUNT(names) && !is_found; i++)
		is_found = strcmp(names[i], metric) == 0;
	return is_found && !series->cpu;
}

int sweep_make_metrics(struct sweep *sweep)
{
	struct range_metrics *metrics = &sweep->ranges.metrics;
	const struct model *model = sweep->analysis->model;

	entity_index_init(&metrics->series, model->reader, EVENT_SERIES);
	metrics->process_of = calloc(metrics->series.count + 1, sizeof(*metrics->process_of));
	if (!metrics->process_of)
		return -ENOMEM;
	for (size_t i = 0; i < metrics->series.count; i++) {
		const struct event_series *series = entity_index_row(&metrics->series, i);

		metrics->process_of[i] = RANGE_METRICS_LEFT_OUT;
		if (!is_chosen(model, series))
			continue;
		metrics->has_any = true;
		metrics->process_of[i] =
			series->process
				? entity_index_find(&sweep->entities.processes, series->process)
				: RANGE_METRICS_OF_ALL;
	}
	return 0;
}

void sweep_metrics_fini(struct range_metrics *metrics)
{
	free(metrics->process_of);
	free(metrics->ranges);
	free(metrics->readings);
	pair_map_fini(&metrics->rows);
}

/* ---- sums ---- */

static int find_row(struct sweep *sweep, uint32_t range, size_t series,
		    struct analysis_range_metric **ret_row)
{
	struct range_metrics *metrics = &sweep->ranges.metrics;
	struct analysis_program *program = &sweep->analysis->program;
	uint32_t index = pair_map_add(
		&metrics->rows, range, series, program->range_metrics, metrics->rows_capacity,
		program->range_metrics_count,
		(struct analysis_range_metric){
			.range = range, .series = entity_index_row(&metrics->series, series)});

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	*ret_row = &program->range_metrics[index];
	return 0;
}

/* Adds the part of a reading that lies in the range. inside_ns 0: the reading is a moment. */
static void add_part(struct analysis_range_metric *row, const struct event_counter *reading,
		     uint64_t inside_ns)
{
	const struct event_series *series = row->series;
	uint64_t length_ns = reading->end - reading->begin;
	double part = length_ns ? (double)inside_ns / (double)length_ns : 0;
	double by = series->type == SERIES_RATIO ? (double)reading->of : (double)length_ns;
	double value = series->type == SERIES_LEVEL ? (double)reading->value
						    : (double)reading->value / (by > 0 ? by : 1);

	row->value += series->type == SERIES_LEVEL ? value * (double)inside_ns
						   : (double)reading->value * part;
	row->by += by * part;
	if (metrics_is_full(series, reading) || !row->readings)
		row->max = row->readings && row->max > value ? row->max : value;
	row->readings++;
}

static bool says_something(const struct event_series *series, const struct event_counter *reading)
{
	if (series->type == SERIES_LEVEL)
		return true;
	return series->type == SERIES_RATIO ? reading->of != 0 : reading->end > reading->begin;
}

static int add_reading(struct sweep *sweep, const struct event_counter *reading)
{
	struct range_metrics *metrics = &sweep->ranges.metrics;
	size_t series = entity_index_find(&metrics->series, reading->series);
	size_t process = metrics->process_of[series];
	struct analysis_range_metric *row = NULL;
	int error = 0;

	for (size_t i = 0; i < metrics->ranges_count && !error; i++) {
		const struct counted_range *range = &metrics->ranges[i];
		uint64_t begin = range->begin > reading->begin ? range->begin : reading->begin;
		uint64_t end = smaller(range->end, reading->end);
		bool is_moment = reading->begin == reading->end && begin == reading->begin &&
				 reading->end < range->end;

		if ((end <= begin && !is_moment) ||
		    (process != RANGE_METRICS_OF_ALL && process != range->process))
			continue;
		if (!row || row->range != range->row)
			error = find_row(sweep, range->row, series, &row);
		if (!error)
			add_part(row, reading, end > begin ? end - begin : 0);
	}
	return error;
}

/* ---- pending ranges and readings ---- */

/* Drops the ranges that no later reading can overlap: these begin at `now_ns` or later. */
static void retire(struct range_metrics *metrics, uint64_t now_ns)
{
	size_t left = 0;

	for (size_t i = 0; i < metrics->readings_count; i++)
		now_ns = smaller(now_ns, metrics->readings[i].begin);
	for (size_t i = 0; i < metrics->ranges_count; i++)
		if (metrics->ranges[i].end > now_ns)
			metrics->ranges[left++] = metrics->ranges[i];
	metrics->ranges_count = left;
	metrics->retire_at = 2 * left + RETIRE_AFTER;
}

/* Adds the readings that end by now_ns: all ranges that they may overlap have come. */
static int add_ended_readings(struct sweep *sweep, uint64_t now_ns)
{
	struct range_metrics *metrics = &sweep->ranges.metrics;
	uint64_t earliest_ns = UINT64_MAX;
	size_t left = 0;
	int error = 0;

	if (metrics->earliest_ns > now_ns || !metrics->readings_count)
		return 0;
	for (size_t i = 0; i < metrics->readings_count && !error; i++) {
		struct event_counter reading = metrics->readings[i];

		if (reading.end <= now_ns) {
			error = add_reading(sweep, &reading);
			continue;
		}
		metrics->readings[left++] = reading;
		earliest_ns = smaller(earliest_ns, reading.end);
	}
	metrics->readings_count = left;
	metrics->earliest_ns = earliest_ns;
	retire(metrics, now_ns);
	return error;
}

int sweep_count_in_ranges(struct sweep *sweep, const struct event_counter *row)
{
	struct range_metrics *metrics = &sweep->ranges.metrics;
	size_t series = entity_index_find(&metrics->series, row->series);
	int error = 0;

	if (series == metrics->series.count ||
	    metrics->process_of[series] == RANGE_METRICS_LEFT_OUT ||
	    !says_something(entity_index_row(&metrics->series, series), row))
		return 0;
	error = add_ended_readings(sweep, row->begin);
	if (error ||
	    array_grow(metrics->readings, metrics->readings_capacity, metrics->readings_count + 1))
		return error ? error : -ENOMEM;
	if (!metrics->readings_count || row->end < metrics->earliest_ns)
		metrics->earliest_ns = row->end;
	metrics->readings[metrics->readings_count++] = *row;
	return 0;
}

int sweep_range_metrics(struct sweep *sweep, const struct event_range *row, uint32_t index)
{
	struct range_metrics *metrics = &sweep->ranges.metrics;

	if (!metrics->has_any)
		return 0;
	if (metrics->ranges_count >= metrics->retire_at)
		retire(metrics, row->begin);
	return array_append(
		metrics->ranges, metrics->ranges_capacity, metrics->ranges_count,
		(struct counted_range){
			.begin = row->begin,
			.end = row->end,
			.row = index,
			.process = entity_index_find(&sweep->entities.processes, row->process)});
}

static int compare(const void *left, const void *right)
{
	const struct analysis_range_metric *a = left, *b = right;

	if (a->range != b->range)
		return a->range < b->range ? -1 : 1;
	return (a->series->id > b->series->id) - (a->series->id < b->series->id);
}

int sweep_close_metrics(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	int error = add_ended_readings(sweep, UINT64_MAX);

	if (analysis->program.range_metrics_count)
		qsort(analysis->program.range_metrics, analysis->program.range_metrics_count,
		      sizeof(*analysis->program.range_metrics), compare);
	return error;
}

double analysis_range_mean(const struct analysis_range_metric *metric,
			   const struct unit_shown *unit)
{
	if (metric->series->type == SERIES_LEVEL)
		return (metric->by > 0 ? metric->value / metric->by : metric->max) * unit->factor;
	return unit_value(unit, metric->series->type, metric->value, metric->by);
}

double analysis_range_max(const struct analysis_range_metric *metric, const struct unit_shown *unit)
{
	return unit_value(unit, metric->series->type, metric->max, 1);
}

const struct analysis_range_metric *analysis_metrics_of(const struct analysis *analysis,
							const struct analysis_range *range,
							size_t *ret_count)
{
	uint32_t wanted = (uint32_t)(range - analysis->program.ranges);
	size_t end, low = LOWER_BOUND(analysis->program.range_metrics_count, i,
				      analysis->program.range_metrics[i].range < wanted);

	for (end = low; end < analysis->program.range_metrics_count &&
			analysis->program.range_metrics[end].range == wanted;)
		end++;
	*ret_count = end - low;
	return *ret_count ? &analysis->program.range_metrics[low] : NULL;
}
