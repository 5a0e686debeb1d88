/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/stream.c - streams and events of the simulated driver
 *
 * Runs in:  a program that uses CUDA
 * Owns:     streams until they or their context are destroyed, events until they are destroyed
 */
#include <stdlib.h>

#include "driver.h"

enum { STREAM_FIRST_ID = 13 };

static _Atomic uint32_t stream_count, event_ids = 1;

uint32_t sim_next_stream_id(void)
{
	return STREAM_FIRST_ID +
	       (uint32_t)sim_options()->stream_step * atomic_fetch_add(&stream_count, 1);
}

void sim_stream_init(CUstream stream, CUcontext context, uint32_t id, unsigned flags)
{
	*stream = (struct CUstream_st){
		.magic = SIM_STREAM_MAGIC, .context = context, .id = id, .flags = flags};
}

struct sim_stream_facts sim_stream_facts_of(const struct CUstream_st *stream)
{
	uint32_t flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;

	if (stream->is_null)
		flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL;
	else if (stream->flags & CU_STREAM_NON_BLOCKING)
		flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
	return (struct sim_stream_facts){.context_id = stream->context->id,
					 .stream_id = stream->id,
					 .priority = (uint32_t)stream->priority,
					 .flag = flag,
					 .correlation_id = stream->correlation_id};
}

void sim_tell_stream(CUstream stream)
{
	const struct sim_hooks *hooks = sim_hooks();
	struct sim_stream_facts facts = sim_stream_facts_of(stream);

	if (hooks)
		hooks->stream(&facts);
}

static CUstream stream_in(CUcontext context, CUstream handle)
{
	if (!handle || handle == CU_STREAM_LEGACY)
		return context ? &context->null : NULL;
	if (handle == CU_STREAM_PER_THREAD)
		return context ? &context->per_thread : NULL;
	return handle->magic == SIM_STREAM_MAGIC ? handle : NULL;
}

CUstream sim_stream_of(CUstream handle)
{
	return stream_in(sim_current(), handle);
}

bool sim_stream_id(CUcontext context, CUstream stream, uint32_t *ret_id)
{
	CUstream found = stream_in(context ? context : sim_current(), stream);

	if (!found)
		return false;
	*ret_id = found->id;
	return true;
}

void sim_streams_free(CUcontext context)
{
	while (context->streams) {
		CUstream next = context->streams->next;

		free(context->streams);
		context->streams = next;
	}
}

/* ---- streams --------------------------------------------------------------------------------- */

static CUresult create(struct sim_call *call, unsigned flags, int priority, CUstream *ret_stream)
{
	CUcontext context = call->context;
	CUstream stream;

	if (!ret_stream || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	stream = malloc(sizeof(*stream));
	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_stream_init(stream, context, sim_next_stream_id(), flags);
	stream->priority = priority;
	stream->correlation_id = call->correlation_id;
	pthread_mutex_lock(&sim_lock);
	stream->next = context->streams;
	context->streams = stream;
	pthread_mutex_unlock(&sim_lock);
	*ret_stream = stream;
	sim_tell_stream(stream);
	sim_resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, context, stream, NULL);
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *ret_stream, unsigned flags)
{
	const struct {
		CUstream *ret_stream;
		unsigned flags;
	} parameters = {ret_stream, flags};
	SIM_CALL(cuStreamCreate, &parameters);

	if (sim_call_begin_in_context(&call))
		call.result = create(&call, flags, 0, ret_stream);
	return sim_call_end(&call);
}

CUresult cuStreamCreateWithPriority(CUstream *ret_stream, unsigned flags, int priority)
{
	const struct {
		CUstream *ret_stream;
		unsigned flags;
		int priority;
	} parameters = {ret_stream, flags, priority};
	SIM_CALL(cuStreamCreateWithPriority, &parameters);

	if (sim_call_begin_in_context(&call))
		call.result = create(&call, flags, priority, ret_stream);
	return sim_call_end(&call);
}

static void unlink_stream(CUstream stream)
{
	pthread_mutex_lock(&sim_lock);
	for (CUstream *link = &stream->context->streams; *link; link = &(*link)->next) {
		if (*link != stream)
			continue;
		*link = stream->next;
		break;
	}
	pthread_mutex_unlock(&sim_lock);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
	SIM_CALL(cuStreamDestroy_v2, &stream);

	if (sim_call_begin(&call)) {
		if (!stream || stream <= CU_STREAM_PER_THREAD ||
		    stream->magic != SIM_STREAM_MAGIC) {
			call.result = CUDA_ERROR_INVALID_HANDLE;
		} else {
			sim_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, stream->context,
				     stream, NULL);
			unlink_stream(stream);
			stream->magic = 0;
			free(stream);
		}
	}
	return sim_call_end(&call);
}

static uint64_t free_at(const struct CUstream_st *stream)
{
	uint64_t free_ns;

	pthread_mutex_lock(&sim_lock);
	free_ns = stream->free_ns;
	if (stream->is_null && stream->context->blocking_ns > free_ns)
		free_ns = stream->context->blocking_ns;
	pthread_mutex_unlock(&sim_lock);
	return free_ns;
}

CUresult cuStreamSynchronize(CUstream stream)
{
	CUstream found;
	SIM_CALL(cuStreamSynchronize, &stream);

	if (sim_call_begin_in_context(&call)) {
		found = sim_stream_of(stream);
		if (!found) {
			call.result = CUDA_ERROR_INVALID_HANDLE;
		} else if (found->capture) {
			call.result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		} else {
			sim_wait(&call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
				 found, CUPTI_SYNCHRONIZATION_INVALID_VALUE, free_at(found));
			sim_wait_for_hosts(found);
		}
	}
	return sim_call_end(&call);
}

CUresult cuStreamQuery(CUstream stream)
{
	CUstream found;
	SIM_CALL(cuStreamQuery, &stream);

	if (sim_call_begin_in_context(&call)) {
		found = sim_stream_of(stream);
		if (!found)
			call.result = CUDA_ERROR_INVALID_HANDLE;
		else if (sim_now() < free_at(found))
			call.result = CUDA_ERROR_NOT_READY;
	}
	return sim_call_end(&call);
}

/* A wait for an event that is a node of a graph brings the stream into that capture. */
static void wait_for_event(struct sim_call *call, CUstream stream, CUevent event)
{
	struct sim_wait wait = {.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
				.correlation_id = call->correlation_id,
				.context_id = call->context_id,
				.stream_id = stream->id,
				.event_id = event->id,
				.start_ns = sim_now()};

	pthread_mutex_lock(&sim_lock);
	if (event->capture) {
		stream->capture = event->capture;
		stream->capture_last = event->capture_node;
	} else if (event->at_ns > stream->free_ns) {
		stream->free_ns = event->at_ns;
	}
	pthread_mutex_unlock(&sim_lock);
	wait.end_ns = sim_now();
	if (call->hooks)
		call->hooks->waited(&wait);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	const struct {
		CUstream stream;
		CUevent event;
		unsigned flags;
	} parameters = {stream, event, flags};
	CUstream found;
	SIM_CALL(cuStreamWaitEvent, &parameters);

	if (sim_call_begin_in_context(&call)) {
		found = sim_stream_of(stream);
		if (!found || !event || event->magic != SIM_EVENT_MAGIC)
			call.result = CUDA_ERROR_INVALID_HANDLE;
		else
			wait_for_event(&call, found, event);
	}
	return sim_call_end(&call);
}

/* ---- events ---------------------------------------------------------------------------------- */

CUresult cuEventCreate(CUevent *ret_event, unsigned flags)
{
	const struct {
		CUevent *ret_event;
		unsigned flags;
	} parameters = {ret_event, flags};
	CUevent event;
	SIM_CALL(cuEventCreate, &parameters);

	if (sim_call_begin_in_context(&call)) {
		event = ret_event ? calloc(1, sizeof(*event)) : NULL;
		if (event) {
			event->magic = SIM_EVENT_MAGIC;
			event->id = atomic_fetch_add(&event_ids, 1);
			event->flags = flags;
			*ret_event = event;
		} else {
			call.result = CUDA_ERROR_INVALID_VALUE;
		}
	}
	return sim_call_end(&call);
}

CUresult cuEventDestroy_v2(CUevent event)
{
	SIM_CALL(cuEventDestroy_v2, &event);

	if (sim_call_begin(&call)) {
		if (!event || event->magic != SIM_EVENT_MAGIC) {
			call.result = CUDA_ERROR_INVALID_HANDLE;
		} else {
			event->magic = 0;
			free(event);
		}
	}
	return sim_call_end(&call);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	const struct {
		CUevent event;
		CUstream stream;
	} parameters = {event, stream};
	CUstream found;
	SIM_CALL(cuEventRecord, &parameters);

	if (sim_call_begin_in_context(&call)) {
		found = sim_stream_of(stream);
		if (!found || !event || event->magic != SIM_EVENT_MAGIC) {
			call.result = CUDA_ERROR_INVALID_HANDLE;
		} else {
			uint64_t now_ns = sim_now(), free_ns = free_at(found);

			pthread_mutex_lock(&sim_lock);
			event->capture = found->capture;
			event->capture_node = found->capture_last;
			event->at_ns = free_ns > now_ns ? free_ns : now_ns;
			pthread_mutex_unlock(&sim_lock);
		}
	}
	return sim_call_end(&call);
}

static uint64_t recorded_at(const struct CUevent_st *event)
{
	uint64_t at_ns;

	pthread_mutex_lock(&sim_lock);
	at_ns = event->at_ns;
	pthread_mutex_unlock(&sim_lock);
	return at_ns;
}

CUresult cuEventSynchronize(CUevent event)
{
	SIM_CALL(cuEventSynchronize, &event);

	if (sim_call_begin_in_context(&call)) {
		if (!event || event->magic != SIM_EVENT_MAGIC)
			call.result = CUDA_ERROR_INVALID_HANDLE;
		else
			sim_wait(&call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, NULL,
				 event->id, recorded_at(event));
	}
	return sim_call_end(&call);
}

CUresult cuEventQuery(CUevent event)
{
	SIM_CALL(cuEventQuery, &event);

	if (sim_call_begin_in_context(&call)) {
		if (!event || event->magic != SIM_EVENT_MAGIC)
			call.result = CUDA_ERROR_INVALID_HANDLE;
		else if (sim_now() < recorded_at(event))
			call.result = CUDA_ERROR_NOT_READY;
	}
	return sim_call_end(&call);
}

CUresult cuEventElapsedTime(float *ret_ms, CUevent start, CUevent end)
{
	const struct {
		float *ret_ms;
		CUevent start, end;
	} parameters = {ret_ms, start, end};
	SIM_CALL(cuEventElapsedTime, &parameters);

	if (sim_call_begin_in_context(&call)) {
		if (!ret_ms || !start || !end || start->magic != SIM_EVENT_MAGIC ||
		    end->magic != SIM_EVENT_MAGIC || !recorded_at(start) || !recorded_at(end) ||
		    ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
			call.result = CUDA_ERROR_INVALID_HANDLE;
		else if (sim_now() < recorded_at(end) || sim_now() < recorded_at(start))
			call.result = CUDA_ERROR_NOT_READY;
		else
			*ret_ms = (float)((double)(int64_t)(recorded_at(end) - recorded_at(start)) /
					  1e6);
	}
	return sim_call_end(&call);
}
