/* SPDX-License-Identifier: MIT
 *
 * collect/counter/metric_instances.c - turns readings of a source into rows
 *
 * Runs in:  a sampler's thread
 * Gets:     readings of a source, with times
 * Gives:    rows of series
 * Owns:     the last reading of each instance
 * Fails:    instances above the limit are left out, which is written as a loss and noted once; a
 *           row that does not fit into the queue is merged into the next one
 * Why:      A row covers the measured time between two readings, not the nominal interval. With the
 *           nominal interval, a tick that is 5 ms late at 100 Hz would show a busy thread at 150 %.
 */
#include "collect/counter/metric_instances.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/host_clocks.h"

int metric_instances_open(struct metric_instances *instances, size_t most)
{
	instances->most = most;
	instances->all = calloc(most, sizeof(*instances->all));
	snprintf(instances->too_many, sizeof(instances->too_many),
		 "%s: more than %zu instances; counters of the others are absent", instances->file,
		 most);
	return instances->all ? 0 : -ENOMEM;
}

void metric_instances_close(struct metric_instances *instances)
{
	if (instances)
		free(instances->all);
}

/* ---- instances ------------------------------------------------------------------------------- */

void metric_instances_begin_round(struct metric_instances *instances)
{
	instances->round++;
	instances->next = 0;
}

static void end_entity(const struct metric_instances *instances, struct metric_instance *instance,
		       uint64_t now_ns)
{
	for (size_t i = 0; i < instances->metrics_count; i++)
		if (instance->readings[i].slot != SERIES_NO_SLOT)
			series_end(instances->series, instance->readings[i].slot, now_ns);
	instance->round = 0;
}

void metric_instances_end_round(struct metric_instances *instances, uint64_t now_ns)
{
	for (size_t i = 0; i < instances->count; i++)
		if (instances->all[i].round && instances->all[i].round != instances->round)
			end_entity(instances, &instances->all[i], now_ns);
}

static struct metric_instance *find_room(struct metric_instances *instances)
{
	for (size_t i = 0; i < instances->count; i++)
		if (!instances->all[i].round)
			return &instances->all[i];
	return instances->count < instances->most ? &instances->all[instances->count++] : NULL;
}

static struct metric_instance *make_entity(struct metric_instances *instances, const char *name,
					   uint64_t key)
{
	struct metric_instance *instance = find_room(instances);

	if (!instance) {
		series_count_unnamed(instances->series, host_clocks_now_ns());
		series_note(instances->series, instances->too_many, 0);
		return NULL;
	}
	*instance = (struct metric_instance){.key = key, .round = instances->round};
	memcpy(instance->name, name, sizeof(instance->name));
	memcpy(instance->of.instance, name, sizeof(instance->name));
	for (size_t i = 0; i < MAX_METRICS; i++)
		instance->readings[i].slot = SERIES_NO_SLOT;
	return instance;
}

/* Starts behind the last hit, because files list their instances in the same order each time. */
static struct metric_instance *find_entity(struct metric_instances *instances, const char *name,
					   uint64_t key)
{
	for (size_t i = 0; i < instances->count; i++) {
		size_t index = (instances->next + i) % instances->count;
		struct metric_instance *instance = &instances->all[index];

		if (instance->round && instance->key == key && !strcmp(instance->name, name)) {
			instances->next = index + 1;
			instance->round = instances->round;
			return instance;
		}
	}
	return NULL;
}

static struct metric_instance *find_or_make(struct metric_instances *instances, const char *name,
					    uint64_t key, bool *ret_is_new)
{
	struct metric_instance *instance = find_entity(instances, name, key);

	*ret_is_new = !instance;
	return instance ? instance : make_entity(instances, name, key);
}

struct metric_instance *metric_instances_named(struct metric_instances *instances, const char *name,
					       size_t length, bool *ret_is_new)
{
	char cut[SERIES_NAME_BYTES] = {0};

	memcpy(cut, name, length < sizeof(cut) ? length : sizeof(cut) - 1);
	return find_or_make(instances, cut, 0, ret_is_new);
}

struct metric_instance *metric_instances_numbered(struct metric_instances *instances, uint64_t key,
						  bool *ret_is_new)
{
	static const char no_name[SERIES_NAME_BYTES];

	return find_or_make(instances, no_name, key, ret_is_new);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_valid(const struct metric *metric, size_t index, uint64_t valid)
{
	return valid >> index & 1 && (metric->kind != METRIC_PART || valid >> metric->of & 1);
}

static struct reading reading_of(const struct metric *metric, size_t index, const uint64_t *values,
				 uint64_t time_ns)
{
	return (struct reading){.value = values[index],
				.of = metric->kind == METRIC_PART ? values[metric->of] : 0,
				.time_ns = time_ns};
}

void metric_instance_begin(const struct metric_instances *instances,
			   struct metric_instance *instance, uint64_t since_ns,
			   const uint64_t *values, uint64_t valid)
{
	for (size_t i = 0; i < instances->metrics_count; i++) {
		const struct metric *metric = &instances->metrics[i];
		uint32_t slot = instance->readings[i].slot;

		if (metric->kind == METRIC_LEVEL || !is_valid(metric, i, valid))
			continue;
		instance->readings[i] = reading_of(metric, i, values, since_ns);
		instance->readings[i].slot = slot;
	}
}

void metric_instance_was_born(const struct metric_instances *instances,
			      struct metric_instance *instance, uint64_t since_ns)
{
	static const uint64_t nothing[MAX_METRICS];
	uint64_t totals = 0;

	for (size_t i = 0; i < instances->metrics_count; i++)
		totals |= (uint64_t)(instances->metrics[i].kind == METRIC_TOTAL) << i;
	metric_instance_begin(instances, instance, since_ns, nothing, totals);
}

static uint64_t limit_of(const struct metric *metric, const uint64_t *values, uint64_t valid)
{
	switch (metric->limit) {
	case LIMIT_WHOLE:
		return 1;
	case LIMIT_SECOND:
		return 1000000000;
	case LIMIT_VALUE:
		return valid >> metric->limit_value & 1 ? values[metric->limit_value] : 0;
	default:
		return 0;
	}
}

static bool has_slot(const struct metric_instances *instances,
		     const struct metric_instance *instance, const struct metric *metric,
		     struct reading *reading, uint64_t limit, uint64_t begin_ns)
{
	const struct series_slot about = {.metric = metric,
					  .file = metric->file ? metric->file : instances->file,
					  .of = instance->of,
					  .limit = limit,
					  .interval_ns = instances->interval_ns};

	if (reading->slot == SERIES_NO_SLOT)
		reading->slot = series_begin(instances->series, &about, begin_ns);
	return reading->slot != SERIES_NO_SLOT;
}

/* False: no row. A counter that decreases was reset, and its increase is unknown; as a part, the
 * kernel's iowait, which may decrease, counts 0. */
static bool make_difference(const struct metric *metric, const struct reading *before,
			    const struct reading *now, struct reading *ret_row)
{
	bool went_back = now->value < before->value;
	uint64_t value = went_back ? 0 : now->value - before->value;
	bool is_part = metric->kind == METRIC_PART;

	if (!before->time_ns || value > INT64_MAX || (went_back && !is_part))
		return false;
	if (is_part && now->of <= before->of)
		return false;
	ret_row->of = is_part ? now->of - before->of : 0;
	ret_row->value = is_part && value > ret_row->of ? ret_row->of : value;
	return true;
}

static bool put_reading(const struct metric_instances *instances, struct metric_instance *instance,
			size_t index, const struct reading *now, uint64_t limit)
{
	const struct metric *metric = &instances->metrics[index];
	struct reading *before = &instance->readings[index];
	uint64_t begin_ns = before->time_ns ? before->time_ns : now->time_ns;
	struct reading row = {.value = now->value};

	if (metric->kind != METRIC_LEVEL && !make_difference(metric, before, now, &row))
		return true;
	return has_slot(instances, instance, metric, before, limit, begin_ns) &&
	       series_put(instances->series, before->slot, begin_ns, now->time_ns,
			  (int64_t)row.value, row.of);
}

static void sample(const struct metric_instances *instances, struct metric_instance *instance,
		   size_t index, const struct reading *now, uint64_t limit)
{
	struct reading *before = &instance->readings[index];

	/* The whole did not grow, or there was no room: the next row starts at the same moment. */
	if (instances->metrics[index].kind == METRIC_PART && before->time_ns &&
	    now->of == before->of)
		return;
	if (!put_reading(instances, instance, index, now, limit) &&
	    instances->metrics[index].kind != METRIC_LEVEL)
		return;
	before->value = now->value;
	before->of = now->of;
	before->time_ns = now->time_ns;
}

void metric_instance_sample(const struct metric_instances *instances,
			    struct metric_instance *instance, uint64_t now_ns,
			    const uint64_t *values, uint64_t valid)
{
	for (size_t i = 0; i < instances->metrics_count; i++) {
		const struct metric *metric = &instances->metrics[i];
		const struct reading now = reading_of(metric, i, values, now_ns);

		if (!metric->name || instances->left_out >> i & 1)
			continue;
		if (is_valid(metric, i, valid))
			sample(instances, instance, i, &now, limit_of(metric, values, valid));
		else
			instance->readings[i].time_ns = 0;
	}
}
