/* SPDX-License-Identifier: MIT
 *
 * trace/tail.h - find the segments of a file that is still being written, and read the newest ones
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_tail;

/* Takes ownership of fd, a descriptor of the file that can be read at any offset. Errors: -ENOMEM;
 * fd is closed then. */
int trace_tail_new(int fd, struct trace_tail **ret_tail);
void trace_tail_free(struct trace_tail *tail); /* NULL-safe */

/* Finds the chunks that were added since the last call. If the file was replaced or its chunks
 * have moved, all are found anew. Errors: -errno. */
int trace_tail_update(struct trace_tail *tail);
/* The same for about max_bytes. Returns 1 if there may be more, otherwise 0 or -errno. */
int trace_tail_update_part(struct trace_tail *tail, uint64_t max_bytes);
/* Before the first update: earlier segments are not needed. Nothing happens unless a segment begins
 * at this offset. */
void trace_tail_start_at(struct trace_tail *tail, uint64_t offset);
/* The writer has gone without the end of its recording: its newest segment has ended too. */
void trace_tail_set_gone(struct trace_tail *tail);

/* Latest time, CLOCK_MONOTONIC, of a segment's start or of a row whose time is of that clock; 0:
 * none. */
uint64_t trace_tail_newest_ns(const struct trace_tail *tail);
/* When the file was last written, CLOCK_MONOTONIC; 0: not known. */
uint64_t trace_tail_written_ns(const struct trace_tail *tail);
/* Start of the oldest segment, CLOCK_MONOTONIC; 0: none. */
uint64_t trace_tail_start_ns(const struct trace_tail *tail);
/* The file ends with the index of a finished recording. */
bool trace_tail_has_ended(const struct trace_tail *tail);
/* No writer has the file open. */
bool trace_tail_is_abandoned(const struct trace_tail *tail);

/* Writes the segments from the last one that starts at or before from_ns on, as a trace, into a new
 * file. *ret_bytes: its size. Errors: -ENODATA: the file has no segment; -ENOMEM, -errno. */
int trace_tail_copy(struct trace_tail *tail, uint64_t from_ns, int fd, uint64_t *ret_bytes);

/* Makes the segments before those of trace_tail_copy a hole, in the file itself; its descriptor
 * must allow writing. The file is a trace of the rest, which needs no further disk space, but keeps
 * its size. Errors: as above; -EOPNOTSUPP. */
int trace_tail_trim(struct trace_tail *tail, uint64_t from_ns);

/* Copies the segments from the last one that starts at or before from_ns on, as a trace that
 * trace_reader_open_memory reads; the caller frees it. Contents of code objects in earlier segments
 * are missing. Chunks of rows that were in the file at an update before from_ns are left out. Older
 * segments are left out if there are more than max_bytes. Errors: -ENODATA: the
 * file has no segment; -ENOMEM, -errno. */
int trace_tail_read(struct trace_tail *tail, uint64_t from_ns, uint64_t max_bytes,
		    uint8_t **ret_bytes, size_t *ret_size);

/* Number of the first segment that trace_tail_read copies; 0: none. *ret_begin_ns: when it began.
 */
uint32_t trace_tail_first(const struct trace_tail *tail, uint64_t from_ns, uint64_t max_bytes,
			  uint64_t *ret_begin_ns);

/* As trace_tail_read, for the segments after `after` that have ended: a later one has begun, or the
 * recording has ended. At most about max_bytes of them. *ret_last: number of the last one in the
 * copy. Errors: -ENODATA: there is none yet. */
int trace_tail_read_ended(struct trace_tail *tail, uint32_t after, uint64_t max_bytes,
			  uint8_t **ret_bytes, size_t *ret_size, uint32_t *ret_last);
/* Number of the last segment that began at or before a time, or of the first one; 0: none. */
uint32_t trace_tail_segment_at(const struct trace_tail *tail, uint64_t time_ns);
/* Number of the first segment after `after`; 0: none. */
uint32_t trace_tail_next(const struct trace_tail *tail, uint32_t after);
/* When the first segment with at least this number began (CLOCK_MONOTONIC); 0: there is none. */
uint64_t trace_tail_begin_of(const struct trace_tail *tail, uint32_t number);
/* Number of the newest segment, and when it began (CLOCK_MONOTONIC); 0: none. */
uint32_t trace_tail_present(const struct trace_tail *tail, uint64_t *ret_begin_ns);
