/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/trace_mutator.c - changes traces so that what is behind their checksums is reached
 *
 * Runs in:  the fuzzer's process
 * Gets:     a trace; gives one that differs in a chunk's head, in the bytes of a payload, or in
 *           fields of rows
 * Fails:    never: what cannot be changed so is changed by libFuzzer, byte by byte
 * Why a mutator of its own: a random change breaks a checksum and reaches nothing behind it. This
 *           one takes a chunk apart, changes it and packs it anew; some of the time plain bytes are
 *           changed, so that resynchronisation is reached too.
 */
#include "trace_mutator.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../checker/description.h"
#include "trace/chunk.h"
#include "trace/codec.h"
#include "trace/format.h"
#include "trace/writer.h"

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size);

enum { PLACES_MAX = 256, ROWS_BYTES = 1 << 20 };

static bool is_of_rows;

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

/* ---- rows ---- */

/* Values at which sums, products and tables end. */
static uint64_t random_value(uint64_t old)
{
	switch (random_next() % 8) {
	case 0:
		return old + 1;
	case 1:
		return old - 1;
	case 2:
		return UINT64_MAX - random_next() % 1000;
	case 3:
		return (uint64_t)1 << random_next() % 64;
	case 4:
		return old ^ (uint64_t)1 << random_next() % 64;
	case 5:
		return random_next();
	default:
		return random_number();
	}
}

/* One field of one row: a number of its own, or another row's. */
static void mutate_field(const struct trace_format *format, char *rows, uint32_t count)
{
	const struct trace_column *column = &format->columns[random_next() % format->column_count];
	char *row = rows + random_next() % count * format->row_size;
	const char *other = rows + random_next() % count * format->row_size;
	uint64_t old = trace_field_read(row, column->offset, column->type);

	trace_field_write(row, column->offset, column->type,
			  random_next() % 4
				  ? random_value(old)
				  : trace_field_read(other, column->offset, column->type));
}

static uint32_t keep_id(void *context, uint32_t id)
{
	(void)context;
	return id;
}

/* Rows of a chunk, changed and written as a recorder would. 0: they are not there, or cannot be
 * written. */
static int repack_rows(struct chunk_head *head, const uint8_t *payload, size_t size)
{
	static char rows[ROWS_BYTES];
	static struct trace_message message;
	const struct trace_format *format = trace_format_find(head->kind);
	const struct trace_translator same = {keep_id, NULL};
	struct chunk_payload whole;

	if (!format || !head->rows || head->rows > TRACE_ROWS_LIMIT || !format->column_count ||
	    (head->rows + (size_t)1) * format->row_size > sizeof(rows))
		return 0;
	memset(rows, 0, (head->rows + (size_t)1) * format->row_size);
	if (trace_decode(format, payload, size, &same, rows, head->rows))
		return 0;
	if (random_next() % 8 == 0 && head->rows < TRACE_ROWS_LIMIT) /* one more like another */
		memcpy(rows + head->rows++ * (size_t)format->row_size,
		       rows + random_next() % (head->rows - 1 ? head->rows - 1 : 1) *
				       format->row_size,
		       format->row_size);
	else if (random_next() % 16 == 0 && head->rows > 1)
		head->rows--;
	for (uint64_t i = random_next() % 3 + 1; i; i--)
		mutate_field(format, rows, head->rows);
	if (trace_encode(format, rows, head->rows, NULL, &message))
		return 0;
	whole = (struct chunk_payload){message.bytes, message.size, message.ends,
				       message.ends_count};
	return chunk_pack(&packer, head, &whole) == 0;
}

static size_t mutate_rows(uint8_t *bytes, size_t size, size_t max_size, const struct place *place)
{
	struct chunk_head head;
	const uint8_t *payload;
	size_t payload_size;

	if (chunk_open(&opener, bytes + place->offset + place->before, place->size, &head, &payload,
		       &payload_size) ||
	    !repack_rows(&head, payload, payload_size))
		return 0;
	return replace(bytes, size, max_size, place->offset, place->before + place->size,
		       packer.bytes, packer.size);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned int seed)
{
	static struct place places[PLACES_MAX];
	size_t count, done = 0;

	random_state = seed * 0x9e3779b97f4a7c15u + 1;
	count = find_places(bytes, size, places, PLACES_MAX);
	for (uint64_t i = random_next() % 3 + 1; is_of_rows && count && i && random_next() % 16;
	     i--) {
		/* what is changed moves what follows it */
		size_t now = mutate_rows(bytes, size, max_size, &places[random_next() % count]);

		if (!now)
			continue;
		size = done = now;
		count = find_places(bytes, size, places, PLACES_MAX);
	}
	if (!done && count && random_next() % 4)
		done = mutate_chunk(bytes, size, max_size, &places[random_next() % count]);
	return done ? done : LLVMFuzzerMutate(bytes, size, max_size);
}

/* ---- seeds ---- */

static void add_entities(struct trace_writer *writer, uint32_t seed)
{
	struct event_process process = {.id = 1, .pid = seed};
	struct event_code code = {.id = 1, .process = 1, .type = CODE_SOURCE};
	char text[32];

	process.name_string = trace_writer_string(
		writer, text, (size_t)snprintf(text, sizeof(text), "process %u", seed));
	trace_writer_content(writer, text, sizeof(text), &code.hash_low, &code.hash_high);
	trace_writer_entity(writer, EVENT_PROCESS, &process);
	trace_writer_entity(writer, EVENT_CODE, &code);
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
		if (format->is_entity) {
			trace_field_write(row, 0, FIELD_U32, i + 1);
			trace_writer_entity(writer, kind, row);
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
		add_entities(writer, seed);
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

/* The traces that tests/golden describes. */
static int write_golden(const char *folder)
{
	static const char *const patterns[] = {FUZZ_GOLDEN "/account/*.txt",
					       FUZZ_GOLDEN "/export/*.txt",
					       FUZZ_GOLDEN "/perfetto/*.txt"};
	glob_t found;
	int error = 0;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc && !error; i++) {
		FILE *file = fopen(found.gl_pathv[i], "re");
		char path[4096];

		snprintf(path, sizeof(path), "%s/golden-%02zu", folder, i);
		error = file ? description_write(file, path) : -1;
		if (file)
			fclose(file);
	}
	globfree(&found);
	return error;
}

void trace_mutator_start(int argc, char **argv, bool of_rows)
{
	chunk_packer_init(&packer, 1);
	chunk_opener_init(&opener);
	is_of_rows = of_rows;
	if (argc == 3 && !strcmp(argv[1], "--seed"))
		exit((!of_rows && write_seeds(argv[2])) || write_golden(argv[2]));
}
