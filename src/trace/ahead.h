/* SPDX-License-Identifier: MIT
 *
 * trace/ahead.h - the rows of many chunks, decoded ahead of who reads them
 *
 * A second thread decodes the chunks of a list in its order and does what its owner wants done to
 * their rows; the owner takes them one by one. At most AHEAD_CHUNKS are decoded and not yet taken, or as many as the
 * owner wants.
 * Where a thread does not pay (few chunks, one processor) or cannot be had, a chunk is decoded when
 * it is asked for, with the same result.
 */
#ifndef TRACE_AHEAD_H
#define TRACE_AHEAD_H

#include <stddef.h>

struct trace_ahead;
struct trace_reader;

enum { AHEAD_CHUNKS = 4, AHEAD_MOST = 128 };

/* What is done to the rows of a chunk before they are given out, in whichever thread: it may read
 * what context shares with the owner and write nothing but the rows. Returns how many are left. */
typedef size_t (*trace_ahead_work)(const void *context, size_t chunk, void *rows, size_t count);

/* chunks: indices of the reader's chunks, borrowed like reader and context until trace_ahead_free.
 * work may be NULL. Errors: -ENOMEM. */
int trace_ahead_new(struct trace_reader *reader, const size_t *chunks, size_t count,
		    trace_ahead_work work, const void *context, struct trace_ahead **ret_ahead);
void trace_ahead_free(struct trace_ahead *ahead); /* NULL-safe */

/* The rows of the list's next chunk, the caller's to free(). Errors are those of trace_reader_rows
 * (-EBADMSG: damaged, counted, the next one may be asked for); -ENODATA behind the last. */
int trace_ahead_next(struct trace_ahead *ahead, void **ret_rows, size_t *ret_count);

/* From now on up to `chunks` (within AHEAD_CHUNKS … AHEAD_MOST) are decoded and not yet taken. For who takes many at
 * once and then none for long. */
void trace_ahead_want(struct trace_ahead *ahead, size_t chunks);

#endif
