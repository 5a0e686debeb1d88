/* SPDX-License-Identifier: MIT
 *
 * trace/reader.h - read a trace file, complete or damaged
 *
 * Opening reads the index (or, without an index, every chunk's head), all dictionaries, entities,
 * clock pairs and losses. Rows of events are decoded on demand, one chunk at a time. Nothing in a
 * file is trusted: every length, count and id is checked. Damage costs the damaged chunk and is
 * counted. The string and stack ids in rows are translated to ids of this reader, which are unique
 * over all segments. After open, several threads may use a reader until it is closed. A "thing" in
 * names of functions is an entity of the glossary: a row with an id and a lifetime.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct trace_reader;

struct trace_chunk {
	enum event_kind kind; /* EVENT_API … EVENT_LOSS */
	uint32_t source;
	uint32_t clock;      /* domain of the rows' times */
	uint32_t seen_clock; /* EVENT_EXECUTION: domain of `seen` */
	uint32_t segment;
	uint32_t rows;
	bool by_seen; /* EVENT_EXECUTION without start times: sorted by `seen`, in seen_clock */
	uint64_t first, last; /* smallest and largest sort key, in `clock` unless by_seen */
	uint64_t offset;      /* in the file, bytes */
};

/* Damage that was found in the file. All zero: none. */
struct trace_damage {
	uint64_t chunks; /* damaged and left out */
	uint64_t bytes;  /* skipped */
	uint64_t rows;   /* lost with these chunks, if their heads were readable */
	bool truncated;  /* the file ends inside a message, or without an index */
	bool index_missing;
	bool index_rebuilt;
	bool is_being_written; /* a recorder has the file open, which explains the rest */
};

/* Errors: -errno; -ENODATA for an empty file; -EPROTO if no part of the file is a trace;
 * -EPROTONOSUPPORT for a newer schema. The error text contains the remedy. A damaged file with any
 * readable chunk opens with 0. */
int trace_reader_open(const char *path, struct trace_reader **ret_reader);

/* The same for a file in memory, which the caller keeps until close. */
int trace_reader_open_memory(const void *bytes, size_t size, struct trace_reader **ret_reader);

void trace_reader_close(struct trace_reader *reader); /* NULL-safe */

void trace_reader_damage(struct trace_reader *reader, struct trace_damage *ret_damage);

/* Text of a string id: never NULL, NUL-terminated. It may contain NUL bytes; ret_length (may be
 * NULL) receives its length. */
const char *trace_reader_string(const struct trace_reader *reader, uint32_t id, size_t *ret_length);

/* Returns a stack node or a frame by id; NULL for id 0 and for a row that was lost with a damaged
 * chunk. A caller's id is less than its callee's. */
const struct event_stack *trace_reader_stack(const struct trace_reader *reader, uint32_t id);
const struct event_frame *trace_reader_frame(const struct trace_reader *reader, uint32_t id);
/* Returns the frame at an index, in no particular order; NULL beyond the last. */
const struct event_frame *trace_reader_frame_at(const struct trace_reader *reader, size_t index);
/* Number of stack nodes. */
size_t trace_reader_stack_count(const struct trace_reader *reader);
/* Number of stacks with more than 4096 frames. Their outer frames are replaced by one frame of type
 * FRAME_TRUNCATED. */
size_t trace_reader_stacks_cut(const struct trace_reader *reader);
size_t trace_reader_frame_count(const struct trace_reader *reader);

/* Entities of one kind, sorted by id. Each id has its newest description. The macro takes the
 * address of a pointer to the rows' own struct. */
size_t trace_reader_entity_list(const struct trace_reader *reader, enum event_kind kind,
				const void **ret_rows);
#define trace_reader_entities(reader, kind, ret_rows) \
	trace_reader_entity_list(reader, kind, (const void **)(ret_rows))
/* Bytes of a row of this kind; 0: the kind has no rows. */
size_t trace_reader_row_size(enum event_kind kind);
/* One entity by id, NULL if there is none. O(1). */
const void *trace_reader_entity(const struct trace_reader *reader, enum event_kind kind,
				uint32_t id);

/* Bytes of a code object by content hash, NULL if the trace has none. Valid until close. */
const void *trace_reader_content(struct trace_reader *reader, uint64_t hash_low, uint64_t hash_high,
				 size_t *ret_size);

/* All clock pairs of a domain, sorted by time; all losses. Valid until close. */
size_t trace_reader_clock_pairs(const struct trace_reader *reader, uint32_t clock,
				const struct event_clock_pair **ret_pairs);
size_t trace_reader_losses(const struct trace_reader *reader, const struct event_loss **ret_losses);

size_t trace_reader_chunk_count(const struct trace_reader *reader);
const struct trace_chunk *trace_reader_chunk(const struct trace_reader *reader, size_t index);

/* Decodes one chunk: an array of the kind's struct, sorted by its key, owned by the caller
 * (free()). Errors: -EBADMSG for damage (counted; the caller may continue with the next chunk),
 * -ENOMEM. */
int trace_reader_rows(struct trace_reader *reader, size_t index, void **ret_rows,
		      size_t *ret_count);

/* Gives decoded rows back, unchanged: the next trace_reader_rows of this chunk returns them. Takes
 * ownership of rows. For chunks that are read twice; few are kept. */
void trace_reader_keep_rows(struct trace_reader *reader, size_t index, void *rows, size_t count);

/* Reads the whole file and counts every damaged chunk without decoding rows. The counts of
 * trace_reader_damage are complete afterwards. */
void trace_reader_check(struct trace_reader *reader);
/* The same for chunks with rows only. */
void trace_reader_check_rows(struct trace_reader *reader);

uint32_t trace_reader_segment_count(const struct trace_reader *reader);
/* Start of the remaining segments (CLOCK_MONOTONIC) if the oldest were dropped (--keep,
 * --max-size); 0 if none was dropped. */
uint64_t trace_reader_begin_ns(const struct trace_reader *reader);
uint64_t trace_reader_size_bytes(const struct trace_reader *reader);
