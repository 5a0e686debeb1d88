/* SPDX-License-Identifier: MIT
 *
 * tests/unit/trace/test_copy.c - rows of one trace in another: ids, texts and stacks mean the same
 */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "trace/copy.h"
#include "trace_rows.h"

#define SECOND ((uint64_t)1000000000)

enum { SHIFT = 100 }; /* ids of the target are this much larger */

static uint32_t text_of(struct trace_writer *writer, const char *text)
{
	return trace_writer_string(writer, text, strlen(text));
}

static uint32_t stack_of(struct trace_writer *writer, const char *outer, const char *inner)
{
	struct event_frame frame = {.type = FRAME_PYTHON, .name_string = text_of(writer, outer)};
	uint32_t stack = trace_writer_stack(writer, 0, trace_writer_frame(writer, &frame));

	frame.name_string = text_of(writer, inner);
	return trace_writer_stack(writer, stack, trace_writer_frame(writer, &frame));
}

/* Two processes with a thread, a queue and calls each. */
static void write_source(const char *path)
{
	struct event_clock clock = {.id = CLOCK_ID_MONOTONIC, .type = CLOCK_TYPE_MONOTONIC};
	struct event_device device = {.id = 1};
	struct trace_writer *writer;

	REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
	trace_writer_entity(writer, EVENT_CLOCK, &clock);
	device.key_string = text_of(writer, "GPU-1");
	trace_writer_entity(writer, EVENT_DEVICE, &device);
	for (uint32_t id = 1; id <= 2; id++) {
		struct event_process process = {.id = id, .pid = 40 + id, .parent = id - 1};
		struct event_thread thread = {.id = id, .process = id, .tid = 40 + id};
		struct event_queue queue = {.id = id, .process = id, .device = 1, .clock = 1};
		const struct trace_source source = {id, CLOCK_ID_MONOTONIC, 0};

		process.name_string = text_of(writer, id == 1 ? "first" : "second");
		trace_writer_entity(writer, EVENT_PROCESS, &process);
		trace_writer_entity(writer, EVENT_THREAD, &thread);
		trace_writer_entity(writer, EVENT_QUEUE, &queue);
		for (uint64_t i = 0; i < 10; i++) {
			const struct event_launch row = {
				.enter = SECOND + i * 10,
				.exit = SECOND + i * 10 + 5,
				.thread = id,
				.queue = id,
				.correlation = i + 1,
				.function_string = text_of(writer, "launch"),
				.stack = stack_of(writer, "main", id == 1 ? "step" : "other")};

			trace_writer_row(writer, EVENT_LAUNCH, &source, &row);
		}
	}
	CHECK_EQUAL(trace_writer_close(writer, 2 * SECOND), 0);
}

/* The second process is not wanted, and neither are its calls. */
static uint32_t find_id(void *context, enum event_kind kind, void *row)
{
	uint32_t *found = context;
	uint32_t id = *(uint32_t *)row;

	found[kind]++;
	if (kind == EVENT_CLOCK)
		return id;
	if (kind == EVENT_PROCESS && ((struct event_process *)row)->pid == 42)
		return 0;
	return id + SHIFT;
}

static bool keeps_clock(void *context, enum event_kind kind, void *row)
{
	return kind != EVENT_CLOCK;
}

static const char *frame_name(struct trace_reader *reader, uint32_t stack, unsigned int depth)
{
	const struct event_stack *node = trace_reader_stack(reader, stack);

	while (node && depth--)
		node = trace_reader_stack(reader, node->caller);
	return node ? trace_reader_string(
			      reader, trace_reader_frame(reader, node->frame)->name_string, NULL)
		    : "";
}

static void check_target(const char *path, uint64_t copies)
{
	const struct event_process *process;
	const struct event_queue *queue;
	struct trace_reader *reader;
	uint64_t rows_count = 0;

	REQUIRE(trace_reader_open(path, &reader) == 0);
	CHECK_EQUAL(trace_reader_entities(reader, EVENT_PROCESS, &process), 1);
	REQUIRE(process != NULL);
	CHECK_EQUAL(process->id, 1 + SHIFT);
	CHECK_TEXT(trace_reader_string(reader, process->name_string, NULL), "first");
	CHECK_EQUAL(trace_reader_entities(reader, EVENT_QUEUE, &queue), 1);
	CHECK_EQUAL(queue->process, 1 + SHIFT);
	CHECK_EQUAL(queue->device, 1 + SHIFT);
	for (size_t i = 0; i < trace_reader_chunk_count(reader); i++) {
		struct event_launch *rows;
		size_t count;

		if (trace_reader_chunk(reader, i)->kind != EVENT_LAUNCH)
			continue;
		REQUIRE(trace_reader_rows(reader, i, (void **)&rows, &count) == 0);
		for (size_t j = 0; j < count; j++) {
			CHECK_EQUAL(rows[j].thread, 1 + SHIFT);
			CHECK_EQUAL(rows[j].queue, 1 + SHIFT);
			CHECK_TEXT(trace_reader_string(reader, rows[j].function_string, NULL),
				   "launch");
			CHECK_TEXT(frame_name(reader, rows[j].stack, 0), "step");
			CHECK_TEXT(frame_name(reader, rows[j].stack, 1), "main");
		}
		rows_count += count;
		free(rows);
	}
	CHECK_EQUAL(rows_count, 10 * copies);
	trace_reader_close(reader);
}

TEST(rows_of_the_wanted_process)
{
	uint32_t found[EVENT_KIND_COUNT] = {0};
	const struct trace_copy_options options = {.find_id = find_id,
						   .update = keeps_clock,
						   .context = found,
						   .kinds = 1u << EVENT_LAUNCH};
	struct trace_writer *writer;
	struct trace_reader *reader;
	struct trace_copy *copy;
	uint64_t skipped;
	char source[64], target[80];

	make_path(source);
	snprintf(target, sizeof(target), "%s.copy", source);
	write_source(source);
	REQUIRE(trace_writer_open(target, NULL, &writer) == 0);
	/* texts with other ids */
	text_of(writer, "something else");
	REQUIRE(trace_copy_new(writer, &options, &copy) == 0);
	REQUIRE(trace_reader_open(source, &reader) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(trace_copy_all(copy, reader, &skipped), 0);
		CHECK_EQUAL(skipped, 10);
	}
	/* a known entity keeps its id */
	CHECK_EQUAL(found[EVENT_QUEUE], 1);
	CHECK_EQUAL(trace_copy_id(copy, EVENT_THREAD, 1), 1 + SHIFT);
	CHECK_EQUAL(trace_copy_id(copy, EVENT_THREAD, 2), 0);
	trace_copy_free(copy);
	trace_reader_close(reader);
	CHECK_EQUAL(trace_writer_close(writer, 2 * SECOND), 0);
	check_target(target, 2);
	unlink(source);
	unlink(target);
}

/* Every kind and every field, with ids that lead nowhere and entities that refer to each other. */
TEST(hostile_rows)
{
	uint32_t found[EVENT_KIND_COUNT] = {0};
	const struct trace_copy_options options = {
		.find_id = find_id, .context = found, .kinds = UINT32_MAX};
	struct trace_writer *writer;
	struct trace_reader *reader;
	struct trace_copy *copy;
	char source[64], target[80];

	make_path(source);
	snprintf(target, sizeof(target), "%s.copy", source);
	REQUIRE(trace_writer_open(source, NULL, &writer) == 0);
	for (uint32_t kind = 0; kind < EVENT_KIND_COUNT; kind++) {
		const struct trace_format *format = trace_format_find(kind);
		const struct trace_source from = {1, CLOCK_ID_MONOTONIC, 0};
		union any_row row;

		for (uint32_t i = 1; format && i <= 50; i++) {
			fill_row(format, &row);
			if (is_entity(kind))
				memcpy(&row, &i, sizeof(i));
			if (is_entity(kind))
				trace_writer_entity(writer, (enum event_kind)kind, &row);
			else if (is_happening(kind))
				trace_writer_row(writer, (enum event_kind)kind, &from, &row);
		}
	}
	CHECK_EQUAL(trace_writer_close(writer, 2 * SECOND), 0);
	REQUIRE(trace_writer_open(target, NULL, &writer) == 0);
	REQUIRE(trace_copy_new(writer, &options, &copy) == 0);
	REQUIRE(trace_reader_open(source, &reader) == 0);
	CHECK_EQUAL(trace_copy_all(copy, reader, NULL), 0);
	trace_copy_free(copy);
	trace_reader_close(reader);
	CHECK_EQUAL(trace_writer_close(writer, 2 * SECOND), 0);
	REQUIRE(trace_reader_open(target, &reader) == 0);
	trace_reader_close(reader);
	unlink(source);
	unlink(target);
}

int main(void)
{
	RUN(rows_of_the_wanted_process);
	RUN(hostile_rows);
	return harness_end();
}
