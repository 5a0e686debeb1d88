/* SPDX-License-Identifier: MIT
 *
 * trace/shorten.c - drop the oldest segments and move the rest to the beginning of the file
 *
 * Runs in:  the recorder, as a part of a writer with max_bytes or keep_ns
 * Gets:     the list of segments; gives a file that stays below its limit and is readable at every
 *           moment
 * Owns:     a copy buffer
 * Fails:    -errno; the move is then tried again from where it stood, nothing is lost by it
 *
 * How: a segment is dropped by a head that says so (SegmentHead.first_segment). The living rest is
 * then copied down in steps of whole chunks, each at most as long as the way it moves, so that a
 * chunk's old place is overwritten only when its new one is complete, and on disk (fdatasync once
 * per way). Meanwhile the file goes on growing at its end; copying is eight times as fast. When the
 * end has been copied, the file is cut off. A crash in between leaves some chunks twice and one torn;
 * readers know copies by their checksums.
 *
 * Why in place and not COLLAPSE_RANGE or a new file: collapsing needs ext4 or xfs and segments that
 * begin at blocks; a new file needs up to the limit again in disk space, and the limit is there
 * because there is none.
 * Why 3/4 and 1/2: when the file reaches 3/4 of max_bytes, segments (at most 1/16 each) are dropped
 * until 1/2 is left. A byte is then copied about twice while it is kept, the end grows by 1/14 meanwhile, and a
 * full content fits into what remains. So between 1/2 and 7/8 of max_bytes is kept. With keep_ns
 * alone the file is moved when more than half of it is dropped. Contents that are carried over are twice
 * in the file for a while: at most 1/4 of max_bytes is theirs, and they count twice.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/io.h"
#include "trace/writer_private.h"

#define STEP_BYTES ((uint64_t)1 << 20)

/* What is about to be carried over, or to be written in one piece, needs its room while the old is still
 * there. */
static uint64_t bytes_with_room(const struct trace_writer *writer)
{
	return writer->size + writer->contents_bytes + writer->coming_bytes;
}

bool shorten_is_due(const struct trace_writer *writer)
{
	return writer->options.max_bytes &&
	       bytes_with_room(writer) > writer->options.max_bytes / 4 * 3;
}

uint32_t shorten_plan(const struct trace_writer *writer)
{
	const struct trace_writer_options *options = &writer->options;
	size_t dropped = 0, count = writer->segments_count;

	if (writer->shortening.is_active || !count)
		return writer->first_segment;
	/* a segment's end is the next one's begin; the last one has just ended */
	while (options->keep_ns && dropped + 1 < count &&
	       writer->segments[dropped + 1].begin_ns + options->keep_ns < writer->now_ns)
		dropped++;
	if (shorten_is_due(writer)) {
		while (dropped < count &&
		       bytes_with_room(writer) - writer->segments[dropped].offset >
			       options->max_bytes / 2)
			dropped++;
	}
	if (!dropped)
		return writer->first_segment;
	return dropped < count ? writer->segments[dropped].number : writer->segment + 1;
}

void shorten_start(struct trace_writer *writer)
{
	struct shortening *shortening = &writer->shortening;
	uint64_t distance = writer->segments[0].offset;
	bool is_worth_it = shorten_is_due(writer);

	if (distance > writer->size - distance)
		is_worth_it = true;
	/* a step must hold at least one chunk */
	if (shortening->is_active || !is_worth_it || distance <= writer->largest_chunk)
		return;
	shortening->is_active = true;
	shortening->distance = distance;
	shortening->source = distance;
	shortening->target = 0;
	shortening->safe = distance;
}

void shorten_fini(struct trace_writer *writer)
{
	free(writer->shortening.buffer);
}

static void finish(struct trace_writer *writer)
{
	uint64_t distance = writer->shortening.distance;

	writer->shortening.is_active = false;
	writer->size -= distance;
	for (size_t i = 0; i < writer->segments_count; i++)
		writer->segments[i].offset -= distance;
	for (size_t i = 0; i < writer->contents_count; i++)
		writer->contents[i].offset -= distance;
	for (size_t i = 0; i < writer->indices_count; i++)
		writer->indices[i].offset -= distance;
	for (size_t i = 0; i < writer->entries_count; i++)
		writer->entries[i].back -= distance;
}

/* How many of the bytes are whole chunks. */
static size_t whole_chunks(const uint8_t *bytes, size_t size)
{
	const uint8_t *end = bytes + size;
	size_t whole = 0, length = 0;

	while (whole < size) {
		size_t before = chunk_length(bytes + whole, end, &length);

		if (!before || length > size - whole - before)
			break;
		whole += before + length;
	}
	return whole;
}

/* Copies at least one and at most about `wanted` bytes of chunks. */
static int copy_some(struct trace_writer *writer, uint64_t wanted, uint64_t *ret_copied)
{
	struct shortening *shortening = &writer->shortening;
	uint64_t left = writer->size - shortening->source;
	uint64_t size = wanted > writer->largest_chunk ? wanted : writer->largest_chunk;
	int error;

	size = size < left ? size : left;
	size = size < shortening->distance ? size : shortening->distance;
	if (array_grow(shortening->buffer, shortening->buffer_capacity, size))
		return -ENOMEM;
	error = pread_all(writer->fd, shortening->buffer, size, shortening->source);
	if (error)
		return error;
	size = whole_chunks(shortening->buffer, size);
	if (!size)
		return -EBADMSG;
	if (shortening->target + size > shortening->safe) {
		if (fdatasync(writer->fd) && errno != EINVAL && errno != EROFS)
			return -errno;
		shortening->safe = shortening->source;
	}
	error = pwrite_all(writer->fd, shortening->buffer, size, shortening->target);
	if (error)
		return error;
	shortening->source += size;
	shortening->target += size;
	*ret_copied = size;
	return 0;
}

int shorten_step(struct trace_writer *writer, uint64_t budget)
{
	struct shortening *shortening = &writer->shortening;
	uint64_t copied = 0;
	int error = 0;

	if (!shortening->is_active || !budget)
		return 0;
	while (!error && shortening->source < writer->size && budget) {
		error = copy_some(writer, budget < STEP_BYTES ? budget : STEP_BYTES, &copied);
		budget -= copied < budget ? copied : budget;
	}
	if (error || shortening->source < writer->size)
		return error;
	if (fdatasync(writer->fd) && errno != EINVAL && errno != EROFS)
		return -errno;
	if (ftruncate(writer->fd, (off_t)shortening->target))
		return -errno;
	finish(writer);
	return 0;
}
