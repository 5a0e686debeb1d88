/* SPDX-License-Identifier: MIT
 *
 * trace/reader.h - read a trace file, whole or damaged
 *
 * Opening reads the index (or, without one, every chunk's head), all dictionaries, things, clock
 * pairs and losses; rows of happenings are decoded chunk by chunk on demand. Nothing in a file is
 * trusted: every length, count and id is checked, damage costs the damaged chunk and is counted.
 * Ids of strings and things in rows are translated to this reader's own, so that they are unique
 * over all segments. Once open, a reader may be used by several threads until it is closed.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

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
	bool by_seen; /* EVENT_EXECUTION without start times: the key is `seen`, in seen_clock */
	uint64_t first, last; /* smallest and largest sort key, in `clock` unless by_seen */
	uint64_t offset;      /* in the file, bytes */
};

/* What was wrong with the file. All zero: nothing. */
struct trace_damage {
	uint64_t chunks; /* damaged and left out */
	uint64_t bytes;  /* skipped */
	uint64_t rows;   /* lost with them, where their head could still be read */
	bool truncated;  /* the file ends inside a message, or without an index */
	bool index_missing;
	bool index_rebuilt;
};

/* Errors: -errno; -ENODATA for an empty file; -EPROTO for a file that is no trace at all;
 * -EPROTONOSUPPORT for a newer schema. The error chain says what to do. A damaged file with
 * anything readable in it opens with 0. */
int trace_reader_open(const char *path, struct trace_reader **ret_reader);

/* The same for a file in memory, which the caller keeps until close. */
int trace_reader_open_memory(const void *bytes, size_t size, struct trace_reader **ret_reader);

void trace_reader_close(struct trace_reader *reader); /* NULL-safe */

void trace_reader_damage(struct trace_reader *reader, struct trace_damage *ret_damage);

/* Text of a string id: never NULL, NUL-terminated; may hold NUL bytes, ret_length (may be NULL)
 * tells. */
const char *trace_reader_string(const struct trace_reader *reader, uint32_t id, size_t *ret_length);

/* A node of a stack, a frame; NULL where there is none (0, or lost with a damaged chunk). A caller's id is less
 * than its callee's. */
const struct event_stack *trace_reader_stack(const struct trace_reader *reader, uint32_t id);
const struct event_frame *trace_reader_frame(const struct trace_reader *reader, uint32_t id);
/* The frames in no order; NULL beyond the last. */
const struct event_frame *trace_reader_frame_at(const struct trace_reader *reader, size_t index);
/* How many there are. */
size_t trace_reader_stack_count(const struct trace_reader *reader);
/* How many had more than 4096 frames: their outer ones are left out, and the outermost is of FRAME_TRUNCATED. */
size_t trace_reader_stacks_cut(const struct trace_reader *reader);
size_t trace_reader_frame_count(const struct trace_reader *reader);

/* Things of one kind, newest description of each id, sorted by id. */
size_t trace_reader_things(const struct trace_reader *reader, enum event_kind kind,
			   const void **ret_rows);
/* One thing by id, NULL where there is none. O(1). */
const void *trace_reader_thing(const struct trace_reader *reader, enum event_kind kind,
			       uint32_t id);

/* Bytes of a code object by content hash, NULL where none. Valid until close. */
const void *trace_reader_content(struct trace_reader *reader, uint64_t hash_low, uint64_t hash_high,
				 size_t *ret_size);

/* All clock pairs of a domain, sorted by time; all losses. Valid until close. */
size_t trace_reader_clock_pairs(const struct trace_reader *reader, uint32_t clock,
				const struct event_clock_pair **ret_pairs);
size_t trace_reader_losses(const struct trace_reader *reader, const struct event_loss **ret_losses);

size_t trace_reader_chunk_count(const struct trace_reader *reader);
const struct trace_chunk *trace_reader_chunk(const struct trace_reader *reader, size_t index);

/* Decodes one chunk: an array of the kind's struct, sorted by its key, owned by the caller
 * (free()). Errors: -EBADMSG for damage (counted, the caller goes on with the next chunk), -ENOMEM.
 */
int trace_reader_rows(struct trace_reader *reader, size_t index, void **ret_rows,
		      size_t *ret_count);

/* Reads the whole file and counts every chunk that is damaged, decoding none: what trace_reader_damage says is then
 * complete. */
void trace_reader_check(struct trace_reader *reader);
/* The same for the chunks of rows alone. */
void trace_reader_check_rows(struct trace_reader *reader);

uint32_t trace_reader_segment_count(const struct trace_reader *reader);
/* Where the oldest segments were dropped (--keep, --max-size): CLOCK_MONOTONIC from which on the trace
 * is whole; 0 where nothing was dropped. */
uint64_t trace_reader_begin_ns(const struct trace_reader *reader);
uint64_t trace_reader_size_bytes(const struct trace_reader *reader);

#endif
