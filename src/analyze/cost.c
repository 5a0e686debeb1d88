/* SPDX-License-Identifier: MIT
 *
 * analyze/cost.c - what recording cost the programs, as `duet record --max-overhead` measured it
 *
 * Runs in:  our own process
 * Gets:     counters that the recorder wrote: duet.detail_level, duet.overhead and others
 * Gives:    mean cost and its interval for each recorded guest
 * Owns:     the list of costs
 * Fails:    -ENOMEM, errors of the reader
 * Why:      The recorder writes one row per interval of constant level, so means are weighted by
 *           time. The intervals come from different windows, so their errors add up as squares.
 */
#include "analyze/cost.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/entity_index.h"
#include "analyze/order.h"
#include "base/array.h"

#define PPM 1e-6

enum cost_metric { COST_LEVEL, COST_MEASURED, COST_ERROR, COST_OWN, COST_METRICS };

static const char *const metrics[COST_METRICS] = {
	[COST_LEVEL] = "duet.detail_level",
	[COST_MEASURED] = "duet.overhead",
	[COST_ERROR] = "duet.overhead.error",
	[COST_OWN] = "duet.overhead.own",
};

static const struct {
	const char *name, *text;
} levels[COST_LEVELS] = {
	{"everything", "everything"},
	{"stacks_8", "stacks of every 8th launch"},
	{"stacks_64", "stacks of every 64th launch"},
	{"no_stacks", "no stacks"},
	{"counters", "counts of launches only"},
};

const char *cost_level_text(uint32_t level)
{
	return level < COST_LEVELS ? levels[level].text : "";
}

const char *cost_level_name(uint32_t level)
{
	return level < COST_LEVELS ? levels[level].name : "";
}

/* The process and the metric that the rows of a series belong to. */
struct cost_series {
	size_t place; /* index of its process; SIZE_MAX: another metric */
	enum cost_metric metric;
};

struct reading {
	const struct model *model;
	struct entity_index series, processes;
	struct cost_series *of; /* by index of the series */
	struct costs costs;
	size_t capacity;
	double *last_level; /* by process; -1: none yet */
	size_t last_capacity;
};

static size_t place_of(struct reading *reading, const struct event_series *series)
{
	const char *guest = model_text(reading->model, series->instance_string, "");
	struct costs *costs = &reading->costs;
	const struct event_process *process = entity_index_row(
		&reading->processes, entity_index_find(&reading->processes, series->process));

	for (size_t i = 0; i < costs->count; i++)
		if (costs->all[i].process == process && strcmp(costs->all[i].guest, guest) == 0)
			return i;
	if (array_grow(costs->all, reading->capacity, costs->count + 1) ||
	    array_grow(reading->last_level, reading->last_capacity, costs->count + 1))
		return SIZE_MAX;
	costs->all[costs->count] = (struct cost_process){.process = process, .guest = guest};
	reading->last_level[costs->count] = -1;
	return costs->count++;
}

static int find_series(struct reading *reading)
{
	reading->of = calloc(reading->series.count + 1, sizeof(*reading->of));
	if (!reading->of)
		return -ENOMEM;
	for (size_t i = 0; i < reading->series.count; i++) {
		const struct event_series *series = entity_index_row(&reading->series, i);
		const char *name = model_text(reading->model, series->metric_string, "");

		reading->of[i].place = SIZE_MAX;
		for (int metric = 0; metric < COST_METRICS; metric++) {
			if (strcmp(name, metrics[metric]) != 0 ||
			    !model_has_process(reading->model, series->process))
				continue;
			reading->of[i] = (struct cost_series){place_of(reading, series),
							      (enum cost_metric)metric};
			if (reading->of[i].place == SIZE_MAX)
				return -ENOMEM;
			if (series->limit)
				reading->costs.all[reading->of[i].place].limit =
					(double)series->limit * PPM;
		}
	}
	return 0;
}

static void add_row(struct reading *reading, const struct event_counter *row)
{
	const size_t index = entity_index_find(&reading->series, row->series);
	const struct cost_series *of = &reading->of[index];
	const double ns = (double)(row->end - row->begin), value = (double)row->value;
	struct cost_process *cost;

	if (index >= reading->series.count || of->place == SIZE_MAX || row->end < row->begin)
		return;
	cost = &reading->costs.all[of->place];
	switch (of->metric) {
	case COST_LEVEL:
		if (row->value < 0 || row->value >= COST_LEVELS)
			return;
		cost->level_ns[row->value] += row->end - row->begin;
		cost->steps += reading->last_level[of->place] >= 0 &&
			       reading->last_level[of->place] != value;
		reading->last_level[of->place] = value;
		break;
	case COST_MEASURED:
		cost->measured_ns += row->end - row->begin;
		cost->cost += ns * value * PPM;
		break;
	case COST_ERROR:
		cost->half_width += ns * value * PPM * ns * value * PPM;
		break;
	default:
		cost->own_ns += row->end - row->begin;
		cost->own_cost += ns * value * PPM;
		break;
	}
}

static int read_rows(struct reading *reading)
{
	const struct order_options options = {.kinds = 1u << EVENT_COUNTER};
	struct order *order = NULL;
	struct order_item item;
	int error = model_order(reading->model, &options, &order), status;

	while (!error && (status = order_next(order, &item)) != 0) {
		if (status < 0)
			error = status;
		else
			add_row(reading, item.row);
	}
	order_free(order);
	return error;
}

static void divide(struct cost_process *cost)
{
	if (cost->measured_ns) {
		cost->cost /= (double)cost->measured_ns;
		cost->half_width = sqrt(cost->half_width) / (double)cost->measured_ns;
	}
	if (cost->own_ns)
		cost->own_cost /= (double)cost->own_ns;
}

uint64_t cost_all_ns(const struct cost_process *cost)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < COST_LEVELS; i++)
		sum += cost->level_ns[i];
	return sum;
}

enum cost_limit cost_limit_of(const struct cost_process *cost)
{
	const uint64_t all_ns = cost_all_ns(cost);
	double mean, error;

	if (!cost->limit || !all_ns || (!cost->measured_ns && !cost->own_ns))
		return COST_LIMIT_UNKNOWN;
	mean = (cost->cost * (double)cost->measured_ns + cost->own_cost * (double)cost->own_ns) /
	       (double)all_ns;
	error = cost->half_width * (double)cost->measured_ns / (double)all_ns;
	if (mean + error <= cost->limit)
		return COST_LIMIT_HELD;
	return mean - error > cost->limit ? COST_LIMIT_NOT_HELD : COST_LIMIT_UNKNOWN;
}

int costs_new(const struct model *model, struct costs *ret_costs)
{
	struct reading reading = {.model = model};
	int error;

	*ret_costs = (struct costs){0};
	entity_index_init(&reading.series, model->reader, EVENT_SERIES);
	entity_index_init(&reading.processes, model->reader, EVENT_PROCESS);
	error = find_series(&reading);
	if (!error && reading.costs.count)
		error = read_rows(&reading);
	for (size_t i = 0; i < reading.costs.count; i++)
		divide(&reading.costs.all[i]);
	free(reading.of);
	free(reading.last_level);
	if (error)
		costs_fini(&reading.costs);
	*ret_costs = reading.costs;
	return error;
}

void costs_fini(struct costs *costs)
{
	if (!costs)
		return;
	free(costs->all);
	*costs = (struct costs){0};
}
