/* SPDX-License-Identifier: MIT
 *
 * tests/unit/trace/test_golden.c - a file of schema 1, written once, reads the same for ever
 *
 *	test_trace_golden FILE...	compares them; a file's name has its version
 *	test_trace_golden --write FILE	writes one; only when a new golden file joins the old ones
 *
 * The rows are made by a fixed rule, so that the file needs no second description.
 */
#include "harness.h"

#include <stdlib.h>

#include "base/array.h"
#include "trace_rows.h"

#define SECOND ((uint64_t)1000000000)

enum { ROWS = 300, ENTITIES = 20, TEXTS = 9 };

static uint32_t golden_minor = EVENT_SCHEMA_MINOR; /* of the file at hand */
static const char code_bytes[] = "__kernel void saxpy(float a, __global float *x) {}";

/* Times rise, everything else wanders; the frozen rule, not to be changed. */
static uint64_t frozen_value(uint32_t kind, uint32_t row, uint32_t column)
{
	uint64_t mixed = (kind * 1000003u + row) * (uint64_t)2654435761u + column * 40503u;

	mixed ^= mixed >> 13;
	mixed *= 0x9e3779b97f4a7c15u;
	mixed >>= column * 7 % 50 + 10;
	return row % 50 == 49 ? ~mixed : mixed;
}

struct version {
	uint32_t kind, column; /* column 0: the kind itself */
	uint32_t minor;
};

static const struct version versions[] = {
#define ENTITY(event, kind, since, ...)         {EVENT_##kind, 0, since},
#define HAPPENING(event, kind, key, since, ...) {EVENT_##kind, 0, since},
#include "event/fields.def"
};

/* Fields name their event in lower case: the kind is that of the struct. */
#define ENTITY(event, kind, ...)    enum { KIND_##event = EVENT_##kind };
#define HAPPENING(event, kind, ...) enum { KIND_##event = EVENT_##kind };
#include "event/fields.def"

static const struct version columns[] = {
#define FIELD(event, number, name, member, type, value, unit, since, ...) \
	{KIND_##event, number, since},
#include "event/fields.def"
};

/* Columns and kinds that a later schema added are not in this file. */
static bool is_later(uint32_t kind, uint32_t column)
{
	for (size_t i = 0; i < ARRAY_COUNT(columns); i++)
		if (columns[i].kind == kind && columns[i].column == column)
			return golden_minor < columns[i].minor;
	return false;
}

static bool is_later_kind(uint32_t kind)
{
	for (size_t i = 0; i < ARRAY_COUNT(versions); i++)
		if (versions[i].kind == kind)
			return golden_minor < versions[i].minor;
	return false;
}

static void frozen_row(uint32_t kind, uint32_t index, const uint32_t *texts, void *row)
{
	const struct trace_format *format = trace_format_find(kind);

	memset(row, 0, format->row_size);
	for (uint32_t i = 0; i < format->column_count; i++) {
		const struct trace_column *column = &format->columns[i];
		uint64_t value = frozen_value(kind, index, column->number);

		if (is_later(kind, column->number))
			value = 0;
		else if (column->type == FIELD_STRING)
			value = texts[(index + column->number) % TEXTS];
		trace_field_write(row, column->offset, column->type, value);
	}
	if (format->is_entity) {
		trace_field_write(row, 0, FIELD_U32, index + 1);
		trace_field_write(row, format->end_offset, FIELD_U64, 0);
	} else {
		trace_field_write(row, format->key_offset, FIELD_U64,
				  1000 * SECOND + index * (uint64_t)1234567);
	}
	if (kind == EVENT_EXECUTION)
		((struct event_execution *)row)->valid = EXECUTION_TIMED;
}

static void make_texts(char texts[TEXTS][32], size_t *lengths)
{
	lengths[0] = 0;
	for (size_t i = 1; i < TEXTS; i++)
		lengths[i] =
			(size_t)snprintf(texts[i], 32, "text %zu \xff\x01 %c", i, i % 2 ? 0 : 'z');
}

static int write_golden(const char *path)
{
	struct trace_writer_options options = {.segment_ns = 2 * SECOND};
	struct trace_writer *writer;
	char texts[TEXTS][32];
	size_t lengths[TEXTS];
	uint32_t ids[TEXTS];
	uint64_t low, high;
	union any_row row;

	if (trace_writer_open(path, &options, &writer))
		return 1;
	make_texts(texts, lengths);
	for (size_t i = 0; i < TEXTS; i++)
		ids[i] = trace_writer_string(writer, texts[i], lengths[i]);
	trace_writer_content(writer, code_bytes, sizeof(code_bytes), &low, &high);
	for (uint32_t kind = EVENT_HOST; kind < EVENT_KIND_COUNT; kind++) {
		for (uint32_t i = 0; is_entity(kind) && i < ENTITIES; i++) {
			frozen_row(kind, i, ids, &row);
			trace_writer_entity(writer, kind, &row);
		}
	}
	for (uint32_t i = 0; i < ROWS; i++) {
		for (uint32_t kind = EVENT_HOST; kind < EVENT_KIND_COUNT; kind++) {
			struct trace_source source = {kind * 10, i % 2 + 1, 3};

			if (!is_happening(kind))
				continue;
			frozen_row(kind, i, ids, &row);
			trace_writer_row(writer, kind, &source, &row);
		}
		if (i % 30 == 29)
			trace_writer_flush(writer, (i / 30 + 1) * SECOND);
	}
	return trace_writer_close(writer, 100 * SECOND) ? 1 : 0;
}

/* Puts the writer's ids of texts in place of the reader's; the texts were right then. */
static void check_texts(const struct trace_reader *reader, const struct trace_format *format,
			uint32_t kind, uint32_t index, void *row)
{
	char texts[TEXTS][32];
	size_t lengths[TEXTS], length;

	make_texts(texts, lengths);
	for (uint32_t i = 0; i < format->column_count; i++) {
		const struct trace_column *column = &format->columns[i];
		uint32_t wanted = (index + column->number) % TEXTS;
		const char *text;

		if (column->type != FIELD_STRING || is_later(kind, column->number))
			continue;
		text = trace_reader_string(
			reader, (uint32_t)trace_field_read(row, column->offset, FIELD_STRING),
			&length);
		CHECK_EQUAL(length, lengths[wanted]);
		CHECK(length == lengths[wanted] && memcmp(text, texts[wanted], length) == 0);
		trace_field_write(row, column->offset, FIELD_STRING, wanted);
	}
}

static const uint32_t plain_ids[TEXTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

static void check_entities(struct trace_reader *reader, uint32_t kind)
{
	const struct trace_format *format = trace_format_find(kind);
	const void *rows;

	CHECK_EQUAL(trace_reader_entities(reader, kind, &rows), ENTITIES);
	for (uint32_t i = 0; i < ENTITIES; i++) {
		const void *found = trace_reader_entity(reader, kind, i + 1);
		union any_row got, wanted;

		REQUIRE(found != NULL);
		memcpy(&got, found, format->row_size);
		check_texts(reader, format, kind, i, &got);
		frozen_row(kind, i, plain_ids, &wanted);
		CHECK(is_same_row(format, &got, &wanted));
	}
}

static void check_happenings(struct trace_reader *reader, uint32_t kind)
{
	const struct trace_format *format = trace_format_find(kind);
	uint32_t next[2] = {0, 1}; /* by clock */
	size_t count;
	char *rows;

	for (size_t c = 0; c < trace_reader_chunk_count(reader); c++) {
		const struct trace_chunk *chunk = trace_reader_chunk(reader, c);

		if ((uint32_t)chunk->kind != kind)
			continue;
		CHECK_EQUAL(chunk->source, kind * 10);
		CHECK_EQUAL(chunk->seen_clock, 3);
		REQUIRE(chunk->clock == 1 || chunk->clock == 2);
		REQUIRE(trace_reader_rows(reader, c, (void **)&rows, &count) == 0);
		for (size_t i = 0; i < count; i++) {
			uint32_t index = next[chunk->clock - 1];
			union any_row wanted;

			frozen_row(kind, index, plain_ids, &wanted);
			check_texts(reader, format, kind, index, rows + i * format->row_size);
			CHECK(is_same_row(format, rows + i * format->row_size, &wanted));
			next[chunk->clock - 1] += 2;
		}
		free(rows);
	}
	CHECK_EQUAL(next[0], ROWS);
	CHECK_EQUAL(next[1], ROWS + 1);
}

static void check_file(const char *path, uint32_t minor)
{
	const struct event_clock_pair *pairs;
	const struct event_loss *losses;
	struct trace_reader *reader;
	struct trace_damage damage, none = {0};
	size_t size = 0;
	const char *bytes;

	golden_minor = minor;
	REQUIRE(trace_reader_open(path, &reader) == 0);
	for (uint32_t kind = EVENT_HOST; kind < EVENT_KIND_COUNT; kind++) {
		if (is_later_kind(kind))
			continue;
		if (is_entity(kind))
			check_entities(reader, kind);
		else if (is_happening(kind))
			check_happenings(reader, kind);
	}
	CHECK_EQUAL(trace_reader_clock_pairs(reader, 1, &pairs), ROWS / 2);
	CHECK_EQUAL(trace_reader_clock_pairs(reader, 2, &pairs), ROWS / 2);
	CHECK_EQUAL(trace_reader_losses(reader, &losses), ROWS);
	CHECK_EQUAL(trace_reader_segment_count(reader), 5);
	/* XXH3-128 of the bytes */
	bytes = trace_reader_content(reader, 0xe42a2ad4bf186f82, 0x61db92c34d760204, &size);
	CHECK(bytes && size == sizeof(code_bytes) && memcmp(bytes, code_bytes, size) == 0);
	trace_reader_damage(reader, &damage);
	CHECK(memcmp(&damage, &none, sizeof(none)) == 0);
	trace_reader_close(reader);
}

static char **golden_paths;

/* v1.duet is of 1.0, v1.N.duet of 1.N. */
TEST(every_version_reads_the_same)
{
	for (char **path = golden_paths; *path; path++) {
		const char *name = strrchr(*path, '/');
		unsigned int minor = 0;

		REQUIRE(name != NULL);
		sscanf(name, "/v1.%u.duet", &minor);
		check_file(*path, minor);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--write"))
		return write_golden(argv[2]);
	if (argc < 2)
		return 2;
	golden_paths = argv + 1;
	RUN(every_version_reads_the_same);
	return harness_end();
}
