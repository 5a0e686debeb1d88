/* SPDX-License-Identifier: MIT
 *
 * tests/unit/trace/test_ring.c - files that are read and cut while they are written
 */
#include "harness.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/error.h"
#include "counted_rows.h"
#include "trace/chunk.h"
#include "trace/tail.h"

static const struct trace_writer_options ring = {
	.keep_ns = 4 * SECOND, .segment_ns = SECOND / 2, .flush_ns = SECOND / 10, .is_ring = true};

/* Writes `seconds` of 10 times 100 rows. */
static void write_seconds(struct recording *recording, int seconds, uint64_t *now)
{
	for (int i = 0; i < 10 * seconds; i++, *now += SECOND / 10) {
		add_rows(recording, 100, *now);
		CHECK_EQUAL(trace_writer_flush_all(recording->writer, *now), 0);
	}
}

/* A killed recorder leaves the hole; the next recording may have the same name. */
static void check_replaceable(const char *path)
{
	int fd = open(path, O_RDONLY);

	CHECK(chunk_begins_file(fd));
	close(fd);
}

TEST(dropped_segments_become_a_hole)
{
	struct recording recording;
	struct found found;
	struct stat status;
	uint64_t now = SECOND;
	char path[64];

	make_path(path);
	begin(&recording, path, &ring);
	write_seconds(&recording, 40, &now);
	REQUIRE(stat(path, &status) == 0);
	printf("# %lld bytes, %lld on the disk\n", (long long)status.st_size,
	       (long long)status.st_blocks * 512);
	CHECK(status.st_blocks * 512 < status.st_size / 3);
	/* as after a crash */
	check_file(path, &recording, &found);
	CHECK_EQUAL(found.last + 1, recording.next);
	CHECK(found.rows >= 4000 && found.rows <= 6000);
	CHECK_EQUAL(found.damage.bytes, 0);
	check_replaceable(path);
	CHECK_EQUAL(trace_writer_close(recording.writer, now), 0);
	REQUIRE(stat(path, &status) == 0);
	CHECK(status.st_size < 40 * 1000 * 40 / 3);
	check_file(path, &recording, &found);
	CHECK_EQUAL(found.last + 1, recording.next);
	CHECK(!found.damage.truncated && !found.damage.index_missing);
	unlink(path);
}

/* The limit is that of the disk space. The offsets only grow. */
TEST(the_size_of_a_ring_has_a_limit)
{
	const struct trace_writer_options options = {
		.max_bytes = (uint64_t)4 << 20, .segment_ns = SECOND / 2, .is_ring = true};
	struct recording recording;
	struct found found;
	struct stat status;
	uint64_t now = SECOND, most = 0;
	char path[64];

	make_path(path);
	begin(&recording, path, &options);
	for (int i = 0; i < 600; i++, now += SECOND / 10) {
		add_rows(&recording, 2500, now);
		CHECK_EQUAL(trace_writer_flush_all(recording.writer, now), 0);
		REQUIRE(stat(path, &status) == 0);
		if ((uint64_t)status.st_blocks * 512 > most)
			most = (uint64_t)status.st_blocks * 512;
	}
	printf("# %lld bytes, at most %llu on the disk\n", (long long)status.st_size,
	       (unsigned long long)most);
	CHECK((uint64_t)status.st_size > 4 * options.max_bytes);
	CHECK(most <= options.max_bytes);
	check_file(path, &recording, &found);
	CHECK_EQUAL(found.last + 1, recording.next);
	/* a segment is at most 1/16 of the limit, and no segment ends because of the hole */
	CHECK(found.segments <= 20);
	CHECK_EQUAL(trace_writer_close(recording.writer, now), 0);
	unlink(path);
}

/* Each cut begins where the last one ended: together they have every row once. */
TEST(cuts_follow_each_other)
{
	struct trace_cut cut = {0};
	struct recording recording;
	struct found found;
	uint64_t now = SECOND, next = 0, end_ns = 0;
	char path[64], cut_path[80];

	make_path(path);
	snprintf(cut_path, sizeof(cut_path), "%s.cut", path);
	begin(&recording, path, &ring);
	for (int i = 0; i < 5; i++) {
		write_seconds(&recording, 3, &now);
		cut.first_segment = i ? cut.last_segment + 1 : 0;
		CHECK_EQUAL(trace_writer_cut(recording.writer, now, cut_path, &cut), 0);
		check_file(cut_path, &recording, &found);
		CHECK_EQUAL(found.first, next);
		CHECK_EQUAL(found.last + 1, recording.next);
		CHECK(!found.damage.truncated && !found.damage.index_missing);
		CHECK(!i || cut.from_ns == end_ns);
		next = recording.next;
		end_ns = cut.to_ns;
		unlink(cut_path);
	}
	CHECK_EQUAL(trace_writer_close(recording.writer, now), 0);
	unlink(path);
}

/* While a cut is copied in steps, its segments stay, and the recording goes on. */
TEST(a_slow_cut_keeps_its_segments)
{
	struct trace_cut cut = {.from_ns = 8 * SECOND};
	struct trace_cutting *cutting, *other;
	struct recording recording;
	struct found found;
	uint64_t now = SECOND, rows;
	char path[64], cut_path[80];
	int result = 0;

	make_path(path);
	snprintf(cut_path, sizeof(cut_path), "%s.cut", path);
	begin(&recording, path, &ring);
	write_seconds(&recording, 10, &now);
	CHECK_EQUAL(trace_cut_start(recording.writer, now, cut_path, &cut, &cutting), 0);
	CHECK_EQUAL(trace_cut_start(recording.writer, now, cut_path, &cut, &other), -EAGAIN);
	rows = recording.next;
	for (int i = 0; i < 30 && !result; i++) {
		write_seconds(&recording, 1, &now);
		result = trace_cut_step(cutting, 4096, &cut);
	}
	CHECK_EQUAL(result, 1);
	CHECK(cut.from_ns <= 8 * SECOND && cut.from_ns > 7 * SECOND);
	check_file(cut_path, &recording, &found);
	CHECK_EQUAL(found.last + 1, rows);
	CHECK(found.rows >= 3000 && found.rows < 4000);
	write_seconds(&recording, 10, &now);
	check_file(path, &recording, &found);
	CHECK(found.rows <= 6000);
	CHECK_EQUAL(trace_writer_close(recording.writer, now), 0);
	unlink(path);
	unlink(cut_path);
}

/* A cut that fails leaves the recording as it was: it goes on, and its host has no end. */
TEST(a_cut_that_fails_leaves_no_trace)
{
	struct event_host host = {.id = 1, .begin_ns = SECOND};
	struct rlimit usual, tight;
	struct recording recording;
	struct trace_cut cut = {0};
	struct trace_writer *other;
	uint64_t now = SECOND;
	char path[64], cut_path[80];

	make_path(path);
	snprintf(cut_path, sizeof(cut_path), "%s.cut", path);
	begin(&recording, path, &ring);
	CHECK_EQUAL(trace_writer_entity(recording.writer, EVENT_HOST, &host), 0);
	write_seconds(&recording, 2, &now);
	/* the target is in use: a later attempt fails too */
	REQUIRE(trace_writer_open(cut_path, NULL, &other) == 0);
	CHECK_EQUAL(trace_writer_cut(recording.writer, now, cut_path, &cut), -EBUSY);
	trace_writer_abandon(other);
	/* the end of the segment cannot be written */
	add_rows(&recording, 100, now);
	signal(SIGXFSZ, SIG_IGN);
	REQUIRE(getrlimit(RLIMIT_FSIZE, &usual) == 0);
	tight = usual;
	tight.rlim_cur = 1;
	REQUIRE(setrlimit(RLIMIT_FSIZE, &tight) == 0);
	CHECK_EQUAL(trace_writer_cut(recording.writer, now, cut_path, &cut), -EFBIG);
	CHECK(strstr(error_text(), "write '") != NULL);
	REQUIRE(setrlimit(RLIMIT_FSIZE, &usual) == 0);
	error_clear();
	CHECK_EQUAL(access(cut_path, F_OK), -1);
	REQUIRE(trace_writer_find_entity(recording.writer, EVENT_HOST, 1, &host));
	CHECK_EQUAL(host.end_ns, 0);
	trace_writer_close(recording.writer, now);
	unlink(path);
}

TEST(a_moving_file_cannot_be_cut)
{
	const struct trace_writer_options moving = {.keep_ns = 4 * SECOND};
	struct trace_cut cut = {0};
	struct recording recording;
	char path[64], cut_path[80];

	make_path(path);
	snprintf(cut_path, sizeof(cut_path), "%s.cut", path);
	begin(&recording, path, &moving);
	CHECK_EQUAL(trace_writer_cut(recording.writer, SECOND, cut_path, &cut), -EOPNOTSUPP);
	CHECK_EQUAL(access(cut_path, F_OK), -1);
	trace_writer_close(recording.writer, SECOND);
	unlink(path);
}

/* ---- following ---- */

static void check_tail(struct trace_tail *tail, const struct recording *recording, uint64_t from_ns,
		       struct found *found)
{
	struct trace_reader *reader;
	uint8_t *bytes;
	size_t size;

	CHECK_EQUAL(trace_tail_update(tail), 0);
	REQUIRE(trace_tail_read(tail, from_ns, UINT64_MAX, &bytes, &size) == 0);
	REQUIRE(trace_reader_open_memory(bytes, size, &reader) == 0);
	check_reader(reader, recording, found);
	free(bytes);
}

/* keep_ns 0: the content of the recording stays reachable. */
static void follow(const struct trace_writer_options *options, bool moves)
{
	struct recording recording;
	struct trace_tail *tail;
	struct found found;
	uint64_t now = SECOND;
	char path[64];

	make_path(path);
	begin(&recording, path, options);
	REQUIRE(trace_tail_new(open(path, O_RDONLY), &tail) == 0);
	for (int i = 0; i < 60; i++) {
		write_seconds(&recording, 1, &now);
		/* the test's content lies in the first segment that there is */
		check_tail(tail, &recording, moves || options->keep_ns ? 0 : now - 2 * SECOND,
			   &found);
		CHECK_EQUAL(found.last + 1, recording.next);
		CHECK(found.rows >= 1000);
		CHECK_EQUAL(found.damage.bytes, 0);
		CHECK(!trace_tail_has_ended(tail) && !trace_tail_is_abandoned(tail));
		/* only segments have times: the rows are of another clock */
		CHECK(trace_tail_newest_ns(tail) + 11 * SECOND > now);
	}
	CHECK_EQUAL(trace_writer_close(recording.writer, now), 0);
	CHECK_EQUAL(trace_tail_update(tail), 0);
	CHECK(trace_tail_has_ended(tail) && trace_tail_is_abandoned(tail));
	trace_tail_free(tail);
	unlink(path);
}

TEST(a_ring_is_followed)
{
	follow(&ring, false);
}

TEST(a_file_that_moves_is_followed)
{
	const struct trace_writer_options moving = {.keep_ns = 4 * SECOND};

	follow(&moving, true);
}

/* Nor is a file that is one hole. */
static void check_no_trace(const char *path)
{
	int fd = open(path, O_RDWR);

	CHECK(!chunk_begins_file(fd));
	CHECK(ftruncate(fd, 0) == 0 && ftruncate(fd, 200000) == 0);
	CHECK(!chunk_begins_file(fd));
	close(fd);
}

/* A reader that needs the last seconds alone begins in the middle, and reads in parts. */
TEST(a_file_is_read_in_parts)
{
	struct recording recording;
	struct trace_tail *tail;
	uint64_t now = SECOND, begin_ns, offset;
	uint32_t first, last, present;
	uint8_t *bytes;
	size_t size;
	char path[64];
	int more, parts = 0;

	make_path(path);
	begin(&recording, path, &ring);
	write_seconds(&recording, 20, &now);
	offset = trace_writer_offset_at(recording.writer, now - 2 * SECOND);
	CHECK(offset > 0);
	REQUIRE(trace_tail_new(open(path, O_RDONLY), &tail) == 0);
	trace_tail_start_at(tail, offset + 1); /* no segment begins there */
	trace_tail_start_at(tail, offset);
	while ((more = trace_tail_update_part(tail, 1)) == 1)
		parts++;
	CHECK_EQUAL(more, 0);
	CHECK(parts > 10);
	first = trace_tail_next(tail, 0);
	CHECK_EQUAL(trace_tail_segment_at(tail, 0), first);
	CHECK_EQUAL(trace_tail_segment_at(tail, now - 2 * SECOND), first);
	present = trace_tail_present(tail, &begin_ns);
	CHECK(present - first >= 3 && present - first <= 6);
	CHECK_EQUAL(trace_tail_segment_at(tail, now), present);
	CHECK_EQUAL(trace_tail_next(tail, present), 0);
	/* the newest segment has not ended, unless its writer has gone */
	REQUIRE(trace_tail_read_ended(tail, first - 1, UINT64_MAX, &bytes, &size, &last) == 0);
	free(bytes);
	CHECK_EQUAL(last, present - 1);
	CHECK_EQUAL(trace_tail_read_ended(tail, last, UINT64_MAX, &bytes, &size, &last), -ENODATA);
	trace_tail_set_gone(tail);
	REQUIRE(trace_tail_read_ended(tail, last, UINT64_MAX, &bytes, &size, &last) == 0);
	free(bytes);
	CHECK_EQUAL(last, present);
	trace_tail_free(tail);
	trace_writer_close(recording.writer, now);
	unlink(path);
}

TEST(bytes_that_are_no_trace)
{
	static char noise[200000];
	struct trace_tail *tail;
	uint8_t *bytes;
	size_t size;
	char path[64];

	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)random_next();
	make_path(path);
	harness_write_file(path, noise, sizeof(noise));
	REQUIRE(trace_tail_new(open(path, O_RDONLY), &tail) == 0);
	CHECK_EQUAL(trace_tail_update(tail), 0);
	CHECK_EQUAL(trace_tail_read(tail, 0, UINT64_MAX, &bytes, &size), -ENODATA);
	check_no_trace(path);
	CHECK_EQUAL(trace_tail_update(tail), 0);
	CHECK_EQUAL(trace_tail_read(tail, 0, UINT64_MAX, &bytes, &size), -ENODATA);
	trace_tail_free(tail);
	unlink(path);
}

int main(void)
{
	RUN(dropped_segments_become_a_hole);
	RUN(the_size_of_a_ring_has_a_limit);
	RUN(cuts_follow_each_other);
	RUN(a_slow_cut_keeps_its_segments);
	RUN(a_cut_that_fails_leaves_no_trace);
	RUN(a_moving_file_cannot_be_cut);
	RUN(a_ring_is_followed);
	RUN(a_file_that_moves_is_followed);
	RUN(a_file_is_read_in_parts);
	RUN(bytes_that_are_no_trace);
	return harness_end();
}
