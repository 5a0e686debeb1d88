/* SPDX-License-Identifier: MIT
 *
 * tests/unit/trace/test_codec.c - rows to columns and back, against the schema
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/codec.h"

#include "duet_trace.pb-c.h"
#include "trace_rows.h"

struct schema {
	uint32_t kind;
	const ProtobufCMessageDescriptor *descriptor;
};

static const struct schema schemas[] = {
	{EVENT_HOST, &duet__host_rows__descriptor},
	{EVENT_PROCESS, &duet__process_rows__descriptor},
	{EVENT_THREAD, &duet__thread_rows__descriptor},
	{EVENT_MAPPING, &duet__mapping_rows__descriptor},
	{EVENT_DEVICE, &duet__device_rows__descriptor},
	{EVENT_CONTEXT, &duet__context_rows__descriptor},
	{EVENT_QUEUE, &duet__queue_rows__descriptor},
	{EVENT_CLOCK, &duet__clock_rows__descriptor},
	{EVENT_COLLECTOR, &duet__collector_rows__descriptor},
	{EVENT_CODE, &duet__code_rows__descriptor},
	{EVENT_SERIES, &duet__series_rows__descriptor},
	{EVENT_TRIGGER, &duet__trigger_rows__descriptor},
	{EVENT_API, &duet__api_rows__descriptor},
	{EVENT_LAUNCH, &duet__launch_rows__descriptor},
	{EVENT_DEPENDENCY, &duet__dependency_rows__descriptor},
	{EVENT_EXECUTION, &duet__execution_rows__descriptor},
	{EVENT_INSTRUCTION_SAMPLE, &duet__instruction_sample_rows__descriptor},
	{EVENT_CPU_SAMPLE, &duet__cpu_sample_rows__descriptor},
	{EVENT_SWITCH, &duet__switch_rows__descriptor},
	{EVENT_COUNTER, &duet__counter_rows__descriptor},
	{EVENT_RANGE, &duet__range_rows__descriptor},
	{EVENT_CLOCK_PAIR, &duet__clock_pair_rows__descriptor},
	{EVENT_LOSS, &duet__loss_rows__descriptor},
	{EVENT_COLLECTIVE, &duet__collective_rows__descriptor},
	{TRACE_INDEX, &duet__index_rows__descriptor},
	{TRACE_END, &duet__end_rows__descriptor},
	{TRACE_FRAMES, &duet__frame_rows__descriptor},
	{TRACE_STACKS, &duet__stack_rows__descriptor},
};
enum { SCHEMAS = sizeof(schemas) / sizeof(schemas[0]) };

static void check_schema(const struct schema *schema)
{
	const struct trace_format *format = trace_format_find(schema->kind);

	REQUIRE(format != NULL);
	CHECK_EQUAL(format->column_count, schema->descriptor->n_fields);
	for (size_t i = 0; i < format->column_count; i++) {
		const struct trace_column *column = &format->columns[i];
		const ProtobufCFieldDescriptor *field =
			protobuf_c_message_descriptor_get_field(schema->descriptor, column->number);

		REQUIRE(field != NULL);
		CHECK_TEXT(column->name, field->name);
		CHECK_EQUAL(field->type,
			    column->is_signed ? PROTOBUF_C_TYPE_SINT64 : PROTOBUF_C_TYPE_UINT64);
		CHECK_EQUAL(field->label, PROTOBUF_C_LABEL_REPEATED);
		CHECK(column->number < TRACE_COLUMNS_LIMIT);
	}
}

TEST(tables_are_the_schema)
{
	uint32_t kinds = 0;

	for (size_t i = 0; i < SCHEMAS; i++)
		check_schema(&schemas[i]);
	for (uint32_t kind = 0; kind < 256; kind++)
		kinds += trace_format_find(kind) != NULL;
	CHECK_EQUAL(kinds, SCHEMAS);
}

/* Every byte of a row struct that is not padding must be in a column: fields cannot be
 * forgotten. */
TEST(tables_cover_the_structs)
{
	for (size_t i = 0; i < SCHEMAS; i++) {
		const struct trace_format *format = trace_format_find(schemas[i].kind);
		size_t covered = 0, holes;
		char bytes[256] = {0};

		for (size_t j = 0; j < format->column_count; j++)
			memset(bytes + format->columns[j].offset, 1,
			       format->columns[j].type == FIELD_U64 ? 8 : 4);
		for (size_t j = 0; j < format->row_size; j++)
			covered += (size_t)bytes[j];
		holes = format->row_size - covered;
		CHECK(holes <= 12 && holes % 4 == 0);
		CHECK(schemas[i].kind != EVENT_EXECUTION || holes == 0);
	}
}

static void check_round_trip(const struct schema *schema, size_t count, bool constant)
{
	const struct trace_format *format = trace_format_find(schema->kind);
	char *rows = calloc(count, format->row_size), *got = calloc(count, format->row_size);
	struct trace_message message = {0};
	ProtobufCMessage *unpacked;

	REQUIRE(rows && got);
	for (size_t i = 0; i < count; i++) {
		fill_row(format, rows + i * format->row_size);
		if (constant)
			memcpy(rows + i * format->row_size, rows, format->row_size);
	}
	CHECK_EQUAL(trace_encode(format, rows, count, NULL, &message), 0);
	CHECK_EQUAL(trace_decode(format, message.bytes, message.size, NULL, got, count), 0);
	for (size_t i = 0; i < count; i++)
		CHECK(is_same_row(format, rows + i * format->row_size, got + i * format->row_size));
	unpacked = protobuf_c_message_unpack(schema->descriptor, NULL, message.size,
					     message.size ? message.bytes : (const uint8_t *)"");
	CHECK(unpacked && unpacked->n_unknown_fields == 0);
	if (unpacked)
		protobuf_c_message_free_unpacked(unpacked, NULL);
	free(message.bytes);
	free(rows);
	free(got);
}

TEST(every_field_comes_back)
{
	static const size_t counts[] = {1, 2, 3, 100, TRACE_ROWS_LIMIT};

	for (size_t i = 0; i < SCHEMAS; i++) {
		for (size_t j = 0; j < 5; j++) {
			check_round_trip(&schemas[i], counts[j], false);
			check_round_trip(&schemas[i], counts[j], true);
		}
		for (size_t j = 0; j < 50; j++)
			check_round_trip(&schemas[i], random_next() % 20 + 1,
					 random_next() % 4 == 0);
	}
}

/* What protobuf-c packs is read too: other tools may write traces. */
TEST(reads_what_protobuf_c_packs)
{
	Duet__ApiRows api = DUET__API_ROWS__INIT;
	uint64_t begin[] = {5, 10, 300}, end[] = {1}, thread[] = {7, 8};
	int64_t result[] = {-30};
	struct event_api rows[3] = {0};
	uint8_t packed[200];
	size_t size;

	api.n_begin = 3;
	api.begin = begin;
	api.n_end = 1;
	api.end = end;
	api.n_thread = 2;
	api.thread = thread;
	api.n_result = 1;
	api.result = result;
	size = duet__api_rows__pack(&api, packed);
	CHECK_EQUAL(trace_decode(trace_format_find(EVENT_API), packed, size, NULL, rows, 3), 0);
	CHECK_EQUAL(rows[2].begin, 315);
	CHECK_EQUAL(rows[2].end, 316);
	CHECK_EQUAL(rows[0].thread, 7);
	CHECK_EQUAL(rows[2].thread, 8);
	CHECK_EQUAL(rows[1].result, -30);
	CHECK_EQUAL(rows[1].argument, 0);
}

static int decode(const char *bytes, size_t size)
{
	struct event_api rows[3] = {0};

	return trace_decode(trace_format_find(EVENT_API), (const uint8_t *)bytes, size, NULL, rows,
			    3);
}

TEST(refuses_malformed_columns)
{
	CHECK_EQUAL(decode("", 0), 0);
	CHECK_EQUAL(decode("\x0a\x03\x01\x01\x01", 5), 0);
	CHECK_EQUAL(decode("\x0a\x04\x01\x01\x01\x01", 6), -EBADMSG); /* four values, three rows */
	CHECK_EQUAL(decode("\x0a\x05\x01", 3), -EBADMSG);             /* cut off */
	CHECK_EQUAL(decode("\x0a\x01\x80", 3), -EBADMSG);
	CHECK_EQUAL(decode("\x0a", 1), -EBADMSG);
	CHECK_EQUAL(decode("\x00\x01", 2), -EBADMSG); /* number 0 */
	CHECK_EQUAL(decode("\x0b", 1), -EBADMSG);     /* a group */
	CHECK_EQUAL(decode("\x0a\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13), -EBADMSG);
	/* unknown fields of all types are skipped */
	CHECK_EQUAL(decode("\xf8\x01\x05\xf9\x01________\xfa\x01\x01_\xfd\x01____", 23), 0);
}

TEST(sorting_is_stable)
{
	enum { COUNT = 4096 };
	static struct event_api rows[COUNT];

	for (uint32_t i = 0; i < COUNT; i++)
		rows[i] = (struct event_api){.begin = random_next() % 100, .thread = i};
	CHECK_EQUAL(trace_sort(rows, COUNT, sizeof(rows[0]), offsetof(struct event_api, begin),
			       FIELD_U64),
		    0);
	for (uint32_t i = 1; i < COUNT; i++)
		CHECK(rows[i - 1].begin < rows[i].begin ||
		      (rows[i - 1].begin == rows[i].begin && rows[i - 1].thread < rows[i].thread));
	CHECK_EQUAL(trace_sort(NULL, 0, 48, 0, FIELD_U64), 0);
}

int main(void)
{
	RUN(tables_are_the_schema);
	RUN(tables_cover_the_structs);
	RUN(every_field_comes_back);
	RUN(reads_what_protobuf_c_packs);
	RUN(refuses_malformed_columns);
	RUN(sorting_is_stable);
	return harness_end();
}
