/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/records.c - records of the simulated CUPTI, and their lengths
 *
 * Runs in:  a program that uses CUDA, on CUPTI's worker
 * Gets:     items
 * Gives:    records of the version that SIM_NVIDIA selects
 * Owns:     the names that records point to, which are never freed
 * Why:      records only grow at their end, so a record of an older version is the start of the
 *           newest one
 */
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti.h"

/* Of kinds that CUPTI_RECORD_SIZES lacks: what 13.0 has, by the real GetNextRecord. */
static const struct {
	uint32_t kind, bytes;
} fixed[] = {
	{CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API, 40},
	{CUPTI_ACTIVITY_KIND_DEVICE, 184},
	{CUPTI_ACTIVITY_KIND_MARKER_DATA, 40},
	{CUPTI_ACTIVITY_KIND_CDP_KERNEL, 144},
	{CUPTI_ACTIVITY_KIND_ENVIRONMENT, 40},
	{CUPTI_ACTIVITY_KIND_FUNCTION, 32},
	{CUPTI_ACTIVITY_KIND_MODULE, 24},
	{CUPTI_ACTIVITY_KIND_NVLINK, 136},
	{CUPTI_ACTIVITY_KIND_PCIE, 168},
	{CUPTI_ACTIVITY_KIND_MEMORY_POOL, 80},
	{CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS, 64},
	{CUPTI_ACTIVITY_KIND_CONFIDENTIAL_COMPUTE_ROTATION, 32},
};

static const struct {
	uint32_t kind, version, bytes;
} generations[] = {
#define X(kind, version, bytes) {CUPTI_ACTIVITY_KIND_##kind, version, bytes},
	CUPTI_RECORD_SIZES(X)
#undef X
};

size_t sim_stride(uint32_t kind)
{
	uint32_t version = (uint32_t)sim_options()->version;
	size_t bytes = 0;

	if (kind == CUPTI_ACTIVITY_KIND_KERNEL)
		kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++)
		if (generations[i].kind == kind && (!bytes || generations[i].version <= version))
			bytes = generations[i].bytes;
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]) && !bytes; i++)
		if (fixed[i].kind == kind)
			bytes = fixed[i].bytes;
	return bytes;
}

cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes,
					struct cupti_activity **record)
{
	size_t offset = 0, stride;

	SIM_FAIL_AS_ASKED();
	if (!record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!buffer || !valid_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	if (*record) {
		stride = sim_stride((*record)->kind);
		if (!stride)
			return CUPTI_ERROR_INVALID_KIND;
		offset = (size_t)((uint8_t *)*record - buffer) + stride;
	}
	if (offset + sizeof(**record) > valid_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	if (!sim_stride(((struct cupti_activity *)(void *)(buffer + offset))->kind))
		return CUPTI_ERROR_INVALID_KIND;
	*record = (struct cupti_activity *)(void *)(buffer + offset);
	return CUPTI_SUCCESS;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int compare(const void *one, const void *other)
{
	return strcmp(one, other);
}

const char *sim_intern(const char *text)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static void *tree;
	char *const *found;
	char *copy;

	pthread_mutex_lock(&lock);
	found = tfind(text, &tree, compare);
	if (!found) {
		copy = strdup(text);
		found = copy ? tsearch(copy, &tree, compare) : NULL;
	}
	pthread_mutex_unlock(&lock);
	return found ? *found : NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

static _Atomic uint64_t kernel_number, node_number;

static bool is_nth(_Atomic uint64_t *number, int64_t every)
{
	return every && atomic_fetch_add(number, 1) % (uint64_t)every == (uint64_t)every - 1;
}

static void make_kernel(const struct sim_item *item, uint64_t start_ns, uint64_t end_ns,
			struct cupti_activity_kernel *record)
{
	const struct sim_work *work = &item->work;
	const struct sim_shape *shape = &work->shape;

	*record = (struct cupti_activity_kernel){
		.kind = item->kind,
		.registers_per_thread = (uint16_t)item->kernel.registers,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.completed_ns = end_ns,
		.device_id = work->device_id,
		.context_id = work->context_id,
		.stream_id = work->stream_id,
		.grid_x = (int32_t)shape->grid[0],
		.grid_y = (int32_t)shape->grid[1],
		.grid_z = (int32_t)shape->grid[2],
		.block_x = (int32_t)shape->block[0],
		.block_y = (int32_t)shape->block[1],
		.block_z = (int32_t)shape->block[2],
		.static_shared_bytes = (int32_t)item->kernel.static_shared_bytes,
		.dynamic_shared_bytes = (int32_t)shape->dynamic_shared_bytes,
		.local_per_thread_bytes = item->kernel.local_bytes,
		.correlation_id = work->correlation_id,
		.grid_id = (int64_t)atomic_load(&kernel_number),
		.name = item->kernel.name,
		.launch_type = (uint8_t)shape->launch_type,
		.graph_node_id = work->graph_node_id,
		.graph_id = work->graph_id,
		.channel_id = 8,
		.channel_type = CUPTI_CHANNEL_TYPE_COMPUTE,
		.cluster_x = shape->cluster[0],
		.cluster_y = shape->cluster[1],
		.cluster_z = shape->cluster[2]};
	if (sim_has_latency_stamps() && start_ns) {
		record->queued_ns = sim_stamp(work->queued_ns);
		record->submitted_ns = sim_stamp(work->submitted_ns);
	}
	if (is_nth(&kernel_number, sim_options()->untimed_every))
		record->start_ns = record->end_ns = record->completed_ns = 0;
}

static void make_copy(const struct sim_item *item, uint64_t start_ns, uint64_t end_ns,
		      struct cupti_activity_memcpy *record)
{
	const struct sim_work *work = &item->work;

	*record = (struct cupti_activity_memcpy){
		.kind = item->kind,
		.copy_kind = work->copy_kind,
		.source_kind = work->source_kind,
		.destination_kind = work->destination_kind,
		.flags = work->is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
		.size_bytes = work->size_bytes,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.device_id = work->device_id,
		.context_id = work->context_id,
		.stream_id = work->stream_id,
		.correlation_id = work->correlation_id,
		.graph_node_id = work->graph_node_id,
		.graph_id = work->graph_id,
		.channel_id = 9,
		.channel_type = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY,
		.copy_count = 1};
}

static void make_peer_copy(const struct sim_item *item, uint64_t start_ns, uint64_t end_ns,
			   struct cupti_activity_memcpy_peer *record)
{
	const struct sim_work *work = &item->work;

	*record = (struct cupti_activity_memcpy_peer){
		.kind = item->kind,
		.copy_kind = work->copy_kind,
		.source_kind = work->source_kind,
		.destination_kind = work->destination_kind,
		.flags = work->is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
		.size_bytes = work->size_bytes,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.device_id = work->device_id,
		.context_id = work->context_id,
		.stream_id = work->stream_id,
		.source_device_id = work->source_device_id,
		.source_context_id = work->source_context_id,
		.destination_device_id = work->destination_device_id,
		.destination_context_id = work->destination_context_id,
		.correlation_id = work->correlation_id,
		.graph_node_id = work->graph_node_id,
		.graph_id = work->graph_id,
		.channel_id = 9,
		.channel_type = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY};
}

static void make_set(const struct sim_item *item, uint64_t start_ns, uint64_t end_ns,
		     struct cupti_activity_memset *record)
{
	const struct sim_work *work = &item->work;

	*record = (struct cupti_activity_memset){
		.kind = item->kind,
		.value = work->value,
		.size_bytes = work->size_bytes,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.device_id = work->device_id,
		.context_id = work->context_id,
		.stream_id = work->stream_id,
		.correlation_id = work->correlation_id,
		.flags = work->is_async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0,
		.memory_kind = work->destination_kind,
		.graph_node_id = work->graph_node_id,
		.graph_id = work->graph_id,
		.channel_id = 8,
		.channel_type = CUPTI_CHANNEL_TYPE_COMPUTE};
}

static void make_graph(const struct sim_item *item, uint64_t start_ns, uint64_t end_ns,
		       struct cupti_activity_graph_trace *record)
{
	const struct sim_work *work = &item->work;

	*record = (struct cupti_activity_graph_trace){.kind = item->kind,
						      .correlation_id = work->correlation_id,
						      .start_ns = start_ns,
						      .end_ns = end_ns,
						      .device_id = work->device_id,
						      .graph_id = work->graph_id,
						      .context_id = work->context_id,
						      .stream_id = work->stream_id,
						      .end_device_id = work->device_id,
						      .end_context_id = work->context_id};
}

static void make_work(const struct sim_item *item, bool is_over, void *ret_record)
{
	uint64_t start_ns = is_over ? sim_stamp(item->work.start_ns) : 0;
	uint64_t end_ns = is_over ? sim_stamp(item->work.end_ns) : 0;
	uint64_t bad_after = (uint64_t)sim_options()->bad_after;

	if (bad_after && item->work.graph_node_id && atomic_fetch_add(&node_number, 1) >= bad_after)
		start_ns = UINT64_MAX - 1000, end_ns = 12345;
	switch (item->work.kind) {
	case SIM_KERNEL:
		make_kernel(item, start_ns, end_ns, ret_record);
		break;
	case SIM_COPY:
		make_copy(item, start_ns, end_ns, ret_record);
		break;
	case SIM_PEER_COPY:
		make_peer_copy(item, start_ns, end_ns, ret_record);
		break;
	case SIM_SET:
		make_set(item, start_ns, end_ns, ret_record);
		break;
	case SIM_GRAPH:
		make_graph(item, start_ns, end_ns, ret_record);
		break;
	}
}

static void make_wait(const struct sim_item *item, struct cupti_activity_synchronization *record)
{
	*record =
		(struct cupti_activity_synchronization){.kind = item->kind,
							.type = item->wait.type,
							.start_ns = sim_stamp(item->wait.start_ns),
							.end_ns = sim_stamp(item->wait.end_ns),
							.correlation_id = item->wait.correlation_id,
							.context_id = item->wait.context_id,
							.stream_id = item->wait.stream_id,
							.event_id = item->wait.event_id,
							.return_value = item->wait.result};
}

static void make_overhead(const struct sim_item *item, struct cupti_activity_overhead *record)
{
	*record = (struct cupti_activity_overhead){
		.kind = item->kind,
		.overhead_kind = item->overhead.kind,
		.object_kind = CUPTI_ACTIVITY_OBJECT_THREAD,
		.object.thread = {.process_id = (uint32_t)getpid(), .thread_id = item->thread_id},
		.start_ns = sim_stamp(item->overhead.start_ns),
		.end_ns = sim_stamp(item->overhead.end_ns),
		.correlation_id = item->overhead.correlation_id};
}

void sim_make_record(const struct sim_item *item, bool is_over, void *ret_record)
{
	switch (item->type) {
	case SIM_ITEM_WORK:
		make_work(item, is_over, ret_record);
		break;
	case SIM_ITEM_WAIT:
		make_wait(item, ret_record);
		break;
	case SIM_ITEM_OVERHEAD:
		make_overhead(item, ret_record);
		break;
	case SIM_ITEM_RECORD:
		memcpy(ret_record, item->record, sim_stride(item->kind));
		break;
	}
}

void sim_make_device(uint32_t device_id, struct cupti_activity_device *ret_record)
{
	*ret_record = (struct cupti_activity_device){
		.kind = CUPTI_ACTIVITY_KIND_DEVICE,
		.flags = CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS,
		.memory_bandwidth_kb_s = 4917504000,
		.memory_bytes = SIM_MEMORY_BYTES,
		.constant_memory_bytes = 65536,
		.l2_cache_bytes = 62914560,
		.threads_per_warp = 32,
		.core_clock_khz = (uint32_t)sim_options()->sm_mhz * 1000,
		.memcpy_engine_count = 3,
		.multiprocessor_count = (uint32_t)sim_options()->sms,
		.max_ipc = 4,
		.max_warps_per_multiprocessor = 64,
		.max_blocks_per_multiprocessor = 32,
		.max_shared_per_multiprocessor_bytes = 233472,
		.max_registers_per_multiprocessor = 65536,
		.max_registers_per_block = 65536,
		.max_shared_per_block_bytes = 49152,
		.max_threads_per_block = 1024,
		.max_block_x = 1024,
		.max_block_y = 1024,
		.max_block_z = 64,
		.max_grid_x = 2147483647,
		.max_grid_y = 65535,
		.max_grid_z = 65535,
		.capability_major = sim_capability() / 10,
		.capability_minor = sim_capability() % 10,
		.device_id = device_id,
		.is_ecc_enabled = 1,
		.name = sim_device_name(),
		.is_cuda_visible = 1};
	sim_visible_uuid(device_id, ret_record->uuid);
}
