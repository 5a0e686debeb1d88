/* SPDX-License-Identifier: MIT
 *
 * collect/guest/program_counters.c - counters that a program or a runtime names, as series of its
 * process
 *
 * Runs in:  the recorder
 * Gets:     records of libduet and runtimes: a name, a unit, a value, a device or none
 * Gives:    a series per name, a row per value
 * Owns:     the series of each process, with their last reading
 * Fails:    readings of a series without room are counted as lost
 * Why:      A value holds until the next one (a level). So a program reports changes only and need
 *           not report at a fixed rate.
 */
#include "collect/guest/program_counters.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/guest/injected.h"
#include "collect/guest/record_texts.h"
#include "collect/host_clocks.h"

/* Limit for a program that puts numbers into the names of its counters: each name is a series. */
enum { MAX_SERIES = 1024 };

/* Tries the last series first, because programs mostly report the same few in a row. */
static struct program_counter *find_counter(struct program_counters *counters,
					    uint32_t metric_string, uint32_t unit_string,
					    uint32_t device)
{
	for (size_t i = counters->count; i > 0; i--) {
		struct program_counter *counter = &counters->items[i - 1];

		if (counter->metric_string == metric_string &&
		    counter->unit_string == unit_string && counter->device == device)
			return counter;
	}
	return NULL;
}

static void describe(struct injected *injected, const struct program_counter *counter)
{
	/* Runtimes give a device; programs that use libduet do not. */
	const char *source = counter->device ? injected->kind.collector : "libduet";
	const struct event_series row = {
		.id = counter->series,
		.metric_string = counter->metric_string,
		.unit_string = counter->unit_string,
		.source_string = recording_string(injected->recording, source),
		.type = SERIES_LEVEL,
		.process = injected->process->row.id,
		.device = counter->device,
		.begin_ns = host_clocks_now_ns(),
	};

	guest_budget_charge(&injected->budget, ENTITY_BYTES);
	trace_writer_entity(injected->recording->writer, EVENT_SERIES, &row);
}

static struct program_counter *add(struct injected *injected, const char *metric, const char *unit,
				   uint32_t device)
{
	const uint64_t bytes = ENTITY_BYTES + 2 * TEXT_BYTES + strlen(metric) + strlen(unit);
	struct program_counters *counters = &injected->counters;
	struct program_counter counter = {.device = device};

	if (counters->count >= MAX_SERIES || !quota_has(injected->budget.user, bytes) ||
	    array_grow(counters->items, counters->capacity, counters->count + 1) < 0)
		return NULL;
	counter.metric_string = recording_string(injected->recording, metric);
	counter.unit_string = recording_string(injected->recording, unit);
	counter.series = ++injected->recording->last_series;
	counters->items[counters->count] = counter;
	describe(injected, &counter);
	return &counters->items[counters->count++];
}

static struct program_counter *get_counter(struct injected *injected, const char *metric,
					   const char *unit, uint32_t device)
{
	struct trace_writer *writer = injected->recording->writer;
	const uint32_t metric_string = trace_writer_find_string(writer, metric, strlen(metric));
	const uint32_t unit_string = trace_writer_find_string(writer, unit, strlen(unit));
	struct program_counter *known = NULL;

	/* A unit of "" has the string 0, which otherwise means unknown. */
	if (metric_string && (unit_string || !unit[0]))
		known = find_counter(&injected->counters, metric_string, unit_string, device);
	return known ? known : add(injected, metric, unit, device);
}

/* Writes one value, valid from its reading to the next. */
static void put_value(struct injected *injected, const struct program_counter *counter,
		      uint64_t begin, uint64_t end, int64_t value)
{
	const uint32_t clock = injected->recording->guest_clock;
	const struct trace_source source = {injected->process->row.id, clock, clock};
	const struct event_counter row = {
		.begin = begin, .end = end, .value = value, .series = counter->series};

	trace_writer_row(injected->recording->writer, EVENT_COUNTER, &source, &row);
}

bool program_counters_take(struct injected *injected, const struct record *head)
{
	const struct record_counter *record = (const struct record_counter *)head;
	const char *texts[2]; /* metric, unit */
	struct program_counter *counter;
	uint32_t device = 0;

	if (!record_texts(head, offsetof(struct record_counter, texts), 0, texts,
			  ARRAY_COUNT(texts)) ||
	    !texts[0][0])
		return false;
	if (head->detail && head->detail <= injected->ids.devices.capacity)
		device = injected->ids.devices.items[head->detail - 1];
	if (head->detail && !device)
		return false;
	counter = get_counter(injected, texts[0], texts[1], device);
	if (!counter) {
		injected->counters.lost++;
		return true;
	}
	/* Two threads report one counter, and the ring with the later value was read first. The
	 * earlier value gets an empty interval. */
	if (record->time < counter->time) {
		put_value(injected, counter, record->time, record->time, record->value);
		return true;
	}
	if (counter->time)
		put_value(injected, counter, counter->time, record->time, counter->value);
	counter->time = record->time;
	counter->value = record->value;
	return true;
}

void program_counters_end(struct injected *injected)
{
	const uint64_t now = recording_now(injected->recording);

	for (size_t i = 0; i < injected->counters.count; i++) {
		const struct program_counter *counter = &injected->counters.items[i];

		if (counter->time)
			put_value(injected, counter, counter->time,
				  now > counter->time ? now : counter->time, counter->value);
		trace_writer_end_entity(injected->recording->writer, EVENT_SERIES, counter->series,
					host_clocks_now_ns());
	}
}

void program_counters_fini(struct program_counters *counters)
{
	free(counters->items);
	*counters = (struct program_counters){0};
}
