/* SPDX-License-Identifier: MIT
 *
 * tests/unit/trace/test_stacks.c - stacks that go into a file come out of it, and each segment has
 * its own
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>

#include "trace_rows.h"

#define SECOND ((uint64_t)1000000000)

enum { FRAMES = 700, STACKS = 400, MAX_DEPTH = 512, ROWS_A_SECOND = 500, SECONDS = 60 };

static char path[] = "/tmp/duet-test-stacks-XXXXXX";

struct known_stack {
	uint32_t frames[MAX_DEPTH]; /* outermost first, numbers from 0 */
	uint32_t depth;
	uint32_t id;
};

static struct known_stack *stacks;
static uint32_t frame_ids[FRAMES];

static struct event_frame frame_number(struct trace_writer *writer, uint32_t number)
{
	char name[32];
	int length = snprintf(name, sizeof(name), "function %u", number);
	struct event_frame frame = {.type = FRAME_NATIVE, .flags = FRAME_RETURN};

	frame.module_string = trace_writer_string(writer, "/lib/libx.so", 12);
	frame.build_id_string = trace_writer_string(writer, "0123abcd", 8);
	frame.offset = number * UINT64_C(48);
	if (number % 3 == 0) {
		frame = (struct event_frame){.type = FRAME_PYTHON, .line = number, .first_line = 1};
		frame.name_string = trace_writer_string(writer, name, (size_t)length);
		frame.file_string = trace_writer_string(writer, "a.py", 4);
	}
	return frame;
}

static void make_stacks(struct trace_writer *writer)
{
	stacks = calloc(STACKS, sizeof(*stacks));
	for (uint32_t i = 0; i < FRAMES; i++) {
		struct event_frame frame = frame_number(writer, i);

		frame_ids[i] = trace_writer_frame(writer, &frame);
		CHECK(frame_ids[i] && trace_writer_frame(writer, &frame) == frame_ids[i]);
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		struct known_stack *stack = &stacks[i];
		/* Many share their outer half. */
		uint32_t shared = i % 4 ? stacks[i - 1].depth / 2 : 0;

		stack->depth = 1 + (uint32_t)(random_next() % (i % 10 ? 40 : MAX_DEPTH - 1));
		for (uint32_t j = 0; j < stack->depth; j++) {
			stack->frames[j] = j < shared ? stacks[i - 1].frames[j]
						      : (uint32_t)(random_next() % FRAMES);
			stack->id = trace_writer_stack(writer, j ? stack->id : 0,
						       frame_ids[stack->frames[j]]);
			REQUIRE(stack->id != 0);
		}
	}
}

/* In each second other stacks, of both kinds of row that have one. */
static void write_rows(struct trace_writer *writer)
{
	struct trace_source source = {1, 2, 0};

	for (uint64_t second = 0; second < SECONDS; second++) {
		for (uint64_t i = 0; i < ROWS_A_SECOND; i++) {
			uint64_t now = (1000 + second) * SECOND + i * 1000;
			uint32_t which =
				(uint32_t)((second / 5 * 37 + random_next() % 50) % STACKS);
			struct event_api call = {.begin = now,
						 .end = now + 1,
						 .argument = which,
						 .stack = stacks[which].id};
			struct event_launch launch = {.enter = now,
						      .exit = now + 1,
						      .correlation = which,
						      .stack = i % 7 ? stacks[which].id : 0};

			trace_writer_row(writer, EVENT_API, &source, &call);
			trace_writer_row(writer, EVENT_LAUNCH, &source, &launch);
		}
		trace_writer_flush(writer, (1001 + second) * SECOND);
	}
}

static bool is_frame(const struct trace_reader *reader, const struct event_frame *frame,
		     uint32_t number)
{
	char name[32];

	snprintf(name, sizeof(name), "function %u", number);
	if (!frame)
		return false;
	if (number % 3 == 0)
		return frame->type == FRAME_PYTHON && frame->line == number &&
		       strcmp(trace_reader_string(reader, frame->name_string, NULL), name) == 0 &&
		       strcmp(trace_reader_string(reader, frame->file_string, NULL), "a.py") == 0;
	return frame->type == FRAME_NATIVE && frame->offset == number * UINT64_C(48) &&
	       frame->flags == FRAME_RETURN &&
	       strcmp(trace_reader_string(reader, frame->build_id_string, NULL), "0123abcd") == 0;
}

static bool is_stack(const struct trace_reader *reader, uint32_t id, uint32_t which)
{
	const struct known_stack *known = &stacks[which];

	for (uint32_t i = known->depth; i-- > 0;) {
		const struct event_stack *node = trace_reader_stack(reader, id);

		if (!node || node->caller >= id ||
		    !is_frame(reader, trace_reader_frame(reader, node->frame), known->frames[i]))
			return false;
		id = node->caller;
	}
	return id == 0;
}

/* Returns the rows; every stack of theirs is whole. */
static uint64_t check_rows(struct trace_reader *reader)
{
	uint64_t found = 0, wrong = 0;

	for (size_t i = 0; i < trace_reader_chunk_count(reader); i++) {
		enum event_kind kind = trace_reader_chunk(reader, i)->kind;
		size_t count;
		void *rows;

		if (trace_reader_rows(reader, i, &rows, &count))
			continue;
		for (size_t j = 0; j < count; j++) {
			const struct event_api *call = (const struct event_api *)rows + j;
			const struct event_launch *launch = (const struct event_launch *)rows + j;

			if (kind == EVENT_API)
				wrong += !is_stack(reader, call->stack, (uint32_t)call->argument);
			else if (kind == EVENT_LAUNCH && launch->stack)
				wrong += !is_stack(reader, launch->stack,
						   (uint32_t)launch->correlation);
			found += kind == EVENT_API || kind == EVENT_LAUNCH;
		}
		free(rows);
	}
	CHECK_EQUAL(wrong, 0);
	return found;
}

static uint64_t round_trip(const struct trace_writer_options *options)
{
	struct trace_writer *writer;
	struct trace_reader *reader;
	uint64_t found;

	if (trace_writer_open(path, options, &writer))
		return 0;
	make_stacks(writer);
	write_rows(writer);
	CHECK_EQUAL(trace_writer_close(writer, (1000 + SECONDS) * SECOND), 0);
	if (trace_reader_open(path, &reader))
		return 0;
	found = check_rows(reader);
	CHECK(trace_reader_stack_count(reader) > 100);
	CHECK(trace_reader_frame_count(reader) <= FRAMES);
	trace_reader_close(reader);
	free(stacks);
	return found;
}

TEST(in_one_segment)
{
	struct trace_writer_options options = {.segment_ns = 1000 * SECOND};

	CHECK_EQUAL(round_trip(&options), 2 * ROWS_A_SECOND * SECONDS);
}

TEST(in_many_segments)
{
	struct trace_writer_options options = {.segment_ns = 3 * SECOND};

	CHECK_EQUAL(round_trip(&options), 2 * ROWS_A_SECOND * SECONDS);
}

/* What is left after the oldest segments are gone has all stacks of its own. */
TEST(where_segments_are_dropped)
{
	struct trace_writer_options options = {.keep_ns = 10 * SECOND};
	uint64_t found = round_trip(&options);

	CHECK(found > 0 && found < 2 * ROWS_A_SECOND * SECONDS / 2);
}

TEST(what_is_not_there)
{
	struct trace_writer_options options = {0};
	struct event_frame frame = {.type = FRAME_JIT};
	struct event_api call = {.begin = 1, .end = 2, .stack = 12345};
	struct trace_source source = {1, 2, 0};
	struct trace_writer *writer;
	struct trace_reader *reader;

	REQUIRE(trace_writer_open(path, &options, &writer) == 0);
	CHECK_EQUAL(trace_writer_stack(writer, 0, 1), 0);
	CHECK_EQUAL(trace_writer_frame(writer, &frame), 1);
	CHECK_EQUAL(trace_writer_stack(writer, 1, 1), 0);
	CHECK_EQUAL(trace_writer_stack(writer, 0, 1), 1);
	CHECK_EQUAL(trace_writer_row(writer, EVENT_API, &source, &call), 0);
	CHECK_EQUAL(trace_writer_close(writer, 5), 0);
	REQUIRE(trace_reader_open(path, &reader) == 0);
	CHECK(!trace_reader_stack(reader, 12345) && !trace_reader_stack(reader, 0));
	CHECK(!trace_reader_frame(reader, 0));
	trace_reader_close(reader);
}

enum { PAIRS = 3000, PUSHES = 40000, CHAIN = 9000 };

/* Stacks in any order: equal pairs of a caller and a frame have one id, all others have another. */
TEST(equal_stacks_have_one_id)
{
	static uint32_t callers[PAIRS], frames[PAIRS], seen[PAIRS];
	struct event_frame frame = {.type = FRAME_JIT};
	struct trace_writer *writer;
	uint32_t count = 0, last = 0;

	REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
	for (frame.offset = 0; frame.offset < 5; frame.offset++)
		trace_writer_frame(writer, &frame);
	for (uint32_t i = 0; i < PUSHES && count < PAIRS; i++) {
		uint32_t caller =
			random_next() % 2 ? last : (uint32_t)(random_next() % (count + 1));
		uint32_t pushed = 1 + (uint32_t)(random_next() % 5), known = 0;

		while (known < count && (callers[known] != caller || frames[known] != pushed))
			known++;
		last = trace_writer_stack(writer, caller, pushed);
		CHECK_EQUAL(last, known < count ? seen[known] : count + 1);
		if (known < count)
			continue;
		callers[count] = caller;
		frames[count] = pushed;
		seen[count++] = last;
	}
	CHECK(count > 1000);
	trace_writer_abandon(writer);
}

/* The file has the callee's chunks before the caller's. */
TEST(deep_stacks_are_cut)
{
	struct trace_source source = {1, 2, 0};
	struct event_frame frame = {.type = FRAME_JIT};
	struct event_api call = {.begin = 1, .end = 2};
	const struct event_stack *node;
	struct trace_writer *writer;
	struct trace_reader *reader;
	uint32_t depth = 0, first = 0, stack;

	REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
	for (uint32_t i = 0; i < CHAIN; i++)
		call.stack =
			trace_writer_stack(writer, call.stack, trace_writer_frame(writer, &frame));
	CHECK_EQUAL(call.stack, CHAIN);
	CHECK_EQUAL(trace_writer_row(writer, EVENT_API, &source, &call), 0);
	CHECK_EQUAL(trace_writer_close(writer, 5), 0);
	REQUIRE(trace_reader_open(path, &reader) == 0);
	CHECK_EQUAL(trace_reader_stacks_cut(reader), 2); /* those of 4097 and of 8192 frames */
	for (stack = CHAIN; (node = trace_reader_stack(reader, stack)); stack = node->caller) {
		first = node->frame;
		depth++;
	}
	CHECK_EQUAL(depth, 1 + CHAIN - 8192 + 1);
	REQUIRE(trace_reader_frame(reader, first));
	CHECK_EQUAL(trace_reader_frame(reader, first)->type, FRAME_TRUNCATED);
	trace_reader_close(reader);
}

/* A frame that gets its name after the rows that lead to it were written, in the same segment and
 * in a later one. */
static void name_later(uint64_t segment_ns)
{
	struct trace_writer_options options = {.segment_ns = segment_ns};
	struct event_frame frame = {.type = FRAME_JIT, .offset = 0x1000};
	struct trace_source source = {1, 2, 0};
	uint32_t ids[4], names[4];
	struct trace_writer *writer;
	struct trace_reader *reader;

	REQUIRE(trace_writer_open(path, &options, &writer) == 0);
	for (uint32_t i = 0; i < 4; i++) {
		char name[2] = {(char)('a' + i), '\0'};

		names[i] = trace_writer_string(writer, name, 1);
		ids[i] = trace_writer_own_frame(writer, &frame, i + 1);
		CHECK_EQUAL(trace_writer_own_frame(writer, &frame, i + 1), ids[i]);
		CHECK(!i || ids[i] != ids[i - 1]);
	}
	CHECK(trace_writer_frame(writer, &frame) > ids[3]);
	for (uint32_t i = 0; i < 40; i++) {
		struct event_api call = {.begin = i * SECOND, .end = i * SECOND + 1};

		call.stack = trace_writer_stack(writer, 0, ids[i % 3]);
		CHECK_EQUAL(trace_writer_row(writer, EVENT_API, &source, &call), 0);
		trace_writer_flush(writer, i * SECOND + SECOND / 2);
		if (i == 20)
			CHECK_EQUAL(trace_writer_name_frame(writer, ids[0], names[0]), 0);
	}
	CHECK_EQUAL(trace_writer_name_frame(writer, ids[1], names[1]), 0);
	CHECK_EQUAL(trace_writer_name_frame(writer, 77, names[1]), -ENOENT);
	CHECK_EQUAL(trace_writer_close(writer, 41 * SECOND), 0);
	REQUIRE(trace_reader_open(path, &reader) == 0);
	for (uint32_t i = 0; i < 3; i++) {
		const struct event_frame *found = trace_reader_frame(reader, ids[i]);

		REQUIRE(found);
		CHECK_EQUAL(found->offset, 0x1000);
		CHECK_TEXT(trace_reader_string(reader, found->name_string, NULL), i == 0   ? "a"
										  : i == 1 ? "b"
											   : "");
	}
	trace_reader_close(reader);
}

TEST(named_later)
{
	name_later(1000 * SECOND);
	name_later(3 * SECOND);
}

int main(void)
{
	int fd = mkstemp(path);

	close(fd);
	RUN(in_one_segment);
	RUN(in_many_segments);
	RUN(where_segments_are_dropped);
	RUN(what_is_not_there);
	RUN(equal_stacks_have_one_id);
	RUN(deep_stacks_are_cut);
	RUN(named_later);
	unlink(path);
	return harness_end();
}
