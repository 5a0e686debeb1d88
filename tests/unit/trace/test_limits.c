/* SPDX-License-Identifier: MIT
 *
 * tests/unit/trace/test_limits.c - keep_ns and max_bytes drop whole segments, whenever the recorder
 * dies
 */
#include "harness.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/io.h"

#include "counted_rows.h"

TEST(size_stays_below_the_limit)
{
	struct trace_writer_options options = {.max_bytes = (uint64_t)4 << 20};
	struct trace_writer_stats stats;
	struct recording recording;
	struct found found;
	struct stat status;
	uint64_t largest = 0, now = SECOND;
	char path[64];

	make_path(path);
	begin(&recording, path, &options);
	for (int i = 0; i < 300; i++, now += SECOND / 10) {
		add_rows(&recording, 5000, now);
		CHECK_EQUAL(trace_writer_flush(recording.writer, now), 0);
		CHECK(stat(path, &status) == 0);
		if ((uint64_t)status.st_size > largest)
			largest = (uint64_t)status.st_size;
		if (i % 20 == 19) {
			/* as a crash right now would leave it */
			check_file(path, &recording, &found);
			CHECK(found.last + 1 + 5000 + TRACE_CHUNK_ROWS > recording.next);
		}
	}
	trace_writer_stats(recording.writer, &stats);
	CHECK(stats.segments_dropped > 20);
	CHECK(stats.bytes > 5 * options.max_bytes);
	CHECK_EQUAL(stats.rows_lost, 0);
	CHECK_EQUAL(trace_writer_close(recording.writer, now), 0);
	printf("# at most %llu of %llu bytes\n", (unsigned long long)largest,
	       (unsigned long long)options.max_bytes);
	CHECK(largest < options.max_bytes);
	CHECK(stat(path, &status) == 0 && (uint64_t)status.st_size < options.max_bytes);
	CHECK((uint64_t)status.st_size > options.max_bytes / 3);
	check_file(path, &recording, &found);
	CHECK_EQUAL(found.last + 1, recording.next);
	CHECK(found.first > 0);
	CHECK(!found.damage.chunks && !found.damage.index_missing && !found.damage.truncated);
	unlink(path);
}

TEST(old_segments_are_dropped)
{
	struct trace_writer_options options = {.keep_ns = 10 * SECOND};
	struct trace_reader *reader;
	struct recording recording;
	struct found found;
	struct stat status;
	uint64_t now = SECOND;
	char path[64];

	make_path(path);
	begin(&recording, path, &options);
	for (int i = 0; i < 1000; i++, now += SECOND / 10) {
		add_rows(&recording, 100, now);
		CHECK_EQUAL(trace_writer_flush(recording.writer, now), 0);
	}
	CHECK_EQUAL(trace_writer_close(recording.writer, now), 0);
	check_file(path, &recording, &found);
	printf("# %llu rows of 100 s, 1000 a second\n", (unsigned long long)found.rows);
	/* never less than asked for, and at most two segments of a quarter more */
	CHECK(found.rows >= 10000 && found.rows <= 17000);
	CHECK_EQUAL(found.last + 1, recording.next);
	CHECK(stat(path, &status) == 0 && status.st_size < 40000 * 20);
	REQUIRE(trace_reader_open(path, &reader) == 0);
	CHECK(trace_reader_entity(reader, EVENT_PROCESS, ENTITY + 1) == NULL);
	trace_reader_close(reader);
	unlink(path);
}

/* Every write of the writer is a point where it may die: a copy of the file after each is read. */
TEST(a_crash_while_shortening_costs_nothing)
{
	/* three times what the file holds, or six */
	enum { MOMENTS = HARNESS_IS_SLOW ? 150 : 300 };
	struct trace_writer_options options = {.max_bytes = (uint64_t)4 << 20};
	struct recording recording;
	struct found found;
	uint64_t now = SECOND;
	char path[64];
	uint64_t damaged = 0;

	make_path(path);
	begin(&recording, path, &options);
	trace_writer_flush(recording.writer, now);
	now += SECOND;
	trace_writer_flush(recording.writer, now); /* the pair and the things are a second old */
	for (int i = 0; i < MOMENTS; i++, now += SECOND / 50) {
		add_rows(&recording, 4000, now);
		if (i % 50 == 0)
			trace_writer_flush(recording.writer, now);
		check_file(path, &recording, &found);
		damaged += found.damage.chunks;
		CHECK(found.damage.chunks <= 1);
		CHECK(found.last + 1 + TRACE_CHUNK_ROWS >= recording.next);
		CHECK(found.rows + 4000 >= recording.next || found.rows > 50000);
	}
	printf("# %llu of %d moments with a torn chunk\n", (unsigned long long)damaged, MOMENTS);
	CHECK(damaged > 0);
	CHECK_EQUAL(trace_writer_close(recording.writer, now), 0);
	check_file(path, &recording, &found);
	CHECK_EQUAL(found.last + 1, recording.next);
	unlink(path);
}

/* Not only between its calls: the child is killed anywhere. */
/* Until something is written: on a busy machine a new process may wait long for its first
 * moment. */
static void wait_for_growth(const char *path, off_t before)
{
	struct stat about;

	for (int i = 0; i < 10000 && stat(path, &about) == 0 && about.st_size <= before; i++)
		usleep(1000);
}

TEST(kill_at_any_moment)
{
	for (unsigned int round = 0; round < 20; round++) {
		struct trace_writer_options options = {.max_bytes = (uint64_t)1 << 20};
		struct recording recording;
		struct found found;
		struct stat about;
		char path[64];
		pid_t child;

		make_path(path);
		begin(&recording, path, &options);
		REQUIRE(stat(path, &about) == 0);
		child = fork();
		if (child == 0) {
			for (uint64_t now = SECOND;; now += SECOND / 50) {
				add_rows(&recording, 500, now);
				trace_writer_flush(recording.writer, now);
			}
		}
		REQUIRE(child > 0);
		wait_for_growth(path, about.st_size);
		usleep(30000 + round * 5000);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		check_file(path, &recording, &found);
		CHECK(found.rows > 0 && found.damage.chunks <= 2);
		/* the child's writer went with it; this one knows nothing of its rows */
		trace_writer_close(recording.writer, SECOND);
		unlink(path);
	}
}

static uint64_t file_bytes(const char *path)
{
	struct stat status = {0};

	CHECK(stat(path, &status) == 0);
	return (uint64_t)status.st_size;
}

static uint64_t lost_of_kind(const char *path, uint32_t kind)
{
	const struct event_loss *losses;
	struct trace_reader *reader;
	uint64_t count = 0;
	size_t rows;

	if (trace_reader_open(path, &reader) != 0)
		return UINT64_MAX;
	rows = trace_reader_losses(reader, &losses);
	for (size_t i = 0; i < rows; i++) {
		CHECK_EQUAL(losses[i].reason, LOSS_DISK);
		CHECK(losses[i].begin && losses[i].begin <= losses[i].end);
		if (losses[i].kind == kind)
			count += losses[i].count;
	}
	trace_reader_close(reader);
	return count;
}

/* Programs that live: their binaries are carried over from segment to segment. */
TEST(contents_count)
{
	enum { MOST = 4 << 20, SIZE = 60000, CODES = 200 };
	struct trace_writer_options options = {.max_bytes = MOST};
	struct trace_writer_stats stats;
	struct recording recording;
	struct found found;
	uint64_t largest = 0, now = SECOND, refused = 0;
	uint64_t *bytes = malloc(SIZE);
	char path[64];

	REQUIRE(bytes);
	make_path(path);
	begin(&recording, path, &options);
	for (uint32_t i = 0; i < 3 * CODES; i++, now += SECOND / 10) {
		struct event_code code = {.id = 100 + i, .process = ENTITY, .type = CODE_BINARY};
		uint64_t size;

		for (size_t k = 0; k < SIZE / sizeof(*bytes); k++)
			bytes[k] = random_next();
		if (i < CODES) {
			refused += trace_writer_content(recording.writer, bytes, SIZE,
							&code.hash_low, &code.hash_high) != 0;
			trace_writer_entity(recording.writer, EVENT_CODE, &code);
		}
		size = file_bytes(path);
		largest = size > largest ? size : largest;
		add_rows(&recording, 1500, now);
		trace_writer_flush(recording.writer, now);
		size = file_bytes(path);
		largest = size > largest ? size : largest;
	}
	trace_writer_stats(recording.writer, &stats);
	CHECK(stats.segments_dropped > 20);
	CHECK_EQUAL(stats.rows_lost, refused);
	CHECK_EQUAL(stats.error, 0);
	CHECK_EQUAL(trace_writer_close(recording.writer, now), 0);
	printf("# at most %llu of %d bytes, %llu of %d contents refused\n",
	       (unsigned long long)largest, MOST, (unsigned long long)refused, CODES);
	CHECK(largest < MOST && file_bytes(path) < MOST);
	CHECK(refused > 0 && refused < CODES);
	check_file(path, &recording, &found);
	CHECK_EQUAL(found.last + 1, recording.next);
	free(bytes);
	unlink(path);
}

TEST(lost_contents_are_told)
{
	struct trace_writer_options options = {.max_bytes = (uint64_t)1 << 20};
	char *large = calloc(1, 200000);
	struct recording recording;
	uint64_t low, high;
	char path[64];

	REQUIRE(large);
	make_path(path);
	begin(&recording, path, &options);
	for (int i = 0; i < 5; i++) {
		large[0] = (char)i;
		CHECK_EQUAL(trace_writer_content(recording.writer, large, 200000, &low, &high),
			    -EFBIG);
	}
	CHECK_EQUAL(trace_writer_close(recording.writer, SECOND), 0);
	CHECK_EQUAL(lost_of_kind(path, EVENT_CODE), 5);
	free(large);
	unlink(path);
}

/* More names than the limit: nothing can be kept of the rows, but the limit is. */
TEST(the_limit_holds_whatever_is_described)
{
	enum { MOST = 1 << 20, THREADS = HARNESS_IS_SLOW ? 2300 : 3000 };
	struct trace_writer_options options = {.max_bytes = MOST};
	struct trace_writer_stats stats;
	struct recording recording;
	uint64_t largest = 0, now = SECOND;
	char path[64];

	make_path(path);
	begin(&recording, path, &options);
	for (uint32_t i = 0; i < THREADS; i++, now += SECOND / 50) {
		struct event_thread thread = {.id = 100 + i, .process = ENTITY};
		uint64_t name[64], size;

		for (size_t k = 0; k < 64; k++)
			name[k] = random_next();
		thread.name_string =
			trace_writer_string(recording.writer, (char *)name, sizeof(name));
		trace_writer_entity(recording.writer, EVENT_THREAD, &thread);
		add_rows(&recording, 20, now);
		trace_writer_flush(recording.writer, now);
		size = file_bytes(path);
		largest = size > largest ? size : largest;
	}
	trace_writer_stats(recording.writer, &stats);
	printf("# at most %llu of %d bytes, %llu rows lost\n", (unsigned long long)largest, MOST,
	       (unsigned long long)stats.rows_lost);
	CHECK(stats.rows_lost > 0);
	CHECK_EQUAL(stats.error, -EFBIG);
	CHECK_EQUAL(trace_writer_close(recording.writer, now), -EFBIG);
	CHECK(largest <= MOST && file_bytes(path) <= MOST);
	unlink(path);
}

/* Processes that come and go, each with things of its own: what has ended is repeated once, for
 * what is read of it afterwards, and then the file is as if it had never been. */
TEST(what_has_ended_is_forgotten)
{
	enum { PROCESSES = 400, ENTITIES = 20 };
	struct trace_writer_options options = {.keep_ns = 4 * SECOND};
	struct trace_source source = {1, 2, 0};
	struct event_execution row = {.valid = EXECUTION_TIMED};
	struct trace_reader *reader;
	struct trace_writer *writer;
	uint64_t now = SECOND, count;
	char path[64];

	make_path(path);
	REQUIRE(trace_writer_open(path, &options, &writer) == 0);
	for (uint32_t i = 1; i <= PROCESSES; i++, now += SECOND / 10) {
		struct event_process process = {.id = i, .pid = i, .begin_ns = now};

		trace_writer_flush(writer, now);
		trace_writer_entity(writer, EVENT_PROCESS, &process);
		for (uint32_t k = 0; k < ENTITIES; k++) {
			struct event_queue queue = {
				.id = i * ENTITIES + k, .process = i, .begin_ns = now};

			trace_writer_entity(writer, EVENT_QUEUE, &queue);
		}
		process.end_ns = now + 1;
		trace_writer_entity(writer, EVENT_PROCESS, &process);
		for (uint32_t k = 0; k < ENTITIES; k++)
			trace_writer_end_entity(writer, EVENT_QUEUE, i * ENTITIES + k, now + 1);
		trace_writer_end_entity(writer, EVENT_QUEUE, i * ENTITIES, now + 2); /* once */
		trace_writer_end_entity(writer, EVENT_QUEUE, 1u << 30, now + 1); /* never known */
		/* read a moment after its queue has gone, perhaps in the next segment */
		row.process = i;
		row.queue = i * ENTITIES;
		row.started = row.ended = now + 1;
		trace_writer_row(writer, EVENT_EXECUTION, &source, &row);
	}
	CHECK_EQUAL(trace_writer_close(writer, now), 0);
	REQUIRE(trace_reader_open(path, &reader) == 0);
	count = trace_reader_entities(reader, EVENT_QUEUE, &(const void *){NULL});
	printf("# %llu of %d queues, %llu bytes\n", (unsigned long long)count, PROCESSES * ENTITIES,
	       (unsigned long long)file_bytes(path));
	/* 4 s and a segment or two, of 10 processes a second */
	CHECK(count >= 40 * ENTITIES && count <= 80 * ENTITIES);
	CHECK(file_bytes(path) < 200000);
	for (size_t c = 0; c < trace_reader_chunk_count(reader); c++) {
		struct event_execution *rows;
		size_t rows_count;

		if (trace_reader_chunk(reader, c)->kind != EVENT_EXECUTION)
			continue;
		REQUIRE(trace_reader_rows(reader, c, (void **)&rows, &rows_count) == 0);
		for (size_t i = 0; i < rows_count; i++) {
			const struct event_queue *queue =
				trace_reader_entity(reader, EVENT_QUEUE, rows[i].queue);

			CHECK(queue && queue->end_ns == rows[i].ended);
		}
		free(rows);
	}
	trace_reader_close(reader);
	unlink(path);
}

/* How many bytes are written of rows until they are 0.2, and then 1.1 seconds old. */
static void measure_flushed(uint64_t flush_ns, uint64_t ret_bytes[2])
{
	static const uint64_t ages_ns[] = {SECOND / 5, SECOND * 11 / 10};
	struct trace_writer_options options = {.flush_ns = flush_ns};
	struct trace_writer_stats before, after;
	struct recording recording;
	char path[64];

	make_path(path);
	begin(&recording, path, &options);
	trace_writer_flush(recording.writer, SECOND);
	trace_writer_flush(recording.writer, 4 * SECOND);
	trace_writer_stats(recording.writer, &before);
	add_rows(&recording, 100, 4 * SECOND);
	for (int i = 0; i < 2; i++) {
		trace_writer_flush(recording.writer, 4 * SECOND + ages_ns[i]);
		trace_writer_stats(recording.writer, &after);
		ret_bytes[i] = after.bytes - before.bytes;
	}
	CHECK_EQUAL(trace_writer_close(recording.writer, 6 * SECOND), 0);
	unlink(path);
}

TEST(rows_are_written_when_they_are_as_old_as_said)
{
	uint64_t usual[2] = {0}, soon[2] = {0};

	measure_flushed(0, usual);
	measure_flushed(SECOND / 10, soon);
	CHECK(usual[0] == 0 && usual[1] > 1000);
	CHECK(soon[0] > 1000 && soon[1] == soon[0]);
}

TEST(limits_need_a_regular_file)
{
	struct trace_writer_options options = {.keep_ns = SECOND};
	struct trace_writer *writer;

	CHECK_EQUAL(trace_writer_open("/dev/null", &options, &writer), -EINVAL);
}

int main(void)
{
	RUN(size_stays_below_the_limit);
	RUN(old_segments_are_dropped);
	RUN(a_crash_while_shortening_costs_nothing);
	RUN(kill_at_any_moment);
	RUN(contents_count);
	RUN(lost_contents_are_told);
	RUN(the_limit_holds_whatever_is_described);
	RUN(what_has_ended_is_forgotten);
	RUN(rows_are_written_when_they_are_as_old_as_said);
	RUN(limits_need_a_regular_file);
	return harness_end();
}
