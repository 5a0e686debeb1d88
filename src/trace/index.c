/* SPDX-License-Identifier: MIT
 *
 * trace/index.c - read the list of chunks from the index at the end of a finished file
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     a file; gives the heads of all its chunks without reading the chunks
 * Owns:     nothing of its own
 * Fails:    -ENOENT without an index, -EBADMSG for an inconsistent one; the caller then scans the
 *           file
 * Why 64 KiB: the index is an END message of at most 4096 rows (11 hours of segments) of two
 *           columns. It is shorter than 64 KiB while segments are below 128 MiB. If no END message
 *           is found in the last 64 KiB, the file is scanned.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "trace/reader_private.h"

#define TAIL ((size_t)64 << 10)

/* Finds the last message of the file if it is an END. */
static int find_end(struct trace_reader *reader, struct reader_entry *ret_entry)
{
	size_t size = reader->file.size < TAIL ? (size_t)reader->file.size : TAIL;
	const uint8_t *bytes = reader_view(reader, reader->file.size - size, size);
	uint64_t sync = 0;

	for (size_t i = size; bytes && i-- > 1 && !sync;) {
		if (chunk_has_prefix(bytes + i, size - i))
			sync = reader->file.size - size + i;
	}
	for (uint64_t before = 1; sync && before <= 5 && before <= sync; before++) {
		size_t total = scan_chunk(reader, sync - before, ret_entry);

		if (total && sync - before + total == reader->file.size &&
		    ret_entry->head.kind == TRACE_END)
			return 0;
	}
	return -ENOENT;
}

static int take_row(struct trace_reader *reader, uint64_t offset, const struct trace_index_row *row)
{
	struct reader_entry entry = {
		.head = {.kind = row->kind,
			 .source = row->source,
			 .clock = row->clock,
			 .seen_clock = row->seen_clock,
			 .segment = row->segment,
			 .rows = row->rows,
			 .flags = row->flags,
			 .first = row->first,
			 .last = row->last,
			 .sequence = row->sequence},
		.bytes = row->bytes,
	};

	/* every chunk has a prefix, which bounds the number of entries */
	if (row->back > offset || row->bytes > TRACE_MESSAGE_LIMIT + 5 ||
	    row->bytes <= TRACE_PREFIX_BYTES || row->bytes > row->back ||
	    row->rows > TRACE_ROWS_LIMIT ||
	    reader->entries.count > reader->file.size / TRACE_PREFIX_BYTES)
		return -EBADMSG;
	entry.offset = offset - row->back;
	return reader_add_entry(reader, &entry);
}

static int take_index(struct trace_reader *reader, uint64_t offset)
{
	struct reader_entry entry;
	auto_free struct trace_index_row *rows = NULL;
	size_t count;
	int error;

	if (!scan_chunk(reader, offset, &entry) || entry.head.kind != TRACE_INDEX)
		return -EBADMSG;
	error = reader_decode_entry(reader, &entry, (void **)&rows, &count);
	for (size_t i = 0; !error && i < count; i++)
		error = take_row(reader, offset, &rows[i]);
	return error;
}

static int take_end(struct trace_reader *reader, const struct reader_entry *end)
{
	auto_free struct trace_end_row *rows = NULL;
	size_t count;
	int error = reader_decode_entry(reader, end, (void **)&rows, &count);

	for (size_t i = 0; !error && i < count; i++) {
		if (rows[i].back > end->offset)
			return -EBADMSG;
		error = take_index(reader, end->offset - rows[i].back);
	}
	return error;
}

int index_load(struct trace_reader *reader)
{
	struct reader_entry end;
	int error = find_end(reader, &end);

	while (!error) {
		error = take_end(reader, &end);
		if (error || !end.head.first)
			break;
		/* each END lies before the one that refers to it, so the loop ends */
		if (end.head.first > end.offset ||
		    !scan_chunk(reader, end.offset - end.head.first, &end) ||
		    end.head.kind != TRACE_END)
			error = -EBADMSG;
	}
	if (!error && !reader->entries.count)
		error = -EBADMSG;
	if (error)
		reader->entries.count = 0;
	return error;
}
