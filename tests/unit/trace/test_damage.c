/* SPDX-License-Identifier: MIT
 *
 * tests/unit/trace/test_damage.c - damage costs the damaged chunk and nothing else
 */
#include "harness.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/io.h"
#include "trace/chunk.h"

#include "duet_trace.pb-c.h"
#include "trace_rows.h"

#define SECOND ((uint64_t)1000000000)

enum { CHUNKS = 5, ROWS = 40 };

/* A trace of CHUNKS chunks of ROWS calls, chunk c with source c. */
static char *make_trace(size_t *ret_size)
{
	struct trace_writer *writer;
	struct event_process process = {.id = 1, .pid = 2};
	char path[64], *bytes = NULL;

	make_path(path);
	if (trace_writer_open(path, NULL, &writer))
		return NULL;
	process.name_string = trace_writer_string(writer, "program", 7);
	trace_writer_entity(writer, EVENT_PROCESS, &process);
	for (uint32_t c = 0; c < CHUNKS; c++) {
		for (uint64_t i = 0; i < ROWS; i++) {
			struct event_api row = api_row(1000 * c + i * 7, 1);
			struct trace_source source = {c, 1, 0};

			row.function_string = trace_writer_string(writer, "function", 8);
			trace_writer_row(writer, EVENT_API, &source, &row);
		}
	}
	trace_writer_close(writer, SECOND);
	if (read_file(path, 0, &bytes, ret_size))
		bytes = NULL;
	unlink(path);
	return bytes;
}

/* Which chunks can be read, as bits, with the right rows in them. */
static unsigned int read_chunks(struct trace_reader *reader)
{
	unsigned int found = 0;

	for (size_t c = 0; c < trace_reader_chunk_count(reader); c++) {
		const struct trace_chunk *chunk = trace_reader_chunk(reader, c);
		struct event_api *rows;
		size_t count;
		bool is_right;

		if (trace_reader_rows(reader, c, (void **)&rows, &count))
			continue;
		is_right = count == ROWS && chunk->source < CHUNKS;
		for (uint64_t i = 0; is_right && i < ROWS; i++) {
			struct event_api wanted = api_row(1000 * chunk->source + i * 7, 1);

			is_right = rows[i].begin == wanted.begin && rows[i].end == wanted.end &&
				   rows[i].thread == 1;
		}
		CHECK(is_right);
		CHECK(!(found & 1u << chunk->source));
		found |= 1u << chunk->source;
		free(rows);
	}
	return found;
}

static const unsigned int all = (1u << CHUNKS) - 1;

TEST(truncated_at_every_byte)
{
	size_t size;
	char *bytes = make_trace(&size);
	unsigned int most = 0;

	REQUIRE(bytes != NULL);
	for (size_t length = 0; length <= size; length++) {
		/* an exact copy, so that reading beyond it is seen */
		char *cut = malloc(length + !length);
		struct trace_reader *reader;
		struct trace_damage damage;
		unsigned int found;
		int error;

		memcpy(cut, bytes, length);
		error = trace_reader_open_memory(cut, length, &reader);
		CHECK(error == 0 || error == (length ? -EPROTO : -ENODATA));
		CHECK(error == 0 || most == 0);
		if (!error) {
			found = read_chunks(reader);
			trace_reader_damage(reader, &damage);
			CHECK((found & most) == most);
			CHECK(damage.truncated == (length < size));
			CHECK(damage.chunks <= 1);
			most = found;
			trace_reader_close(reader);
		}
		free(cut);
	}
	CHECK_EQUAL(most, all);
	free(bytes);
}

static void flip(char *bytes, size_t size, size_t at, size_t begin, size_t end, unsigned int bits)
{
	struct trace_reader *reader;
	struct trace_damage damage;
	unsigned int found, wanted = all & ~(1u << CHUNKS / 2);

	bytes[at] ^= (char)bits;
	if (trace_reader_open_memory(bytes, size, &reader)) {
		harness_fail(__FILE__, __LINE__, error_text());
		bytes[at] ^= (char)bits;
		return;
	}
	found = read_chunks(reader);
	if (at >= begin && at < end)
		CHECK((found & wanted) == wanted);
	else
		CHECK(found == all || (found | 1u << __builtin_ctz(all & ~found)) == all);
	CHECK_TEXT(trace_reader_string(reader, 0, NULL), "");
	trace_reader_damage(reader, &damage);
	CHECK(found == all || damage.chunks > 0);
	trace_reader_close(reader);
	bytes[at] ^= (char)bits;
}

/* With the index and without it. */
TEST(every_byte_flipped)
{
	static const unsigned int patterns[] = {0xff, 0x01, 0x80};
	struct trace_reader *reader;
	size_t size, begin, end;
	char *bytes = make_trace(&size);

	REQUIRE(bytes != NULL);
	REQUIRE(trace_reader_open_memory(bytes, size, &reader) == 0);
	begin = trace_reader_chunk(reader, CHUNKS / 2)->offset;
	end = trace_reader_chunk(reader, CHUNKS / 2 + 1)->offset;
	trace_reader_close(reader);
	for (size_t i = 0; i < 3; i++) {
		for (size_t at = 0; at < size; at++) {
			flip(bytes, size, at, begin, end, patterns[i]);
			flip(bytes, size - 1, at < size - 1 ? at : 0, begin, end, patterns[i]);
		}
	}
	free(bytes);
}

TEST(bytes_lost_or_added)
{
	size_t size;
	char *bytes = make_trace(&size);
	struct trace_reader *reader;

	REQUIRE(bytes != NULL);
	for (size_t at = 0; at < size; at += 3) {
		for (size_t gap = 1; gap < 40; gap += 13) {
			char *changed = malloc(size + gap);
			unsigned int found;

			memcpy(changed, bytes, at);
			memset(changed + at, 'x', gap);
			memcpy(changed + at + gap, bytes + at, size - at);
			REQUIRE(trace_reader_open_memory(changed, size + gap, &reader) == 0);
			found = read_chunks(reader);
			CHECK(found == all || (found | 1u << __builtin_ctz(all & ~found)) == all);
			trace_reader_close(reader);
			free(changed);
		}
	}
	free(bytes);
}

TEST(zeros_are_padding)
{
	size_t size, padded;
	char *bytes = make_trace(&size), *changed;
	struct trace_reader *reader;
	struct trace_damage damage;

	REQUIRE(bytes != NULL);
	padded = size + 3000000;
	changed = calloc(padded, 1);
	REQUIRE(changed != NULL);
	memcpy(changed + 1500000, bytes, size);
	REQUIRE(trace_reader_open_memory(changed, padded, &reader) == 0);
	CHECK_EQUAL(read_chunks(reader), all);
	trace_reader_damage(reader, &damage);
	CHECK_EQUAL(damage.chunks, 0);
	CHECK(damage.index_missing);
	trace_reader_close(reader);
	free(changed);
	free(bytes);
}

TEST(what_is_no_trace)
{
	struct trace_reader *reader;
	char noise[5000], path[64];

	make_path(path);
	CHECK_EQUAL(trace_reader_open(path, &reader), -ENODATA);
	CHECK(strstr(error_text(), "empty") != NULL);
	unlink(path);
	CHECK_EQUAL(trace_reader_open(path, &reader), -ENOENT);
	CHECK(strstr(error_text(), path) != NULL);
	CHECK_EQUAL(trace_reader_open("/", &reader), -EISDIR);
	CHECK_EQUAL(trace_reader_open("/dev/null", &reader), -ENODATA);
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (char)random_next();
		CHECK_EQUAL(trace_reader_open_memory(noise, sizeof(noise), &reader), -EPROTO);
	}
	CHECK_EQUAL(trace_reader_open_memory("\0\0\0", 3, &reader), -EPROTO);
	CHECK_EQUAL(trace_reader_open_memory("#!/bin/sh\n", 10, &reader), -EPROTO);
}

static size_t pack_head(struct chunk_packer *packer, uint32_t major)
{
	Duet__SegmentHead message = DUET__SEGMENT_HEAD__INIT;
	struct chunk_head head = {.kind = TRACE_SEGMENT, .segment = 1, .sequence = 1};
	uint8_t packed[64];
	struct chunk_payload payload = {packed, 0, NULL, 0};

	message.has_schema_major = message.has_schema_minor = true;
	message.schema_major = major;
	message.schema_minor = 9999;
	payload.size = duet__segment_head__pack(&message, packed);
	return chunk_pack(packer, &head, &payload) ? 0 : packer->size;
}

TEST(a_newer_schema)
{
	struct chunk_packer packer;
	struct trace_reader *reader;
	size_t size;

	chunk_packer_init(&packer, 1);
	size = pack_head(&packer, EVENT_SCHEMA_MAJOR);
	CHECK_EQUAL(trace_reader_open_memory(packer.bytes, size, &reader), 0);
	trace_reader_close(reader);
	size = pack_head(&packer, EVENT_SCHEMA_MAJOR + 1);
	CHECK_EQUAL(trace_reader_open_memory(packer.bytes, size, &reader), -EPROTONOSUPPORT);
	CHECK(strstr(error_text(), "written by a newer duet (schema 2): update duet") != NULL);
	chunk_packer_fini(&packer);
}

/* A chunk of a kind that a later minor version may add. */
TEST(unknown_kinds_are_left_out)
{
	struct chunk_packer packer;
	struct chunk_head head = {.kind = 200, .segment = 1, .rows = 3, .sequence = 99};
	struct chunk_payload payload = {(const uint8_t *)"anything", 8, NULL, 0};
	struct trace_reader *reader;
	struct trace_damage damage;
	size_t size;
	char *bytes = make_trace(&size), *longer;

	chunk_packer_init(&packer, 1);
	REQUIRE(bytes && chunk_pack(&packer, &head, &payload) == 0);
	longer = malloc(size + packer.size);
	memcpy(longer, bytes, size);
	memcpy(longer + size, packer.bytes, packer.size);
	REQUIRE(trace_reader_open_memory(longer, size + packer.size, &reader) == 0);
	CHECK_EQUAL(read_chunks(reader), all);
	trace_reader_damage(reader, &damage);
	CHECK_EQUAL(damage.chunks, 0);
	trace_reader_close(reader);
	chunk_packer_fini(&packer);
	free(longer);
	free(bytes);
}

/* A string chunk that is gone costs its texts. */
TEST(ids_without_a_text)
{
	struct chunk_packer packer;
	struct chunk_head head = {.kind = EVENT_API, .segment = 1, .rows = 1, .sequence = 1};
	/* function 4294967295 */
	struct chunk_payload payload = {(const uint8_t *)"\x22\x05\xff\xff\xff\xff\x0f", 7, NULL,
					0};
	struct trace_reader *reader;
	struct event_api *rows;
	size_t count;

	chunk_packer_init(&packer, 1);
	REQUIRE(chunk_pack(&packer, &head, &payload) == 0);
	REQUIRE(trace_reader_open_memory(packer.bytes, packer.size, &reader) == 0);
	REQUIRE(trace_reader_chunk_count(reader) == 1);
	REQUIRE(trace_reader_rows(reader, 0, (void **)&rows, &count) == 0);
	CHECK_EQUAL(rows[0].function_string, 0);
	CHECK_TEXT(trace_reader_string(reader, 4294967295u, NULL), "");
	free(rows);
	trace_reader_close(reader);
	chunk_packer_fini(&packer);
}

static void write_until_killed(const char *path, int ready)
{
	struct trace_writer *writer;
	struct trace_source source = {1, 1, 0};

	if (trace_writer_open(path, NULL, &writer))
		_exit(1);
	for (uint64_t i = 0;; i++) {
		struct event_api row = api_row(i, 1);

		trace_writer_row(writer, EVENT_API, &source, &row);
		if (i % 1000 == 999)
			trace_writer_flush(writer, i / 1000 * SECOND / 10 + 1);
		if (i == 100000 && write(ready, "x", 1) != 1)
			_exit(1);
	}
}

TEST(kill_9_of_the_writer)
{
	for (int round = 0; round < 10; round++) {
		struct trace_reader *reader;
		struct trace_damage damage;
		char path[64], byte;
		int ends[2];
		uint64_t next = 0;
		pid_t child;

		make_path(path);
		REQUIRE(pipe(ends) == 0);
		child = fork();
		if (child == 0)
			write_until_killed(path, ends[1]);
		close(ends[1]);
		CHECK(read(ends[0], &byte, 1) == 1);
		usleep(1000 * (unsigned int)round);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		close(ends[0]);
		REQUIRE(trace_reader_open(path, &reader) == 0);
		for (size_t c = 0; c < trace_reader_chunk_count(reader); c++) {
			struct event_api *rows;
			size_t count;

			REQUIRE(trace_reader_rows(reader, c, (void **)&rows, &count) == 0);
			for (size_t i = 0; i < count; i++)
				CHECK(rows[i].begin == next++);
			free(rows);
		}
		/* flushed every 0.1 s of 1000 rows: 1 s of 10000 rows, and what came after the
		 * flush */
		CHECK(next + 10000 + 1000 >= 100000);
		trace_reader_damage(reader, &damage);
		CHECK(damage.chunks <= 1 && damage.index_rebuilt && damage.truncated);
		trace_reader_close(reader);
		unlink(path);
	}
}

int main(void)
{
	RUN(truncated_at_every_byte);
	RUN(every_byte_flipped);
	RUN(bytes_lost_or_added);
	RUN(zeros_are_padding);
	RUN(what_is_no_trace);
	RUN(a_newer_schema);
	RUN(unknown_kinds_are_left_out);
	RUN(ids_without_a_text);
	RUN(kill_9_of_the_writer);
	return harness_end();
}
