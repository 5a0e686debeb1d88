/* SPDX-License-Identifier: MIT
 *
 * tests/unit/trace/test_round_trip.c - what goes into a file comes out of it
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"

#include "trace_rows.h"

#define SECOND ((uint64_t)1000000000)

enum { ROWS = 5000 };

/* Rows of all kinds from two sources and clocks, with their strings. */
static void write_kind(struct trace_writer *writer, uint32_t kind, const char *rows,
		       const uint32_t *strings)
{
	const struct trace_format *format = trace_format_find(kind);

	for (size_t i = 0; i < ROWS; i++) {
		struct trace_source source = {(uint32_t)(i % 2), 3 + (uint32_t)(i % 2), 9};
		union any_row row;

		memcpy(&row, rows + i * format->row_size, format->row_size);
		for (size_t j = 0; j < format->column_count; j++) {
			if (format->columns[j].type == FIELD_STRING)
				trace_field_write(&row, format->columns[j].offset, FIELD_STRING,
						  strings[i % 10]);
		}
		if (is_entity(kind))
			CHECK_EQUAL(trace_writer_entity(writer, kind, &row), 0);
		else
			CHECK_EQUAL(trace_writer_row(writer, kind, &source, &row), 0);
	}
}

static void check_strings(const struct trace_reader *reader, const struct trace_format *format,
			  const char *row, size_t index)
{
	char wanted[16];
	int length = snprintf(wanted, sizeof(wanted), "text %zu", index % 10);

	for (size_t j = 0; j < format->column_count; j++) {
		const struct trace_column *column = &format->columns[j];
		size_t got;

		if (column->type != FIELD_STRING)
			continue;
		CHECK_TEXT(trace_reader_string(
				   reader,
				   (uint32_t)trace_field_read(row, column->offset, FIELD_STRING),
				   &got),
			   wanted);
		CHECK_EQUAL(got, length);
		trace_field_write((char *)row, column->offset, FIELD_STRING, 0);
	}
}

static void check_kind(struct trace_reader *reader, uint32_t kind, const char *rows)
{
	const struct trace_format *format = trace_format_find(kind);
	bool *seen = calloc(ROWS, 1);
	size_t total = 0;

	for (size_t c = 0; c < trace_reader_chunk_count(reader); c++) {
		const struct trace_chunk *chunk = trace_reader_chunk(reader, c);
		size_t count, key = chunk->by_seen ? offsetof(struct event_execution, seen)
						   : format->key_offset;
		uint64_t previous = 0;
		void *got;

		if ((uint32_t)chunk->kind != kind)
			continue;
		REQUIRE(trace_reader_rows(reader, c, &got, &count) == 0);
		CHECK_EQUAL(count, chunk->rows);
		CHECK_EQUAL(chunk->clock, 3 + chunk->source);
		CHECK_EQUAL(chunk->seen_clock, 9);
		for (size_t i = 0; i < count; i++) {
			char *row = (char *)got + i * format->row_size;
			uint64_t now = trace_field_read(row, (unsigned int)key, FIELD_U64);
			/* the test left the index in a field that exists in all kinds of row */
			size_t index = ROWS;

			CHECK(now >= previous && now >= chunk->first && now <= chunk->last);
			previous = now;
			for (size_t k = chunk->source; k < ROWS && index == ROWS; k += 2) {
				union any_row stripped;

				memcpy(&stripped, row, format->row_size);
				for (size_t j = 0; j < format->column_count; j++) {
					if (format->columns[j].type == FIELD_STRING)
						trace_field_write(&stripped,
								  format->columns[j].offset,
								  FIELD_STRING, 0);
				}
				if (!seen[k] &&
				    is_same_row(format, &stripped, rows + k * format->row_size))
					index = k;
			}
			REQUIRE(index < ROWS);
			seen[index] = true;
			check_strings(reader, format, row, index);
		}
		total += count;
		free(got);
	}
	CHECK_EQUAL(total, ROWS);
	free(seen);
}

static void check_entities(struct trace_reader *reader, uint32_t kind, const char *rows)
{
	const struct trace_format *format = trace_format_find(kind);
	const void *all;

	CHECK_EQUAL(trace_reader_entities(reader, kind, &all), ROWS);
	for (size_t i = 0; i < ROWS; i++) {
		uint32_t id = (uint32_t)trace_field_read(rows + i * format->row_size, 0, FIELD_U32);
		union any_row row;
		const void *found = trace_reader_entity(reader, kind, id);

		REQUIRE(found != NULL);
		memcpy(&row, found, format->row_size);
		check_strings(reader, format, (char *)&row, i);
		CHECK(is_same_row(format, &row, rows + i * format->row_size));
		CHECK(i == 0 ||
		      trace_field_read((const char *)all + i * format->row_size, 0, FIELD_U32) >
			      trace_field_read((const char *)all + (i - 1) * format->row_size, 0,
					       FIELD_U32));
	}
	CHECK(trace_reader_entity(reader, kind, 4000000000u) == NULL);
}

TEST(every_kind_and_field)
{
	struct trace_writer *writer;
	struct trace_reader *reader;
	struct trace_damage damage;
	char *rows[EVENT_KIND_COUNT] = {0};
	uint32_t strings[10];
	char path[64], text[16];

	make_path(path);
	REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
	for (uint32_t i = 0; i < 10; i++)
		strings[i] = trace_writer_string(
			writer, text, (size_t)snprintf(text, sizeof(text), "text %u", i));
	for (uint32_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
		const struct trace_format *format = trace_format_find(kind);

		if (!format)
			continue;
		rows[kind] = calloc(ROWS, format->row_size);
		REQUIRE(rows[kind] != NULL);
		for (uint32_t i = 0; i < ROWS; i++) {
			fill_row(format, rows[kind] + i * format->row_size);
			if (format->is_entity)
				trace_field_write(rows[kind] + i * format->row_size, 0, FIELD_U32,
						  (i * 7919 % ROWS + 1) * 3);
		}
		write_kind(writer, kind, rows[kind], strings);
	}
	CHECK_EQUAL(trace_writer_close(writer, SECOND), 0);
	REQUIRE(trace_reader_open(path, &reader) == 0);
	for (uint32_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
		if (is_entity(kind))
			check_entities(reader, kind, rows[kind]);
		else if (is_happening(kind))
			check_kind(reader, kind, rows[kind]);
		free(rows[kind]);
	}
	trace_reader_damage(reader, &damage);
	CHECK(!damage.chunks && !damage.bytes && !damage.truncated && !damage.index_missing &&
	      !damage.index_rebuilt);
	trace_reader_close(reader);
	unlink(path);
}

TEST(texts_of_any_bytes)
{
	static const char *const texts[] = {"", "plain", "\0", "a\0b", "\xff\xfe", "\n\r\t", "ä€😀"};
	static const size_t lengths[] = {0, 5, 1, 3, 2, 3, 9};
	struct trace_writer *writer;
	struct trace_reader *reader;
	struct trace_source source = {1, 1, 0};
	char path[64], *large = malloc((size_t)2 << 20);
	struct event_api *rows;
	size_t count, length;

	REQUIRE(large != NULL);
	memset(large, 'x', (size_t)2 << 20);
	make_path(path);
	REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
	for (uint64_t i = 0; i < 8; i++) {
		struct event_api row = api_row(i, 1);

		row.function_string = i < 7 ? trace_writer_string(writer, texts[i], lengths[i])
					    : trace_writer_string(writer, large, (size_t)2 << 20);
		CHECK_EQUAL(row.function_string, i);
		trace_writer_row(writer, EVENT_API, &source, &row);
	}
	CHECK_EQUAL(trace_writer_close(writer, 1), 0);
	REQUIRE(trace_reader_open(path, &reader) == 0);
	REQUIRE(trace_reader_rows(reader, 0, (void **)&rows, &count) == 0);
	REQUIRE(count == 8);
	for (size_t i = 0; i < 7; i++) {
		const char *got = trace_reader_string(reader, rows[i].function_string, &length);

		CHECK_EQUAL(length, lengths[i]);
		CHECK(memcmp(got, texts[i], lengths[i] + 1) == 0);
	}
	trace_reader_string(reader, rows[7].function_string, &length);
	CHECK_EQUAL(length, 1 << 20);
	CHECK_TEXT(trace_reader_string(reader, 99999, NULL), "");
	free(rows);
	free(large);
	trace_reader_close(reader);
	unlink(path);
}

TEST(executions_without_start_are_apart)
{
	struct trace_writer *writer;
	struct trace_reader *reader;
	struct trace_source source = {1, 5, 2};
	char path[64];

	make_path(path);
	REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
	for (uint64_t i = 0; i < 20; i++) {
		struct event_execution row = {.seen = 1000 - i, .correlation = i};

		if (i % 2) {
			row.valid = EXECUTION_TIMED;
			row.started = 100 + i;
		}
		trace_writer_row(writer, EVENT_EXECUTION, &source, &row);
	}
	CHECK_EQUAL(trace_writer_close(writer, 1), 0);
	REQUIRE(trace_reader_open(path, &reader) == 0);
	REQUIRE(trace_reader_chunk_count(reader) == 2);
	for (size_t c = 0; c < 2; c++) {
		const struct trace_chunk *chunk = trace_reader_chunk(reader, c);
		struct event_execution *rows;
		size_t count;

		CHECK_EQUAL(chunk->first, chunk->by_seen ? 982 : 101);
		CHECK_EQUAL(chunk->last, chunk->by_seen ? 1000 : 119);
		REQUIRE(trace_reader_rows(reader, c, (void **)&rows, &count) == 0);
		CHECK_EQUAL(count, 10);
		for (size_t i = 1; i < count; i++)
			CHECK(chunk->by_seen ? rows[i].seen > rows[i - 1].seen
					     : rows[i].started > rows[i - 1].started);
		free(rows);
	}
	trace_reader_close(reader);
	unlink(path);
}

/* Segments of 1 s over 30 s: everything is there once, things and pairs too. */
TEST(segments_roll)
{
	struct trace_writer_options options = {.segment_ns = SECOND};
	struct trace_writer *writer;
	struct trace_reader *reader;
	struct trace_source source = {1, 2, 0};
	const struct event_clock_pair *pairs;
	const void *entities;
	char path[64];
	size_t total = 0;
	uint32_t function;

	make_path(path);
	REQUIRE(trace_writer_open(path, &options, &writer) == 0);
	function = trace_writer_string(writer, "f", 1);
	for (uint64_t now = SECOND; now < 31 * SECOND; now += SECOND / 10) {
		struct event_api row = api_row(now, 1);
		struct event_process process = {.id = (uint32_t)(now / SECOND),
						.pid = (uint32_t)(now / SECOND),
						.begin_ns = now,
						.name_string = function};
		struct event_clock_pair pair = {now, now + 5, now + 9};

		row.function_string = function;
		CHECK_EQUAL(trace_writer_row(writer, EVENT_API, &source, &row), 0);
		CHECK_EQUAL(trace_writer_entity(writer, EVENT_PROCESS, &process), 0);
		if (now % SECOND == 0)
			CHECK_EQUAL(trace_writer_row(writer, EVENT_CLOCK_PAIR, &source, &pair), 0);
		CHECK_EQUAL(trace_writer_flush(writer, now), 0);
	}
	CHECK_EQUAL(trace_writer_close(writer, 31 * SECOND), 0);
	REQUIRE(trace_reader_open(path, &reader) == 0);
	CHECK(trace_reader_segment_count(reader) >= 25 && trace_reader_segment_count(reader) <= 31);
	CHECK_EQUAL(trace_reader_entities(reader, EVENT_PROCESS, &entities), 30);
	CHECK_EQUAL(trace_reader_clock_pairs(reader, 2, &pairs), 30);
	for (size_t i = 0; i < 30; i++)
		CHECK_EQUAL(pairs[i].time, (i + 1) * SECOND);
	for (size_t c = 0; c < trace_reader_chunk_count(reader); c++) {
		struct event_api *rows;
		size_t count;

		if (trace_reader_chunk(reader, c)->kind != EVENT_API)
			continue;
		REQUIRE(trace_reader_rows(reader, c, (void **)&rows, &count) == 0);
		for (size_t i = 0; i < count; i++)
			CHECK_TEXT(trace_reader_string(reader, rows[i].function_string, NULL), "f");
		total += count;
		free(rows);
	}
	CHECK_EQUAL(total, 300);
	trace_reader_close(reader);
	unlink(path);
}

TEST(contents_are_kept_once)
{
	struct trace_writer *writer;
	struct trace_reader *reader;
	size_t size = ((size_t)5 << 20) + 17, got_size = 0;
	char *bytes = malloc(size), path[64];
	uint64_t low[3], high[3];
	const char *got;
	struct stat status;

	REQUIRE(bytes != NULL);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)random_next();
	make_path(path);
	REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
	CHECK_EQUAL(trace_writer_content(writer, bytes, size, &low[0], &high[0]), 0);
	CHECK_EQUAL(trace_writer_content(writer, bytes, size, &low[1], &high[1]), 0);
	CHECK(low[0] == low[1] && high[0] == high[1]);
	CHECK_EQUAL(trace_writer_content(writer, "", 0, &low[1], &high[1]), 0);
	CHECK_EQUAL(trace_writer_content(writer, "abc", 3, &low[2], &high[2]), 0);
	CHECK_EQUAL(trace_writer_close(writer, 1), 0);
	CHECK(stat(path, &status) == 0 && (size_t)status.st_size < size + size / 50);
	REQUIRE(trace_reader_open(path, &reader) == 0);
	got = trace_reader_content(reader, low[0], high[0], &got_size);
	CHECK_EQUAL(got_size, size);
	CHECK(got && got_size == size && memcmp(got, bytes, size) == 0);
	CHECK(trace_reader_content(reader, low[0], high[0], &got_size) == got);
	CHECK(trace_reader_content(reader, low[1], high[1], &got_size) && got_size == 0);
	got = trace_reader_content(reader, low[2], high[2], &got_size);
	CHECK(got && got_size == 3 && memcmp(got, "abc", 3) == 0);
	CHECK(trace_reader_content(reader, low[0], high[1], &got_size) == NULL);
	CHECK(trace_reader_content(reader, 1, 2, &got_size) == NULL);
	trace_reader_close(reader);
	free(bytes);
	unlink(path);
}

TEST(nothing_recorded_opens)
{
	struct trace_writer *writer;
	struct trace_reader *reader;
	struct trace_damage damage;
	const struct event_loss *losses;
	char path[64];

	make_path(path);
	REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
	/* as a crash at once leaves it */
	REQUIRE(trace_reader_open(path, &reader) == 0);
	trace_reader_damage(reader, &damage);
	CHECK(damage.index_missing && damage.index_rebuilt && damage.truncated && !damage.chunks);
	trace_reader_close(reader);
	CHECK_EQUAL(trace_writer_close(writer, 1), 0);
	REQUIRE(trace_reader_open(path, &reader) == 0);
	CHECK_EQUAL(trace_reader_chunk_count(reader), 0);
	CHECK_EQUAL(trace_reader_segment_count(reader), 1);
	CHECK_EQUAL(trace_reader_losses(reader, &losses), 0);
	CHECK(trace_reader_chunk(reader, 0) == NULL);
	trace_reader_damage(reader, &damage);
	CHECK(!damage.index_missing && !damage.truncated);
	trace_reader_close(reader);
	unlink(path);
}

TEST(refuses_wrong_calls)
{
	struct trace_writer *writer, *other;
	struct trace_source source = {1, 1, 0};
	struct event_process process = {0};
	char path[64];

	make_path(path);
	REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
	CHECK_EQUAL(trace_writer_row(writer, EVENT_PROCESS, &source, &process), -EINVAL);
	CHECK_EQUAL(trace_writer_row(writer, EVENT_GRAPH, &source, &process), -EINVAL);
	CHECK_EQUAL(trace_writer_entity(writer, EVENT_API, &process), -EINVAL);
	CHECK_EQUAL(trace_writer_entity(writer, EVENT_PROCESS, &process), -EINVAL);
	CHECK_EQUAL(trace_writer_open(path, NULL, &other), -EBUSY);
	CHECK(strstr(error_text(), path) != NULL);
	CHECK_EQUAL(trace_writer_close(writer, 1), 0);
	CHECK_EQUAL(trace_writer_open("/nonexistent/x", NULL, &other), -ENOENT);
	CHECK(strstr(error_text(), "/nonexistent/x") != NULL);
	CHECK_EQUAL(trace_writer_close(NULL, 1), 0);
	trace_reader_close(NULL);
	unlink(path);
}

static size_t resident_bytes(void)
{
	size_t pages = 0, ignored;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file && fscanf(file, "%zu %zu %zu", &ignored, &pages, &ignored) != 3)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void check_memory(uint32_t sources, size_t limit)
{
	struct trace_writer *writer;
	size_t before = resident_bytes(), after;
	char path[64];

	make_path(path);
	REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
	for (uint64_t i = 0; i < 600000; i++) {
		uint32_t id = (uint32_t)(i % sources) + 1;
		struct trace_source source = {id, 2, 0};
		struct trace_source device = {id, 3, 2};
		struct event_launch launch = {
			.enter = i * 1000, .exit = i * 1000 + 100, .thread = id};
		struct event_execution execution = {.started = i * 1000, .valid = EXECUTION_TIMED};
		struct event_api row = api_row(i * 1000, id);

		trace_writer_row(writer, EVENT_API, &source, &row);
		trace_writer_row(writer, EVENT_LAUNCH, &source, &launch);
		trace_writer_row(writer, EVENT_EXECUTION, &device, &execution);
	}
	after = resident_bytes();
	printf("# %u sources: %.1f MiB\n", sources, (double)(after - before) / 1048576);
	CHECK(after - before < limit);
	CHECK_EQUAL(trace_writer_close(writer, 1), 0);
	unlink(path);
}

TEST(memory_is_bounded)
{
#if defined(__SANITIZE_ADDRESS__)
	SKIP("the sanitizer's own memory would be measured");
#endif
	check_memory(6, (size_t)10 << 20);
	check_memory(1000, (size_t)64 << 20);
}

int main(void)
{
	RUN(memory_is_bounded);
	RUN(every_kind_and_field);
	RUN(texts_of_any_bytes);
	RUN(executions_without_start_are_apart);
	RUN(segments_roll);
	RUN(contents_are_kept_once);
	RUN(nothing_recorded_opens);
	RUN(refuses_wrong_calls);
	return harness_end();
}
