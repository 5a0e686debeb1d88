/* SPDX-License-Identifier: MIT
 *
 * trace/writer_private.h - the parts of a writer, shared by writer.c, segment.c, content.c,
 * shorten.c and reserve.c
 */
#ifndef TRACE_WRITER_PRIVATE_H
#define TRACE_WRITER_PRIVATE_H

#include "base/hash.h"
#include "trace/chunk.h"
#include "trace/codec.h"
#include "trace/format.h"
#include "trace/stacks.h"
#include "trace/writer.h"

/* Rows that are not in the file yet. */
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
	uint64_t since_ns; /* no row is older; 0: not known yet */
	uint32_t next;     /* in the hash chain: index + 1 */
};

/* All things of a kind. */
struct thing_table {
	char *rows;
	uint8_t *flags;
	size_t rows_capacity, flags_capacity;
	uint32_t count;
	struct hash_map by_id; /* index */
	uint32_t *dirty;       /* indices of those not written in this segment as they are now */
	size_t dirty_capacity;
	uint32_t dirty_count;
};

struct trace_segment {
	uint32_t number;
	uint64_t offset;
	uint64_t begin_ns;
};

/* Where the bytes of a code object are. */
struct content {
	uint64_t hash_low, hash_high;
	uint64_t offset, bytes; /* of its chunks, which follow each other */
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

/* Rows lost to write errors, not told in the file yet. */
struct lost_rows {
	uint32_t kind, clock;
	uint64_t begin, end, count;
};

/* The file being shortened: everything from `source` on is still to be copied to `target`. */
struct shortening {
	bool is_active;
	uint64_t distance; /* by how much everything moves */
	uint64_t source, target;
	uint64_t safe; /* below this offset a copy is on disk elsewhere and may be overwritten */
	uint8_t *buffer;
	size_t buffer_capacity;
};

/* Of frames or stacks: those that a segment needs and does not have yet, and those it has. */
struct needed_ids {
	uint64_t *known; /* one bit an id: needed, whether written or not */
	uint32_t *ids;   /* since the segment's begin, callers before callees */
	size_t known_capacity, ids_capacity;
	uint32_t count, written;
};

struct trace_writer {
	int fd;
	int reserve_fd; /* -1: none */
	char *path;
	char *created; /* the name of the file that was made for it; NULL: it was there */
	struct trace_writer_options options;
	struct trace_writer_stats stats;
	bool is_failing;          /* the last write failed */
	bool is_regular, is_held; /* the file; held: what is in it is not ours yet */
	uint64_t size;            /* where the next chunk goes */
	uint64_t sequence;
	uint64_t largest_chunk;
	uint64_t now_ns, last_flush_ns;

	struct chunk_packer packer;
	struct trace_message message;

	struct open_chunk *chunks;
	size_t chunks_capacity;
	uint32_t chunks_count;
	struct hash_map chunks_by_key; /* index + 1 of the first in the chain */
	uint32_t recent[EVENT_KIND_COUNT];
	size_t buffered_bytes; /* capacity of all rows */

	struct string_table strings;
	uint32_t *local_ids; /* by id: in this segment; 0: none yet */
	size_t local_ids_capacity;
	uint32_t *local_strings; /* by local id - 1: id */
	size_t local_strings_capacity;
	uint32_t local_count, local_written;

	struct stack_table stacks;
	struct needed_ids needed_frames, needed_stacks;
	uint32_t *named; /* owned; frames that have a name since they were written, perhaps */
	size_t named_count, named_capacity;

	struct thing_table things[EVENT_THING_LAST + 1];
	uint64_t things_since_ns;
	bool has_dirty_things;

	struct hash_map contents_by_hash; /* index + 1 */
	struct content *contents;
	size_t contents_capacity, contents_count;
	uint64_t contents_bytes; /* of all in the list */
	uint64_t coming_bytes;   /* that are about to be written and need room */

	struct hash_map pairs_by_clock; /* index */
	struct last_pair *pairs;
	size_t pairs_capacity, pairs_count;

	bool in_segment;
	uint64_t segment_since_ns, previous_begin_ns;
	struct trace_segment *segments; /* not dropped, the last is the present one */
	size_t segments_capacity, segments_count;
	uint32_t segment, first_segment;
	struct trace_index_row *entries; /* of this segment; back: offset in the file */
	size_t entries_capacity, entries_count;
	bool is_index_incomplete; /* END is left out, readers scan */
	struct index_place *indices;
	size_t indices_capacity, indices_count;

	struct shortening shortening;

	struct lost_rows *lost;
	size_t lost_capacity, lost_count;
};

/* writer.c: compress and append one chunk; sequence and segment of head are filled in. */
int writer_append(struct trace_writer *writer, struct chunk_head *head,
		  const struct chunk_payload *payload);
/* … of a payload without columns. */
int writer_append_bytes(struct trace_writer *writer, struct chunk_head *head, const void *payload,
			size_t size);
/* Encode rows, write the strings they need, then them. head: kind, source, clocks, flags, keys. */
int writer_append_rows(struct trace_writer *writer, struct chunk_head *head, const void *rows,
		       size_t count);
int writer_write_open_chunks(struct trace_writer *writer);

/* Counts what is not in the file; a loss row tells it. */
void writer_note_lost(struct trace_writer *writer, const struct lost_rows *what);
/* Between two chunks: ends a segment that is full, goes on shortening. `before`: stats.bytes before what was
 * written since the last time, `error` what came of it. Errors: those of the segment's end. */
int writer_settle(struct trace_writer *writer, uint64_t before, int error);

/* segment.c: begins a segment where none is. Whatever comes before the first row of a chunk. */
int segment_begin(struct trace_writer *writer);
int segment_end(struct trace_writer *writer);
int segment_write_strings(struct trace_writer *writer);
int segment_write_things(struct trace_writer *writer);
uint32_t segment_local_string(void *writer, uint32_t id);
/* segment_stacks.c: writes what rows need and the segment does not have. */
int segment_write_stacks(struct trace_writer *writer, uint32_t kind, const void *rows,
			 size_t count);
/* … and the frames that were named since. */
int segment_write_needed(struct trace_writer *writer);
void segment_forget_stacks(struct trace_writer *writer);
int segment_write_end(struct trace_writer *writer); /* END, after segment_end */

/* reserve.c: keeps disk space, and gives it back */
void reserve_take(struct trace_writer *writer);
void reserve_release(struct trace_writer *writer);

/* content.c: brings contents that are still named over from segments below first_segment. */
int content_carry(struct trace_writer *writer, uint32_t first_segment);

/* shorten.c: whether the file is so large that something must be dropped; which segments to drop now; copying in steps of about `budget` bytes. */
bool shorten_is_due(const struct trace_writer *writer);
uint32_t shorten_plan(const struct trace_writer *writer);
void shorten_start(struct trace_writer *writer);
int shorten_step(struct trace_writer *writer, uint64_t budget);
void shorten_fini(struct trace_writer *writer);

#endif
