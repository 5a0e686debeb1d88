/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eu_stream.c - a GPU's stream of EU stall rows: opens, reads and reopens it
 *
 * Runs in:  the recorder; reading in a thread of its own
 * Gets:     a render node, and the functions of its driver (eu_driver.h)
 * Gives:    counts by instruction
 * Owns:     the stream's descriptor, and two tables: one is filled while the counts in the other
 *           are written to the trace
 * Fails:    on open, with a remedy. A later GPU reset ends the stream and another is opened; while
 *           that fails, the recorder reports since when and why.
 * Why:      the driver polls the hardware's buffers every 5 ms; reading more often returns smaller
 *           pieces, not more data
 */
#include "collect/intel/eu_stream.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "collect/host_clocks.h"
#include "collect/intel/eu_driver.h"
#include "collect/start/rights.h"

enum { BUFFER_BYTES = 2 << 20, PAUSE_US = EU_STREAM_PAUSE_NS / 1000, POLL_MS = 50 };
/* Time between attempts to reopen a stream. It doubles after each attempt that failed, or that gave
 * a stream for a short time only. */
enum { REOPEN_US = 20000, REOPEN_MAX_US = 2000000 };
#define LONG_NS UINT64_C(1000000000)

struct eu_stream {
	const struct gpu_node *node; /* borrowed */
	struct eu_stream_facts facts;
	int fd; /* owned; -1: the stream has ended */
	uint32_t pause_us;
	uint64_t opened_ns;
	pthread_t thread;
	atomic_bool is_over;
	uint8_t *buffer; /* owned */
	pthread_mutex_t lock;
	struct stalls *filled, *emitting; /* owned; they are swapped under the lock */
	struct eu_stream_counts counts;   /* under the lock */
};

int eu_stream_ask(const struct gpu_node *node, uint32_t nth, uint64_t wanted_cycles,
		  struct eu_stream_facts *ret_facts)
{
	const struct eu_driver *driver =
		strcmp(node->driver, "i915") == 0 ? &eu_i915_driver : &eu_xe_driver;

	*ret_facts = (struct eu_stream_facts){.driver = driver};
	return driver->ask(node, nth, wanted_cycles, ret_facts);
}

/* ---- the stream ------------------------------------------------------------------------------ */

static void take_rows(struct eu_stream *stream, size_t size)
{
	const struct eu_driver *driver = stream->facts.driver;

	pthread_mutex_lock(&stream->lock);
	stalls_take(stream->filled, stream->buffer, size);
	stream->counts.rows += size / EU_STALL_ROW_BYTES;
	if (driver->count_losses)
		stream->counts.hardware_losses += driver->count_losses(stream->buffer, size);
	pthread_mutex_unlock(&stream->lock);
}

static void count_one(struct eu_stream *stream, uint64_t *count)
{
	pthread_mutex_lock(&stream->lock);
	++*count;
	pthread_mutex_unlock(&stream->lock);
}

/* Ends the stream. After a reset of the GPU the old descriptor only returns errors. */
static void end_stream(struct eu_stream *stream, int error)
{
	const uint64_t now_ns = host_clocks_now_ns();

	close(stream->fd);
	stream->fd = -1;
	if (now_ns - stream->opened_ns > LONG_NS)
		stream->pause_us = REOPEN_US;
	pthread_mutex_lock(&stream->lock);
	if (error == ENODEV)
		stream->counts.resets++;
	else
		stream->counts.breaks++;
	stream->counts.ended_ns = now_ns;
	stream->counts.error = error;
	pthread_mutex_unlock(&stream->lock);
}

/* Reads until no row is left. */
static void read_all_rows(struct eu_stream *stream)
{
	for (;;) {
		const ssize_t size = stream->node->read(stream->fd, stream->buffer, BUFFER_BYTES);

		if (size > 0) {
			take_rows(stream, (size_t)size);
		} else if (size < 0 && errno == EIO) {
			count_one(stream, &stream->counts.hardware_losses);
		} else if (size == 0 || errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			end_stream(stream, errno);
			return;
		}
	}
}

/* Waits and tries to reopen the stream. It checks in between whether the thread should stop. */
static void open_again(struct eu_stream *stream)
{
	for (uint32_t waited = 0; waited < stream->pause_us; waited += REOPEN_US) {
		if (stream->is_over)
			return;
		usleep(REOPEN_US);
	}
	if (stream->pause_us < REOPEN_MAX_US)
		stream->pause_us *= 2;
	stream->fd = stream->facts.driver->open(stream->node, &stream->facts);
	stream->opened_ns = host_clocks_now_ns();
	pthread_mutex_lock(&stream->lock);
	if (stream->fd >= 0)
		stream->counts.ended_ns = 0;
	stream->counts.error = stream->fd >= 0 ? 0 : -stream->fd;
	pthread_mutex_unlock(&stream->lock);
}

static void *run(void *argument)
{
	struct eu_stream *stream = argument;
	struct pollfd entry = {.events = POLLIN};

	/* drops all rights of this thread but those to observe */
	rights_keep_observing();
	while (!stream->is_over) {
		if (stream->fd < 0) {
			open_again(stream);
			continue;
		}
		entry.fd = stream->fd;
		if (poll(&entry, 1, POLL_MS) > 0)
			read_all_rows(stream);
		usleep(PAUSE_US);
	}
	if (stream->fd >= 0)
		read_all_rows(stream);
	return NULL;
}

static void free_stream(struct eu_stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	stalls_free(stream->filled);
	stalls_free(stream->emitting);
	free(stream->buffer);
	free(stream);
}

int eu_stream_open(const struct gpu_node *node, const struct eu_stream_facts *facts,
		   struct quota *budget, struct eu_stream **ret_stream)
{
	struct eu_stream *stream = calloc(1, sizeof(*stream));
	int error = 0;

	if (!stream)
		return error_set(-ENOMEM, "EU stalls: out of memory");
	stream->node = node;
	stream->facts = *facts;
	stream->pause_us = REOPEN_US;
	stream->opened_ns = host_clocks_now_ns();
	pthread_mutex_init(&stream->lock, NULL);
	stream->buffer = malloc(BUFFER_BYTES);
	stream->filled = stalls_new(facts->layout, budget);
	stream->emitting = stalls_new(facts->layout, budget);
	stream->fd = facts->driver->open(node, facts);
	if (stream->fd < 0)
		error = facts->driver->refused(-stream->fd);
	else if (!stream->buffer || !stream->filled || !stream->emitting)
		error = error_set(-ENOMEM, "EU stalls: out of memory");
	else if (!thread_start(&stream->thread, run, stream))
		error = error_set(-EAGAIN, "EU stalls: cannot start the thread that reads them");
	if (error)
		free_stream(stream);
	else
		*ret_stream = stream;
	return error;
}

void eu_stream_stop(struct eu_stream *stream)
{
	if (!atomic_exchange(&stream->is_over, true))
		pthread_join(stream->thread, NULL);
}

void eu_stream_close(struct eu_stream *stream)
{
	if (!stream)
		return;
	eu_stream_stop(stream);
	free_stream(stream);
}

uint64_t eu_stream_sampled_since(const struct eu_stream_facts *facts, uint64_t opened_ns,
				 uint64_t emitted_ns)
{
	const uint64_t late_ns = facts->late_ns + EU_STREAM_PAUSE_NS;

	return emitted_ns - opened_ns > late_ns ? emitted_ns - late_ns : opened_ns;
}

int eu_stream_refused(const struct eu_stream *stream, int error)
{
	return stream->facts.driver->refused(error);
}

void eu_stream_emit(struct eu_stream *stream, stalls_on_counts on_counts, void *context)
{
	struct stalls *emitting;

	pthread_mutex_lock(&stream->lock);
	emitting = stream->filled;
	stream->filled = stream->emitting;
	stream->emitting = emitting;
	pthread_mutex_unlock(&stream->lock);
	stalls_emit(emitting, on_counts, context);
}

void eu_stream_counted(struct eu_stream *stream, struct eu_stream_counts *ret_counts)
{
	pthread_mutex_lock(&stream->lock);
	*ret_counts = stream->counts;
	ret_counts->lost = stalls_lost(stream->filled) + stalls_lost(stream->emitting);
	pthread_mutex_unlock(&stream->lock);
}
