/* SPDX-License-Identifier: MIT
 *
 * tests/unit/trace/test_errors.c - a full disk costs rows, never the file
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/error.h"

#include "trace_rows.h"

#define SECOND ((uint64_t)1000000000)

static uint64_t add_rows(struct trace_writer *writer, uint64_t from, uint64_t count, int *ret_error)
{
	struct trace_source source = {1, 2, 0};

	for (uint64_t i = from; i < from + count; i++) {
		struct event_api row = {.begin = i, .end = random_next(), .argument = i};
		int error = trace_writer_row(writer, EVENT_API, &source, &row);

		if (error)
			*ret_error = error;
	}
	return from + count;
}

/* All rows below `before` and from `after` on are there; what is not is told as lost. */
static void check_file(const char *path, const struct trace_writer_stats *stats, uint64_t total,
		       bool is_told)
{
	struct trace_reader *reader;
	struct trace_damage damage;
	const struct event_loss *losses;
	uint64_t rows = 0, lost = 0;
	size_t count;

	REQUIRE(trace_reader_open(path, &reader) == 0);
	for (size_t c = 0; c < trace_reader_chunk_count(reader); c++) {
		struct event_api *got;

		if (trace_reader_chunk(reader, c)->kind != EVENT_API)
			continue;
		REQUIRE(trace_reader_rows(reader, c, (void **)&got, &count) == 0);
		for (size_t i = 1; i < count; i++)
			CHECK(got[i].begin == got[i - 1].begin + 1);
		rows += count;
		free(got);
	}
	CHECK_EQUAL(rows, stats->rows);
	CHECK_EQUAL(rows + stats->rows_lost, total);
	count = trace_reader_losses(reader, &losses);
	for (size_t i = 0; i < count; i++) {
		CHECK_EQUAL(losses[i].reason, LOSS_DISK);
		CHECK(losses[i].kind == EVENT_API || losses[i].kind == EVENT_CODE);
		CHECK(losses[i].begin < losses[i].end || losses[i].kind == EVENT_CODE);
		lost += losses[i].count;
	}
	if (is_told)
		CHECK_EQUAL(lost, stats->rows_lost);
	trace_reader_damage(reader, &damage);
	CHECK_EQUAL(damage.chunks, 0);
	trace_reader_close(reader);
}

static void limit_files(uint64_t bytes)
{
	struct rlimit limit = {bytes, RLIM_INFINITY};

	setrlimit(RLIMIT_FSIZE, &limit);
}

TEST(a_full_disk_and_space_again)
{
	struct trace_writer *writer;
	struct trace_writer_stats stats;
	uint64_t total = 0;
	char path[64];
	int error = 0;

	signal(SIGXFSZ, SIG_IGN);
	make_path(path);
	REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
	total = add_rows(writer, total, 50000, &error);
	trace_writer_flush(writer, SECOND);
	CHECK_EQUAL(error, 0);
	limit_files(((uint64_t)1 << 20) + 123);
	total = add_rows(writer, total, 300000, &error);
	CHECK_EQUAL(error, -EFBIG);
	CHECK(strstr(error_text(), path) != NULL);
	trace_writer_stats(writer, &stats);
	CHECK_EQUAL(stats.error, -EFBIG);
	CHECK(stats.rows_lost > 100000);
	CHECK(trace_writer_flush(writer, 3 * SECOND) == -EFBIG);
	trace_writer_stats(writer, &stats);
	check_file(path, &stats, total, false);
	limit_files(RLIM_INFINITY);
	error = 0;
	total = add_rows(writer, total, 50000, &error);
	trace_writer_flush(writer, 5 * SECOND);
	trace_writer_flush(writer, 7 * SECOND);
	error = 0;
	total = add_rows(writer, total, 50000, &error);
	CHECK_EQUAL(error, 0);
	CHECK_EQUAL(trace_writer_flush(writer, 8 * SECOND), 0);
	CHECK_EQUAL(trace_writer_flush(writer, 10 * SECOND), 0);
	trace_writer_stats(writer, &stats);
	check_file(path, &stats, total, true);
	CHECK_EQUAL(trace_writer_close(writer, 11 * SECOND), -EFBIG);
	check_file(path, &stats, total, true);
	unlink(path);
}

/* The disk stays full until the end, whatever the limit cuts through. */
TEST(full_at_every_size)
{
	for (uint64_t limit = 200; limit < 60000; limit += 797) {
		struct trace_writer *writer;
		struct trace_writer_stats stats = {0};
		struct event_process process = {.id = 1, .pid = 5};
		uint64_t low, high, total = 0;
		char path[64];
		int error = 0;

		make_path(path);
		limit_files(limit);
		REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
		process.name_string = trace_writer_string(writer, "name", 4);
		trace_writer_entity(writer, EVENT_PROCESS, &process);
		trace_writer_content(writer, &stats, sizeof(stats), &low, &high);
		for (uint64_t i = 0; i < 10; i++) {
			total = add_rows(writer, total, 1000, &error);
			trace_writer_flush(writer, (i + 1) * SECOND);
		}
		trace_writer_stats(writer, &stats);
		CHECK(trace_writer_close(writer, 11 * SECOND) == stats.error || stats.error == 0);
		check_file(path, &stats, stats.rows + stats.rows_lost, false);
		limit_files(RLIM_INFINITY);
		unlink(path);
	}
}

/* A source or binary that did not go in is missed like a row; one that does the next time is
 * there. */
TEST(a_content_on_a_full_disk)
{
	const struct event_loss *losses;
	struct trace_writer_stats stats;
	struct trace_reader *reader;
	struct trace_writer *writer;
	uint64_t low = 0, high = 0;
	char bytes[30000], path[64];
	size_t size = 0;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)random_next();
	make_path(path);
	REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
	trace_writer_flush(writer, SECOND);
	limit_files(2000);
	CHECK_EQUAL(trace_writer_content(writer, bytes, sizeof(bytes), &low, &high), -EFBIG);
	CHECK_EQUAL(trace_writer_content(writer, bytes + 1, 20000, &low, &high), -EFBIG);
	CHECK(low == 0 && high == 0);
	trace_writer_stats(writer, &stats);
	CHECK_EQUAL(stats.rows_lost, 2);
	limit_files(RLIM_INFINITY);
	CHECK_EQUAL(trace_writer_content(writer, bytes, sizeof(bytes), &low, &high), 0);
	CHECK_EQUAL(trace_writer_close(writer, 2 * SECOND), -EFBIG);
	REQUIRE(trace_reader_open(path, &reader) == 0);
	CHECK(trace_reader_content(reader, low, high, &size) != NULL && size == sizeof(bytes));
	REQUIRE(trace_reader_losses(reader, &losses) == 1);
	CHECK_EQUAL(losses[0].kind, EVENT_CODE);
	CHECK_EQUAL(losses[0].reason, LOSS_DISK);
	CHECK_EQUAL(losses[0].count, 2);
	trace_reader_close(reader);
	unlink(path);
}

TEST(a_full_device)
{
	struct trace_writer *writer;

	CHECK_EQUAL(trace_writer_open("/dev/full", NULL, &writer), -ENOSPC);
	CHECK(strstr(error_text(), "/dev/full") != NULL);
}

/* The end of the file has room that the rows have not: it tells what they lost. */
TEST(a_full_file_system)
{
	char folder[] = "/tmp/duet-test-tmpfs-XXXXXX", path[64];
	struct event_process process = {.id = 1, .pid = 5};
	struct trace_writer_stats stats = {0};
	struct trace_reader *reader;
	struct trace_writer *writer;
	uint64_t total;
	int error = 0;

	if (!mkdtemp(folder) || mount("none", folder, "tmpfs", 0, "size=256k")) {
		rmdir(folder);
		SKIP("mounting a tmpfs needs root");
	}
	snprintf(path, sizeof(path), "%s/x.duet", folder);
	if (trace_writer_open(path, NULL, &writer) == 0) {
		trace_writer_entity(writer, EVENT_PROCESS, &process);
		total = add_rows(writer, 0, 100000, &error);
		CHECK_EQUAL(error, -ENOSPC);
		/* small chunks, until nothing goes in any more */
		for (uint32_t i = 0; i < 1000; i++) {
			struct trace_source source = {100 + i, 2, 0};
			struct event_api row = {.begin = total++, .end = random_next()};

			trace_writer_row(writer, EVENT_API, &source, &row);
			trace_writer_flush(writer, (2 * i + 1) * SECOND);
			trace_writer_flush(writer, (2 * i + 2) * SECOND);
		}
		process.end_ns = 3000 * SECOND;
		trace_writer_entity(writer, EVENT_PROCESS, &process);
		CHECK_EQUAL(trace_writer_finish(writer, 3000 * SECOND, &stats), -ENOSPC);
		CHECK(stats.rows > 0 && stats.rows_lost > 0);
		check_file(path, &stats, total, true);
		REQUIRE(trace_reader_open(path, &reader) == 0);
		CHECK(trace_reader_entity(reader, EVENT_PROCESS, 1) != NULL);
		trace_reader_close(reader);
	} else {
		CHECK(!"open on a tmpfs");
	}
	umount(folder);
	rmdir(folder);
}

/* ---- a file that may still be wanted ---- */

static void check_text(const char *path, const char *want)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY);

	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0);
	CHECK_TEXT(text, want);
	close(fd);
}

TEST(a_held_file_is_left_alone)
{
	struct trace_writer_options options = {.hold = true};
	struct event_process process = {.id = 1, .pid = 5};
	struct trace_writer *writer, *other;
	struct trace_reader *reader;
	char path[64];

	make_path(path);
	harness_write_text(path, "wanted");
	REQUIRE(trace_writer_open(path, &options, &writer) == 0);
	trace_writer_entity(writer, EVENT_PROCESS, &process);
	trace_writer_string(writer, "name", 4);
	CHECK_EQUAL(trace_writer_open(path, &options, &other), -EBUSY);
	check_text(path, "wanted");
	trace_writer_abandon(writer);
	check_text(path, "wanted");
	/* the first write, asked for or not, makes it a trace */
	for (int i = 0; i < 2; i++) {
		harness_write_text(path,
				   "unwanted, and longer than the trace that comes into its place");
		REQUIRE(trace_writer_open(path, &options, &writer) == 0);
		trace_writer_entity(writer, EVENT_PROCESS, &process);
		if (i)
			CHECK_EQUAL(trace_writer_begin(writer), 0);
		CHECK_EQUAL(trace_writer_close(writer, SECOND), 0);
		REQUIRE(trace_reader_open(path, &reader) == 0);
		CHECK(trace_reader_entity(reader, EVENT_PROCESS, 1) != NULL);
		trace_reader_close(reader);
	}
	trace_writer_abandon(NULL);
	unlink(path);
}

TEST(an_abandoned_file_is_as_it_was)
{
	struct trace_writer_options options = {.hold = true};
	struct trace_writer *writer;
	struct stat status;
	char path[64], link[80];

	make_path(path);
	unlink(path);
	REQUIRE(trace_writer_open(path, &options, &writer) == 0);
	trace_writer_abandon(writer);
	CHECK(stat(path, &status) < 0);
	harness_write_text(path, "");
	REQUIRE(trace_writer_open(path, &options, &writer) == 0);
	CHECK(stat(path, &status) == 0 && status.st_size > 0);
	trace_writer_abandon(writer);
	CHECK(stat(path, &status) == 0 && status.st_size == 0);
	/* another's file of the same name is another's */
	unlink(path);
	REQUIRE(trace_writer_open(path, &options, &writer) == 0);
	unlink(path);
	harness_write_text(path, "another's");
	trace_writer_abandon(writer);
	check_text(path, "another's");
	unlink(path);
	/* nor is one that a link named which led nowhere */
	snprintf(link, sizeof(link), "%s-link", path);
	REQUIRE(symlink(path, link) == 0);
	REQUIRE(trace_writer_open(link, &options, &writer) == 0);
	CHECK(stat(path, &status) == 0);
	trace_writer_abandon(writer);
	CHECK(stat(path, &status) < 0);
	CHECK(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
	unlink(link);
	/* a file that cannot be written is not left behind empty */
	signal(SIGXFSZ, SIG_IGN);
	limit_files(10);
	CHECK_EQUAL(trace_writer_open(path, &options, &writer), -EFBIG);
	limit_files(RLIM_INFINITY);
	CHECK(stat(path, &status) < 0);
	error_clear();
}

int main(void)
{
	RUN(a_held_file_is_left_alone);
	RUN(an_abandoned_file_is_as_it_was);
	RUN(a_full_disk_and_space_again);
	RUN(full_at_every_size);
	RUN(a_content_on_a_full_disk);
	RUN(a_full_device);
	RUN(a_full_file_system);
	return harness_end();
}
