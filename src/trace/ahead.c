/* SPDX-License-Identifier: MIT
 *
 * trace/ahead.c - the rows of many chunks, decoded ahead of who reads them
 *
 * Runs in:  the readers; one owner, and a thread of its own
 * Gets:     a reader and a list of chunks   Gives: their rows, in the list's order
 * Owns:     its thread, and the rows that were decoded and not taken
 * Fails:    as trace_reader_rows for the chunk that is taken; nothing else waits or is lost for it
 * Why:      decoding and placing in time are a third of what a sweep over a trace costs and need
 *           nothing of what the sweep knows.
 */
#include "trace/ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/thread.h"
#include "trace/reader.h"

#define AHEAD_LEAST 16 /* chunks; for fewer a thread costs more than it saves */

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
	size_t wanted;      /* of them decoded and not taken, at most */
	bool is_over;       /* nobody takes any more */
	struct decoded decoded[AHEAD_MOST];
};

static void decode(const struct trace_ahead *ahead, size_t chunk, struct decoded *ret_decoded)
{
	*ret_decoded = (struct decoded){0};
	ret_decoded->error =
		trace_reader_rows(ahead->reader, chunk, &ret_decoded->rows, &ret_decoded->count);
	if (!ret_decoded->error && ahead->work)
		ret_decoded->count =
			ahead->work(ahead->context, chunk, ret_decoded->rows, ret_decoded->count);
}

static void *run(void *argument)
{
	struct trace_ahead *ahead = argument;
	struct decoded decoded;

	for (size_t i = 0; i < ahead->count; i++) {
		bool is_over;

		decode(ahead, ahead->chunks[i], &decoded);
		pthread_mutex_lock(&ahead->lock);
		while (ahead->made - ahead->taken >= ahead->wanted && !ahead->is_over)
			pthread_cond_wait(&ahead->changed, &ahead->lock);
		is_over = ahead->is_over;
		if (!is_over)
			ahead->decoded[ahead->made++ % AHEAD_MOST] = decoded;
		pthread_cond_signal(&ahead->changed);
		pthread_mutex_unlock(&ahead->lock);
		if (is_over) {
			free(decoded.rows);
			break;
		}
	}
	return NULL;
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
	ahead->has_thread = count >= AHEAD_LEAST && thread_has_processor() &&
			    thread_start(&ahead->thread, run, ahead);
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
		free(ahead->decoded[ahead->taken % AHEAD_MOST].rows);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
}

static void take(struct trace_ahead *ahead, struct decoded *ret_decoded)
{
	pthread_mutex_lock(&ahead->lock);
	while (ahead->made == ahead->taken)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	*ret_decoded = ahead->decoded[ahead->taken++ % AHEAD_MOST];
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
}

int trace_ahead_next(struct trace_ahead *ahead, void **ret_rows, size_t *ret_count)
{
	struct decoded decoded;

	if (ahead->taken == ahead->count)
		return -ENODATA;
	if (ahead->has_thread) {
		take(ahead, &decoded);
	} else {
		decode(ahead, ahead->chunks[ahead->taken], &decoded);
		ahead->made = ++ahead->taken;
	}
	if (decoded.error == -ENOMEM) /* what the other thread noted is not read here */
		return error_set(decoded.error, "read the trace: out of memory");
	*ret_rows = decoded.rows;
	*ret_count = decoded.count;
	return decoded.error;
}

void trace_ahead_want(struct trace_ahead *ahead, size_t chunks)
{
	size_t wanted = chunks < AHEAD_CHUNKS ? AHEAD_CHUNKS : chunks;

	pthread_mutex_lock(&ahead->lock);
	ahead->wanted = wanted < AHEAD_MOST ? wanted : AHEAD_MOST;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
}
