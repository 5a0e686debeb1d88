/* SPDX-License-Identifier: MIT
 *
 * trace/content.c - the bytes of code objects; each content is stored once per file
 *
 * Runs in:  the recorder, as a part of a writer
 * Gets:     bytes; gives their hash, by which EVENT_CODE rows refer to them
 * Owns:     the list of the file offsets of all contents, but not the bytes
 * Fails:    -errno, and the content is counted as lost; a content that was written in part is
 *           written again on the next call
 * Why contents are not repeated in each segment: the device binaries of a program are easily 100
 *           MB, and a segment starts every 10 s. A content is copied into the current segment only
 *           when the segment that contains it is dropped and a living code object refers to it.
 * Why parts of 1 MiB: writer and reader must hold one part in memory at a time
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
/* contents may use max_bytes / CONTENTS_SHARE; see shorten.c */
#define CONTENTS_SHARE 4

/* Max bytes of a content in one chunk. */
static size_t content_part_bytes(const struct trace_writer *writer)
{
	uint64_t limit = writer->options.max_bytes / 64;

	if (!writer->options.max_bytes || limit > PART_BYTES)
		return PART_BYTES;
	return limit < 4096 ? 4096 : (size_t)limit;
}

static struct content *find_content(struct trace_writer *writer, uint64_t low, uint64_t high)
{
	uint64_t index = hash_map_get(&writer->contents.by_hash, low, 0);
	struct content *content = index ? &writer->contents.items[index - 1] : NULL;

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
		return error_set(-ENOMEM, "write '%s': out of memory", writer->file.path);
	return writer_append_bytes(writer, &head, packed, duet__content__pack(&message, packed));
}

static void count_lost_content(struct trace_writer *writer)
{
	struct lost_rows lost = {EVENT_CODE, CLOCK_ID_MONOTONIC, writer->now_ns, writer->now_ns, 1};

	writer_count_lost(writer, &lost);
}

static int no_room(const struct trace_writer *writer)
{
	return error_set(-EFBIG,
			 "write '%s': no space for another code object below the limit of %llu "
			 "bytes; raise --max-size",
			 writer->file.path, (unsigned long long)writer->options.max_bytes);
}

/* Drops old segments if size more bytes would exceed the limit. */
static int make_room(struct trace_writer *writer, size_t size)
{
	int error = 0;

	if (!writer->options.max_bytes)
		return segment_begin(writer);
	if (writer->contents.bytes + size > writer->options.max_bytes / CONTENTS_SHARE)
		return no_room(writer);
	writer->contents.coming_bytes = size;
	if (shorten_is_due(writer)) {
		shorten_step(writer, UINT64_MAX);
		error = segment_end(writer);
	}
	if (!error)
		error = segment_begin(writer);
	writer->contents.coming_bytes = 0;
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
		content.offset = writer->file.size;
		content.segment = writer->segments.present;
		while (!error && (offset < size || !offset)) {
			size_t part = content_part_bytes(writer);

			part = size - offset < part ? size - offset : part;
			error = write_part(writer, &content, bytes, size, offset, part);
			offset += part ? part : 1;
		}
		content.bytes = writer->file.size - content.offset;
		if (!error && array_grow(writer->contents.items, writer->contents.capacity,
					 writer->contents.count + 1))
			error = error_set(-ENOMEM, "write '%s': out of memory", writer->file.path);
	}
	if (error) {
		count_lost_content(writer);
		return error;
	}
	if (content.bytes) {
		writer->contents.items[writer->contents.count++] = content;
		writer->contents.bytes += content.bytes;
		/* on failure a later call writes the same content once more */
		hash_map_put(&writer->contents.by_hash, hash.low64, writer->contents.count);
	}
	*ret_hash_low = hash.low64;
	*ret_hash_high = hash.high64;
	writer_settle(writer, before, 0);
	return 0;
}

static int named_contents(const struct trace_writer *writer, struct hash_map *ret_named)
{
	const struct entity_table *codes = &writer->entities.tables[EVENT_CODE];
	const struct event_code *code = (const struct event_code *)codes->rows;

	for (uint32_t i = 0; i < codes->count; i++, code++) {
		if ((code->hash_low || code->hash_high) &&
		    hash_map_put(ret_named, code->hash_low, code->hash_high))
			return -ENOMEM;
	}
	return 0;
}

/* Copies the chunks of one content to the end of a file, into its present segment. Sets the place
 * of the copy. */
static int copy_one(struct trace_writer *writer, struct content *content,
		    struct trace_writer *target)
{
	auto_free uint8_t *bytes = malloc(content->bytes);
	struct chunk_opener opener;
	const uint8_t *at = bytes, *end = bytes + content->bytes, *payload;
	struct content moved = *content;
	int error;

	chunk_opener_init(&opener);
	error = bytes ? pread_all(writer->file.fd, bytes, content->bytes, content->offset)
		      : -ENOMEM;
	moved.offset = target->file.size;
	moved.segment = target->segments.present;
	while (!error && at < end) {
		struct chunk_head head;
		size_t size = 0, payload_size, before = chunk_length(at, end, &size);

		if (!before || size > (size_t)(end - at) - before) {
			error = -EBADMSG;
			break;
		}
		error = chunk_open(&opener, at + before, size, &head, &payload, &payload_size);
		if (!error)
			error = writer_append_bytes(target, &head, payload, payload_size);
		at += before + size;
	}
	chunk_opener_fini(&opener);
	if (error == -EBADMSG)
		return 0; /* damaged in the file: it is dropped with its segment */
	if (error)
		return error_set(error, "write '%s': %s", target->file.path, strerror(-error));
	moved.bytes = target->file.size - moved.offset;
	*content = moved;
	return 0;
}

int content_copy(struct trace_writer *writer, uint32_t first_segment, struct trace_writer *target)
{
	struct hash_map named = {0};
	int error = named_contents(writer, &named);

	for (size_t i = 0; !error && i < writer->contents.count; i++) {
		struct content content = writer->contents.items[i];
		const uint64_t *high = hash_map_find(&named, content.hash_low);

		if (content.segment < first_segment && high && *high == content.hash_high)
			error = copy_one(writer, &content, target);
	}
	hash_map_fini(&named);
	return error;
}

int content_carry(struct trace_writer *writer, uint32_t first_segment)
{
	struct hash_map named = {0};
	size_t kept = 0;
	int error;

	error = named_contents(writer, &named);
	for (size_t i = 0; !error && i < writer->contents.count; i++) {
		struct content *content = &writer->contents.items[i];
		const uint64_t *high = hash_map_find(&named, content->hash_low);

		if (content->segment < first_segment && high && *high == content->hash_high)
			error = copy_one(writer, content, writer);
		/* the segment is dropped nevertheless; otherwise the file would stay full */
		if (error == -EFBIG) {
			count_lost_content(writer);
			error = 0;
		}
	}
	hash_map_fini(&named);
	if (error)
		return error;
	hash_map_clear(&writer->contents.by_hash);
	writer->contents.bytes = 0;
	for (size_t i = 0; i < writer->contents.count; i++) {
		if (writer->contents.items[i].segment < first_segment)
			continue;
		writer->contents.items[kept++] = writer->contents.items[i];
		writer->contents.bytes += writer->contents.items[i].bytes;
		hash_map_put(&writer->contents.by_hash, writer->contents.items[kept - 1].hash_low,
			     kept);
	}
	writer->contents.count = kept;
	return 0;
}
