/* SPDX-License-Identifier: MIT
 *
 * collect/things.c - from readings to rows
 *
 * Runs in:  a sampler's thread
 * Gets:     what a source read, and when   Gives: rows of series
 * Owns:     the readings before
 * Fails:    a thing too many is not counted, which is a loss and noted once; a row for which there is no room comes with
 *           the next
 * Why:      the time of a row is from reading to reading. Where it was taken to be the nominal one, a tick that comes
 *           5 ms late at 100 Hz would show a busy thread at 150 %.
 */
#include "collect/things.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/host_clocks.h"

int things_open(struct things *things, size_t most)
{
	things->most = most;
	things->all = calloc(most, sizeof(*things->all));
	snprintf(things->too_many, sizeof(things->too_many),
		 "%s has more than the %zu things that are counted: what the others did is absent",
		 things->file, most);
	return things->all ? 0 : -ENOMEM;
}

void things_close(struct things *things)
{
	if (things)
		free(things->all);
}

/* ---- who is there ------------------------------------------------------------------------------ */

void things_begin_round(struct things *things)
{
	things->round++;
	things->next = 0;
}

static void end_thing(const struct things *things, struct thing *thing, uint64_t now_ns)
{
	for (size_t i = 0; i < things->metrics_count; i++)
		if (thing->readings[i].slot != SERIES_NO_SLOT)
			series_end(things->series, thing->readings[i].slot, now_ns);
	thing->round = 0;
}

void things_end_round(struct things *things, uint64_t now_ns)
{
	for (size_t i = 0; i < things->count; i++)
		if (things->all[i].round && things->all[i].round != things->round)
			end_thing(things, &things->all[i], now_ns);
}

static struct thing *find_room(struct things *things)
{
	for (size_t i = 0; i < things->count; i++)
		if (!things->all[i].round)
			return &things->all[i];
	return things->count < things->most ? &things->all[things->count++] : NULL;
}

static struct thing *make(struct things *things, const char *name, uint64_t key)
{
	struct thing *thing = find_room(things);

	if (!thing) {
		series_count_unnamed(things->series, host_clocks_now_ns());
		series_note(things->series, things->too_many, 0);
		return NULL;
	}
	*thing = (struct thing){.key = key, .round = things->round};
	memcpy(thing->name, name, sizeof(thing->name));
	memcpy(thing->of.instance, name, sizeof(thing->name));
	for (size_t i = 0; i < METRICS_MOST; i++)
		thing->readings[i].slot = SERIES_NO_SLOT;
	return thing;
}

/* Files name their things in the same order each time: the one behind the last is mostly it. */
static struct thing *find(struct things *things, const char *name, uint64_t key)
{
	for (size_t i = 0; i < things->count; i++) {
		size_t index = (things->next + i) % things->count;
		struct thing *thing = &things->all[index];

		if (thing->round && thing->key == key && !strcmp(thing->name, name)) {
			things->next = index + 1;
			thing->round = things->round;
			return thing;
		}
	}
	return NULL;
}

static struct thing *find_or_make(struct things *things, const char *name, uint64_t key,
				  bool *ret_is_new)
{
	struct thing *thing = find(things, name, key);

	*ret_is_new = !thing;
	return thing ? thing : make(things, name, key);
}

struct thing *things_named(struct things *things, const char *name, size_t length, bool *ret_is_new)
{
	char cut[SERIES_NAME_BYTES] = {0};

	memcpy(cut, name, length < sizeof(cut) ? length : sizeof(cut) - 1);
	return find_or_make(things, cut, 0, ret_is_new);
}

struct thing *things_numbered(struct things *things, uint64_t key, bool *ret_is_new)
{
	static const char no_name[SERIES_NAME_BYTES];

	return find_or_make(things, no_name, key, ret_is_new);
}

/* ---- what it becomes --------------------------------------------------------------------------- */

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

void thing_begin(const struct things *things, struct thing *thing, uint64_t since_ns,
		 const uint64_t *values, uint64_t valid)
{
	for (size_t i = 0; i < things->metrics_count; i++) {
		const struct metric *metric = &things->metrics[i];
		uint32_t slot = thing->readings[i].slot;

		if (metric->kind == METRIC_LEVEL || !is_valid(metric, i, valid))
			continue;
		thing->readings[i] = reading_of(metric, i, values, since_ns);
		thing->readings[i].slot = slot;
	}
}

void thing_was_born(const struct things *things, struct thing *thing, uint64_t since_ns)
{
	static const uint64_t nothing[METRICS_MOST];
	uint64_t totals = 0;

	for (size_t i = 0; i < things->metrics_count; i++)
		totals |= (uint64_t)(things->metrics[i].kind == METRIC_TOTAL) << i;
	thing_begin(things, thing, since_ns, nothing, totals);
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

static bool has_slot(const struct things *things, const struct thing *thing,
		     const struct metric *metric, struct reading *reading, uint64_t limit,
		     uint64_t begin_ns)
{
	const struct series_slot about = {.metric = metric,
					  .file = metric->file ? metric->file : things->file,
					  .of = thing->of,
					  .limit = limit,
					  .interval_ns = things->interval_ns};

	if (reading->slot == SERIES_NO_SLOT)
		reading->slot = series_begin(things->series, &about, begin_ns);
	return reading->slot != SERIES_NO_SLOT;
}

/* A counter that goes back has begun anew, and does not say what it had. The kernel's iowait goes back by itself: then
 * there was none. */
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

static bool put(const struct things *things, struct thing *thing, size_t index,
		const struct reading *now, uint64_t limit)
{
	const struct metric *metric = &things->metrics[index];
	struct reading *before = &thing->readings[index];
	uint64_t begin_ns = before->time_ns ? before->time_ns : now->time_ns;
	struct reading row = {.value = now->value};

	if (metric->kind != METRIC_LEVEL && !make_difference(metric, before, now, &row))
		return true;
	return has_slot(things, thing, metric, before, limit, begin_ns) &&
	       series_put(things->series, before->slot, begin_ns, now->time_ns, (int64_t)row.value,
			  row.of);
}

static void sample(const struct things *things, struct thing *thing, size_t index,
		   const struct reading *now, uint64_t limit)
{
	struct reading *before = &thing->readings[index];

	/* Nothing of which it is a part has come, or there was no room: the next row is from the same moment on. */
	if (things->metrics[index].kind == METRIC_PART && before->time_ns && now->of == before->of)
		return;
	if (!put(things, thing, index, now, limit) && things->metrics[index].kind != METRIC_LEVEL)
		return;
	before->value = now->value;
	before->of = now->of;
	before->time_ns = now->time_ns;
}

void thing_sample(const struct things *things, struct thing *thing, uint64_t now_ns,
		  const uint64_t *values, uint64_t valid)
{
	for (size_t i = 0; i < things->metrics_count; i++) {
		const struct metric *metric = &things->metrics[i];
		const struct reading now = reading_of(metric, i, values, now_ns);

		if (!metric->name)
			continue;
		if (is_valid(metric, i, valid))
			sample(things, thing, i, &now, limit_of(metric, values, valid));
		else
			thing->readings[i].time_ns = 0;
	}
}
