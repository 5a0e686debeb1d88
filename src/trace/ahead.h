/* SPDX-License-Identifier: MIT
 *
 * trace/ahead.h - decode the rows of a list of chunks in a second thread, before the thread that
 * owns the list needs them
 *
 * A second thread decodes the chunks of a list in the list's order and calls the owner's work
 * function on their rows. The owner takes the chunks one by one. At most AHEAD_CHUNKS chunks are
 * decoded and not yet taken, unless the owner asks for more (trace_ahead_set_limit). No thread is
 * started for a short list, on a machine with one processor, or if pthread_create fails. Each chunk
 * is then decoded when the owner asks for it, with the same result.
 */
#pragma once

#include <stddef.h>

struct trace_ahead;
struct trace_reader;

enum { AHEAD_CHUNKS = 4, MAX_AHEAD = 128 };

/* The owner's work on the rows of a chunk before they are handed out. It runs in either thread,
 * so it may read *context and the reader, and may write only the rows. Returns the number of rows
 * that are left. */
typedef size_t (*trace_ahead_work)(const void *context, size_t chunk, void *rows, size_t count);

/* chunks: indices of the reader's chunks, borrowed like reader and context until trace_ahead_free.
 * work may be NULL. Errors: -ENOMEM. */
int trace_ahead_new(struct trace_reader *reader, const size_t *chunks, size_t count,
		    trace_ahead_work work, const void *context, struct trace_ahead **ret_ahead);
void trace_ahead_free(struct trace_ahead *ahead); /* NULL-safe */

/* Returns the rows of the list's next chunk; the caller frees them with free(). Errors: those of
 * trace_reader_rows (after -EBADMSG the caller may go on with the next chunk); -ENODATA after the
 * last chunk. */
int trace_ahead_next(struct trace_ahead *ahead, void **ret_rows, size_t *ret_count);

/* Sets the max number of chunks that are decoded and not yet taken (AHEAD_CHUNKS … MAX_AHEAD). For
 * callers that take many chunks at once and then none for a long time. */
void trace_ahead_set_limit(struct trace_ahead *ahead, size_t chunks);
