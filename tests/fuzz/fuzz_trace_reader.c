/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_trace_reader.c - a libFuzzer target: any bytes as a trace
 *
 * Runs in:  the fuzzer's process, without forks and files
 * Gets:     bytes; opens them and reads everything that a reader can be asked for
 * Fails:    where a sanitizer or a check below says so
 * Why a mutator of its own: a random change breaks a checksum and reaches nothing behind it. This
 *           one takes a chunk apart, changes its head or its decompressed payload and packs it anew;
 *           one time in four plain bytes are changed, so that resynchronisation is reached as well.
 *
 *	fuzz_trace_reader --seed FOLDER		writes seeds
 *	fuzz_trace_reader -runs=1000000 -max_len=4096 FOLDER
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/chunk.h"
#include "trace/codec.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* Every text of a row must be readable, whatever its id. */
static size_t read_texts(const struct trace_reader *reader, const struct trace_format *format,
			 const char *row)
{
	size_t total = 0;

	for (size_t i = 0; i < format->column_count; i++) {
		const struct trace_column *column = &format->columns[i];
		const char *text;
		size_t length;

		if (column->type != FIELD_STRING)
			continue;
		text = trace_reader_string(
			reader, (uint32_t)trace_field_read(row, column->offset, FIELD_STRING),
			&length);
		require(text[length] == '\0');
		total += length;
	}
	return total;
}

static void read_things(struct trace_reader *reader)
{
	for (uint32_t kind = EVENT_HOST; kind <= EVENT_THING_LAST; kind++) {
		const struct trace_format *format = trace_format_find(kind);
		const void *rows;
		size_t count = trace_reader_things(reader, kind, &rows), size;
		uint64_t previous = 0;

		for (size_t i = 0; i < count; i++) {
			const char *row = (const char *)rows + i * format->row_size;
			uint32_t id = (uint32_t)trace_field_read(row, 0, FIELD_U32);

			require(id > previous);
			require(trace_reader_thing(reader, kind, id) == row);
			previous = id;
			read_texts(reader, format, row);
			if (kind == EVENT_CODE)
				trace_reader_content(
					reader, ((const struct event_code *)row)->hash_low,
					((const struct event_code *)row)->hash_high, &size);
		}
	}
}

static void read_rows(struct trace_reader *reader)
{
	for (size_t c = 0; c < trace_reader_chunk_count(reader); c++) {
		const struct trace_chunk *chunk = trace_reader_chunk(reader, c);
		const struct trace_format *format = trace_format_find(chunk->kind);
		const struct event_clock_pair *pairs;
		size_t count;
		char *rows;

		trace_reader_clock_pairs(reader, chunk->clock, &pairs);
		if (trace_reader_rows(reader, c, (void **)&rows, &count))
			continue;
		require(count <= TRACE_ROWS_LIMIT);
		for (size_t i = 0; i < count; i++)
			read_texts(reader, format, rows + i * format->row_size);
		free(rows);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct trace_reader *reader;
	struct trace_damage damage;
	const struct event_loss *losses;
	size_t count;

	if (trace_reader_open_memory(bytes, size, &reader))
		return 0;
	read_things(reader);
	read_rows(reader);
	count = trace_reader_losses(reader, &losses);
	for (size_t i = 1; i < count; i++)
		require(losses[i].begin >= losses[i - 1].begin);
	trace_reader_content(reader, 1, 2, &count);
	trace_reader_damage(reader, &damage);
	/* chunks that an index names twice are counted twice */
	require(damage.index_rebuilt == false || damage.bytes <= size * 2);
	trace_reader_close(reader);
	return 0;
}

/* ---- the mutator ---- */

static uint64_t random_state;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t random_number(void)
{
	static const uint64_t special[] = {
		0, 1, 2, 4095, 4096, 4097, 0x7fffffff, 0xffffffff, UINT64_MAX, (uint64_t)1 << 63};

	return random_next() % 2 ? special[random_next() % 10] : random_next() % 100;
}

static void mutate_head(struct chunk_head *head)
{
	static const uint32_t kinds[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 16,
					 17, 18, 19, 26, 27, 64, 65, 66, 67, 68, 20};

	switch (random_next() % 10) {
	case 0:
		head->kind = kinds[random_next() % 22];
		break;
	case 1:
		head->rows = (uint32_t)random_number();
		break;
	case 2:
		head->segment = (uint32_t)random_number();
		break;
	case 3:
		head->first = random_number();
		break;
	case 4:
		head->last = random_number();
		break;
	case 5:
		head->sequence = random_number();
		break;
	case 6:
		head->flags = (uint32_t)random_next() % 4;
		break;
	default:
		head->clock = (uint32_t)random_number();
	}
}

/* One chunk of the input. */
struct place {
	size_t offset, before, size;
};

static size_t find_places(const uint8_t *bytes, size_t size, struct place *places, size_t limit)
{
	size_t count = 0;

	for (size_t at = 0; at < size && count < limit;) {
		size_t length = 0, before = chunk_length(bytes + at, bytes + size, &length);

		if (!before || length > size - at - before ||
		    !chunk_has_prefix(bytes + at + before, length)) {
			at++;
			continue;
		}
		places[count++] = (struct place){at, before, length};
		at += before + length;
	}
	return count;
}

static struct chunk_packer packer;
static struct chunk_opener opener;

/* Replaces size bytes at offset; returns the new size of all, or 0 where it does not fit. */
static size_t replace(uint8_t *bytes, size_t size, size_t max_size, size_t offset, size_t old_size,
		      const uint8_t *with, size_t with_size)
{
	if (size - old_size + with_size > max_size)
		return 0;
	memmove(bytes + offset + with_size, bytes + offset + old_size, size - offset - old_size);
	memcpy(bytes + offset, with, with_size);
	return size - old_size + with_size;
}

static size_t mutate_chunk(uint8_t *bytes, size_t size, size_t max_size, const struct place *place)
{
	static uint8_t changed[1 << 16];
	struct chunk_head head;
	const uint8_t *payload;
	size_t payload_size;
	struct chunk_payload whole = {changed, 0, NULL, 0};

	if (chunk_open(&opener, bytes + place->offset + place->before, place->size, &head, &payload,
		       &payload_size) ||
	    payload_size > sizeof(changed))
		return 0;
	memcpy(changed, payload, payload_size);
	whole.size = payload_size;
	if (random_next() % 3)
		whole.size = LLVMFuzzerMutate(changed, payload_size, sizeof(changed) / 4);
	else
		mutate_head(&head);
	if (chunk_pack(&packer, &head, &whole))
		return 0;
	/* sometimes it is put before the old one */
	return replace(bytes, size, max_size, place->offset,
		       random_next() % 8 ? place->before + place->size : 0, packer.bytes,
		       packer.size);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned int seed)
{
	struct place places[64];
	size_t count, done = 0;

	random_state = seed * 0x9e3779b97f4a7c15u + 1;
	count = find_places(bytes, size, places, 64);
	if (count && random_next() % 4)
		done = mutate_chunk(bytes, size, max_size, &places[random_next() % count]);
	return done ? done : LLVMFuzzerMutate(bytes, size, max_size);
}

/* ---- seeds ---- */

static void add_things(struct trace_writer *writer, uint32_t seed)
{
	struct event_process process = {.id = 1, .pid = seed};
	struct event_code code = {.id = 1, .process = 1, .type = CODE_SOURCE};
	char text[32];

	process.name_string = trace_writer_string(
		writer, text, (size_t)snprintf(text, sizeof(text), "process %u", seed));
	trace_writer_content(writer, text, sizeof(text), &code.hash_low, &code.hash_high);
	trace_writer_thing(writer, EVENT_PROCESS, &process);
	trace_writer_thing(writer, EVENT_CODE, &code);
}

static void add_rows(struct trace_writer *writer, uint32_t kind, uint32_t seed)
{
	const struct trace_format *format = trace_format_find(kind);

	for (uint64_t i = 0; format && i < seed % 7 + 1; i++) {
		struct trace_source source = {1, 2, 3};
		uint64_t row[32] = {0};

		for (size_t j = 0; j < format->column_count; j++) {
			if (format->columns[j].type != FIELD_STRING)
				trace_field_write(row, format->columns[j].offset,
						  format->columns[j].type, i * 1000 + j * 17 % 11);
		}
		if (format->is_thing) {
			trace_field_write(row, 0, FIELD_U32, i + 1);
			trace_writer_thing(writer, kind, row);
		} else {
			trace_writer_row(writer, kind, &source, row);
		}
	}
}

static int write_seeds(const char *folder)
{
	for (uint32_t seed = 0; seed < 40; seed++) {
		struct trace_writer_options options = {.segment_bytes = seed % 5 ? 0 : 100};
		struct trace_writer *writer;
		char path[4096];

		snprintf(path, sizeof(path), "%s/seed-%02u", folder, seed);
		if (trace_writer_open(path, &options, &writer))
			return 1;
		add_things(writer, seed);
		for (uint32_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
			if (seed % 20 == 0 || kind % 20 == seed % 20)
				add_rows(writer, kind, seed);
		}
		trace_writer_flush(writer, 1);
		add_rows(writer, EVENT_API, seed);
		trace_writer_close(writer, seed);
		if (seed % 3 == 1 && truncate(path, (off_t)(200 + seed * 3)))
			return 1;
	}
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	chunk_packer_init(&packer, 1);
	chunk_opener_init(&opener);
	if (*argc == 3 && !strcmp((*argv)[1], "--seed"))
		exit(write_seeds((*argv)[2]));
	return 0;
}
