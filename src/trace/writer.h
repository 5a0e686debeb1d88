/* SPDX-License-Identifier: MIT
 *
 * trace/writer.h - append rows to a trace file
 *
 * One writer belongs to one thread. Rows are collected per (kind, source, clock) into chunks of at
 * most TRACE_CHUNK_ROWS, sorted, delta-encoded, compressed and appended; whatever has been flushed
 * can be read again after a crash of the writer, of the program or of the machine.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

#define TRACE_CHUNK_ROWS 4096

struct trace_writer;

/* With max_bytes or keep_ns segments are at most 1/16 of the bytes and 1/4 of the time. Between 1/2
 * and 7/8 of max_bytes are kept, less where contents take up to 1/4 of them; a file with keep_ns alone
 * may be twice as large as what is kept. What is dropped is gone for readers at once, its disk space a
 * little later. */
struct trace_writer_options {
	uint64_t segment_bytes; /* a segment ends after so many bytes of file; 0: 64 MiB */
	uint64_t segment_ns;    /* … or so much time; 0: 10 s */
	uint64_t max_bytes;     /* never more: oldest whole segments are dropped; 0: no limit */
	uint64_t keep_ns;       /* oldest whole segments older than this are dropped; 0: keep all */
	uint64_t flush_ns;      /* a row is written when it is so old; 0: 1 s */
	int level;              /* zstd level; 0: 1 */
	bool hold;              /* what the file holds is left until the first write */
};

/* Creates or truncates `path`, for the owner's eyes only (0600). Errors: -errno with the path in the
 * error chain; -EBUSY where another writer has it open. */
int trace_writer_open(const char *path, const struct trace_writer_options *options,
		      struct trace_writer **ret_writer);

/* With `hold`: now is the first write. Errors: that of the write, which is tried again with the next. */
int trace_writer_begin(struct trace_writer *writer);

/* Closes without a recording: a file that was made is removed, what a held one held is still there.
 * NULL-safe. */
void trace_writer_abandon(struct trace_writer *writer);

/* Id of a text (any bytes, cut at 1 MiB), valid for this writer's whole life; 0 for length 0. Out of
 * memory: 0. */
uint32_t trace_writer_string(struct trace_writer *writer, const char *text, size_t length);
/* The id that the text has already; 0: none. */
uint32_t trace_writer_find_string(const struct trace_writer *writer, const char *text,
				  size_t length);

/* Ids of a frame and of a stack, new or old, valid for this writer's whole life; strings of a frame are this
 * writer's. caller 0: the frame is the outermost. Out of memory, or no such caller or frame: 0. */
uint32_t trace_writer_frame(struct trace_writer *writer, const struct event_frame *frame);
/* A frame that is its owner's alone, and may get a name later: the newest description counts. */
uint32_t trace_writer_own_frame(struct trace_writer *writer, const struct event_frame *frame,
				uint32_t owner);
/* Errors: -ENOENT for no such frame, -ENOMEM. */
int trace_writer_name_frame(struct trace_writer *writer, uint32_t frame, uint32_t name_string);
uint32_t trace_writer_stack(struct trace_writer *writer, uint32_t caller, uint32_t frame);
/* What a stack is made of; false: there is no such. */
bool trace_writer_find_stack(const struct trace_writer *writer, uint32_t stack,
			     struct event_stack *ret_stack);

/* Describes or describes anew a thing (EVENT_HOST … EVENT_SERIES): `row` is the kind's struct, its
 * first field the id. The writer keeps the newest row of each id and repeats it in every segment in
 * which the thing lives and in the one after its end (end_ns == 0, or end_ns after the begin of the
 * segment before); then it is forgotten. What it names (process, parent, device …) is kept with it.
 */
int trace_writer_thing(struct trace_writer *writer, enum event_kind kind, const void *row);
/* Its newest row, of the size of the kind's struct; false: it is not known, or is forgotten. */
bool trace_writer_find_thing(const struct trace_writer *writer, enum event_kind kind, uint32_t id,
			     void *ret_row);

/* Notes when a thing ended. Nothing where it was never described, is forgotten, or has ended before. */
void trace_writer_end_thing(struct trace_writer *writer, enum event_kind kind, uint32_t id,
			    uint64_t end_ns);

/* Writes the bytes of a code object, once per content and file; fills in their hash. When the segment
 * they are in is dropped they are kept as long as an EVENT_CODE that lives has their hash. Errors: -errno of
 * the write, -EFBIG where contents have had their part of max_bytes; each is counted as a lost row of
 * EVENT_CODE. */
int trace_writer_content(struct trace_writer *writer, const void *bytes, size_t size,
			 uint64_t *ret_hash_low, uint64_t *ret_hash_high);

/* That hash alone; nothing is written. */
void trace_writer_hash(const void *bytes, size_t size, uint64_t *ret_hash_low,
		       uint64_t *ret_hash_high);

/* Where a row comes from: rows of one source and clock share chunks. `source` is free for the
 * caller (a thread id, a queue id); `clock` is the id of the domain of the row's times;
 * `seen_clock` matters for EVENT_EXECUTION alone. */
struct trace_source {
	uint32_t source;
	uint32_t clock;
	uint32_t seen_clock;
};

/* Appends one row (EVENT_API … EVENT_LOSS). After a write error the row is counted as lost and the
 * error of the first failed write returned; the file up to there stays readable. */
int trace_writer_row(struct trace_writer *writer, enum event_kind kind,
		     const struct trace_source *source, const void *row);

/* To be called every 0.1 to 1 s. Writes out the chunks that hold a row older than a second, so that a
 * crash costs no more than the last second and slow sources do not pay for many small chunks; ends
 * the segment where it is due (all open chunks are written then). now_ns: CLOCK_MONOTONIC. Errors:
 * that of a failed write. */
int trace_writer_flush(struct trace_writer *writer, uint64_t now_ns);
/* … of any age. */
int trace_writer_flush_all(struct trace_writer *writer, uint64_t now_ns);

struct trace_writer_stats {
	uint64_t rows;      /* written; EVENT_LOSS is not counted */
	uint64_t rows_lost; /* could not be written */
	uint64_t bytes;     /* of file, dropped segments included */
	uint64_t segments_dropped;
	int error; /* -errno of the first failed write, else 0 */
};
void trace_writer_stats(const struct trace_writer *writer, struct trace_writer_stats *ret_stats);

/* Flushes, appends loss rows for what was lost and the index, closes. NULL-safe. The writer is gone
 * afterwards even where an error is returned. */
int trace_writer_close(struct trace_writer *writer, uint64_t now_ns);
/* The same, and the final figures, which only closing knows; ret_stats may be NULL. */
int trace_writer_finish(struct trace_writer *writer, uint64_t now_ns,
			struct trace_writer_stats *ret_stats);

#endif
