/* SPDX-License-Identifier: MIT
 *
 * analyze/text/metrics.c - minimum, mean, 95th percentile and maximum of each series in a part of a
 * recording
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     series and their rows
 * Gives:    a summary of each series
 * Owns:     up to 1024 exact values of each series during the pass; with more readings, values
 *           rounded to 256 steps per power of two, and equal ones merged
 * Fails:    -ENOMEM and errors of the reader
 * Why readings are weighted by their length: readings have different lengths. A recorder that was
 *           stopped for a minute has one reading for that minute. That reading must weigh as much
 *           as 600 readings of a tenth of a second.
 */
#include "analyze/text/metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/entity_index.h"
#include "base/array.h"

/* Percentiles are exact up to VALUES_EXACT readings. With more, values are rounded to one of STEPS
 * per power of two and equal ones are merged. Half a step is at most 0.2 % of the value. */
enum { VALUES_EXACT = 1024, STEPS = 256 };

struct weighted {
	double value, weight;
};

struct gathered {
	struct weighted *values;
	size_t count, capacity;
	size_t room; /* max number of values before a merge */
	double value_sum, of_sum,
		weight_sum; /* LEVEL: value_sum is the sum of value times weight */
	double min, max, all_min, all_max;
	uint64_t readings, full; /* full: readings for which metrics_is_full is true */
};

struct fold {
	struct entity_index series;
	struct gathered *gathered; /* by index */
	uint64_t from_ns, to_ns;
};

static int compare(const void *left, const void *right)
{
	const struct weighted *a = left, *b = right;

	return (a->value > b->value) - (a->value < b->value);
}

static double rounded(double value)
{
	int exponent;
	double fraction = frexp(value, &exponent);

	return ldexp(nearbyint(fraction * 2 * STEPS) / (2 * STEPS), exponent);
}

/* Rounds and merges the values. The number of different values stays, however many readings there
 * are. If they fill more than half of the room, the room doubles. */
static void merge_values(struct gathered *gathered)
{
	size_t kept = 0;

	for (size_t i = 0; i < gathered->count; i++)
		gathered->values[i].value = rounded(gathered->values[i].value);
	qsort(gathered->values, gathered->count, sizeof(*gathered->values), compare);
	for (size_t i = 1; i < gathered->count; i++) {
		if (compare(&gathered->values[i], &gathered->values[kept]) == 0)
			gathered->values[kept].weight += gathered->values[i].weight;
		else
			gathered->values[++kept] = gathered->values[i];
	}
	gathered->count = kept + 1;
	if (gathered->count > gathered->room / 2)
		gathered->room *= 2;
}

static void widen(double *min, double *max, double value, bool is_first)
{
	if (is_first || value < *min)
		*min = value;
	if (is_first || value > *max)
		*max = value;
}

static int add_value(struct gathered *gathered, double value, double weight, bool is_full)
{
	if (!gathered->room)
		gathered->room = VALUES_EXACT;
	if (gathered->count == gathered->room)
		merge_values(gathered);
	if (array_append(gathered->values, gathered->capacity, gathered->count,
			 (struct weighted){value, weight}))
		return -ENOMEM;
	widen(&gathered->all_min, &gathered->all_max, value, !gathered->readings);
	if (is_full)
		widen(&gathered->min, &gathered->max, value, !gathered->full);
	gathered->full += is_full;
	gathered->readings++;
	gathered->weight_sum += weight;
	return 0;
}

/* The fraction of a row that is inside the selected part, 0 to 1; -1: none. */
static double part_of(const struct fold *fold, const struct event_counter *row)
{
	uint64_t begin = row->begin > fold->from_ns ? row->begin : fold->from_ns;
	uint64_t end = row->end < fold->to_ns ? row->end : fold->to_ns;

	if (row->begin == row->end)
		return row->end >= fold->from_ns && row->end <= fold->to_ns ? 1 : -1;
	return begin < end ? (double)(end - begin) / (double)(row->end - row->begin) : -1;
}

/* A short reading, such as the last one, can be far off: the kernel counts in steps of 10 ms, and
 * such a step in a reading of 1 ms is 1000 %. So short readings count in sums and means, but not as
 * minimum or maximum. */
bool metrics_is_full(const struct event_series *series, const struct event_counter *row)
{
	return series->type == SERIES_LEVEL || (row->end - row->begin) * 2 >= series->interval_ns;
}

static int add_row(struct fold *fold, const struct event_counter *row)
{
	size_t index = entity_index_find(&fold->series, row->series);
	const struct event_series *series = entity_index_row(&fold->series, index);
	double part = part_of(fold, row), length = (double)(row->end - row->begin), value;
	struct gathered *gathered = &fold->gathered[index];

	if (!series || part < 0 || (series->type == SERIES_RATIO && !row->of) ||
	    (series->type == SERIES_AMOUNT && !(length > 0)))
		return 0;
	value = (double)row->value;
	if (series->type == SERIES_LEVEL) {
		gathered->value_sum += value * length * part;
	} else {
		gathered->value_sum += value * part;
		gathered->of_sum += (double)row->of * part;
		value = series->type == SERIES_RATIO ? value / (double)row->of
						     : value / length * 1e9;
	}
	return add_value(gathered, value, length * part, metrics_is_full(series, row));
}

static double p95_of(struct gathered *gathered)
{
	double passed = 0;

	qsort(gathered->values, gathered->count, sizeof(*gathered->values), compare);
	for (size_t i = 0; i < gathered->count; i++) {
		passed += gathered->values[i].weight;
		if (passed >= gathered->weight_sum * 0.95 && passed > 0)
			return gathered->values[i].value;
	}
	return gathered->values[gathered->count - 1].value;
}

/* The mean, limited to the range of the values. Sums of products of bytes and ns are rounded, so a
 * constant value would get a mean slightly off. */
static double mean_of(const struct event_series *series, const struct gathered *gathered)
{
	double mean = gathered->all_max;

	if (series->type == SERIES_RATIO)
		mean = gathered->value_sum / gathered->of_sum;
	else if (gathered->weight_sum > 0)
		mean = gathered->value_sum / gathered->weight_sum *
		       (series->type == SERIES_AMOUNT ? 1e9 : 1);
	if (mean > gathered->all_max)
		return gathered->all_max;
	return mean < gathered->all_min ? gathered->all_min : mean;
}

static void summarize(const struct event_series *series, struct gathered *gathered,
		      struct metric_summary *ret_summary)
{
	double min = gathered->full ? gathered->min : gathered->all_min;
	double max = gathered->full ? gathered->max : gathered->all_max;
	double p95 = p95_of(gathered);

	*ret_summary = (struct metric_summary){
		.series = series,
		.readings = gathered->readings,
		.covered_ns = (uint64_t)gathered->weight_sum,
		.min = min,
		.max = max,
		.p95 = p95 > max ? max : p95,
		.mean = mean_of(series, gathered),
		.sum = series->type == SERIES_AMOUNT ? gathered->value_sum : 0,
	};
}

static int read_rows(struct fold *fold, const struct model *model)
{
	const struct order_options options = {.kinds = 1u << EVENT_COUNTER};
	struct order *order = NULL;
	struct order_item item;
	int error = model_order(model, &options, &order), status;

	while (!error && (status = order_next(order, &item)) != 0)
		error = status < 0 ? status : add_row(fold, item.row);
	order_free(order);
	return error;
}

int metrics_new(const struct model *model, uint64_t from_ns, uint64_t to_ns,
		struct metrics *ret_metrics)
{
	struct fold fold = {.from_ns = from_ns, .to_ns = to_ns};
	struct metrics metrics = {0};
	int error = -ENOMEM;

	entity_index_init(&fold.series, model->reader, EVENT_SERIES);
	fold.gathered = calloc(fold.series.count + 1, sizeof(*fold.gathered));
	metrics.all = calloc(fold.series.count + 1, sizeof(*metrics.all));
	if (fold.gathered && metrics.all)
		error = read_rows(&fold, model);
	for (size_t i = 0; i < fold.series.count && !error; i++)
		if (fold.gathered[i].readings)
			summarize(entity_index_row(&fold.series, i), &fold.gathered[i],
				  &metrics.all[metrics.count++]);
	for (size_t i = 0; fold.gathered && i <= fold.series.count; i++)
		free(fold.gathered[i].values);
	free(fold.gathered);
	if (error)
		metrics_fini(&metrics);
	*ret_metrics = metrics;
	return error;
}

void metrics_fini(struct metrics *metrics)
{
	if (metrics)
		free(metrics->all);
	if (metrics)
		*metrics = (struct metrics){0};
}

const struct metric_summary *metrics_find(const struct model *model, const struct metrics *metrics,
					  const char *name, size_t *inout_index)
{
	for (; *inout_index < metrics->count; ++*inout_index) {
		const struct metric_summary *summary = &metrics->all[*inout_index];

		if (!strcmp(model_text(model, summary->series->metric_string, ""), name)) {
			++*inout_index;
			return summary;
		}
	}
	return NULL;
}
