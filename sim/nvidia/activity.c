/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/activity.c - enabled kinds of activity, and the items that the driver reports
 *
 * Runs in:  a program that uses CUDA, on the threads that call the driver
 * Gets:     work, waits, overheads, objects, calls
 * Gives:    items to the worker
 * Owns:     the table of kinds, attributes, each thread's external correlation ids
 * Why:      an item is made at the call and becomes a record once the host's clock has passed its
 *           end, so a flush returns what a flush of the real library would
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti.h"

enum { KINDS = 64, CONTEXTS = 64, EXTERNAL_KINDS = 6, EXTERNAL_DEPTH = 32, ATTRIBUTES = 16 };

static _Atomic uint64_t kinds, context_kinds[CONTEXTS];
static _Atomic uint8_t is_call_off[2][MAX_SIM_CBIDS]; /* driver, runtime */
static _Atomic bool has_latency;
static _Atomic uint64_t attributes[ATTRIBUTES] = {
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = 3200000,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = 3,
	[CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER] = 1};

static _Thread_local struct {
	uint64_t ids[EXTERNAL_DEPTH];
	size_t depth;
} external[EXTERNAL_KINDS];
static _Thread_local uint32_t replayed_kind;

bool sim_has_latency_stamps(void)
{
	return has_latency;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

bool sim_is_kind_on(uint32_t kind, uint32_t context_id)
{
	uint64_t on = kinds;

	if (context_id < CONTEXTS)
		on |= context_kinds[context_id];
	return on >> kind & 1;
}

/* 30 went with 13.0. */
static bool is_kind(uint32_t kind)
{
	return kind > 0 && kind < KINDS && sim_stride(kind) && kind != sim_options()->no_kind &&
	       !(kind == CUPTI_ACTIVITY_KIND_PC_SAMPLING && sim_options()->version >= 130000);
}

static void emit(uint32_t kind, const void *record, size_t bytes)
{
	struct sim_item *item = calloc(1, sizeof(*item));

	if (!item)
		return;
	item->type = SIM_ITEM_RECORD;
	item->kind = kind;
	memcpy(item->record, record, bytes);
	sim_deliver(item);
}

static void emit_devices(void)
{
	struct cupti_activity_device record;

	for (int64_t i = 0; i < (int64_t)sim_visible_count(); i++) {
		sim_make_device((uint32_t)i, &record);
		emit(CUPTI_ACTIVITY_KIND_DEVICE, &record, sizeof(record));
	}
}

static cupti_result check_kind(uint32_t kind)
{
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	return is_kind(kind) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

static cupti_result enable(cupti_kind kind)
{
	cupti_result result = check_kind(kind);
	bool was_on = !result && kinds >> kind & 1;

	if (!result)
		result = sim_delivery_start();
	if (result)
		return result;
	sim_stamp_pair();
	atomic_fetch_or(&kinds, UINT64_C(1) << kind);
	if (kind == CUPTI_ACTIVITY_KIND_DEVICE && !was_on)
		emit_devices();
	return CUPTI_SUCCESS;
}

cupti_result cuptiActivityEnable(cupti_kind kind)
{
	SIM_FAIL_AS_ASKED();
	return enable(kind);
}

cupti_result cuptiActivityDisable(cupti_kind kind)
{
	cupti_result result = check_kind(kind);

	SIM_FAIL_AS_ASKED();
	if (!result)
		atomic_fetch_and(&kinds, ~(UINT64_C(1) << kind));
	return result;
}

cupti_result cuptiActivityEnableAndDump(cupti_kind kind)
{
	cupti_result result;

	SIM_FAIL_AS_ASKED();
	result = enable(kind);
	if (result)
		return result;
	replayed_kind = kind;
	sim_driver()->replay();
	replayed_kind = 0;
	return CUPTI_SUCCESS;
}

static cupti_result switch_context(CUcontext context, cupti_kind kind, bool is_on)
{
	cupti_result result = check_kind(kind);
	uint32_t id;

	if (result)
		return result;
	if (!sim_driver()->context_ids(context, &id, NULL) || id >= CONTEXTS)
		return CUPTI_ERROR_INVALID_CONTEXT;
	result = sim_delivery_start();
	if (result)
		return result;
	sim_stamp_pair();
	if (is_on)
		atomic_fetch_or(&context_kinds[id], UINT64_C(1) << kind);
	else
		atomic_fetch_and(&context_kinds[id], ~(UINT64_C(1) << kind));
	return CUPTI_SUCCESS;
}

cupti_result cuptiActivityEnableContext(CUcontext context, cupti_kind kind)
{
	SIM_FAIL_AS_ASKED();
	return switch_context(context, kind, true);
}

cupti_result cuptiActivityDisableContext(CUcontext context, cupti_kind kind)
{
	SIM_FAIL_AS_ASKED();
	return switch_context(context, kind, false);
}

void sim_activity_reset(void)
{
	kinds = 0;
	for (size_t i = 0; i < CONTEXTS; i++)
		context_kinds[i] = 0;
}

/* ---- what the driver tells ------------------------------------------------------------------- */

/* 0: not enabled. */
static uint32_t kind_of_work(const struct sim_work *work)
{
	static const uint32_t plain[] = {[SIM_COPY] = CUPTI_ACTIVITY_KIND_MEMCPY,
					 [SIM_PEER_COPY] = CUPTI_ACTIVITY_KIND_MEMCPY2,
					 [SIM_SET] = CUPTI_ACTIVITY_KIND_MEMSET,
					 [SIM_GRAPH] = CUPTI_ACTIVITY_KIND_GRAPH_TRACE};
	uint32_t kind = work->kind == SIM_KERNEL ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
						 : plain[work->kind];

	if (work->graph_node_id &&
	    sim_is_kind_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, work->context_id))
		return 0;
	if (work->kind == SIM_KERNEL &&
	    sim_is_kind_on(CUPTI_ACTIVITY_KIND_KERNEL, work->context_id))
		return CUPTI_ACTIVITY_KIND_KERNEL;
	return sim_is_kind_on(kind, work->context_id) ? kind : 0;
}

void sim_on_work(const struct sim_work *work)
{
	uint32_t kind = kind_of_work(work);
	struct sim_item *item;

	if (work->kind == SIM_KERNEL)
		sim_pc_on_kernel(work);
	item = kind ? calloc(1, sizeof(*item)) : NULL;
	if (!item)
		return;
	item->type = SIM_ITEM_WORK;
	item->kind = kind;
	item->due_ns = work->end_ns;
	item->work = *work;
	if (work->kernel) {
		item->kernel = *work->kernel;
		item->kernel.name = sim_intern(work->kernel->name);
	}
	sim_deliver(item);
}

void sim_on_waited(const struct sim_wait *wait)
{
	struct sim_item *item;

	sim_on_synchronized(wait);
	if (!sim_is_kind_on(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, wait->context_id))
		return;
	item = calloc(1, sizeof(*item));
	if (!item)
		return;
	item->type = SIM_ITEM_WAIT;
	item->kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
	item->wait = *wait;
	sim_deliver(item);
}

void sim_on_overhead(const struct sim_overhead *overhead)
{
	struct sim_item *item;

	if (!sim_is_kind_on(CUPTI_ACTIVITY_KIND_OVERHEAD, 0))
		return;
	item = calloc(1, sizeof(*item));
	if (!item)
		return;
	item->type = SIM_ITEM_OVERHEAD;
	item->kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
	item->thread_id = sim_thread_id();
	item->overhead = *overhead;
	sim_deliver(item);
}

/* Releases have no size before 12.0, as a tool may have to bear. */
void sim_on_memory(const struct sim_memory *memory)
{
	const bool has_size =
		memory->operation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION ||
		sim_options()->version >= 19;
	const struct cupti_activity_memory_operation record = {
		.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
		.operation_type = memory->operation,
		.memory_kind = memory->memory_kind,
		.correlation_id = memory->correlation_id,
		.address = memory->address,
		.size_bytes = has_size ? memory->size_bytes : 0,
		.timestamp_ns = sim_stamp(memory->at_ns),
		.process_id = (uint32_t)getpid(),
		.device_id = memory->device_id,
		.context_id = memory->context_id,
		.stream_id = CUPTI_INVALID_STREAM_ID,
	};

	if (sim_is_kind_on(CUPTI_ACTIVITY_KIND_MEMORY2, memory->context_id))
		emit(CUPTI_ACTIVITY_KIND_MEMORY2, &record, sizeof(record));
}

void sim_on_context(uint32_t context_id, uint32_t device_id)
{
	const struct cupti_activity_context record = {
		.kind = CUPTI_ACTIVITY_KIND_CONTEXT,
		.context_id = context_id,
		.device_id = device_id,
		.compute_api = CUPTI_ACTIVITY_COMPUTE_API_CUDA,
		.null_stream_id = 7,
		.parent_context_id = CUPTI_INVALID_CONTEXT_ID,
		.multiprocessor_count = (uint16_t)sim_options()->sms};

	if ((!replayed_kind || replayed_kind == CUPTI_ACTIVITY_KIND_CONTEXT) &&
	    sim_is_kind_on(CUPTI_ACTIVITY_KIND_CONTEXT, context_id))
		emit(CUPTI_ACTIVITY_KIND_CONTEXT, &record, sizeof(record));
}

void sim_on_stream(const struct sim_stream_facts *facts)
{
	const struct cupti_activity_stream record = {.kind = CUPTI_ACTIVITY_KIND_STREAM,
						     .context_id = facts->context_id,
						     .stream_id = facts->stream_id,
						     .priority = facts->priority,
						     .flag = facts->flag,
						     .correlation_id = facts->correlation_id};

	if ((!replayed_kind || replayed_kind == CUPTI_ACTIVITY_KIND_STREAM) &&
	    sim_is_kind_on(CUPTI_ACTIVITY_KIND_STREAM, facts->context_id))
		emit(CUPTI_ACTIVITY_KIND_STREAM, &record, sizeof(record));
}

bool sim_is_serialized(uint32_t context_id)
{
	return sim_is_kind_on(CUPTI_ACTIVITY_KIND_KERNEL, context_id) ||
	       sim_pc_is_serialized(context_id);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* They come before the call's own record. */
static void emit_external(uint32_t correlation_id)
{
	for (uint32_t i = 1; i < EXTERNAL_KINDS; i++) {
		const struct cupti_activity_external_correlation record = {
			.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
			.external_kind = i,
			.external_id =
				external[i].depth ? external[i].ids[external[i].depth - 1] : 0,
			.correlation_id = correlation_id};

		if (external[i].depth)
			emit(record.kind, &record, sizeof(record));
	}
}

void sim_on_api(const struct sim_call *call)
{
	bool is_runtime = call->domain == CUPTI_CB_DOMAIN_RUNTIME_API;
	const struct cupti_activity_api record = {.kind = is_runtime ? CUPTI_ACTIVITY_KIND_RUNTIME
								     : CUPTI_ACTIVITY_KIND_DRIVER,
						  .cbid = call->cbid,
						  .start_ns = call->start_ns,
						  .end_ns = sim_timestamp(),
						  .process_id = (uint32_t)getpid(),
						  .thread_id = sim_thread_id(),
						  .correlation_id = call->correlation_id,
						  .return_value = call->result};

	if (call->cbid < MAX_SIM_CBIDS && is_call_off[is_runtime][call->cbid])
		return;
	if (sim_is_kind_on(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, call->context_id))
		emit_external(call->correlation_id);
	emit(record.kind, &record, sizeof(record));
}

static cupti_result switch_call(bool is_runtime, uint32_t cbid, bool is_on)
{
	uint32_t kind = is_runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
	cupti_domain domain = is_runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;

	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!sim_is_callback(domain, cbid))
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (is_on && !sim_is_kind_on(kind, 0)) { /* the first one: this call alone */
		for (size_t i = 0; i < MAX_SIM_CBIDS; i++)
			is_call_off[is_runtime][i] = true;
		is_call_off[is_runtime][cbid] = false;
		return enable(kind);
	}
	is_call_off[is_runtime][cbid] = !is_on;
	return CUPTI_SUCCESS;
}

cupti_result cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t is_on)
{
	SIM_FAIL_AS_ASKED();
	return switch_call(false, cbid, is_on);
}

cupti_result cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t is_on)
{
	SIM_FAIL_AS_ASKED();
	return switch_call(true, cbid, is_on);
}

cupti_result cuptiActivityPushExternalCorrelationId(cupti_external_kind kind, uint64_t id)
{
	SIM_FAIL_AS_ASKED();
	if (!kind || kind >= EXTERNAL_KINDS || external[kind].depth == EXTERNAL_DEPTH)
		return CUPTI_ERROR_INVALID_PARAMETER;
	external[kind].ids[external[kind].depth++] = id;
	return CUPTI_SUCCESS;
}

cupti_result cuptiActivityPopExternalCorrelationId(cupti_external_kind kind, uint64_t *ret_id)
{
	SIM_FAIL_AS_ASKED();
	if (!kind || kind >= EXTERNAL_KINDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!external[kind].depth)
		return CUPTI_ERROR_QUEUE_EMPTY;
	external[kind].depth--;
	if (ret_id)
		*ret_id = external[kind].ids[external[kind].depth];
	return CUPTI_SUCCESS;
}

/* ---- attributes and switches ----------------------------------------------------------------- */

/* How long a value is; 0: no such attribute. */
static size_t attribute_bytes(cupti_attribute attribute)
{
	if (attribute >= 11 || attribute == 3 || attribute == 4 || attribute == 7)
		return 0;
	return attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER ||
			       attribute == CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED ||
			       attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER
		       ? sizeof(uint8_t)
		       : sizeof(size_t);
}

cupti_result cuptiActivitySetAttribute(cupti_attribute attribute, size_t *size, void *value)
{
	size_t needed = attribute_bytes(attribute);
	uint64_t number = 0;

	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!size || !value || !needed)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*size < needed)
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	memcpy(&number, value, needed);
	attributes[attribute] = number;
	return CUPTI_SUCCESS;
}

cupti_result cuptiActivityGetAttribute(cupti_attribute attribute, size_t *size, void *ret_value)
{
	size_t needed = attribute_bytes(attribute);
	uint64_t number;

	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!size || !ret_value || !needed)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*size < needed)
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	number = attributes[attribute];
	memcpy(ret_value, &number, needed);
	*size = needed;
	return CUPTI_SUCCESS;
}

cupti_result cuptiActivityEnableLatencyTimestamps(uint8_t is_on)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	has_latency = is_on != 0;
	return CUPTI_SUCCESS;
}

/* Accepted, and without effect here. */
#define SWITCH(function)                                                   \
	cupti_result function(uint8_t is_on)                               \
	{                                                                  \
		SIM_FAIL_AS_ASKED();                                       \
		return sim_driver() ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN; \
	}

SWITCH(cuptiActivityEnableLaunchAttributes)
SWITCH(cuptiActivityEnableDeviceGraph)
SWITCH(cuptiActivityEnableAllocationSource)
SWITCH(cuptiActivityEnableAllSyncRecords)
SWITCH(cuptiActivityEnableCudaEventDeviceTimestamps)

/* Blackwell's alone. */
cupti_result cuptiActivityEnableHWTrace(uint8_t is_on)
{
	SIM_FAIL_AS_ASKED();
	return sim_driver() ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_ERROR_UNKNOWN;
}

cupti_result cuptiActivityFlushAll(uint32_t flag)
{
	static _Atomic uint64_t last_passes;
	uint64_t begin_ns = sim_now(), passes;
	cupti_result result;

	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	while (sim_options()->flush_hang)
		sim_sleep_until(sim_now() + 1000000000u);
	result = sim_flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	passes = sim_passes();
	sim_note_flushed(begin_ns, passes - atomic_exchange(&last_passes, passes));
	return result;
}

/* Full buffers go by themselves. */
cupti_result cuptiActivityFlushPeriod(uint32_t period_ms)
{
	SIM_FAIL_AS_ASKED();
	return sim_driver() ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN;
}
