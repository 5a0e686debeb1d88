/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_trace_reader.c - a libFuzzer target: any bytes as a trace
 *
 * Runs in:  the fuzzer's process, without forks and files
 * Gets:     bytes; opens them and reads everything that a reader can be asked for
 * Fails:    where a sanitizer or a check below says so
 *
 *	fuzz_trace_reader --seed FOLDER		writes seeds
 *	fuzz_trace_reader -runs=1000000 -max_len=4096 FOLDER
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/format.h"
#include "trace/reader.h"
#include "trace_mutator.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

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

static void read_entities(struct trace_reader *reader)
{
	for (uint32_t kind = EVENT_HOST; kind <= EVENT_ENTITY_LAST; kind++) {
		const struct trace_format *format = trace_format_find(kind);
		const void *rows;
		size_t count = trace_reader_entities(reader, kind, &rows), size;
		uint64_t previous = 0;

		for (size_t i = 0; i < count; i++) {
			const char *row = (const char *)rows + i * format->row_size;
			uint32_t id = (uint32_t)trace_field_read(row, 0, FIELD_U32);

			require(id > previous);
			require(trace_reader_entity(reader, kind, id) == row);
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
	read_entities(reader);
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

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	trace_mutator_start(*argc, *argv, false);
	return 0;
}
