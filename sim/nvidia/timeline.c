/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/timeline.c - start and end times of all work
 *
 * Runs in:  a program that uses CUDA, on the calling thread; no thread of its own
 * Gets:     work and its duration
 * Gives:    its start and end, for CUPTI and the log
 * Owns:     the busy times of each device in about the last second
 * Why:      the times of a piece of work are computed: it starts when the stream is free, and has
 *           ended when CLOCK_MONOTONIC has passed its end. So the correct times are known to the
 *           nanosecond at the call, and no scheduler changes them. Copies take effect at once,
 *           which a correct program cannot detect.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

enum { SPANS_KEPT = 4096, GAP_NS = 800 /* between two pieces of work in a stream */ };

static struct {
	struct {
		uint64_t start_ns, end_ns;
	} spans[SPANS_KEPT];
	size_t count;    /* of all; the latest SPANS_KEPT are there */
} busy[MAX_SIM_DEVICES]; /* under sim_lock */

uint64_t sim_copy_ns(uint64_t bytes)
{
	return 1000 + (uint64_t)((double)bytes / sim_options()->copy_gbps);
}

/* Under the lock. Overlapping kernels are one span. */
static void note_busy(uint32_t device_id, uint64_t start_ns, uint64_t end_ns)
{
	size_t count = busy[device_id].count;

	if (count && start_ns <= busy[device_id].spans[(count - 1) % SPANS_KEPT].end_ns) {
		if (end_ns > busy[device_id].spans[(count - 1) % SPANS_KEPT].end_ns)
			busy[device_id].spans[(count - 1) % SPANS_KEPT].end_ns = end_ns;
		return;
	}
	busy[device_id].spans[count % SPANS_KEPT].start_ns = start_ns;
	busy[device_id].spans[count % SPANS_KEPT].end_ns = end_ns;
	busy[device_id].count++;
}

uint64_t sim_busy_ns(uint32_t device_id, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum_ns = 0;
	size_t count;

	if (device_id >= MAX_SIM_DEVICES)
		return 0;
	pthread_mutex_lock(&sim_lock);
	count = busy[device_id].count < SPANS_KEPT ? busy[device_id].count : SPANS_KEPT;
	for (size_t i = 0; i < count; i++) {
		uint64_t start_ns = busy[device_id].spans[i].start_ns;
		uint64_t end_ns = busy[device_id].spans[i].end_ns;

		start_ns = start_ns > from_ns ? start_ns : from_ns;
		end_ns = end_ns < to_ns ? end_ns : to_ns;
		if (end_ns > start_ns)
			sum_ns += end_ns - start_ns;
	}
	pthread_mutex_unlock(&sim_lock);
	return sum_ns;
}

static void log_truth(const struct sim_work *work)
{
	static const char *const kinds[] = {"kernel", "copy", "peer", "set", "graph"};
	static _Atomic int file = -1;
	char line[160];
	int length, now = file;

	if (!sim_options()->log[0])
		return;
	if (now < 0) {
		pthread_mutex_lock(&sim_lock);
		if (file < 0)
			file = open(sim_options()->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
				    0644);
		now = file;
		pthread_mutex_unlock(&sim_lock);
	}
	length = snprintf(line, sizeof(line), "%s %u %u %llu %llu\n", kinds[work->kind],
			  work->correlation_id, work->stream_id, (unsigned long long)work->start_ns,
			  (unsigned long long)work->end_ns);
	if (now >= 0 && write(now, line, (size_t)length) != length)
		file = -1;
}

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

/* Under the lock: when the stream can start something new. */
static uint64_t ready_at(const struct CUstream_st *stream, uint64_t now_ns, bool is_serialized)
{
	const struct CUctx_st *context = stream->context;
	uint64_t ready_ns = now_ns + (uint64_t)(sim_options()->latency_us * 1000);

	ready_ns = later(ready_ns, stream->free_ns + GAP_NS);
	if (is_serialized)
		ready_ns = later(ready_ns, context->all_ns);
	if (stream->is_null)
		return later(ready_ns, context->blocking_ns);
	return stream->flags & CU_STREAM_NON_BLOCKING ? ready_ns
						      : later(ready_ns, context->null.free_ns);
}

/* Under the lock. */
static void occupy(CUstream stream, uint64_t end_ns)
{
	CUcontext context = stream->context;

	stream->free_ns = end_ns;
	context->all_ns = later(context->all_ns, end_ns);
	if (!stream->is_null && !(stream->flags & CU_STREAM_NON_BLOCKING))
		context->blocking_ns = later(context->blocking_ns, end_ns);
}

/* As a full queue does it. */
static void hold_back(const struct sim_work *work)
{
	uint64_t ahead_ns = (uint64_t)(sim_options()->queue_us * 1000);
	const struct sim_hooks *hooks = sim_hooks();
	uint64_t now_ns = sim_now();

	if (!ahead_ns || work->end_ns <= now_ns + ahead_ns)
		return;
	sim_sleep_until(work->end_ns - ahead_ns);
	if (hooks)
		hooks->overhead(
			&(struct sim_overhead){.kind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL,
					       .correlation_id = work->correlation_id,
					       .start_ns = now_ns,
					       .end_ns = sim_now()});
}

uint64_t sim_place(CUstream stream, struct sim_work *work, uint64_t duration_ns)
{
	const struct sim_hooks *hooks = sim_hooks();
	CUcontext context = stream->context;
	bool is_serialized = hooks && hooks->is_serialized(context->id);

	pthread_mutex_lock(&sim_lock);
	work->device_id = context->device_id;
	work->context_id = context->id;
	work->stream_id = stream->id;
	work->queued_ns = sim_now();
	work->submitted_ns = work->queued_ns + 1000;
	work->start_ns = ready_at(stream, work->queued_ns, is_serialized);
	work->end_ns = work->start_ns + duration_ns;
	occupy(stream, work->end_ns);
	if (work->kind == SIM_KERNEL)
		note_busy(work->device_id, work->start_ns, work->end_ns);
	pthread_mutex_unlock(&sim_lock);
	log_truth(work);
	if (hooks)
		hooks->work(work);
	hold_back(work);
	return work->end_ns;
}

void sim_wait(struct sim_call *call, uint32_t type, CUstream stream, uint32_t event_id,
	      uint64_t until_ns)
{
	struct sim_wait wait = {
		.type = type,
		.correlation_id = call->correlation_id,
		.context_id = call->context_id,
		.stream_id = stream ? stream->id : CUPTI_SYNCHRONIZATION_INVALID_VALUE,
		.event_id = event_id,
		.start_ns = sim_now(),
		.context = call->context,
		.stream = stream,
	};

	sim_sleep_until(until_ns);
	wait.end_ns = sim_now();
	wait.result = call->result;
	if (call->hooks)
		call->hooks->waited(&wait);
}
