/* SPDX-License-Identifier: MIT
 *
 * trace/shorten.c - drop the oldest segments and move the rest to the start of the file
 *
 * Runs in:  the recorder, as a part of a writer with max_bytes or keep_ns
 * Gets:     the list of segments; gives a file that stays below its limit and is readable at every
 *           moment
 * Owns:     a copy buffer
 * Fails:    -errno; the move resumes from the same place at the next step, and no data are lost
 *
 * How:      a segment is dropped when a later segment head names a higher first segment
 *           (SegmentHead.first_segment). The remaining segments are then copied towards the start
 *           in steps of whole chunks. A step is at most as long as the distance of the move, and
 *           the copies are on disk (one fdatasync per distance) before their old places are
 *           overwritten. During the copying the file keeps growing at its end, but copying is eight
 *           times as fast. When the copy reaches the end, the file is truncated. A crash during the
 *           move leaves some chunks twice and one torn; readers recognise copies by their
 *           checksums.
 *
 * Why in place: FALLOC_FL_COLLAPSE_RANGE needs ext4 or xfs and segments aligned to blocks. A new
 *           file would need up to max_bytes of additional disk space, which would exceed the limit.
 *
 * Why holes: with is_ring the dropped segments become a hole at the start of the file, and nothing
 *           moves until the end. Followers and cuts then read the kept segments at fixed offsets.
 *
 * Why 3/4 and 1/2: when the file reaches 3/4 of max_bytes, segments (at most 1/16 each) are dropped
 *           until 1/2 is left. A byte is then copied about twice while it is kept, the file grows
 *           by 1/14 of max_bytes at its end during the copying, and a content of the maximum size
 *           fits into the remainder. So between 1/2 and 7/8 of max_bytes is kept. With keep_ns
 *           alone the file is moved when more than half of it is dropped. Contents that are copied
 *           out of a dropped segment exist twice in the file for a while, so they count twice. They
 *           may use at most 1/4 of max_bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/io.h"
#include "trace/writer_private.h"

#define STEP_BYTES ((uint64_t)1 << 20)

/* Bytes of the file plus the space for contents that will be copied or written before old segments
 * are removed. */
static uint64_t bytes_with_room(const struct trace_writer *writer)
{
	return writer->file.size - writer->file.hole_bytes + writer->contents.bytes +
	       writer->contents.coming_bytes;
}

bool shorten_is_due(const struct trace_writer *writer)
{
	return writer->options.max_bytes &&
	       bytes_with_room(writer) > writer->options.max_bytes / 4 * 3;
}

/* The first segment to keep after `dropped` ones, which may not go beyond a cut's first. */
static uint32_t unpinned(const struct trace_writer *writer, size_t dropped)
{
	uint32_t first = dropped < writer->segments.count ? writer->segments.items[dropped].number
							  : writer->segments.present + 1;

	return writer->segments.pinned && writer->segments.pinned < first ? writer->segments.pinned
									  : first;
}

uint32_t shorten_plan(const struct trace_writer *writer)
{
	const struct trace_writer_options *options = &writer->options;
	size_t dropped = 0, count = writer->segments.count;

	if (writer->shortening.is_active || !count)
		return writer->segments.first;
	/* a segment ends where the next one starts; the last one has just ended */
	while (options->keep_ns && dropped + 1 < count &&
	       writer->segments.items[dropped + 1].begin_ns + options->keep_ns < writer->now_ns)
		dropped++;
	if (shorten_is_due(writer)) {
		while (dropped < count && bytes_with_room(writer) + writer->file.hole_bytes -
							  writer->segments.items[dropped].offset >
						  options->max_bytes / 2)
			dropped++;
	}
	return dropped ? unpinned(writer, dropped) : writer->segments.first;
}

/* Frees the disk space of the dropped segments; blocks that they share with others get zeros.
 * Offsets stay, so other processes may follow the file. Returns false if the file system has no
 * holes: the file is then moved. */
static bool punch_hole(struct trace_writer *writer, uint64_t bytes)
{
	if (bytes > writer->file.hole_bytes &&
	    fallocate(writer->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes))
		return false;
	if (bytes > writer->file.hole_bytes)
		writer->file.hole_bytes = bytes;
	return true;
}

static void begin_move(struct trace_writer *writer, uint64_t distance)
{
	struct shortening *shortening = &writer->shortening;

	shortening->is_active = true;
	shortening->distance = distance;
	shortening->source = distance;
	shortening->target = 0;
	shortening->safe = distance;
}

void shorten_start(struct trace_writer *writer)
{
	struct shortening *shortening = &writer->shortening;
	uint64_t distance = writer->segments.items[0].offset;
	bool is_worth_it = shorten_is_due(writer);

	if (writer->segments.pinned || (writer->options.is_ring && punch_hole(writer, distance)))
		return;
	if (distance > writer->file.size - distance)
		is_worth_it = true;
	/* a step must hold at least one chunk */
	if (!shortening->is_active && is_worth_it && distance > writer->file.largest_chunk)
		begin_move(writer, distance);
}

void shorten_fini(struct trace_writer *writer)
{
	free(writer->shortening.buffer);
}

static void finish_move(struct trace_writer *writer)
{
	uint64_t distance = writer->shortening.distance;

	writer->shortening.is_active = false;
	writer->file.size -= distance;
	writer->file.hole_bytes = 0;
	for (size_t i = 0; i < writer->segments.count; i++)
		writer->segments.items[i].offset -= distance;
	for (size_t i = 0; i < writer->contents.count; i++)
		writer->contents.items[i].offset -= distance;
	for (size_t i = 0; i < writer->index.written_count; i++)
		writer->index.written[i].offset -= distance;
	for (size_t i = 0; i < writer->index.entries_count; i++)
		writer->index.entries[i].back -= distance;
}

/* Number of bytes that form complete chunks. */
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
	uint64_t left = writer->file.size - shortening->source;
	uint64_t size = wanted > writer->file.largest_chunk ? wanted : writer->file.largest_chunk;
	int error;

	size = size < left ? size : left;
	size = size < shortening->distance ? size : shortening->distance;
	if (array_grow(shortening->buffer, shortening->buffer_capacity, size))
		return -ENOMEM;
	error = pread_all(writer->file.fd, shortening->buffer, size, shortening->source);
	if (error)
		return error;
	size = whole_chunks(shortening->buffer, size);
	if (!size)
		return -EBADMSG;
	if (shortening->target + size > shortening->safe) {
		if (fdatasync(writer->file.fd) && errno != EINVAL && errno != EROFS)
			return -errno;
		shortening->safe = shortening->source;
	}
	error = pwrite_all(writer->file.fd, shortening->buffer, size, shortening->target);
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
	while (!error && shortening->source < writer->file.size && budget) {
		error = copy_some(writer, budget < STEP_BYTES ? budget : STEP_BYTES, &copied);
		budget -= copied < budget ? copied : budget;
	}
	if (error || shortening->source < writer->file.size)
		return error;
	if (fdatasync(writer->file.fd) && errno != EINVAL && errno != EROFS)
		return -errno;
	if (ftruncate(writer->file.fd, (off_t)shortening->target))
		return -errno;
	finish_move(writer);
	return 0;
}

/* Without disk space for the move, the segments stay behind the hole, and the END follows them.
 * Only copies into the hole need space: they become a hole again. */
static bool give_up_move(struct trace_writer *writer, int error)
{
	struct shortening *shortening = &writer->shortening;

	if ((error != -ENOSPC && error != -EDQUOT) || shortening->target > shortening->distance)
		return false;
	shortening->is_active = false;
	writer->file.hole_bytes = 0;
	punch_hole(writer, shortening->distance);
	return true;
}

int shorten_close_ring(struct trace_writer *writer)
{
	int error;

	if (writer->file.hole_bytes && writer->segments.count && !writer->shortening.is_active &&
	    writer->segments.items[0].offset > writer->file.largest_chunk)
		begin_move(writer, writer->segments.items[0].offset);
	error = shorten_step(writer, UINT64_MAX);
	return error && !give_up_move(writer, error) ? error : 0;
}
