/* SPDX-License-Identifier: MIT
 *
 * trace/cut.c - copy the newest segments of a file that is being written into a trace of its own
 *
 * Runs in:  the recorder, in the thread of the writer
 * Gets:     a writer and a time; gives a complete trace file
 * Owns:     the new file until it is complete
 * Fails:    -errno with the path of the new file in the chain; the writer goes on in any case
 *
 * How:      the new file begins with a segment head that drops all earlier segments, and with the
 *           contents of code objects from these. The bytes of the kept segments follow as they are:
 *           a segment stands alone, and its index counts backwards. An END lists the indices.
 *
 * Why in steps: 30 s of a busy program are 300 MB. The recorder reads no rings while it copies, so
 *           it copies a few MB in each round.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/io.h"
#include "trace/writer_private.h"

enum { BUFFER_BYTES = 1 << 20 };

struct trace_cutting {
	struct trace_writer *writer; /* borrowed */
	struct trace_writer *target; /* owned */
	struct trace_cut cut;
	uint64_t source, end; /* offsets in the writer's file */
	uint64_t sequence;    /* number of the writer's last chunk */
	uint8_t *buffer;      /* owned */
	/* The indices of the copied segments, with their offsets in the new file; owned. */
	struct index_place *indices;
	size_t indices_count;
	bool has_index;
};

/* Sets the end of the host's row, or removes it. The row with an end goes into the last segment of
 * the cut, which is then a finished recording, but goes on elsewhere; the next segment has the row
 * without it. */
static void end_host(struct trace_writer *writer, uint64_t end_ns, bool continues)
{
	const struct entity_table *hosts = &writer->entities.tables[EVENT_HOST];

	for (uint32_t i = 0; i < hosts->count; i++) {
		struct event_host row = ((const struct event_host *)hosts->rows)[i];

		row.end_ns = end_ns;
		row.continues = continues;
		trace_writer_entity(writer, EVENT_HOST, &row);
	}
}

/* The segment in which the cut begins: an index into the list. */
static size_t find_first(const struct trace_writer *writer, const struct trace_cut *cut)
{
	const struct segment_list *segments = &writer->segments;
	size_t first = 0;

	while (first + 1 < segments->count &&
	       (segments->items[first + 1].begin_ns <= cut->from_ns ||
		segments->items[first].number < cut->first_segment))
		first++;
	return first;
}

static int end_segment(struct trace_writer *writer, uint64_t now_ns, bool continues)
{
	int error;

	trace_writer_flush_all(writer, now_ns);
	writer->now_ns = now_ns;
	error = segment_begin(writer);
	if (error)
		return error;
	end_host(writer, now_ns, continues);
	error = segment_write_needed(writer);
	return error ? error : segment_end(writer);
}

/* The head and the contents of the new file, with an index of their own. */
static int write_start(struct trace_cutting *cutting, const struct trace_segment *first)
{
	struct trace_writer *target = cutting->target;
	int error;

	target->segments.present = first->number;
	target->now_ns = first->begin_ns;
	error = segment_write_head(target, first->number);
	if (!error)
		error = content_copy(cutting->writer, first->number, target);
	return error ? error : segment_write_index(target);
}

static int out_of_memory(const char *path)
{
	return error_set(-ENOMEM, "create '%s': out of memory", path);
}

static int note_indices(struct trace_cutting *cutting)
{
	const struct writer_index *index = &cutting->writer->index;
	const uint64_t base = cutting->target->file.size - cutting->source;

	cutting->has_index = !index->is_incomplete;
	cutting->indices = calloc(index->written_count + 1, sizeof(*cutting->indices));
	if (!cutting->indices)
		return out_of_memory(cutting->target->file.path);
	for (size_t i = 0; i < index->written_count; i++) {
		struct index_place place = index->written[i];

		if (place.offset < cutting->source)
			continue;
		place.offset += base;
		cutting->indices[cutting->indices_count++] = place;
	}
	return 0;
}

static int begin_copy(struct trace_cutting *cutting, uint64_t now_ns)
{
	struct trace_writer *writer = cutting->writer;
	const struct trace_segment *first =
		&writer->segments.items[find_first(writer, &cutting->cut)];
	int error;

	cutting->source = first->offset;
	cutting->end = writer->file.size;
	cutting->sequence = writer->sequence;
	cutting->cut.from_ns = first->begin_ns;
	cutting->cut.to_ns = now_ns;
	cutting->cut.first_segment = first->number;
	cutting->cut.last_segment = writer->segments.present;
	writer->segments.pinned = first->number;
	error = write_start(cutting, first);
	return error ? error : note_indices(cutting);
}

/* The segment's end may start a move, where no holes can be made: offsets then change. */
static int start_copy(struct trace_cutting *cutting, uint64_t now_ns)
{
	struct trace_writer *writer = cutting->writer;
	int error = end_segment(writer, now_ns, !cutting->cut.is_last);

	if (!error && writer->shortening.is_active)
		error = error_set(-EAGAIN, "'%s': the recording is being moved", writer->file.path);
	if (!error)
		error = begin_copy(cutting, now_ns);
	/* The next segment begins where this cut ends. The recording goes on, also after an error:
	 * its host must not keep an end. */
	end_host(writer, 0, false);
	segment_begin(writer);
	return error;
}

static bool can_cut(const struct trace_writer *writer)
{
	const struct trace_writer_options *options = &writer->options;

	return writer->file.is_regular &&
	       (options->is_ring || (!options->keep_ns && !options->max_bytes));
}

static int empty_target(struct trace_writer *target)
{
	int error = writer_empty_file(target);

	return error ? error_set(error, "write '%s': %s", target->file.path, strerror(-error)) : 0;
}

int trace_cut_start(struct trace_writer *writer, uint64_t now_ns, const char *path,
		    const struct trace_cut *cut, struct trace_cutting **ret_cutting)
{
	const struct trace_writer_options options = {.level = writer->options.level,
						     .only_traces = true};
	struct trace_cutting *cutting;
	int error;

	if (writer->segments.pinned || writer->shortening.is_active)
		return error_set(-EAGAIN, "'%s': the recording is being copied or moved", path);
	if (!can_cut(writer))
		return error_set(-EOPNOTSUPP, "'%s': no part can be cut out of this recording",
				 path);
	cutting = calloc(1, sizeof(*cutting));
	if (!cutting)
		return out_of_memory(path);
	cutting->writer = writer;
	cutting->cut = *cut;
	cutting->buffer = malloc(BUFFER_BYTES);
	error = cutting->buffer ? writer_new(path, &options, &cutting->target)
				: out_of_memory(path);
	if (!error)
		error = empty_target(cutting->target);
	if (!error)
		error = start_copy(cutting, now_ns);
	if (error) {
		trace_cut_abandon(cutting);
		return error;
	}
	*ret_cutting = cutting;
	return 0;
}

void trace_cut_abandon(struct trace_cutting *cutting)
{
	if (!cutting)
		return;
	cutting->writer->segments.pinned = 0;
	if (cutting->target)
		trace_writer_abandon(cutting->target);
	free(cutting->indices);
	free(cutting->buffer);
	free(cutting);
}

static int copy_part(struct trace_cutting *cutting, size_t size)
{
	struct writer_file *file = &cutting->target->file;
	int error = pread_all(cutting->writer->file.fd, cutting->buffer, size, cutting->source);

	if (!error)
		error = pwrite_all(file->fd, cutting->buffer, size, file->size);
	if (error)
		return error_set(error, "write '%s': %s", file->path, strerror(-error));
	file->size += size;
	cutting->source += size;
	return 0;
}

/* Adds the indices of the copied segments and the END. */
static int write_end(struct trace_cutting *cutting)
{
	struct trace_writer *target = cutting->target;
	struct writer_index *index = &target->index;

	index->is_incomplete |= !cutting->has_index;
	target->sequence = cutting->sequence;
	target->segments.present = cutting->cut.last_segment;
	if (array_grow(index->written, index->written_capacity,
		       index->written_count + cutting->indices_count))
		return out_of_memory(target->file.path);
	for (size_t i = 0; i < cutting->indices_count; i++)
		index->written[index->written_count++] = cutting->indices[i];
	return segment_write_end(target);
}

/* Closing reports writes that failed late (quotas, NFS). A copy of the descriptor is closed, so
 * that the file can still be removed. */
static int check_close(const struct writer_file *file)
{
	const int copy = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);

	if (copy >= 0 && close(copy))
		return error_set(-errno, "close '%s': %s", file->path, strerror(errno));
	return 0;
}

static int finish_cut(struct trace_cutting *cutting, struct trace_cut *ret_cut)
{
	struct trace_writer *target = cutting->target;
	int error = write_end(cutting);

	if (!error)
		error = check_close(&target->file);
	if (error)
		return error;
	cutting->cut.bytes = target->file.size;
	if (ret_cut)
		*ret_cut = cutting->cut;
	/* complete: the file stays when the writer is freed */
	writer_release(target);
	cutting->target = NULL;
	trace_cut_abandon(cutting);
	return 1;
}

int trace_cut_step(struct trace_cutting *cutting, uint64_t bytes, struct trace_cut *ret_cut)
{
	int result = 0;

	while (!result && bytes && cutting->source < cutting->end) {
		uint64_t size = cutting->end - cutting->source;

		size = size < bytes ? size : bytes;
		size = size < BUFFER_BYTES ? size : BUFFER_BYTES;
		result = copy_part(cutting, (size_t)size);
		bytes -= size;
	}
	if (!result && cutting->source == cutting->end)
		result = finish_cut(cutting, ret_cut);
	if (result < 0)
		trace_cut_abandon(cutting);
	return result;
}

int trace_writer_cut(struct trace_writer *writer, uint64_t now_ns, const char *path,
		     struct trace_cut *inout_cut)
{
	struct trace_cutting *cutting;
	int error = trace_cut_start(writer, now_ns, path, inout_cut, &cutting);

	if (!error)
		error = trace_cut_step(cutting, UINT64_MAX, inout_cut);
	return error < 0 ? error : 0;
}

/* ---- from bytes ------------------------------------------------------------------------------ */

/* Adds a chunk to the index of the new file. Indices and ends in the bytes have other places. */
static int index_chunk(struct trace_writer *target, const struct chunk_head *head, uint64_t offset,
		       uint64_t bytes)
{
	struct writer_index *index = &target->index;

	target->segments.present = head->segment;
	if (head->sequence > target->sequence)
		target->sequence = head->sequence;
	if (head->kind == TRACE_INDEX || head->kind == TRACE_END)
		return 0;
	return array_append(index->entries, index->entries_capacity, index->entries_count,
			    (struct trace_index_row){.back = offset,
						     .bytes = bytes,
						     .first = head->first,
						     .last = head->last,
						     .sequence = head->sequence,
						     .kind = head->kind,
						     .source = head->source,
						     .clock = head->clock,
						     .seen_clock = head->seen_clock,
						     .segment = head->segment,
						     .rows = head->rows,
						     .flags = head->flags});
}

/* *ret_used: end of the last whole chunk. */
static int index_bytes(struct trace_writer *target, const uint8_t *bytes, size_t size,
		       size_t *ret_used)
{
	size_t at = 0;
	int error = 0;

	while (at < size && !error) {
		struct chunk_head head;
		size_t length = 0;
		const size_t before = chunk_length(bytes + at, bytes + size, &length);

		if (!before || length > size - at - before ||
		    !chunk_has_prefix(bytes + at + before, length))
			break;
		if (!chunk_head(bytes + at + before, length, &head))
			error = index_chunk(target, &head, at, before + length);
		at += before + length;
	}
	*ret_used = at;
	return error;
}

static int write_bytes(struct trace_writer *target, const void *bytes, size_t size)
{
	struct writer_file *file = &target->file;
	size_t used;
	int error = index_bytes(target, bytes, size, &used);

	if (error)
		return out_of_memory(file->path);
	error = pwrite_all(file->fd, bytes, used, 0);
	if (error)
		return error_set(error, "write '%s': %s", file->path, strerror(-error));
	file->size = used;
	error = segment_write_index(target);
	if (!error)
		error = segment_write_end(target);
	return error ? error : check_close(file);
}

int trace_cut_bytes(const void *bytes, size_t size, const char *path)
{
	const struct trace_writer_options options = {.only_traces = true};
	struct trace_writer *target;
	int error;

	if (access(path, F_OK) == 0)
		return error_set(-EEXIST, "'%s': the file exists", path);
	error = writer_new(path, &options, &target);
	if (error)
		return error;
	error = empty_target(target);
	if (!error)
		error = write_bytes(target, bytes, size);
	if (error) {
		trace_writer_abandon(target);
		return error;
	}
	writer_release(target);
	return 0;
}
