/* SPDX-License-Identifier: MIT
 *
 * trace/ahead.c - decode the rows of a list of chunks in a second thread, before the thread that
 * owns the list needs them
 *
 * Runs in:  our own process, in all commands that read a trace: the owner's thread and one thread
 *           of its own
 * Gets:     a reader and a list of chunks
 * Gives:    their rows, in the list's order
 * Owns:     its thread, and the rows that are decoded and not yet taken
 * Fails:    like trace_reader_rows, and only for the chunk that is taken; the other chunks are not
 *           affected
 * Why:      a third of the time of a sweep over a trace is decoding and time alignment. Neither
 *           needs the state of the sweep, so a second thread can do both.
 */
#include "trace/ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/thread.h"
#include "trace/reader.h"

/* For fewer chunks or rows a thread costs more than it saves. The newest second of a recording has
 * many small chunks. */
#define MIN_AHEAD 16
#define MIN_ROWS  131072

struct decoded {
	void *rows;
	size_t count;
	int error;
};

struct trace_ahead {
	struct trace_reader *reader;
	const size_t *chunks;
	size_t count;
	trace_ahead_work work;
	const void *context;
	bool has_thread;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t made, taken; /* chunks of the list */
	size_t wanted;      /* max chunks that are decoded and not taken */
	bool is_over;       /* set by trace_ahead_free: the thread stops */
	struct decoded decoded[MAX_AHEAD];
};

static void decode_chunk(const struct trace_ahead *ahead, size_t chunk, struct decoded *ret_decoded)
{
	*ret_decoded = (struct decoded){0};
	ret_decoded->error =
		trace_reader_rows(ahead->reader, chunk, &ret_decoded->rows, &ret_decoded->count);
	if (!ret_decoded->error && ahead->work)
		ret_decoded->count =
			ahead->work(ahead->context, chunk, ret_decoded->rows, ret_decoded->count);
}

static void *decode_list(void *argument)
{
	struct trace_ahead *ahead = argument;
	struct decoded decoded;

	for (size_t i = 0; i < ahead->count; i++) {
		bool is_over;

		decode_chunk(ahead, ahead->chunks[i], &decoded);
		pthread_mutex_lock(&ahead->lock);
		while (ahead->made - ahead->taken >= ahead->wanted && !ahead->is_over)
			pthread_cond_wait(&ahead->changed, &ahead->lock);
		is_over = ahead->is_over;
		if (!is_over)
			ahead->decoded[ahead->made++ % MAX_AHEAD] = decoded;
		pthread_cond_signal(&ahead->changed);
		pthread_mutex_unlock(&ahead->lock);
		if (is_over) {
			free(decoded.rows);
			break;
		}
	}
	return NULL;
}

static bool is_long(struct trace_reader *reader, const size_t *chunks, size_t count)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < count && rows < MIN_ROWS; i++)
		rows += trace_reader_chunk(reader, chunks[i])->rows;
	return count >= MIN_AHEAD && rows >= MIN_ROWS;
}

int trace_ahead_new(struct trace_reader *reader, const size_t *chunks, size_t count,
		    trace_ahead_work work, const void *context, struct trace_ahead **ret_ahead)
{
	struct trace_ahead *ahead = calloc(1, sizeof(*ahead));

	if (!ahead)
		return -ENOMEM;
	ahead->reader = reader;
	ahead->chunks = chunks;
	ahead->count = count;
	ahead->work = work;
	ahead->context = context;
	ahead->wanted = AHEAD_CHUNKS;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	ahead->has_thread = is_long(reader, chunks, count) && thread_has_processor() &&
			    thread_start(&ahead->thread, decode_list, ahead);
	*ret_ahead = ahead;
	return 0;
}

void trace_ahead_free(struct trace_ahead *ahead)
{
	if (!ahead)
		return;
	if (ahead->has_thread) {
		pthread_mutex_lock(&ahead->lock);
		ahead->is_over = true;
		pthread_cond_signal(&ahead->changed);
		pthread_mutex_unlock(&ahead->lock);
		pthread_join(ahead->thread, NULL);
	}
	for (; ahead->taken < ahead->made; ahead->taken++)
		free(ahead->decoded[ahead->taken % MAX_AHEAD].rows);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
}

static void take_decoded(struct trace_ahead *ahead, struct decoded *ret_decoded)
{
	pthread_mutex_lock(&ahead->lock);
	while (ahead->made == ahead->taken)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	*ret_decoded = ahead->decoded[ahead->taken++ % MAX_AHEAD];
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
}

int trace_ahead_next(struct trace_ahead *ahead, void **ret_rows, size_t *ret_count)
{
	struct decoded decoded;

	if (ahead->taken == ahead->count)
		return -ENODATA;
	if (ahead->has_thread) {
		take_decoded(ahead, &decoded);
	} else {
		decode_chunk(ahead, ahead->chunks[ahead->taken], &decoded);
		ahead->made = ++ahead->taken;
	}
	if (decoded.error == -ENOMEM) /* the decoding thread's text is not in this thread's chain */
		return error_set(decoded.error, "read the trace: out of memory");
	*ret_rows = decoded.rows;
	*ret_count = decoded.count;
	return decoded.error;
}

void trace_ahead_set_limit(struct trace_ahead *ahead, size_t chunks)
{
	size_t wanted = chunks < AHEAD_CHUNKS ? AHEAD_CHUNKS : chunks;

	pthread_mutex_lock(&ahead->lock);
	ahead->wanted = wanted < MAX_AHEAD ? wanted : MAX_AHEAD;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
}
