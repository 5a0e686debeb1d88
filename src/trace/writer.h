/* SPDX-License-Identifier: MIT
 *
 * trace/writer.h - append rows to a trace file
 *
 * One writer belongs to one thread. Rows are collected per (kind, source, clock) into chunks of at
 * most TRACE_CHUNK_ROWS, sorted, delta-encoded, compressed and appended. Flushed rows remain
 * readable after a crash of the writer, of the program or of the machine. A "thing" in names of
 * functions is an entity of the glossary: a row with an id and a lifetime.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

#define TRACE_CHUNK_ROWS 4096

struct trace_writer;

/* A segment takes at most 1/16 of max_bytes and 1/4 of keep_ns. Between 1/2 and 7/8 of max_bytes
 * are kept, less if contents use up to 1/4 of it. With keep_ns alone the file may be twice as large
 * as the kept data. Readers ignore dropped segments at once; their disk space is freed a little
 * later. */
struct trace_writer_options {
	uint64_t segment_bytes; /* max bytes of a segment in the file; 0: 64 MiB */
	uint64_t segment_ns;    /* max duration of a segment; 0: 10 s */
	uint64_t max_bytes;     /* max size of the file: oldest segments are dropped; 0: none */
	uint64_t keep_ns;       /* oldest whole segments older than this are dropped; 0: keep all */
	uint64_t flush_ns;      /* max age of an unwritten row; 0: 1 s */
	int level;              /* zstd level; 0: 1 */
	bool hold;              /* keep the old content of the file until the first write */
	bool only_traces;       /* refuse a file with other content than a trace */
	/* Dropped segments become a hole at the start of the file until it is closed. Offsets then
	 * stay, so that a live/follow.h can read the file meanwhile. */
	bool is_ring;
	/* Rows and entities for which it returns false are not written; NULL: all are. */
	bool (*has_row)(void *context, enum event_kind kind, const void *row);
	void *context;
};

/* Creates or truncates `path`, readable by its owner only (0600). Errors: -errno with the path in
 * the error chain; -EBUSY if another writer has it open; -EEXIST with `only_traces`. */
int trace_writer_open(const char *path, const struct trace_writer_options *options,
		      struct trace_writer **ret_writer);

/* With `hold`: discards the old content and writes the first segment head. Errors: that of the
 * write, which is tried again with the next chunk. */
int trace_writer_begin(struct trace_writer *writer);

/* Closes without a recording: removes the file if the writer created it; with `hold` the old
 * content remains. NULL-safe. */
void trace_writer_abandon(struct trace_writer *writer);

/* Id of a text (any bytes, cut at 1 MiB), valid for this writer's whole life. Returns 0 for length
 * 0 and if memory has run out. */
uint32_t trace_writer_string(struct trace_writer *writer, const char *text, size_t length);
/* Id of a text that has one already; 0: none. */
uint32_t trace_writer_find_string(const struct trace_writer *writer, const char *text,
				  size_t length);

/* The text of such an id; "" for 0 and unknown ids. Valid until the next string is added. */
const char *trace_writer_text(const struct trace_writer *writer, uint32_t id);

/* Ids of a frame and of a stack, new or known, valid for this writer's whole life. The frame's
 * string ids must be this writer's. caller 0: the frame is the outermost. Returns 0 if memory has
 * run out or the caller or frame does not exist. */
uint32_t trace_writer_frame(struct trace_writer *writer, const struct event_frame *frame);
/* A frame that no other owner shares, so that it may get a name later; readers use the newest
 * description. */
uint32_t trace_writer_own_frame(struct trace_writer *writer, const struct event_frame *frame,
				uint32_t owner);
/* Sets the name of an own frame. Errors: -ENOENT if there is no such frame, -ENOMEM. */
int trace_writer_name_frame(struct trace_writer *writer, uint32_t frame, uint32_t name_string);
uint32_t trace_writer_stack(struct trace_writer *writer, uint32_t caller, uint32_t frame);
/* Caller and frame of a stack; false: there is no such stack. */
bool trace_writer_find_stack(const struct trace_writer *writer, uint32_t stack,
			     struct event_stack *ret_stack);

/* Adds or updates an entity (EVENT_HOST … EVENT_TRIGGER): `row` is the kind's struct, its first
 * field the id. The writer keeps the newest row of each id. It repeats the row in every segment
 * while the entity lives and in the segment after its end (end_ns == 0, or end_ns after the start
 * of the segment before); then the row is forgotten. The entities that it refers to (process,
 * parent, device …) are kept with it. */
int trace_writer_entity(struct trace_writer *writer, enum event_kind kind, const void *row);
/* Copies the entity's newest row, of the size of the kind's struct; false: unknown or forgotten. */
bool trace_writer_find_entity(const struct trace_writer *writer, enum event_kind kind, uint32_t id,
			      void *ret_row);

/* Sets the end time of an entity. Does nothing if it is unknown, forgotten or has an end
 * already. */
void trace_writer_end_entity(struct trace_writer *writer, enum event_kind kind, uint32_t id,
			     uint64_t end_ns);

/* Writes the bytes of a code object, once per content and file; returns their hash. When their
 * segment is dropped, they are copied if a living EVENT_CODE row has their hash. Errors: -errno of
 * the write, -EFBIG if contents have used up their share of max_bytes. Each error counts as one
 * lost row of EVENT_CODE. */
int trace_writer_content(struct trace_writer *writer, const void *bytes, size_t size,
			 uint64_t *ret_hash_low, uint64_t *ret_hash_high);

/* Computes the same hash without writing. */
void trace_writer_hash(const void *bytes, size_t size, uint64_t *ret_hash_low,
		       uint64_t *ret_hash_high);

/* Origin of a row. Rows of one source and clock share chunks. The caller chooses `source` (a thread
 * id, a queue id); `clock` is the id of the domain of the row's times; only EVENT_EXECUTION uses
 * `seen_clock`. */
struct trace_source {
	uint32_t source;
	uint32_t clock;
	uint32_t seen_clock;
};

/* Appends one row (EVENT_API … EVENT_LOSS). After a write error the row is counted as lost and the
 * error of the first failed write is returned. The rows that were written before stay readable. */
int trace_writer_row(struct trace_writer *writer, enum event_kind kind,
		     const struct trace_source *source, const void *row);

/* To be called every 0.1 to 1 s. Writes the chunks with a row older than flush_ns. A crash then
 * loses at most the last second, and slow sources do not cause many small chunks. Ends the segment
 * if it is due, which writes all open chunks. now_ns: CLOCK_MONOTONIC. Errors: that of a failed
 * write. */
int trace_writer_flush(struct trace_writer *writer, uint64_t now_ns);
/* The same for rows of any age. */
int trace_writer_flush_all(struct trace_writer *writer, uint64_t now_ns);

/* Writes rows and ends segments at least as often as these say while another process follows the
 * file; 0, 0: as the options say. A segment then begins when the one before ends, so that its time
 * is later than all rows before it. */
void trace_writer_set_pace(struct trace_writer *writer, uint64_t flush_ns, uint64_t segment_ns);
/* Opens the file again, for reading at any offset by another process. Errors: -errno; -ENOTSUP: it
 * is not a regular file. */
int trace_writer_open_again(const struct trace_writer *writer);

/* Offset of the last segment that began at or before a time, or of the first one; 0: not known, or
 * the file is being moved. */
uint64_t trace_writer_offset_at(const struct trace_writer *writer, uint64_t time_ns);

struct trace_writer_stats {
	uint64_t rows;      /* written; EVENT_LOSS is not counted */
	uint64_t rows_lost; /* could not be written */
	uint64_t bytes;     /* written to the file, including segments that were dropped later */
	uint64_t segments_dropped;
	int error; /* -errno of the first failed write, otherwise 0 */
};
void trace_writer_stats(const struct trace_writer *writer, struct trace_writer_stats *ret_stats);

/* Flushes, appends loss rows and the index, closes. NULL-safe. Frees the writer even if it returns
 * an error. */
int trace_writer_close(struct trace_writer *writer, uint64_t now_ns);
/* The same, and returns the final counts, which include the writes of closing; ret_stats may be
 * NULL. */
int trace_writer_finish(struct trace_writer *writer, uint64_t now_ns,
			struct trace_writer_stats *ret_stats);

/* A part of the file as a trace of its own. */
struct trace_cut {
	/* Segments that end at or before this time are left out. In: CLOCK_MONOTONIC; out: start of
	 * the new trace. */
	uint64_t from_ns;
	uint64_t to_ns;         /* out: its end */
	uint32_t first_segment; /* in: lower segments are left out too; out: the first one */
	uint32_t last_segment;  /* out */
	uint64_t bytes;         /* out: size of the new file */
};
struct trace_cutting;

/* Ends the present segment and starts to copy all segments from cut->from_ns on into a new file.
 * The segments are kept until the copy ends. One cut can run at a time. Errors: -EAGAIN: another
 * cut runs, or the file is being moved; -EOPNOTSUPP for a file that drops segments without is_ring;
 * those of trace_writer_open (-EBUSY: the new file is in use). */
int trace_cut_start(struct trace_writer *writer, uint64_t now_ns, const char *path,
		    const struct trace_cut *cut, struct trace_cutting **ret_cutting);
/* Copies about `bytes`. Returns 1 when the copy is complete, 0 before, otherwise -errno. After 1 or
 * an error the object is freed, and after an error the new file is removed. ret_cut (may be NULL)
 * is set with 1. */
int trace_cut_step(struct trace_cutting *cutting, uint64_t bytes, struct trace_cut *ret_cut);
void trace_cut_abandon(struct trace_cutting *cutting); /* NULL-safe; removes the new file */

/* Writes bytes that trace_tail_read returned as a complete recording: with an index and an end.
 * Errors: as trace_cut_start; -EEXIST. No file is left then. */
int trace_cut_bytes(const void *bytes, size_t size, const char *path);

/* Both in one call. Copying takes about 1 s per GB. */
int trace_writer_cut(struct trace_writer *writer, uint64_t now_ns, const char *path,
		     struct trace_cut *inout_cut);
