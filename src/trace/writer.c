/* SPDX-License-Identifier: MIT
 *
 * trace/writer.c - collect rows into chunks and append them to a file
 *
 * Runs in:  the recorder (and importers), one thread per writer
 * Gets:     rows, things, texts and code contents; gives a file of which everything written can be
 *           read again whatever happens next
 * Owns:     the file descriptor (locked), the rows that are not written yet, all texts
 * Fails:    -errno with the path in the chain; a failed write costs its chunk, is counted, told in
 *           loss rows, and the next chunk is tried again: space may have come back
 * Why 1 s:  a chunk of one row takes 68 bytes, ten rows 90, a hundred 248 (measured): written every
 *           100 ms, a thread with 100 calls a second would take 9 bytes for a row, written every
 *           second 2.5; and a kill -9 costs at most that second
 */
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/io.h"
#include "base/output_file.h"
#include "trace/writer_private.h"

#define SECOND_NS ((uint64_t)1000000000)

enum { FIRST_ROWS = 32, IDLE_CHUNKS = 64, COPY_FACTOR = 8 };

/* Rows waiting in memory: 6 MiB for a handful of sources; many sources get 32 KiB per open chunk,
 * about 500 rows, up to 48 MiB. */
#define BUFFER_BASE      ((size_t)6 << 20)
#define BUFFER_PER_CHUNK ((size_t)32 << 10)
#define BUFFER_LIMIT     ((size_t)48 << 20)

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
	/* what is dropped are whole segments: the limits would be coarse with larger ones */
	if (options->max_bytes && options->segment_bytes > options->max_bytes / 16)
		options->segment_bytes = options->max_bytes / 16 + 1;
	if (options->keep_ns && options->segment_ns > options->keep_ns / 4)
		options->segment_ns = options->keep_ns / 4 + 1;
}

/* What is made is remembered by its own name, which is another than `path` where that is a link to nothing. */
static int open_or_create(struct trace_writer *writer, const char *path)
{
	bool is_new = false;

	writer->fd = output_file_open(path, O_RDWR, 0600, &is_new);
	if (writer->fd >= 0 && is_new)
		writer->created = realpath(path, NULL);
	return writer->fd < 0 ? writer->fd : 0;
}

/* A trace contains what its user did: only its owner may read it. A file that was there may have had another mode. */
static void make_private(const struct trace_writer *writer, const struct stat *status)
{
	if (S_ISREG(status->st_mode) && (status->st_mode & 07777) != 0600 &&
	    status->st_uid == geteuid())
		fchmod(writer->fd, 0600);
}

static int open_file(struct trace_writer *writer, const char *path)
{
	struct stat status;
	int error = open_or_create(writer, path);

	if (error)
		return error;
	if (flock(writer->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		free(writer->created); /* the other has found it in between */
		writer->created = NULL;
		return error_set(-EBUSY,
				 "'%s' is being recorded into by another duet: choose another "
				 "name or end that one",
				 path);
	}
	if (fstat(writer->fd, &status))
		return error_set(-errno, "stat '%s': %s", path, strerror(errno));
	make_private(writer, &status);
	writer->is_regular = S_ISREG(status.st_mode);
	writer->is_held = writer->is_regular && status.st_size > 0;
	if (!writer->is_regular && (writer->options.keep_ns || writer->options.max_bytes))
		return error_set(-EINVAL,
				 "'%s' is not a regular file: its length cannot be limited", path);
	return 0;
}

static void free_writer(struct trace_writer *writer)
{
	for (uint32_t i = 0; i < writer->chunks_count; i++)
		free(writer->chunks[i].rows);
	for (uint32_t kind = 0; kind <= EVENT_THING_LAST; kind++) {
		free(writer->things[kind].rows);
		free(writer->things[kind].flags);
		free(writer->things[kind].dirty);
		hash_map_fini(&writer->things[kind].by_id);
	}
	chunk_packer_fini(&writer->packer);
	shorten_fini(writer);
	hash_map_fini(&writer->chunks_by_key);
	hash_map_fini(&writer->contents_by_hash);
	hash_map_fini(&writer->pairs_by_clock);
	string_table_fini(&writer->strings);
	free(writer->message.bytes);
	free(writer->chunks);
	free(writer->local_ids);
	free(writer->local_strings);
	stack_table_fini(&writer->stacks);
	free(writer->needed_frames.known);
	free(writer->needed_frames.ids);
	free(writer->named);
	free(writer->needed_stacks.known);
	free(writer->needed_stacks.ids);
	free(writer->contents);
	free(writer->pairs);
	free(writer->segments);
	free(writer->entries);
	free(writer->indices);
	free(writer->lost);
	free(writer->path);
	free(writer->created);
	reserve_release(writer);
	if (writer->fd >= 0)
		close(writer->fd);
	free(writer);
}

static int empty_file(struct trace_writer *writer)
{
	if (!writer->is_held)
		return 0;
	if (ftruncate(writer->fd, 0))
		return -errno;
	writer->is_held = false;
	reserve_take(writer);
	return 0;
}

static void remove_file(const struct trace_writer *writer)
{
	struct stat own, named;

	if (fstat(writer->fd, &own) == 0 && lstat(writer->created, &named) == 0 &&
	    own.st_dev == named.st_dev && own.st_ino == named.st_ino)
		unlink(writer->created);
}

void trace_writer_abandon(struct trace_writer *writer)
{
	if (!writer)
		return;
	if (writer->created)
		remove_file(writer);
	else if (writer->fd >= 0 && writer->is_regular && !writer->is_held &&
		 ftruncate(writer->fd, 0)) {
		/* it was empty before, and what is in it now is a trace of nothing */
	}
	free_writer(writer);
}

int trace_writer_begin(struct trace_writer *writer)
{
	return segment_begin(writer);
}

int trace_writer_open(const char *path, const struct trace_writer_options *options,
		      struct trace_writer **ret_writer)
{
	struct trace_writer *writer = calloc(1, sizeof(*writer));
	int error;

	if (!writer)
		return error_set(-ENOMEM, "create '%s': out of memory", path);
	writer->fd = writer->reserve_fd = -1;
	if (options)
		writer->options = *options;
	set_defaults(&writer->options);
	chunk_packer_init(&writer->packer, writer->options.level);
	string_table_init(&writer->strings);
	writer->path = strdup(path);
	writer->first_segment = 1;
	error = writer->path ? open_file(writer, path)
			     : error_set(-ENOMEM, "create '%s': out of memory", path);
	if (!error && !writer->is_held)
		reserve_take(writer);
	if (!error && !(writer->options.hold && writer->is_held))
		error = segment_begin(writer);
	if (error) {
		trace_writer_abandon(writer);
		return error;
	}
	*ret_writer = writer;
	return 0;
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
	int error = empty_file(writer);

	if (!error)
		error = pwrite_all(writer->fd, bytes, size, writer->size);
	writer->is_failing = error != 0;
	if (!error) {
		writer->size += size;
		writer->stats.bytes += size;
		if (size > writer->largest_chunk)
			writer->largest_chunk = size;
		return 0;
	}
	/* half a chunk would cost nothing but a reader's complaint; the next write covers it */
	if (!writer->is_held && ftruncate(writer->fd, (off_t)writer->size)) {
	}
	if (!writer->stats.error)
		writer->stats.error = error;
	return error_set(error, "write '%s': %s", writer->path, strerror(-error));
}

static void note_entry(struct trace_writer *writer, const struct chunk_head *head, uint64_t offset)
{
	if (head->kind == TRACE_INDEX || head->kind == TRACE_END)
		return;
	if (array_grow(writer->entries, writer->entries_capacity, writer->entries_count + 1)) {
		writer->is_index_incomplete = true;
		return;
	}
	writer->entries[writer->entries_count++] = (struct trace_index_row){
		.back = offset,
		.bytes = writer->size - offset,
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

/* Segments are dropped long before max_bytes is reached. Where that is not enough, because what every
 * segment repeats is too large, the limit holds and rows are lost; the last part is for what says so and
 * for the segment heads, by which the oldest are dropped. */
static int check_limit(struct trace_writer *writer, uint32_t kind, size_t size)
{
	uint64_t most = writer->options.max_bytes;

	if (kind != TRACE_SEGMENT && kind != TRACE_INDEX && kind != TRACE_END && kind != EVENT_LOSS)
		most -= most / 32;
	if (!most || writer->size + size <= most)
		return 0;
	writer->is_failing = true;
	if (!writer->stats.error)
		writer->stats.error = -EFBIG;
	return error_set(-EFBIG,
			 "write '%s': its limit of %llu bytes is too small for what it holds",
			 writer->path, (unsigned long long)writer->options.max_bytes);
}

int writer_append(struct trace_writer *writer, struct chunk_head *head,
		  const struct chunk_payload *payload)
{
	uint64_t offset = writer->size;
	int error;

	head->segment = writer->segment;
	head->sequence = writer->sequence + 1;
	error = chunk_pack(&writer->packer, head, payload);
	if (error)
		return error_set(error, "write '%s': %s", writer->path, strerror(-error));
	error = check_limit(writer, head->kind, writer->packer.size);
	if (error)
		return error;
	error = append_bytes(writer, writer->packer.bytes, writer->packer.size);
	if (error)
		return error;
	writer->sequence++;
	note_entry(writer, head, offset);
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
		return error_set(error, "write '%s': out of memory", writer->path);
	error = segment_write_strings(writer);
	if (error)
		return error;
	head->rows = (uint32_t)count;
	payload = (struct chunk_payload){message->bytes, message->size, message->ends,
					 message->ends_count};
	return writer_append(writer, head, &payload);
}

/* ---- rows ---- */

void writer_note_lost(struct trace_writer *writer, const struct lost_rows *what)
{
	struct lost_rows *lost;
	size_t i = 0;

	writer->stats.rows_lost += what->count;
	while (i < writer->lost_count &&
	       (writer->lost[i].kind != what->kind || writer->lost[i].clock != what->clock))
		i++;
	if (i == writer->lost_count) {
		if (array_grow(writer->lost, writer->lost_capacity, i + 1))
			return;
		writer->lost[writer->lost_count++] =
			(struct lost_rows){what->kind, what->clock, UINT64_MAX, 0, 0};
	}
	lost = &writer->lost[i];
	lost->begin = what->begin < lost->begin ? what->begin : lost->begin;
	lost->end = what->end > lost->end ? what->end : lost->end;
	lost->count += what->count;
}

static void note_lost(struct trace_writer *writer, const struct open_chunk *chunk)
{
	struct lost_rows lost = {
		.kind = chunk->kind,
		.clock = chunk->by_seen ? chunk->source.seen_clock : chunk->source.clock,
		.begin = chunk->first,
		.end = chunk->last,
		.count = chunk->count,
	};

	writer_note_lost(writer, &lost);
}

static void release_rows(struct trace_writer *writer, struct open_chunk *chunk)
{
	writer->buffered_bytes -= chunk->capacity * trace_format_find(chunk->kind)->row_size;
	free(chunk->rows);
	chunk->rows = NULL;
	chunk->capacity = 0;
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
		error = segment_write_things(writer);
	if (!error && !chunk->is_sorted)
		error = trace_sort(chunk->rows, chunk->count, format->row_size, chunk->key_offset,
				   FIELD_U64);
	chunk->is_sorted |= !error;
	return error ? error : writer_append_rows(writer, &head, chunk->rows, chunk->count);
}

/* Empties the chunk, into the file or into the losses. */
static int write_open_chunk(struct trace_writer *writer, struct open_chunk *chunk)
{
	int error = chunk->count ? append_open_chunk(writer, chunk) : 0;

	if (!error)
		writer->stats.rows += chunk->kind == EVENT_LOSS ? 0 : chunk->count;
	else if (chunk->kind == EVENT_LOSS && chunk->count < TRACE_CHUNK_ROWS)
		return error; /* what was lost is told when the file can be written again */
	else
		note_lost(writer, chunk);
	chunk->count = 0;
	chunk->since_ns = 0;
	return error;
}

int writer_write_open_chunks(struct trace_writer *writer)
{
	int first_error = 0;

	for (uint32_t i = 0; i < writer->chunks_count; i++) {
		int error = write_open_chunk(writer, &writer->chunks[i]);

		first_error = first_error ? first_error : error;
	}
	return first_error;
}

static uint64_t chunk_key(uint32_t kind, const struct trace_source *source, bool by_seen)
{
	return (uint64_t)source->clock << 32 ^ source->source ^
	       (uint64_t)source->seen_clock * 0x9e3779b97f4a7c15u ^ (uint64_t)kind << 56 ^
	       (uint64_t)by_seen << 63;
}

static bool is_chunk_of(const struct open_chunk *chunk, uint32_t kind,
			const struct trace_source *source, bool by_seen)
{
	return chunk->kind == kind && chunk->source.source == source->source &&
	       chunk->source.clock == source->clock &&
	       chunk->source.seen_clock == source->seen_clock && chunk->by_seen == by_seen;
}

static uint32_t key_offset(uint32_t kind, bool by_seen)
{
	return by_seen ? offsetof(struct event_execution, seen)
		       : trace_format_find(kind)->key_offset;
}

static struct open_chunk *add_chunk(struct trace_writer *writer, uint32_t kind,
				    const struct trace_source *source, bool by_seen)
{
	uint64_t key = chunk_key(kind, source, by_seen);
	uint32_t next = (uint32_t)hash_map_get(&writer->chunks_by_key, key, 0);
	struct open_chunk *chunk;

	if (array_grow(writer->chunks, writer->chunks_capacity, writer->chunks_count + (size_t)1) ||
	    hash_map_put(&writer->chunks_by_key, key, writer->chunks_count + (uint64_t)1))
		return NULL;
	chunk = &writer->chunks[writer->chunks_count++];
	*chunk = (struct open_chunk){.kind = kind,
				     .source = *source,
				     .by_seen = by_seen,
				     .key_offset = key_offset(kind, by_seen),
				     .next = next};
	return chunk;
}

static struct open_chunk *find_chunk(struct trace_writer *writer, uint32_t kind,
				     const struct trace_source *source, bool by_seen)
{
	uint32_t index = writer->recent[kind];
	struct open_chunk *chunk;

	if (index && is_chunk_of(&writer->chunks[index - 1], kind, source, by_seen))
		return &writer->chunks[index - 1];
	index = (uint32_t)hash_map_get(&writer->chunks_by_key, chunk_key(kind, source, by_seen), 0);
	while (index && !is_chunk_of(&writer->chunks[index - 1], kind, source, by_seen))
		index = writer->chunks[index - 1].next;
	chunk = index ? &writer->chunks[index - 1] : add_chunk(writer, kind, source, by_seen);
	if (chunk)
		writer->recent[kind] = (uint32_t)(chunk - writer->chunks) + 1;
	return chunk;
}

/* Chunks of sources that have gone are forgotten now and then. */
static void forget_idle_chunks(struct trace_writer *writer)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < writer->chunks_count; i++)
		kept += writer->chunks[i].rows != NULL;
	if (writer->chunks_count - kept < IDLE_CHUNKS + kept)
		return;
	kept = 0;
	hash_map_clear(&writer->chunks_by_key);
	memset(writer->recent, 0, sizeof(writer->recent));
	for (uint32_t i = 0; i < writer->chunks_count; i++) {
		struct open_chunk *chunk = &writer->chunks[i];
		uint64_t key = chunk_key(chunk->kind, &chunk->source, chunk->by_seen);

		if (!chunk->rows)
			continue;
		chunk->next = (uint32_t)hash_map_get(&writer->chunks_by_key, key, 0);
		writer->chunks[kept++] = *chunk;
		/* cannot fail: the map has held more than this */
		hash_map_put(&writer->chunks_by_key, key, kept);
	}
	writer->chunks_count = kept;
}

static int grow_chunk(struct trace_writer *writer, struct open_chunk *chunk, size_t row_size)
{
	size_t wanted = chunk->capacity ? chunk->capacity * 2 : FIRST_ROWS;
	char *rows;

	if (chunk->count < chunk->capacity)
		return 0;
	rows = realloc(chunk->rows, wanted * row_size);
	if (!rows)
		return -ENOMEM;
	writer->buffered_bytes += (wanted - chunk->capacity) * row_size;
	chunk->rows = rows;
	chunk->capacity = wanted;
	return 0;
}

static void push_row(struct open_chunk *chunk, const void *row, size_t row_size)
{
	uint64_t key = trace_field_read(row, chunk->key_offset, FIELD_U64);

	memcpy(chunk->rows + chunk->count * row_size, row, row_size);
	if (chunk->count++ == 0) {
		chunk->first = chunk->last = key;
		chunk->lateness = 0;
		chunk->is_sorted = true;
	} else if (key >= chunk->last) {
		chunk->last = key;
	} else {
		chunk->is_sorted = false;
		if (chunk->last - key > chunk->lateness)
			chunk->lateness = chunk->last - key;
		if (key < chunk->first)
			chunk->first = key;
	}
}

static void remember_pair(struct trace_writer *writer, const struct trace_source *source,
			  const struct event_clock_pair *pair)
{
	size_t i = hash_map_get(&writer->pairs_by_clock, source->clock, writer->pairs_count);

	if (i < writer->pairs_count && pair->time < writer->pairs[i].pair.time)
		return;
	if (i == writer->pairs_count) {
		if (array_grow(writer->pairs, writer->pairs_capacity, i + 1) ||
		    hash_map_put(&writer->pairs_by_clock, source->clock, i))
			return;
		writer->pairs_count++;
	}
	writer->pairs[i] = (struct last_pair){*source, *pair};
}

static bool is_over_budget(const struct trace_writer *writer)
{
	size_t budget = BUFFER_BASE + writer->chunks_count * BUFFER_PER_CHUNK;

	return writer->buffered_bytes > (budget < BUFFER_LIMIT ? budget : BUFFER_LIMIT);
}

/* Gives the memory of the largest chunk back. */
static int write_largest_chunk(struct trace_writer *writer)
{
	struct open_chunk *largest = NULL;
	size_t largest_bytes = 0;
	int error;

	for (uint32_t i = 0; i < writer->chunks_count; i++) {
		struct open_chunk *chunk = &writer->chunks[i];
		size_t bytes = chunk->capacity * trace_format_find(chunk->kind)->row_size;

		if (bytes > largest_bytes) {
			largest = chunk;
			largest_bytes = bytes;
		}
	}
	if (!largest)
		return 0;
	error = write_open_chunk(writer, largest);
	if (!largest->count)
		release_rows(writer, largest);
	return error;
}

static bool is_segment_full(const struct trace_writer *writer)
{
	return writer->in_segment &&
	       writer->size - writer->segments[writer->segments_count - 1].offset >=
		       writer->options.segment_bytes;
}

int writer_settle(struct trace_writer *writer, uint64_t before, int error)
{
	uint64_t most = writer->options.max_bytes;
	bool is_tight = most && (error == -EFBIG || writer->size > most / 8 * 7);
	int ended = is_tight || is_segment_full(writer) ? segment_end(writer) : 0;

	shorten_step(writer, is_tight ? UINT64_MAX : COPY_FACTOR * (writer->stats.bytes - before));
	return ended;
}

/* After a row: writes what is full. */
static int write_full(struct trace_writer *writer, struct open_chunk *chunk)
{
	uint64_t before = writer->stats.bytes;
	int error, ended;

	if (chunk->count == TRACE_CHUNK_ROWS)
		error = write_open_chunk(writer, chunk);
	else if (is_over_budget(writer))
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
	chunk = find_chunk(writer, kind, source, by_seen);
	if (!chunk || grow_chunk(writer, chunk, format->row_size)) {
		writer->stats.rows_lost++;
		return error_set(-ENOMEM, "write '%s': out of memory", writer->path);
	}
	push_row(chunk, row, format->row_size);
	if (kind == EVENT_CLOCK_PAIR)
		remember_pair(writer, source, row);
	error = write_full(writer, chunk);
	if (error || !writer->is_failing)
		return error;
	return writer->stats.error;
}

/* ---- flush and close ---- */

/* What could not be written becomes rows itself as soon as something can be written. */
static void tell_losses(struct trace_writer *writer)
{
	struct lost_rows *told = writer->lost;
	size_t count = writer->lost_count;

	/* Writing these may lose others, which are told the next time. */
	writer->lost = NULL;
	writer->lost_count = writer->lost_capacity = 0;
	for (size_t i = 0; i < count; i++) {
		const struct lost_rows *lost = &told[i];
		struct trace_source source = {.clock = lost->clock};
		/* a content has no time of its own but that of the flush before it, if any was */
		bool is_timed = lost->kind != EVENT_CODE || lost->begin;
		struct event_loss row = {.begin = is_timed ? lost->begin : writer->now_ns,
					 .end = lost->end ? lost->end : writer->now_ns,
					 .kind = lost->kind,
					 .reason = LOSS_DISK,
					 .count = lost->count};

		trace_writer_row(writer, EVENT_LOSS, &source, &row);
	}
	free(told);
}

/* Writes chunks that hold a row older than flush_ns; a row is as old as the flush before it. */
static int write_old_chunks(struct trace_writer *writer, uint64_t now_ns)
{
	uint64_t last = writer->last_flush_ns ? writer->last_flush_ns : now_ns;
	int first_error = 0;

	for (uint32_t i = 0; i < writer->chunks_count; i++) {
		struct open_chunk *chunk = &writer->chunks[i];
		int error = 0;

		if (chunk->count && !chunk->since_ns)
			chunk->since_ns = last;
		if (chunk->count && now_ns - chunk->since_ns >= writer->options.flush_ns)
			error = write_open_chunk(writer, chunk);
		if (!chunk->count && chunk->rows && chunk->capacity < TRACE_CHUNK_ROWS)
			release_rows(writer, chunk);
		else if (!chunk->count && chunk->rows && !chunk->since_ns)
			chunk->since_ns = now_ns; /* a busy one keeps its memory for a second */
		else if (!chunk->count && chunk->rows && now_ns - chunk->since_ns >= SECOND_NS)
			release_rows(writer, chunk);
		first_error = first_error ? first_error : error;
	}
	forget_idle_chunks(writer);
	return first_error;
}

static int write_old_things(struct trace_writer *writer, uint64_t now_ns)
{
	int error;

	if (!writer->has_dirty_things)
		return 0;
	if (!writer->things_since_ns)
		writer->things_since_ns = writer->last_flush_ns ? writer->last_flush_ns : now_ns;
	if (now_ns - writer->things_since_ns < writer->options.flush_ns)
		return 0;
	error = segment_begin(writer);
	return error ? error : segment_write_things(writer);
}

int trace_writer_flush(struct trace_writer *writer, uint64_t now_ns)
{
	uint64_t before = writer->stats.bytes;
	int error, things_error, ended = 0;

	writer->now_ns = now_ns;
	if (writer->in_segment && !writer->segment_since_ns)
		writer->segment_since_ns = now_ns;
	if (writer->lost_count && !writer->is_failing)
		tell_losses(writer);
	error = write_old_chunks(writer, now_ns);
	things_error = write_old_things(writer, now_ns);
	if (writer->in_segment &&
	    (now_ns - writer->segment_since_ns >= writer->options.segment_ns ||
	     is_segment_full(writer)))
		ended = segment_end(writer);
	error = error ? error : things_error;
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
	if (writer->is_held)
		trace_writer_begin(writer);
	error = writer_write_open_chunks(writer);
	end_error = writer->named_count ? segment_begin(writer) : 0;
	if (!end_error && writer->named_count)
		end_error = segment_write_needed(writer);
	error = error ? error : end_error;
	reserve_release(writer);
	if (writer->lost_count)
		tell_losses(writer);
	end_error = segment_end(writer);
	error = error ? error : end_error;
	end_error = segment_write_end(writer);
	error = error ? error : end_error;
	first_error = writer->stats.error;
	if (first_error)
		error = error_set(first_error, "write '%s': %s; %llu rows were lost", writer->path,
				  strerror(-first_error),
				  (unsigned long long)writer->stats.rows_lost);
	if (close(writer->fd) && !error)
		error = error_set(-errno, "close '%s': %s", writer->path, strerror(errno));
	writer->fd = -1;
	if (ret_stats)
		*ret_stats = writer->stats;
	free_writer(writer);
	return error;
}
