/* SPDX-License-Identifier: MIT
 *
 * trace/writer_private.h - the parts of a writer, shared by writer.c, row_buffer.c, segment.c,
 * content.c, shorten.c and reserve.c
 */
#pragma once

#include "base/hash.h"
#include "trace/chunk.h"
#include "trace/codec.h"
#include "trace/format.h"
#include "trace/writer.h"

/* A chunk whose rows are not in the file yet. */
struct open_chunk {
	uint32_t kind;
	struct trace_source source;
	bool by_seen;
	bool is_sorted;
	uint32_t key_offset;
	uint32_t count;
	size_t capacity; /* rows */
	char *rows;
	uint64_t first, last, lateness;
	uint64_t since_ns; /* time of the flush before its oldest row; 0: not set yet */
	uint32_t next;     /* next in the hash chain: index + 1 */
};

/* All entities of a kind. */
struct entity_table {
	char *rows;
	uint8_t *flags;
	size_t rows_capacity, flags_capacity;
	uint32_t count;
	struct hash_map by_id; /* index */
	uint32_t *dirty; /* indices of rows that are new or changed since they were written in this
			    segment */
	size_t dirty_capacity;
	uint32_t dirty_count;
};

struct trace_segment {
	uint32_t number;
	uint64_t offset;
	uint64_t begin_ns;
};

/* The place of the bytes of a code object in the file. */
struct content {
	uint64_t hash_low, hash_high;
	uint64_t offset, bytes; /* place of its chunks, which are contiguous */
	uint32_t segment;
};

struct last_pair {
	struct trace_source source;
	struct event_clock_pair pair;
};

struct index_place {
	uint64_t offset, bytes;
	uint32_t segment;
};

/* Rows of one kind and clock that were lost to write errors and are not yet recorded as loss
 * rows. */
struct lost_rows {
	uint32_t kind, clock;
	uint64_t begin, end, count;
};

/* The state of a move: the bytes from `source` on must still be copied to `target`. */
struct shortening {
	bool is_active;
	uint64_t distance; /* bytes by which all chunks move */
	uint64_t source, target;
	uint64_t safe; /* bytes below this offset may be overwritten: their copies are on disk */
	uint8_t *buffer;
	size_t buffer_capacity;
};

/* The ids of frames or stacks that a segment needs, written or not. */
struct needed_ids {
	uint64_t *known; /* one bit per id: needed in this segment, whether written or not */
	uint32_t *ids;   /* until all are written; in the order in which they became needed,
			    callers before callees */
	size_t known_capacity, ids_capacity;
	uint32_t count, written;
};

/* The file that is written. */
struct writer_file {
	int fd;
	int reserve_fd; /* -1: none */
	char *path;
	char *created;   /* real name of the file if the writer created it; NULL: it existed */
	bool is_failing; /* the last write failed */
	bool is_regular, is_held; /* held: the file still has its old content (option hold) */
	uint64_t size;            /* offset of the next chunk */
	uint64_t hole_bytes;      /* option is_ring: bytes at the start without disk space */
	uint64_t largest_chunk;   /* bytes */
};

/* The rows that are not written yet. */
struct row_buffer {
	struct open_chunk *chunks;
	size_t capacity;
	uint32_t count;
	struct hash_map by_key; /* index + 1 of the first in the chain */
	uint32_t recent[EVENT_KIND_COUNT];
	size_t bytes; /* memory of the rows of all chunks */
};

/* The ids that strings have in the present segment. */
struct segment_dictionary {
	uint32_t *ids; /* by id: the id in this segment; 0: none yet */
	size_t ids_capacity;
	uint32_t *strings; /* by id in this segment - 1: id */
	size_t strings_capacity;
	uint32_t count, written;
};

/* All zero: empty. */
struct writer_stacks {
	struct string_table frames; /* their bytes, stored as strings: a frame has no padding */
	struct event_frame *rows;   /* by id - 1 */
	size_t rows_capacity;
	/* caller << 32 | frame -> id, unless the id is the one after the caller's */
	struct hash_map by_pair;
	struct event_stack *nodes; /* by id - 1 */
	size_t nodes_capacity;
	uint32_t count;
	struct needed_ids needed_frames, needed; /* needed: stacks */
	uint32_t *named; /* ids of frames that were named, perhaps after they were written */
	size_t named_count, named_capacity;
};

struct writer_entities {
	struct entity_table tables[EVENT_ENTITY_LAST + 1];
	uint64_t dirty_since_ns;
	bool has_dirty;
};

struct content_list {
	struct hash_map by_hash; /* index + 1 */
	struct content *items;
	size_t capacity, count;
	uint64_t bytes;        /* sum over the contents */
	uint64_t coming_bytes; /* size of the content that is about to be written */
};

/* The latest pair of each clock, which every segment repeats. */
struct last_pairs {
	struct hash_map by_clock; /* index */
	struct last_pair *items;
	size_t capacity, count;
};

struct segment_list {
	bool is_open; /* a segment has started and not ended */
	uint64_t since_ns, previous_begin_ns;
	struct trace_segment *items; /* those not dropped; the last is the present one */
	size_t capacity, count;
	uint32_t present, first; /* numbers of the present segment and of the first that is kept */
	uint32_t pinned;         /* a cut is copying the segments from this one on; 0: none is */
};

struct writer_index {
	struct trace_index_row *entries; /* rows of the present segment; back: offset in the file */
	size_t entries_capacity, entries_count;
	bool is_incomplete;          /* no END is written, so readers scan the file */
	struct index_place *written; /* the index chunks in the file */
	size_t written_capacity, written_count;
};

struct writer_losses {
	struct lost_rows *rows;
	size_t capacity, count;
};

struct trace_writer {
	struct writer_file file;
	struct trace_writer_options options;
	uint64_t usual_flush_ns, usual_segment_ns; /* as the options said */
	bool is_followed; /* the head of a segment comes with the end of the one before */
	struct trace_writer_stats stats;
	uint64_t sequence;
	uint64_t now_ns, last_flush_ns;
	struct chunk_packer packer;
	struct trace_message message;
	struct row_buffer buffer;
	struct string_table strings;
	struct segment_dictionary dictionary;
	struct writer_stacks stacks;
	struct writer_entities entities;
	struct content_list contents;
	struct last_pairs pairs;
	struct segment_list segments;
	struct writer_index index;
	struct shortening shortening;
	struct writer_losses losses;
};

/* writer.c: opens the file without writing to it. Errors: those of trace_writer_open. */
int writer_new(const char *path, const struct trace_writer_options *options,
	       struct trace_writer **ret_writer);
/* Frees the writer and closes the file as it is. */
void writer_release(struct trace_writer *writer);
/* Removes an old content that is held. */
int writer_empty_file(struct trace_writer *writer);
/* Compresses and appends one chunk; sets sequence and segment of head. */
int writer_append(struct trace_writer *writer, struct chunk_head *head,
		  const struct chunk_payload *payload);
/* The same for a payload without columns. */
int writer_append_bytes(struct trace_writer *writer, struct chunk_head *head, const void *payload,
			size_t size);
/* Encodes rows; writes the stacks and strings that they need, then the rows. The caller sets kind,
 * source, clocks, flags and keys of head. */
int writer_append_rows(struct trace_writer *writer, struct chunk_head *head, const void *rows,
		       size_t count);
int writer_write_open_chunks(struct trace_writer *writer);

/* Counts rows that could not be written; a later loss row reports them. */
void writer_count_lost(struct trace_writer *writer, const struct lost_rows *what);
/* To be called after writing chunks: ends a full segment and continues shortening. `before`:
 * stats.bytes before these writes; `error`: their result. Errors: those of the segment's end. */
int writer_settle(struct trace_writer *writer, uint64_t before, int error);

/* segment.c: starts a segment unless one is open. To be called before a chunk is written. */
int segment_begin(struct trace_writer *writer);
int segment_end(struct trace_writer *writer);
int segment_write_head(struct trace_writer *writer, uint32_t first_segment);
int segment_write_index(struct trace_writer *writer);
int segment_write_strings(struct trace_writer *writer);
int segment_write_entities(struct trace_writer *writer);
uint32_t segment_local_string(void *writer, uint32_t id);
/* segment_stacks.c: writes the frames and stacks that rows need and the segment does not have. */
int segment_write_stacks(struct trace_writer *writer, uint32_t kind, const void *rows,
			 size_t count);
/* Writes the frames that were named since. */
int segment_write_needed(struct trace_writer *writer);
void segment_forget_stacks(struct trace_writer *writer);
void segment_stacks_fini(struct writer_stacks *stacks);
int segment_write_end(struct trace_writer *writer); /* END, after segment_end */

/* row_buffer.c: appends a row to the open chunk of its kind and source. Returns the chunk; NULL
 * without memory. */
struct open_chunk *row_buffer_append(struct row_buffer *buffer, uint32_t kind,
				     const struct trace_source *source, bool by_seen,
				     const void *row, size_t row_size);
struct open_chunk *row_buffer_largest(struct row_buffer *buffer);
bool row_buffer_is_over_budget(const struct row_buffer *buffer); /* over its budget of memory */
/* Frees the rows of a chunk. */
void row_buffer_release(struct row_buffer *buffer, struct open_chunk *chunk);
/* Forgets chunks without rows, once there are many of them. */
void row_buffer_forget_idle(struct row_buffer *buffer);
void row_buffer_fini(struct row_buffer *buffer);

/* reserve.c: reserves disk space and frees it */
void reserve_take(struct trace_writer *writer);
void reserve_release(struct trace_writer *writer);

/* content.c: copies contents that are still referred to from segments below first_segment. */
int content_carry(struct trace_writer *writer, uint32_t first_segment);
/* Copies the contents of segments below first_segment to the end of another file. */
int content_copy(struct trace_writer *writer, uint32_t first_segment, struct trace_writer *target);

/* shorten.c: is_due: whether the file is so large that segments must be dropped; plan: returns the
 * first segment to keep; step: copies about `budget` bytes. */
bool shorten_is_due(const struct trace_writer *writer);
uint32_t shorten_plan(const struct trace_writer *writer);
void shorten_start(struct trace_writer *writer);
/* Moves the kept segments of a ring to the start of the file. */
int shorten_close_ring(struct trace_writer *writer);
int shorten_step(struct trace_writer *writer, uint64_t budget);
void shorten_fini(struct trace_writer *writer);
