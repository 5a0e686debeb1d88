/* SPDX-License-Identifier: MIT
 *
 * trace/content.c - the bytes of code objects, each once in a file
 *
 * Runs in:  the recorder, as a part of a writer
 * Gets:     bytes; gives their hash, by which EVENT_CODE rows name them
 * Owns:     the list of where each content is in the file, not the bytes
 * Fails:    -errno, and the content is counted as lost; one that was not written completely is written anew
 *           the next time
 * Why not repeated: a program's device binaries are easily 100 MB, and segments follow every 10 s.
 *           Only when the segment that holds a content is dropped, and a code object that is still
 *           described names it, its chunks are copied from the file into the present segment.
 * Why parts of 1 MiB: they bound what a writer and a reader must hold at a time
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "trace/writer_private.h"

#include "duet_trace.pb-c.h"

#define PART_BYTES     ((size_t)1 << 20)
/* of max_bytes; see shorten.c */
#define CONTENTS_SHARE 4

/* The largest part of a content that goes into one chunk. */
static size_t content_part_bytes(const struct trace_writer *writer)
{
	uint64_t limit = writer->options.max_bytes / 64;

	if (!writer->options.max_bytes || limit > PART_BYTES)
		return PART_BYTES;
	return limit < 4096 ? 4096 : (size_t)limit;
}

static struct content *find_content(struct trace_writer *writer, uint64_t low, uint64_t high)
{
	uint64_t index = hash_map_get(&writer->contents_by_hash, low, 0);
	struct content *content = index ? &writer->contents[index - 1] : NULL;

	return content && content->hash_high == high ? content : NULL;
}

static int write_part(struct trace_writer *writer, const struct content *content,
		      const uint8_t *bytes, size_t size, size_t offset, size_t part)
{
	Duet__Content message = DUET__CONTENT__INIT;
	struct chunk_head head = {
		.kind = TRACE_CONTENT, .first = content->hash_low, .last = content->hash_high};
	auto_free uint8_t *packed = NULL;

	message.has_offset = message.has_size = message.has_bytes = true;
	message.offset = offset;
	message.size = size;
	message.bytes = (ProtobufCBinaryData){part, (uint8_t *)bytes + offset};
	packed = malloc(duet__content__get_packed_size(&message));
	if (!packed)
		return error_set(-ENOMEM, "write '%s': out of memory", writer->path);
	return writer_append_bytes(writer, &head, packed, duet__content__pack(&message, packed));
}

static void lose_content(struct trace_writer *writer)
{
	struct lost_rows lost = {EVENT_CODE, CLOCK_ID_MONOTONIC, writer->now_ns, writer->now_ns, 1};

	writer_note_lost(writer, &lost);
}

static int no_room(const struct trace_writer *writer)
{
	return error_set(-EFBIG, "write '%s': no room for one more code object below %llu bytes",
			 writer->path, (unsigned long long)writer->options.max_bytes);
}

/* Drops old segments where there would not be enough left. */
static int make_room(struct trace_writer *writer, size_t size)
{
	int error = 0;

	if (!writer->options.max_bytes)
		return segment_begin(writer);
	if (writer->contents_bytes + size > writer->options.max_bytes / CONTENTS_SHARE)
		return no_room(writer);
	writer->coming_bytes = size;
	if (shorten_is_due(writer)) {
		shorten_step(writer, UINT64_MAX);
		error = segment_end(writer);
	}
	if (!error)
		error = segment_begin(writer);
	writer->coming_bytes = 0;
	shorten_step(writer, UINT64_MAX);
	return error;
}

void trace_writer_hash(const void *bytes, size_t size, uint64_t *ret_hash_low,
		       uint64_t *ret_hash_high)
{
	XXH128_hash_t hash = XXH3_128bits(bytes, size);

	*ret_hash_low = hash.low64;
	*ret_hash_high = hash.high64;
}

int trace_writer_content(struct trace_writer *writer, const void *bytes, size_t size,
			 uint64_t *ret_hash_low, uint64_t *ret_hash_high)
{
	XXH128_hash_t hash = XXH3_128bits(bytes, size);
	struct content content = {.hash_low = hash.low64, .hash_high = hash.high64};
	uint64_t before = writer->stats.bytes;
	size_t offset = 0;
	int error = 0;

	if (!find_content(writer, hash.low64, hash.high64)) {
		error = make_room(writer, size);
		content.offset = writer->size;
		content.segment = writer->segment;
		while (!error && (offset < size || !offset)) {
			size_t part = content_part_bytes(writer);

			part = size - offset < part ? size - offset : part;
			error = write_part(writer, &content, bytes, size, offset, part);
			offset += part ? part : 1;
		}
		content.bytes = writer->size - content.offset;
		if (!error && array_grow(writer->contents, writer->contents_capacity,
					 writer->contents_count + 1))
			error = error_set(-ENOMEM, "write '%s': out of memory", writer->path);
	}
	if (error) {
		lose_content(writer);
		return error;
	}
	if (content.bytes) {
		writer->contents[writer->contents_count++] = content;
		writer->contents_bytes += content.bytes;
		/* where it fails, the content is only written once more */
		hash_map_put(&writer->contents_by_hash, hash.low64, writer->contents_count);
	}
	*ret_hash_low = hash.low64;
	*ret_hash_high = hash.high64;
	writer_settle(writer, before, 0);
	return 0;
}

static int named_contents(const struct trace_writer *writer, struct hash_map *ret_named)
{
	const struct thing_table *codes = &writer->things[EVENT_CODE];
	const struct event_code *code = (const struct event_code *)codes->rows;

	for (uint32_t i = 0; i < codes->count; i++, code++) {
		if ((code->hash_low || code->hash_high) &&
		    hash_map_put(ret_named, code->hash_low, code->hash_high))
			return -ENOMEM;
	}
	return 0;
}

/* Copies the chunks of one content to the end of the file, into the present segment. */
static int carry_one(struct trace_writer *writer, struct content *content)
{
	auto_free uint8_t *bytes = malloc(content->bytes);
	struct chunk_opener opener;
	const uint8_t *at = bytes, *end = bytes + content->bytes, *payload;
	struct content moved = *content;
	int error;

	chunk_opener_init(&opener);
	error = bytes ? pread_all(writer->fd, bytes, content->bytes, content->offset) : -ENOMEM;
	moved.offset = writer->size;
	moved.segment = writer->segment;
	while (!error && at < end) {
		struct chunk_head head;
		size_t size = 0, payload_size, before = chunk_length(at, end, &size);

		if (!before || size > (size_t)(end - at) - before) {
			error = -EBADMSG;
			break;
		}
		error = chunk_open(&opener, at + before, size, &head, &payload, &payload_size);
		if (!error)
			error = writer_append_bytes(writer, &head, payload, payload_size);
		at += before + size;
	}
	chunk_opener_fini(&opener);
	if (error == -EBADMSG)
		return 0; /* it was damaged by others; keeping it any longer helps nobody */
	if (error)
		return error_set(error, "write '%s': %s", writer->path, strerror(-error));
	moved.bytes = writer->size - moved.offset;
	*content = moved;
	return 0;
}

int content_carry(struct trace_writer *writer, uint32_t first_segment)
{
	struct hash_map named;
	size_t kept = 0;
	int error;

	hash_map_init(&named);
	error = named_contents(writer, &named);
	for (size_t i = 0; !error && i < writer->contents_count; i++) {
		struct content *content = &writer->contents[i];
		const uint64_t *high = hash_map_find(&named, content->hash_low);

		if (content->segment < first_segment && high && *high == content->hash_high)
			error = carry_one(writer, content);
		/* the segment is dropped all the same, or there would never be room again */
		if (error == -EFBIG) {
			lose_content(writer);
			error = 0;
		}
	}
	hash_map_fini(&named);
	if (error)
		return error;
	hash_map_clear(&writer->contents_by_hash);
	writer->contents_bytes = 0;
	for (size_t i = 0; i < writer->contents_count; i++) {
		if (writer->contents[i].segment < first_segment)
			continue;
		writer->contents[kept++] = writer->contents[i];
		writer->contents_bytes += writer->contents[i].bytes;
		hash_map_put(&writer->contents_by_hash, writer->contents[kept - 1].hash_low, kept);
	}
	writer->contents_count = kept;
	return 0;
}
