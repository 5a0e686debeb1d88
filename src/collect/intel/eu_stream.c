/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eu_stream.c - a GPU's stream of EU-stall rows: opened, read as it comes, and opened again
 *
 * Runs in:  the recorder; reading in a thread of its own
 * Gets:     a render node of the driver xe, Linux 6.15 and later   Gives: counts by instruction
 * Owns:     the stream's descriptor, two tables: one is filled while the other is told
 * Fails:    to open: with what mends it. Later a reset of the GPU ends the stream, and another is opened
 * Why:      the driver looks at the hardware's buffers every 5 ms and hands out what is there: to read more often gives
 *           less at a time and no more
 */
#include "collect/intel/eu_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/thread.h"
#include "event/xe_abi.h"

enum { BUFFER_BYTES = 2 << 20, PAUSE_US = 5000, POLL_MS = 50, REOPEN_US = 20000 };

struct eu_stream {
	const struct gpu_node *node; /* borrowed */
	struct eu_stream_facts facts;
	int fd; /* owned; -1: the GPU was reset */
	pthread_t thread;
	atomic_bool is_over;
	uint8_t *buffer; /* owned */
	pthread_mutex_t lock;
	struct stalls *filled, *told;   /* owned; under the lock they change places */
	struct eu_stream_counts counts; /* under the lock */
};

/* ---- what the driver says ---------------------------------------------------------------------- */

static int find_layout(const struct gpu_node *node, uint32_t nth, struct eu_stream_facts *facts)
{
	struct gpu_gt gt;
	const int error = gpu_node_find_gt(node, nth, &gt);

	if (error)
		return error;
	facts->gt = gt.id;
	facts->major = gt.major;
	facts->minor = gt.minor;
	facts->layout = eu_stall_layout_find(gt.major, gt.minor);
	if (facts->layout)
		return 0;
	return error_set(-ENOTSUP,
			 "EU stalls: this GPU (graphics IP %u.%02u) has no sampling of them: "
			 "Data Center GPU Max (PVC) has it, and Xe2 and later",
			 gt.major, gt.minor);
}

/* The shortest time between samples that is not shorter than what is wanted. */
static uint64_t choose_rate(const struct xe_query_eu_stall *answer, uint64_t wanted_cycles)
{
	uint64_t count = answer->num_sampling_rates, rate = answer->sampling_rates[count - 1];

	if (!wanted_cycles)
		return answer->sampling_rates[count / 2];
	while (count-- && answer->sampling_rates[count] >= wanted_cycles)
		rate = answer->sampling_rates[count];
	return rate;
}

int eu_stream_ask(const struct gpu_node *node, uint32_t nth, uint64_t wanted_cycles,
		  struct eu_stream_facts *ret_facts)
{
	auto_free struct xe_query_eu_stall *answer = NULL;
	uint32_t size;
	int error = find_layout(node, nth, ret_facts);

	if (error)
		return error;
	error = gpu_node_ask(node, XE_QUERY_EU_STALL, (void **)&answer, &size);
	if (error)
		return error_set(
			-ENOTSUP,
			"EU stalls: the driver xe of this kernel cannot sample them (%s): it can "
			"since Linux 6.15",
			strerror(-error));
	if (size < sizeof(*answer) || !answer->num_sampling_rates ||
	    answer->num_sampling_rates > (size - sizeof(*answer)) / sizeof(uint64_t))
		return error_set(-EPROTO, "EU stalls: the driver xe tells of no rate of sampling");
	if (answer->record_size != EU_STALL_ROW_BYTES)
		return error_set(
			-ENOTSUP,
			"EU stalls: a row has %llu bytes on this GPU, and not %d: a newer duet "
			"may know them",
			answer->record_size, EU_STALL_ROW_BYTES);
	ret_facts->rate_cycles = choose_rate(answer, wanted_cycles);
	return 0;
}

/* ---- the stream -------------------------------------------------------------------------------- */

static int refused(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return error_set(
			-EACCES,
			"EU stalls: the driver xe gives them to root and cap_perfmon alone; for "
			"everybody: 'sudo sysctl dev.xe.observation_paranoid=0'");
	case EBUSY:
		return error_set(-EBUSY,
				 "EU stalls: another program samples this GPU already: one can at "
				 "a time");
	default:
		return error_set(-error, "EU stalls: the driver xe refuses their stream: %s",
				 strerror(error));
	}
}

/* A descriptor; -errno. */
static int open_fd(const struct gpu_node *node, const struct eu_stream_facts *facts)
{
	struct xe_set_property reports = {.property = XE_EU_STALL_WAIT_NUM_REPORTS, .value = 1};
	struct xe_set_property rate = {.property = XE_EU_STALL_SAMPLE_RATE,
				       .value = facts->rate_cycles,
				       .next_extension = (uintptr_t)&reports};
	struct xe_set_property gt = {.property = XE_EU_STALL_GT_ID,
				     .value = facts->gt,
				     .next_extension = (uintptr_t)&rate};
	struct xe_observation_param open = {.observation_type = XE_OBSERVATION_EU_STALL,
					    .observation_op = XE_OBSERVATION_OPEN,
					    .param = (uintptr_t)&gt};
	const int fd = node->ioctl(node->fd, XE_IOCTL_OBSERVATION, &open);
	int error;

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && node->ioctl(fd, XE_STREAM_ENABLE, NULL) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static void take(struct eu_stream *stream, size_t size)
{
	pthread_mutex_lock(&stream->lock);
	stalls_take(stream->filled, stream->buffer, size);
	stream->counts.rows += size / EU_STALL_ROW_BYTES;
	pthread_mutex_unlock(&stream->lock);
}

static void count_one(struct eu_stream *stream, uint64_t *count)
{
	pthread_mutex_lock(&stream->lock);
	++*count;
	pthread_mutex_unlock(&stream->lock);
}

/* All that there is. */
static void read_all_rows(struct eu_stream *stream)
{
	for (;;) {
		const ssize_t size = read(stream->fd, stream->buffer, BUFFER_BYTES);

		if (size > 0) {
			take(stream, (size_t)size);
		} else if (size < 0 && errno == EIO) {
			count_one(stream, &stream->counts.hardware_losses);
		} else if (size < 0 && errno == ENODEV) {
			count_one(stream, &stream->counts.resets);
			close(stream->fd);
			stream->fd = -1;
			return;
		} else if (size == 0 || errno != EINTR) {
			return;
		}
	}
}

static void *run(void *argument)
{
	struct eu_stream *stream = argument;
	struct pollfd entry = {.events = POLLIN};

	while (!stream->is_over) {
		if (stream->fd < 0) {
			usleep(REOPEN_US);
			stream->fd = open_fd(stream->node, &stream->facts);
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
	stalls_free(stream->told);
	free(stream->buffer);
	free(stream);
}

int eu_stream_open(const struct gpu_node *node, const struct eu_stream_facts *facts,
		   struct eu_stream **ret_stream)
{
	struct eu_stream *stream = calloc(1, sizeof(*stream));
	int error = 0;

	if (!stream)
		return error_set(-ENOMEM, "EU stalls: out of memory");
	stream->node = node;
	stream->facts = *facts;
	pthread_mutex_init(&stream->lock, NULL);
	stream->buffer = malloc(BUFFER_BYTES);
	stream->filled = stalls_new(facts->layout);
	stream->told = stalls_new(facts->layout);
	stream->fd = open_fd(node, facts);
	if (stream->fd < 0)
		error = refused(-stream->fd);
	else if (!stream->buffer || !stream->filled || !stream->told)
		error = error_set(-ENOMEM, "EU stalls: out of memory");
	else if (!thread_start(&stream->thread, run, stream))
		error = error_set(-EAGAIN, "EU stalls: no thread to read them");
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

void eu_stream_tell(struct eu_stream *stream, stalls_on_counts on_counts, void *context)
{
	struct stalls *told;

	pthread_mutex_lock(&stream->lock);
	told = stream->filled;
	stream->filled = stream->told;
	stream->told = told;
	pthread_mutex_unlock(&stream->lock);
	stalls_tell(told, on_counts, context);
}

void eu_stream_counted(struct eu_stream *stream, struct eu_stream_counts *ret_counts)
{
	pthread_mutex_lock(&stream->lock);
	*ret_counts = stream->counts;
	ret_counts->lost = stalls_lost(stream->filled) + stalls_lost(stream->told);
	pthread_mutex_unlock(&stream->lock);
}
