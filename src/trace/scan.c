/* SPDX-License-Identifier: MIT
 *
 * trace/scan.c - find the intact chunks of a file that has no usable index
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     untrusted bytes; gives the list of intact chunks and the amount of skipped data
 * Owns:     nothing of its own
 * Fails:    -ENOMEM
 * Why a budget: a hostile file can be full of sync bytes that follow forged lengths; each possible
 *           chunk must be checksummed before it is refused. After 64 times the file's size in
 *           failed checks the rest of the file is counted as damaged. Real damage costs one chunk's
 *           bytes.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "trace/reader_private.h"

enum { LENGTH_MAX = 5, PATTERN = 9 };
#define WINDOW        ((size_t)1 << 20)
#define BUDGET_FACTOR 64

struct scanner {
	struct trace_reader *reader;
	uint64_t budget; /* bytes that may still be checksummed without finding a chunk */
};

/* Returns the message at offset if its length fits into the file. */
static const uint8_t *find_message(struct trace_reader *reader, uint64_t offset, size_t *ret_before,
				   size_t *ret_size)
{
	uint64_t left = reader->file.size - offset;
	size_t probe = left < LENGTH_MAX ? (size_t)left : LENGTH_MAX;
	const uint8_t *at = reader_view(reader, offset, probe);
	size_t before, size = 0;

	before = at ? chunk_length(at, at + probe, &size) : 0;
	if (!before || size > left - before)
		return NULL;
	/* check the sync bytes first: lengths are cheap to forge */
	at = reader_view(reader, offset + before, TRACE_PREFIX_BYTES);
	if (!at || !chunk_has_prefix(at, TRACE_PREFIX_BYTES))
		return NULL;
	*ret_before = before;
	*ret_size = size;
	at = reader_view(reader, offset, before + size);
	return at ? at + before : NULL;
}

static size_t check_chunk(struct scanner *scanner, uint64_t offset, struct reader_entry *ret_entry)
{
	size_t before, size;
	const uint8_t *message = find_message(scanner->reader, offset, &before, &size);
	int error;

	if (!message)
		return 0;
	error = chunk_is_intact(message, size) ? chunk_head(message, size, &ret_entry->head)
					       : -EBADMSG;
	if (error == -ENOMEM)
		scanner->reader->is_out_of_memory = true;
	if (error) {
		scanner->budget -= size < scanner->budget ? size : scanner->budget;
		return 0;
	}
	ret_entry->offset = offset;
	ret_entry->bytes = before + size;
	ret_entry->checksum = chunk_checksum(message);
	ret_entry->is_counted = false;
	return before + size;
}

size_t scan_chunk(struct trace_reader *reader, uint64_t offset, struct reader_entry *ret_entry)
{
	struct scanner scanner = {reader, UINT64_MAX};

	return check_chunk(&scanner, offset, ret_entry);
}

/* Tries each possible length (a varint of 1 to LENGTH_MAX bytes) that ends right before the sync
 * bytes at `sync`. True if one of them starts an intact chunk. */
static bool find_start(struct scanner *scanner, uint64_t from, uint64_t sync, uint64_t *ret_start)
{
	struct reader_entry entry;

	for (uint64_t before = 1; before <= LENGTH_MAX && sync >= from + before; before++) {
		size_t total;

		if (!scanner->budget)
			return false;
		total = check_chunk(scanner, sync - before, &entry);
		if (total) {
			*ret_start = sync - before;
			return true;
		}
	}
	return false;
}

/* Returns the offset of the next intact chunk after `from`, or the file's size. */
static uint64_t find_next(struct scanner *scanner, uint64_t from)
{
	static const uint8_t pattern[PATTERN] = {0x09, 0xd5, 'd', 'u', 'e', 't', '\r', '\n', 0xa7};
	struct trace_reader *reader = scanner->reader;
	uint64_t at = from, start;

	while (scanner->budget && !reader->is_out_of_memory && at + PATTERN <= reader->file.size) {
		uint64_t left = reader->file.size - at;
		size_t size = left < WINDOW ? (size_t)left : WINDOW;
		const uint8_t *bytes = reader_view(reader, at, size);
		const uint8_t *hit = bytes ? memmem(bytes, size, pattern, PATTERN) : NULL;

		if (!bytes)
			break;
		if (!hit) {
			at += size - (PATTERN - 1);
			continue;
		}
		at += (uint64_t)(hit - bytes);
		if (find_start(scanner, from, at, &start))
			return start;
		at++;
	}
	return reader->file.size;
}

static void count_skipped(struct trace_reader *reader, uint64_t from, uint64_t to)
{
	size_t before, size;
	struct chunk_head head;
	const uint8_t *message = find_message(reader, from, &before, &size);

	reader->damage.chunks++;
	reader->damage.bytes += to - from;
	if (to == reader->file.size)
		reader->damage.truncated = true;
	if (message && !chunk_head(message, size, &head) && head.kind >= EVENT_API &&
	    head.kind < EVENT_KIND_COUNT)
		reader->damage.rows += head.rows;
}

/* The start of the next data: a ring's file may begin with a hole of any size. */
static uint64_t skip_hole(const struct trace_reader *reader, uint64_t offset)
{
	off_t data = reader->file.fd < 0 ? -1 : lseek(reader->file.fd, (off_t)offset, SEEK_DATA);

	if (data < 0 && errno == ENXIO && reader->file.fd >= 0) /* nothing but a hole follows */
		return reader->file.size;
	return data > (off_t)offset ? (uint64_t)data : offset;
}

/* Zero bytes are messages of length 0: padding, or what a file system left after a power cut. */
static uint64_t skip_zeros(struct trace_reader *reader, uint64_t offset)
{
	if (offset < reader->file.size)
		offset = skip_hole(reader, offset);
	while (offset < reader->file.size) {
		uint64_t left = reader->file.size - offset;
		size_t size = left < WINDOW ? (size_t)left : WINDOW, i = 0;
		const uint8_t *bytes;

		/* one byte decides in nearly all cases */
		bytes = reader_view(reader, offset, 1);
		if (!bytes || *bytes)
			break;
		bytes = reader_view(reader, offset, size);
		while (bytes && i < size && !bytes[i])
			i++;
		offset += i;
	}
	return offset;
}

int scan_file(struct trace_reader *reader)
{
	struct scanner scanner = {reader, ((uint64_t)1 << 26) + BUDGET_FACTOR * reader->file.size};
	uint64_t offset = skip_zeros(reader, 0);
	int error = 0;

	while (!error && !reader->is_out_of_memory && offset < reader->file.size) {
		struct reader_entry entry;
		size_t total = check_chunk(&scanner, offset, &entry);

		if (total) {
			error = reader_add_entry(reader, &entry);
			offset += total;
		} else {
			uint64_t next = find_next(&scanner, offset + 1);

			count_skipped(reader, offset, next);
			offset = next;
		}
		offset = skip_zeros(reader, offset);
	}
	return reader->is_out_of_memory ? -ENOMEM : error;
}
