/* SPDX-License-Identifier: MIT
 *
 * tests/unit/trace/counted_rows.h - a recording whose rows count up, so that a missing one is seen
 */
#pragma once

#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "trace_rows.h"

#define SECOND ((uint64_t)1000000000)

enum { ENTITY = 7 };

struct recording {
	struct trace_writer *writer;
	uint64_t hash_low, hash_high;
	uint32_t function;
	uint64_t next; /* number of the next row */
};

static char content[100000];

static inline void begin(struct recording *recording, const char *path,
			 const struct trace_writer_options *options)
{
	struct event_process process = {.id = ENTITY, .pid = 77};
	struct event_process dead = {.id = ENTITY + 1, .pid = 78, .end_ns = 1};
	struct event_thread thread = {.id = ENTITY, .process = ENTITY};
	struct event_code code = {.id = ENTITY, .process = ENTITY, .type = CODE_BINARY};
	struct event_clock_pair pair = {5, 6, 7};
	struct trace_source source = {1, 4, 0};

	memset(recording, 0, sizeof(*recording));
	REQUIRE(trace_writer_open(path, options, &recording->writer) == 0);
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (char)(i * i >> 7);
	CHECK_EQUAL(trace_writer_content(recording->writer, content, sizeof(content),
					 &code.hash_low, &code.hash_high),
		    0);
	recording->hash_low = code.hash_low;
	recording->hash_high = code.hash_high;
	trace_writer_entity(recording->writer, EVENT_PROCESS, &process);
	trace_writer_entity(recording->writer, EVENT_PROCESS, &dead);
	trace_writer_entity(recording->writer, EVENT_THREAD, &thread);
	trace_writer_entity(recording->writer, EVENT_CODE, &code);
	trace_writer_row(recording->writer, EVENT_CLOCK_PAIR, &source, &pair);
	recording->function = trace_writer_string(recording->writer, "function", 8);
}

/* Rows whose argument counts up; noise makes them take about 20 bytes each. */
static inline void add_rows(struct recording *recording, uint64_t count, uint64_t now)
{
	struct trace_source source = {1, 2, 0};

	for (uint64_t i = 0; i < count; i++) {
		struct event_api row = {.begin = now + i,
					.end = random_next(),
					.thread = ENTITY,
					.function_string = recording->function,
					.argument = recording->next++,
					.stack = (uint32_t)random_next()};

		trace_writer_row(recording->writer, EVENT_API, &source, &row);
	}
}

struct found {
	uint64_t first, last, rows;
	uint32_t segments;
	struct trace_damage damage;
};

/* Checks that the rows of a trace have no hole and stand alone; closes the reader. */
static inline void check_reader(struct trace_reader *reader, const struct recording *recording,
				struct found *found)
{
	const struct event_clock_pair *pairs;
	const char *bytes;
	size_t size = 0;

	*found = (struct found){.first = UINT64_MAX};
	for (size_t c = 0; c < trace_reader_chunk_count(reader); c++) {
		struct event_api *rows;
		size_t count;

		if (trace_reader_chunk(reader, c)->kind != EVENT_API)
			continue;
		REQUIRE(trace_reader_rows(reader, c, (void **)&rows, &count) == 0);
		for (size_t i = 0; i < count; i++) {
			if (found->rows++ == 0)
				found->first = rows[i].argument;
			else
				CHECK(rows[i].argument == found->last + 1);
			found->last = rows[i].argument;
			CHECK_TEXT(trace_reader_string(reader, rows[i].function_string, NULL),
				   "function");
		}
		free(rows);
	}
	found->segments = trace_reader_segment_count(reader);
	CHECK(trace_reader_entity(reader, EVENT_PROCESS, ENTITY) != NULL);
	CHECK(trace_reader_entity(reader, EVENT_THREAD, ENTITY) != NULL);
	CHECK(trace_reader_entity(reader, EVENT_CODE, ENTITY) != NULL);
	CHECK_EQUAL(trace_reader_clock_pairs(reader, 4, &pairs), 1);
	bytes = trace_reader_content(reader, recording->hash_low, recording->hash_high, &size);
	CHECK(bytes && size == sizeof(content) && memcmp(bytes, content, size) == 0);
	trace_reader_damage(reader, &found->damage);
	trace_reader_close(reader);
}

static inline void check_file(const char *path, const struct recording *recording,
			      struct found *found)
{
	struct trace_reader *reader;

	REQUIRE(trace_reader_open(path, &reader) == 0);
	check_reader(reader, recording, found);
}
