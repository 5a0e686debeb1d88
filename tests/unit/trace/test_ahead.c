/* SPDX-License-Identifier: MIT
 *
 * tests/unit/trace/test_ahead.c - decoded ahead or on demand, the rows are the same
 */
#include "harness.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "base/io.h"
#include "base/thread.h"
#include "trace/ahead.h"
#include "trace_rows.h"

#define SECOND ((uint64_t)1000000000)

/* As many rows as a thread is started for. */
enum { CHUNKS = 64, ROWS = 2100, DAMAGED = 21 };

static struct trace_reader *reader;
static char *bytes;
static size_t size;
static size_t chunks[CHUNKS];

static struct event_api row_of(uint64_t chunk, uint64_t i)
{
	return (struct event_api){
		.begin = 1000 * chunk + 7 * i, .end = 1000 * chunk + 7 * i + 3, .thread = 1};
}

/* A trace of one chunk for each source. */
static bool make_trace(void)
{
	struct trace_writer *writer;
	char path[64];

	make_path(path);
	if (trace_writer_open(path, NULL, &writer))
		return false;
	for (uint32_t c = 0; c < CHUNKS; c++) {
		for (uint64_t i = 0; i < ROWS; i++) {
			struct event_api row = row_of(c, i);
			struct trace_source source = {c, 1, 0};

			trace_writer_row(writer, EVENT_API, &source, &row);
		}
	}
	trace_writer_close(writer, SECOND);
	if (read_file(path, 0, &bytes, &size))
		bytes = NULL;
	unlink(path);
	return bytes != NULL;
}

static size_t chunk_of(uint32_t source)
{
	for (size_t i = 0; i < trace_reader_chunk_count(reader); i++) {
		if (trace_reader_chunk(reader, i)->source == source)
			return i;
	}
	return SIZE_MAX;
}

/* Opens the trace and lists its chunks from the last to the first: the list's order counts. */
static bool open_trace(void)
{
	if (!make_trace() || trace_reader_open_memory(bytes, size, &reader) ||
	    trace_reader_chunk_count(reader) != CHUNKS)
		return false;
	for (uint32_t i = 0; i < CHUNKS; i++)
		chunks[i] = chunk_of(CHUNKS - 1 - i);
	return true;
}

static void close_trace(void)
{
	trace_reader_close(reader);
	free(bytes);
}

/* Rows say that they were worked on, and in which chunk; the last one is left out. */
static size_t mark(const void *context, size_t chunk, void *rows, size_t count)
{
	struct event_api *row = rows;

	for (size_t i = 0; i < count; i++) {
		row[i].thread = *(const uint32_t *)context;
		row[i].result = (int32_t)trace_reader_chunk(reader, chunk)->source;
	}
	return count - 1;
}

static const uint32_t marked = 77;

static bool are_right(const struct event_api *rows, size_t count, uint32_t source)
{
	for (size_t i = 0; i < count; i++) {
		struct event_api wanted = row_of(source, i);

		if (rows[i].begin != wanted.begin || rows[i].end != wanted.end ||
		    rows[i].thread != marked || rows[i].result != (int32_t)source)
			return false;
	}
	return count == ROWS - 1;
}

/* How many of the list's chunks were right; the damaged one must say so and be the only one. */
static unsigned int take_all(size_t count, size_t damaged)
{
	struct trace_ahead *ahead = NULL;
	unsigned int right = 0;
	void *rows = NULL;
	size_t got = 0;

	CHECK_EQUAL(trace_ahead_new(reader, chunks, count, mark, &marked, &ahead), 0);
	if (!ahead)
		return 0;
	for (size_t i = 0; i < count; i++) {
		int error = trace_ahead_next(ahead, &rows, &got);

		CHECK_EQUAL(error, i == damaged ? -EBADMSG : 0);
		if (error)
			continue;
		right += are_right(rows, got, (uint32_t)(CHUNKS - 1 - i));
		free(rows);
	}
	CHECK_EQUAL(trace_ahead_next(ahead, &rows, &got), -ENODATA);
	trace_ahead_free(ahead);
	return right;
}

TEST(gives_all_chunks_in_the_lists_order)
{
	REQUIRE(open_trace());
	CHECK_EQUAL(take_all(CHUNKS, SIZE_MAX), CHUNKS);
	CHECK_EQUAL(take_all(3, SIZE_MAX), 3);
	CHECK_EQUAL(take_all(0, SIZE_MAX), 0);
	close_trace();
}

TEST(does_it_itself_on_one_processor)
{
	cpu_set_t before, one;
	int first = 0;

	REQUIRE(open_trace());
	REQUIRE(!sched_getaffinity(0, sizeof(before), &before));
	while (!CPU_ISSET(first, &before))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	REQUIRE(!sched_setaffinity(0, sizeof(one), &one));
	CHECK_EQUAL(take_all(CHUNKS, SIZE_MAX), CHUNKS);
	sched_setaffinity(0, sizeof(before), &before);
	close_trace();
}

TEST(goes_on_behind_a_damaged_chunk)
{
	struct trace_damage damage;

	REQUIRE(open_trace());
	bytes[trace_reader_chunk(reader, chunks[DAMAGED])->offset + 20] ^= 0x10;
	CHECK_EQUAL(take_all(CHUNKS, DAMAGED), CHUNKS - 1);
	trace_reader_damage(reader, &damage);
	CHECK_EQUAL(damage.chunks, 1);
	close_trace();
}

TEST(can_be_left_at_any_chunk)
{
	REQUIRE(open_trace());
	for (size_t taken = 0; taken <= CHUNKS; taken++) {
		struct trace_ahead *ahead = NULL;

		REQUIRE(!trace_ahead_new(reader, chunks, CHUNKS, mark, &marked, &ahead));
		for (size_t i = 0; i < taken; i++) {
			void *rows = NULL;
			size_t count = 0;

			CHECK_EQUAL(trace_ahead_next(ahead, &rows, &count), 0);
			free(rows);
		}
		trace_ahead_free(ahead);
	}
	close_trace();
}

static _Atomic size_t decoded;

static size_t count_it(const void *context, size_t chunk, void *rows, size_t count)
{
	(void)context, (void)chunk, (void)rows;
	decoded++;
	return count;
}

/* Waits for as many; a thread that has no room holds one more. */
static size_t decoded_of(size_t wanted)
{
	struct timespec pause = {0, 1000000};

	for (unsigned int i = 0; i < 10000 && decoded < wanted; i++)
		nanosleep(&pause, NULL);
	nanosleep(&pause, NULL);
	return decoded;
}

TEST(is_as_far_ahead_as_is_wanted)
{
	struct trace_ahead *ahead = NULL;

	if (!thread_has_processor())
		SKIP("one processor");
	REQUIRE(open_trace());
	decoded = 0;
	REQUIRE(!trace_ahead_new(reader, chunks, CHUNKS, count_it, NULL, &ahead));
	CHECK_EQUAL(decoded_of(AHEAD_CHUNKS + 1), AHEAD_CHUNKS + 1);
	trace_ahead_set_limit(ahead, 2 * AHEAD_CHUNKS);
	CHECK_EQUAL(decoded_of(2 * AHEAD_CHUNKS + 1), 2 * AHEAD_CHUNKS + 1);
	trace_ahead_set_limit(ahead, SIZE_MAX);
	CHECK_EQUAL(decoded_of(CHUNKS), CHUNKS);
	trace_ahead_free(ahead);
	close_trace();
}

/* Two lists of one reader, and its other questions, at the same time. */
TEST(shares_its_reader)
{
	struct trace_ahead *two[2] = {NULL, NULL};
	unsigned int right = 0;

	REQUIRE(open_trace());
	REQUIRE(!trace_ahead_new(reader, chunks, CHUNKS, mark, &marked, &two[0]));
	REQUIRE(!trace_ahead_new(reader, chunks, CHUNKS, mark, &marked, &two[1]));
	for (uint32_t i = 0; i < 2 * CHUNKS; i++) {
		struct trace_damage damage;
		void *rows = NULL;
		size_t count = 0;

		CHECK_EQUAL(trace_ahead_next(two[i % 2], &rows, &count), 0);
		right += are_right(rows, count, CHUNKS - 1 - i / 2);
		free(rows);
		trace_reader_damage(reader, &damage);
		CHECK_EQUAL(damage.chunks, 0);
	}
	CHECK_EQUAL(right, 2 * CHUNKS);
	trace_ahead_free(two[0]);
	trace_ahead_free(two[1]);
	close_trace();
}

int main(void)
{
	RUN(gives_all_chunks_in_the_lists_order);
	RUN(does_it_itself_on_one_processor);
	RUN(goes_on_behind_a_damaged_chunk);
	RUN(can_be_left_at_any_chunk);
	RUN(is_as_far_ahead_as_is_wanted);
	RUN(shares_its_reader);
	return harness_end();
}
