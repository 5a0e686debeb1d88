/* SPDX-License-Identifier: MIT
 *
 * collect/program_counters.c - values that a program names, as series of its process
 *
 * Runs in:  the recorder
 * Gets:     records of libduet and of runtimes: a name, a unit, a value, a device or none   Gives: a series for each name, a row for each value
 * Owns:     of each process its series, with the time of the last reading
 * Fails:    a series that there is no room for is counted as lost, reading by reading
 * Why a level: a value stands until the next one comes, so that a program need not say how often it counts
 */
#include "collect/program_counters.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/host_clocks.h"
#include "collect/injected.h"
#include "collect/record_texts.h"

/* A program that puts numbers into the names of its counters makes a series of each. */
enum { SERIES_MOST = 1024 };

/* The last one is looked at first: a program mostly counts the same few in a row. */
static struct program_counter *find(struct program_counters *counters, uint32_t metric_string,
				    uint32_t unit_string, uint32_t device)
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
	/* A program says no device; a runtime does. */
	const char *source = counter->device ? injected->collector : "libduet";
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

	injected->held_bytes += THING_BYTES;
	trace_writer_thing(injected->recording->writer, EVENT_SERIES, &row);
}

static struct program_counter *add(struct injected *injected, const char *metric, const char *unit,
				   uint32_t device)
{
	const uint64_t bytes = THING_BYTES + 2 * TEXT_BYTES + strlen(metric) + strlen(unit);
	struct program_counters *counters = &injected->counters;
	struct program_counter counter = {.device = device};

	if (counters->count >= SERIES_MOST || injected->room_bytes < bytes ||
	    array_grow(counters->items, counters->capacity, counters->count + 1) < 0)
		return NULL;
	counter.metric_string = recording_string(injected->recording, metric);
	counter.unit_string = recording_string(injected->recording, unit);
	counter.series = ++injected->recording->last_series;
	counters->items[counters->count] = counter;
	describe(injected, &counter);
	return &counters->items[counters->count++];
}

static struct program_counter *get(struct injected *injected, const char *metric, const char *unit,
				   uint32_t device)
{
	struct trace_writer *writer = injected->recording->writer;
	const uint32_t metric_string = trace_writer_find_string(writer, metric, strlen(metric));
	const uint32_t unit_string = trace_writer_find_string(writer, unit, strlen(unit));
	struct program_counter *known = NULL;

	/* 0 is also the text of none. */
	if (metric_string && (unit_string || !unit[0]))
		known = find(&injected->counters, metric_string, unit_string, device);
	return known ? known : add(injected, metric, unit, device);
}

/* A value stands from when it was said to the next one. */
static void put(struct injected *injected, const struct program_counter *counter, uint64_t begin,
		uint64_t end, int64_t value)
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
	if (head->detail && head->detail <= injected->devices.capacity)
		device = injected->devices.items[head->detail - 1];
	if (head->detail && !device)
		return false;
	counter = get(injected, texts[0], texts[1], device);
	if (!counter) {
		injected->counters.lost++;
		return true;
	}
	/* Of two threads the later one's ring may be read first: what came before it was over at once. */
	if (record->time < counter->time) {
		put(injected, counter, record->time, record->time, record->value);
		return true;
	}
	if (counter->time)
		put(injected, counter, counter->time, record->time, counter->value);
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
			put(injected, counter, counter->time,
			    now > counter->time ? now : counter->time, counter->value);
		trace_writer_end_thing(injected->recording->writer, EVENT_SERIES, counter->series,
				       host_clocks_now_ns());
	}
}

void program_counters_fini(struct program_counters *counters)
{
	free(counters->items);
	*counters = (struct program_counters){0};
}
