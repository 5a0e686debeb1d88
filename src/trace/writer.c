/* SPDX-License-Identifier: MIT
 *
 * trace/writer.c - collect rows into chunks and append them to a file
 *
 * Runs in:  the recorder (and importers), one thread per writer
 * Gets:     rows, entities, texts and code contents; gives a file in which all written rows remain
 *           readable after any crash
 * Owns:     the file descriptor (locked), the rows that are not written yet, all texts
 * Fails:    -errno with the path in the chain. A failed write loses its chunk; the loss is counted
 *           and recorded in loss rows. The next chunk is written as usual, because the disk may
 *           have space again.
 * Why chunks are written once a second: a chunk of one row takes 68 bytes, one of ten rows 90, one
 *           of a hundred rows 248 (measured). A thread with 100 calls per second would take 9 bytes
 *           per row if written every 100 ms, and takes 2.5 if written every second. A kill -9 loses
 *           at most that second.
 */
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file/output_file.h"
#include "base/io.h"
#include "trace/writer_private.h"

#define SECOND_NS ((uint64_t)1000000000)

enum { COPY_FACTOR = 8 };

static void set_defaults(struct trace_writer_options *options)
{
	if (!options->segment_bytes)
		options->segment_bytes = (uint64_t)64 << 20;
	if (!options->segment_ns)
		options->segment_ns = 10 * SECOND_NS;
	if (!options->flush_ns)
		options->flush_ns = SECOND_NS;
	if (!options->level)
		options->level = 1;
	/* only whole segments are dropped, so larger ones would make the limits coarse */
	if (options->max_bytes && options->segment_bytes > options->max_bytes / 16)
		options->segment_bytes = options->max_bytes / 16 + 1;
	if (options->keep_ns && options->segment_ns > options->keep_ns / 4)
		options->segment_ns = options->keep_ns / 4 + 1;
}

/* Stores the real name of a file that was created, to remove it in trace_writer_abandon. It differs
 * from `path` if that was a dangling symbolic link. */
static int open_or_create(struct trace_writer *writer, const char *path)
{
	bool is_new = false;

	writer->file.fd = output_file_open(path, O_RDWR, 0600, &is_new);
	if (writer->file.fd >= 0 && is_new)
		writer->file.created = realpath(path, NULL);
	return writer->file.fd < 0 ? writer->file.fd : 0;
}

/* A trace contains private data of its user: only its owner may read it. An existing file may have
 * another mode. */
static void make_private(const struct trace_writer *writer, const struct stat *status)
{
	if (S_ISREG(status->st_mode) && (status->st_mode & 07777) != 0600 &&
	    status->st_uid == geteuid())
		fchmod(writer->file.fd, 0600);
}

/* Whether a recording may replace the content: there is none, or it begins like a trace. */
static bool is_replaceable(const struct trace_writer *writer, const struct stat *status)
{
	return !writer->options.only_traces || !S_ISREG(status->st_mode) || !status->st_size ||
	       chunk_begins_file(writer->file.fd);
}

static int open_file(struct trace_writer *writer, const char *path)
{
	struct stat status;
	int error = open_or_create(writer, path);

	if (error)
		return error;
	if (flock(writer->file.fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		free(writer->file.created); /* another writer has opened and locked the new file
					       since */
		writer->file.created = NULL;
		return error_set(-EBUSY,
				 "'%s' is in use by another recording of duet; choose another "
				 "name or stop that recording",
				 path);
	}
	if (fstat(writer->file.fd, &status))
		return error_set(-errno, "stat '%s': %s", path, strerror(errno));
	if (!is_replaceable(writer, &status))
		return error_set(-EEXIST,
				 "'%s' is not a trace, and the recording would replace it; choose "
				 "another name, or remove that file",
				 path);
	make_private(writer, &status);
	writer->file.is_regular = S_ISREG(status.st_mode);
	writer->file.is_held = writer->file.is_regular && status.st_size > 0;
	if (!writer->file.is_regular && (writer->options.keep_ns || writer->options.max_bytes))
		return error_set(-EINVAL,
				 "'%s' is not a regular file: --keep and --max-size cannot drop "
				 "its oldest part",
				 path);
	return 0;
}

void writer_release(struct trace_writer *writer)
{
	row_buffer_fini(&writer->buffer);
	for (uint32_t kind = 0; kind <= EVENT_ENTITY_LAST; kind++) {
		free(writer->entities.tables[kind].rows);
		free(writer->entities.tables[kind].flags);
		free(writer->entities.tables[kind].dirty);
		hash_map_fini(&writer->entities.tables[kind].by_id);
	}
	chunk_packer_fini(&writer->packer);
	shorten_fini(writer);
	hash_map_fini(&writer->contents.by_hash);
	hash_map_fini(&writer->pairs.by_clock);
	string_table_fini(&writer->strings);
	free(writer->message.bytes);
	free(writer->dictionary.ids);
	free(writer->dictionary.strings);
	segment_stacks_fini(&writer->stacks);
	free(writer->contents.items);
	free(writer->pairs.items);
	free(writer->segments.items);
	free(writer->index.entries);
	free(writer->index.written);
	free(writer->losses.rows);
	free(writer->file.path);
	free(writer->file.created);
	reserve_release(writer);
	if (writer->file.fd >= 0)
		close(writer->file.fd);
	free(writer);
}

int writer_empty_file(struct trace_writer *writer)
{
	if (!writer->file.is_held)
		return 0;
	if (ftruncate(writer->file.fd, 0))
		return -errno;
	writer->file.is_held = false;
	reserve_take(writer);
	return 0;
}

static void remove_file(const struct trace_writer *writer)
{
	struct stat own, named;

	if (fstat(writer->file.fd, &own) == 0 && lstat(writer->file.created, &named) == 0 &&
	    own.st_dev == named.st_dev && own.st_ino == named.st_ino)
		unlink(writer->file.created);
}

void trace_writer_abandon(struct trace_writer *writer)
{
	if (!writer)
		return;
	if (writer->file.created)
		remove_file(writer);
	else if (writer->file.fd >= 0 && writer->file.is_regular && !writer->file.is_held &&
		 ftruncate(writer->file.fd, 0)) {
		/* on failure an empty trace remains in a file that was empty before */
	}
	writer_release(writer);
}

int trace_writer_begin(struct trace_writer *writer)
{
	return segment_begin(writer);
}

int writer_new(const char *path, const struct trace_writer_options *options,
	       struct trace_writer **ret_writer)
{
	struct trace_writer *writer = calloc(1, sizeof(*writer));
	int error;

	if (!writer)
		return error_set(-ENOMEM, "create '%s': out of memory", path);
	writer->file.fd = writer->file.reserve_fd = -1;
	if (options)
		writer->options = *options;
	set_defaults(&writer->options);
	writer->usual_flush_ns = writer->options.flush_ns;
	writer->usual_segment_ns = writer->options.segment_ns;
	chunk_packer_init(&writer->packer, writer->options.level);
	writer->file.path = strdup(path);
	writer->segments.first = 1;
	error = writer->file.path ? open_file(writer, path)
				  : error_set(-ENOMEM, "create '%s': out of memory", path);
	if (error) {
		trace_writer_abandon(writer);
		return error;
	}
	*ret_writer = writer;
	return 0;
}

int trace_writer_open(const char *path, const struct trace_writer_options *options,
		      struct trace_writer **ret_writer)
{
	struct trace_writer *writer;
	int error = writer_new(path, options, &writer);

	if (error)
		return error;
	if (!writer->file.is_held)
		reserve_take(writer);
	if (!(writer->options.hold && writer->file.is_held))
		error = segment_begin(writer);
	if (error) {
		trace_writer_abandon(writer);
		return error;
	}
	*ret_writer = writer;
	return 0;
}

const char *trace_writer_text(const struct trace_writer *writer, uint32_t id)
{
	return string_table_text(&writer->strings, id, NULL);
}

void trace_writer_set_pace(struct trace_writer *writer, uint64_t flush_ns, uint64_t segment_ns)
{
	struct trace_writer_options *options = &writer->options;

	writer->is_followed = segment_ns != 0;
	options->flush_ns = writer->usual_flush_ns;
	if (flush_ns && flush_ns < options->flush_ns)
		options->flush_ns = flush_ns;
	options->segment_ns = writer->usual_segment_ns;
	if (segment_ns && segment_ns < options->segment_ns)
		options->segment_ns = segment_ns;
}

int trace_writer_open_again(const struct trace_writer *writer)
{
	char path[64];
	int fd;

	if (!writer->file.is_regular)
		return -ENOTSUP;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", writer->file.fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

uint64_t trace_writer_offset_at(const struct trace_writer *writer, uint64_t time_ns)
{
	const struct segment_list *segments = &writer->segments;
	size_t i = segments->count;

	if (!i || writer->shortening.is_active)
		return 0;
	while (--i && segments->items[i].begin_ns > time_ns)
		continue;
	return segments->items[i].offset;
}

uint32_t trace_writer_string(struct trace_writer *writer, const char *text, size_t length)
{
	if (length > TRACE_STRING_LIMIT)
		length = TRACE_STRING_LIMIT;
	return string_table_add(&writer->strings, text, length);
}

uint32_t trace_writer_find_string(const struct trace_writer *writer, const char *text,
				  size_t length)
{
	return string_table_find(&writer->strings, text, length);
}

/* ---- appending ---- */

static int append_bytes(struct trace_writer *writer, const uint8_t *bytes, size_t size)
{
	int error = writer_empty_file(writer);

	if (!error)
		error = pwrite_all(writer->file.fd, bytes, size, writer->file.size);
	writer->file.is_failing = error != 0;
	if (!error) {
		writer->file.size += size;
		writer->stats.bytes += size;
		if (size > writer->file.largest_chunk)
			writer->file.largest_chunk = size;
		return 0;
	}
	/* remove the partial chunk; if that fails, the next write overwrites it */
	if (!writer->file.is_held && ftruncate(writer->file.fd, (off_t)writer->file.size)) {
	}
	if (!writer->stats.error)
		writer->stats.error = error;
	return error_set(error, "write '%s': %s", writer->file.path, strerror(-error));
}

static void add_index_entry(struct trace_writer *writer, const struct chunk_head *head,
			    uint64_t offset)
{
	if (head->kind == TRACE_INDEX || head->kind == TRACE_END)
		return;
	if (array_grow(writer->index.entries, writer->index.entries_capacity,
		       writer->index.entries_count + 1)) {
		writer->index.is_incomplete = true;
		return;
	}
	writer->index.entries[writer->index.entries_count++] = (struct trace_index_row){
		.back = offset,
		.bytes = writer->file.size - offset,
		.first = head->first,
		.last = head->last,
		.sequence = head->sequence,
		.kind = head->kind,
		.source = head->source,
		.clock = head->clock,
		.seen_clock = head->seen_clock,
		.segment = head->segment,
		.rows = head->rows,
		.flags = head->flags,
	};
}

/* Enforces max_bytes. Old segments are dropped long before the file reaches it. If the data that
 * every segment repeats are too large, rows are lost. The last 1/32 is reserved for loss rows,
 * segment heads (which drop the oldest segments) and the index. */
static int check_limit(struct trace_writer *writer, uint32_t kind, size_t size)
{
	uint64_t most = writer->options.max_bytes;

	if (kind != TRACE_SEGMENT && kind != TRACE_INDEX && kind != TRACE_END && kind != EVENT_LOSS)
		most -= most / 32;
	if (!most || writer->file.size - writer->file.hole_bytes + size <= most)
		return 0;
	writer->file.is_failing = true;
	if (!writer->stats.error)
		writer->stats.error = -EFBIG;
	return error_set(-EFBIG,
			 "write '%s': the limit of %llu bytes is too small for this recording; "
			 "raise --max-size",
			 writer->file.path, (unsigned long long)writer->options.max_bytes);
}

int writer_append(struct trace_writer *writer, struct chunk_head *head,
		  const struct chunk_payload *payload)
{
	uint64_t offset = writer->file.size;
	int error;

	head->segment = writer->segments.present;
	head->sequence = writer->sequence + 1;
	error = chunk_pack(&writer->packer, head, payload);
	if (error)
		return error_set(error, "write '%s': %s", writer->file.path, strerror(-error));
	error = check_limit(writer, head->kind, writer->packer.size);
	if (error)
		return error;
	error = append_bytes(writer, writer->packer.bytes, writer->packer.size);
	if (error)
		return error;
	writer->sequence++;
	add_index_entry(writer, head, offset);
	return 0;
}

int writer_append_bytes(struct trace_writer *writer, struct chunk_head *head, const void *payload,
			size_t size)
{
	struct chunk_payload whole = {payload, size, NULL, 0};

	return writer_append(writer, head, &whole);
}

int writer_append_rows(struct trace_writer *writer, struct chunk_head *head, const void *rows,
		       size_t count)
{
	struct trace_translator translator = {segment_local_string, writer};
	struct trace_message *message = &writer->message;
	struct chunk_payload payload;
	int error = segment_write_stacks(writer, head->kind, rows, count);

	if (error)
		return error;
	error = trace_encode(trace_format_find(head->kind), rows, count, &translator, message);
	if (error)
		return error_set(error, "write '%s': out of memory", writer->file.path);
	error = segment_write_strings(writer);
	if (error)
		return error;
	head->rows = (uint32_t)count;
	payload = (struct chunk_payload){message->bytes, message->size, message->ends,
					 message->ends_count};
	return writer_append(writer, head, &payload);
}

/* ---- rows ---- */

void writer_count_lost(struct trace_writer *writer, const struct lost_rows *what)
{
	struct lost_rows *lost;
	size_t i = 0;

	writer->stats.rows_lost += what->count;
	while (i < writer->losses.count && (writer->losses.rows[i].kind != what->kind ||
					    writer->losses.rows[i].clock != what->clock))
		i++;
	if (i == writer->losses.count) {
		if (array_grow(writer->losses.rows, writer->losses.capacity, i + 1))
			return;
		writer->losses.rows[writer->losses.count++] =
			(struct lost_rows){what->kind, what->clock, UINT64_MAX, 0, 0};
	}
	lost = &writer->losses.rows[i];
	lost->begin = what->begin < lost->begin ? what->begin : lost->begin;
	lost->end = what->end > lost->end ? what->end : lost->end;
	lost->count += what->count;
}

static void count_lost_chunk(struct trace_writer *writer, const struct open_chunk *chunk)
{
	struct lost_rows lost = {
		.kind = chunk->kind,
		.clock = chunk->by_seen ? chunk->source.seen_clock : chunk->source.clock,
		.begin = chunk->first,
		.end = chunk->last,
		.count = chunk->count,
	};

	writer_count_lost(writer, &lost);
}

static int append_open_chunk(struct trace_writer *writer, struct open_chunk *chunk)
{
	const struct trace_format *format = trace_format_find(chunk->kind);
	struct chunk_head head = {
		.kind = chunk->kind,
		.source = chunk->source.source,
		.clock = chunk->source.clock,
		.seen_clock = chunk->source.seen_clock,
		.flags = chunk->by_seen ? TRACE_BY_SEEN : 0,
		.first = chunk->first,
		.last = chunk->last,
		.lateness = chunk->lateness,
	};
	int error = segment_begin(writer);

	if (!error)
		error = segment_write_entities(writer);
	if (!error && !chunk->is_sorted)
		error = trace_sort(chunk->rows, chunk->count, format->row_size, chunk->key_offset,
				   FIELD_U64);
	chunk->is_sorted |= !error;
	return error ? error : writer_append_rows(writer, &head, chunk->rows, chunk->count);
}

/* Writes the rows of the chunk or counts them as lost; the chunk is empty then. */
static int write_open_chunk(struct trace_writer *writer, struct open_chunk *chunk)
{
	int error = chunk->count ? append_open_chunk(writer, chunk) : 0;

	if (!error)
		writer->stats.rows += chunk->kind == EVENT_LOSS ? 0 : chunk->count;
	else if (chunk->kind == EVENT_LOSS && chunk->count < TRACE_CHUNK_ROWS)
		return error; /* loss rows are kept until the file can be written again */
	else
		count_lost_chunk(writer, chunk);
	chunk->count = 0;
	chunk->since_ns = 0;
	return error;
}

int writer_write_open_chunks(struct trace_writer *writer)
{
	int first_error = 0;

	for (uint32_t i = 0; i < writer->buffer.count; i++) {
		int error = write_open_chunk(writer, &writer->buffer.chunks[i]);

		first_error = first_error ? first_error : error;
	}
	return first_error;
}

static void remember_pair(struct trace_writer *writer, const struct trace_source *source,
			  const struct event_clock_pair *pair)
{
	size_t i = hash_map_get(&writer->pairs.by_clock, source->clock, writer->pairs.count);

	if (i < writer->pairs.count && pair->time < writer->pairs.items[i].pair.time)
		return;
	if (i == writer->pairs.count) {
		if (array_grow(writer->pairs.items, writer->pairs.capacity, i + 1) ||
		    hash_map_put(&writer->pairs.by_clock, source->clock, i))
			return;
		writer->pairs.count++;
	}
	writer->pairs.items[i] = (struct last_pair){*source, *pair};
}

/* Writes the largest chunk and frees its memory. */
static int write_largest_chunk(struct trace_writer *writer)
{
	struct open_chunk *largest = row_buffer_largest(&writer->buffer);
	int error;

	if (!largest)
		return 0;
	error = write_open_chunk(writer, largest);
	if (!largest->count)
		row_buffer_release(&writer->buffer, largest);
	return error;
}

static bool is_segment_full(const struct trace_writer *writer)
{
	return writer->segments.is_open &&
	       writer->file.size - writer->segments.items[writer->segments.count - 1].offset >=
		       writer->options.segment_bytes;
}

int writer_settle(struct trace_writer *writer, uint64_t before, int error)
{
	uint64_t most = writer->options.max_bytes;
	bool is_tight = most && (error == -EFBIG ||
				 writer->file.size - writer->file.hole_bytes > most / 8 * 7);
	int ended = is_tight || is_segment_full(writer) ? segment_end(writer) : 0;

	shorten_step(writer, is_tight ? UINT64_MAX : COPY_FACTOR * (writer->stats.bytes - before));
	return ended;
}

/* After a row: writes the chunk if it is full, or the largest chunk if memory is over budget. */
static int write_full(struct trace_writer *writer, struct open_chunk *chunk)
{
	uint64_t before = writer->stats.bytes;
	int error, ended;

	if (chunk->count == TRACE_CHUNK_ROWS)
		error = write_open_chunk(writer, chunk);
	else if (row_buffer_is_over_budget(&writer->buffer))
		error = write_largest_chunk(writer);
	else
		return 0;
	ended = writer_settle(writer, before, error);
	return error ? error : ended;
}

int trace_writer_row(struct trace_writer *writer, enum event_kind kind,
		     const struct trace_source *source, const void *row)
{
	const struct trace_format *format = trace_format_find(kind);
	const struct event_execution *execution = row;
	bool by_seen = kind == EVENT_EXECUTION && !(execution->valid & EXECUTION_STARTED);
	struct open_chunk *chunk;
	int error;

	if (kind < EVENT_API || kind >= EVENT_KIND_COUNT || !format)
		return error_set(-EINVAL, "rows of kind %d cannot be written", kind);
	if (writer->options.has_row && !writer->options.has_row(writer->options.context, kind, row))
		return 0;
	chunk = row_buffer_append(&writer->buffer, kind, source, by_seen, row, format->row_size);
	if (!chunk) {
		writer->stats.rows_lost++;
		return error_set(-ENOMEM, "write '%s': out of memory", writer->file.path);
	}
	if (kind == EVENT_CLOCK_PAIR)
		remember_pair(writer, source, row);
	error = write_full(writer, chunk);
	if (error || !writer->file.is_failing)
		return error;
	return writer->stats.error;
}

/* ---- flush and close ---- */

/* Appends a loss row for each kind and clock of lost rows. */
static void append_losses(struct trace_writer *writer)
{
	struct lost_rows *rows = writer->losses.rows;
	size_t count = writer->losses.count;

	/* writing these rows may lose others; the next call reports them */
	writer->losses.rows = NULL;
	writer->losses.count = writer->losses.capacity = 0;
	for (size_t i = 0; i < count; i++) {
		const struct lost_rows *lost = &rows[i];
		struct trace_source source = {.clock = lost->clock};
		/* a lost content has the time of the flush before it, 0 if there was none */
		bool is_timed = lost->kind != EVENT_CODE || lost->begin;
		struct event_loss row = {.begin = is_timed ? lost->begin : writer->now_ns,
					 .end = lost->end ? lost->end : writer->now_ns,
					 .kind = lost->kind,
					 .reason = LOSS_DISK,
					 .count = lost->count};

		trace_writer_row(writer, EVENT_LOSS, &source, &row);
	}
	free(rows);
}

/* Writes chunks with a row older than flush_ns. The age of a row counts from the flush before
 * it. */
static int write_old_chunks(struct trace_writer *writer, uint64_t now_ns)
{
	uint64_t last = writer->last_flush_ns ? writer->last_flush_ns : now_ns;
	int first_error = 0;

	for (uint32_t i = 0; i < writer->buffer.count; i++) {
		struct open_chunk *chunk = &writer->buffer.chunks[i];
		int error = 0;

		if (chunk->count && !chunk->since_ns)
			chunk->since_ns = last;
		if (chunk->count && now_ns - chunk->since_ns >= writer->options.flush_ns)
			error = write_open_chunk(writer, chunk);
		if (!chunk->count && chunk->rows && chunk->capacity < TRACE_CHUNK_ROWS)
			row_buffer_release(&writer->buffer, chunk);
		else if (!chunk->count && chunk->rows && !chunk->since_ns)
			chunk->since_ns = now_ns; /* a busy chunk keeps its memory for a second */
		else if (!chunk->count && chunk->rows && now_ns - chunk->since_ns >= SECOND_NS)
			row_buffer_release(&writer->buffer, chunk);
		first_error = first_error ? first_error : error;
	}
	row_buffer_forget_idle(&writer->buffer);
	return first_error;
}

static int write_old_entities(struct trace_writer *writer, uint64_t now_ns)
{
	int error;

	if (!writer->entities.has_dirty)
		return 0;
	if (!writer->entities.dirty_since_ns)
		writer->entities.dirty_since_ns =
			writer->last_flush_ns ? writer->last_flush_ns : now_ns;
	if (now_ns - writer->entities.dirty_since_ns < writer->options.flush_ns)
		return 0;
	error = segment_begin(writer);
	return error ? error : segment_write_entities(writer);
}

/* A follower learns from the next head that the segment has all rows of its time. The first rows
 * after it are written later. */
static int end_segment(struct trace_writer *writer)
{
	int error = segment_end(writer), next_error = 0;

	if (writer->is_followed)
		next_error = segment_begin(writer);
	return error ? error : next_error;
}

int trace_writer_flush(struct trace_writer *writer, uint64_t now_ns)
{
	uint64_t before = writer->stats.bytes;
	int error, entities_error, ended = 0;

	writer->now_ns = now_ns;
	if (writer->segments.is_open && !writer->segments.since_ns)
		writer->segments.since_ns = now_ns;
	if (writer->losses.count && !writer->file.is_failing)
		append_losses(writer);
	error = write_old_chunks(writer, now_ns);
	entities_error = write_old_entities(writer, now_ns);
	if (writer->segments.is_open &&
	    (now_ns - writer->segments.since_ns >= writer->options.segment_ns ||
	     is_segment_full(writer)))
		ended = end_segment(writer);
	error = error ? error : entities_error;
	writer_settle(writer, before, error);
	shorten_step(writer, (uint64_t)4 << 20);
	writer->last_flush_ns = now_ns;
	return error ? error : ended;
}

int trace_writer_flush_all(struct trace_writer *writer, uint64_t now_ns)
{
	const uint64_t usual_ns = writer->options.flush_ns;
	int error;

	writer->options.flush_ns = 0;
	error = trace_writer_flush(writer, now_ns);
	writer->options.flush_ns = usual_ns;
	return error;
}

void trace_writer_stats(const struct trace_writer *writer, struct trace_writer_stats *ret_stats)
{
	*ret_stats = writer->stats;
}

int trace_writer_close(struct trace_writer *writer, uint64_t now_ns)
{
	return trace_writer_finish(writer, now_ns, NULL);
}

int trace_writer_finish(struct trace_writer *writer, uint64_t now_ns,
			struct trace_writer_stats *ret_stats)
{
	int error, end_error, first_error;

	if (!writer)
		return 0;
	writer->now_ns = now_ns;
	if (writer->file.is_held)
		trace_writer_begin(writer);
	error = writer_write_open_chunks(writer);
	end_error = writer->stacks.named_count ? segment_begin(writer) : 0;
	if (!end_error && writer->stacks.named_count)
		end_error = segment_write_needed(writer);
	error = error ? error : end_error;
	reserve_release(writer);
	if (writer->losses.count)
		append_losses(writer);
	end_error = segment_end(writer);
	error = error ? error : end_error;
	end_error = segment_write_end(writer);
	error = error ? error : end_error;
	first_error = writer->stats.error;
	if (first_error)
		error = error_set(first_error, "write '%s': %s; %llu rows were lost",
				  writer->file.path, strerror(-first_error),
				  (unsigned long long)writer->stats.rows_lost);
	if (close(writer->file.fd) && !error)
		error = error_set(-errno, "close '%s': %s", writer->file.path, strerror(errno));
	writer->file.fd = -1;
	if (ret_stats)
		*ret_stats = writer->stats;
	writer_release(writer);
	return error;
}
