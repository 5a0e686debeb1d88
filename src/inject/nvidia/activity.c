/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/activity.c - CUPTI's buffers, and the records in them
 *
 * Runs in:  the profiled process, on a thread of CUPTI or the helper
 * Gets:     buffers of records
 * Gives:    executions, commands of graphs
 * Owns:     the buffers, which are reused
 * Fails:    if all buffers are in use CUPTI drops records and counts them; a record with impossible
 *           times has none
 * Why:      newer versions of CUPTI only append fields to a record. So a field is read if CUPTI's
 *           version has it, and CUPTI itself gives the start of the next record. The records of a
 *           buffer are converted at once and the buffer is reused. There are at most 64 MiB of
 *           buffers, and most of them stay unused while the recorder keeps up. CUPTI before 12.9
 *           crashes if it gets no buffer. When all are in use it gets a small one, and the guest
 *           only counts the records in it.
 */
#include <errno.h>
#include <sys/mman.h>

#include "event/record_parts.h"
#include "inject/nvidia/cuda.h"

enum {
	BUFFER_BYTES = 256 << 10,
	MAX_BUFFERS = 256,
	DISCARD_BYTES = 4096,
	API_VERSION_11_1 = 14,
	API_VERSION_11_6 = 17,
	API_VERSION_11_8 = 18,
	API_VERSION_12_9 = 27,
	MIN_RECORD_BYTES = 32
};

static struct {
	struct guest_lock lock;
	uint8_t *buffers[MAX_BUFFERS];
	bool is_out[MAX_BUFFERS];
	uint32_t count;
	_Atomic uint64_t last_node;
	_Atomic bool walk_refused;
	_Atomic bool is_last; /* a forced flush: records without times are of commands in flight */
} activity;

static _Alignas(ACTIVITY_RECORD_ALIGNMENT) uint8_t discard[DISCARD_BYTES];

/* ---- buffers --------------------------------------------------------------------------------- */

/* The caller holds the lock. NULL: no buffer is free. */
static uint8_t *take_buffer(void)
{
	uint32_t i = 0;

	while (i < activity.count && activity.is_out[i])
		i++;
	if (i == MAX_BUFFERS)
		return NULL;
	if (i == activity.count) {
		activity.buffers[i] = guest_memory(BUFFER_BYTES);
		if (!activity.buffers[i])
			return NULL;
		activity.count++;
	}
	activity.is_out[i] = true;
	return activity.buffers[i];
}

void cuda_buffer_requested(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_max)
{
	int saved = errno;

	*ret_buffer = NULL;
	*ret_max = 0;
	if (guest_lock(&activity.lock)) {
		*ret_buffer = take_buffer();
		guest_unlock(&activity.lock);
	}
	*ret_bytes = *ret_buffer ? BUFFER_BYTES : 0;
	if (!*ret_buffer && cuda_version < API_VERSION_12_9) {
		*ret_buffer = discard;
		*ret_bytes = DISCARD_BYTES;
	}
	errno = saved;
}

/* True: it was one of our buffers and CUPTI had it. */
static bool return_buffer(const uint8_t *buffer)
{
	bool is_ours = false;

	if (!guest_lock(&activity.lock))
		return false;
	for (uint32_t i = 0; i < activity.count && !is_ours; i++) {
		is_ours = activity.buffers[i] == buffer && activity.is_out[i];
		if (is_ours)
			activity.is_out[i] = false;
	}
	guest_unlock(&activity.lock);
	return is_ours;
}

static bool is_out(const uint8_t *buffer)
{
	bool is_ours = false;

	if (!guest_lock(&activity.lock))
		return false;
	for (uint32_t i = 0; i < activity.count && !is_ours; i++)
		is_ours = activity.buffers[i] == buffer && activity.is_out[i];
	guest_unlock(&activity.lock);
	return is_ours;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Contents of a record about a command. */
struct work {
	uint32_t device, context, stream, command;
	uint64_t correlation, queued, submitted, started, ended, bytes, graph_node;
	const char *kernel; /* NULL: not a kernel */
	const int32_t *grid, *block;
	uint32_t more; /* bits of a record's detail: the hardware queue, RECORD_NODE_COOPERATIVE */
	uint32_t source, destination; /* ordinals of devices */
	struct record_parts parts;    /* the devices of its transfer are set by put_work */
};

static uint32_t copy_command(uint32_t kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
		return COMMAND_WRITE;
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
		return COMMAND_READ;
	default:
		return COMMAND_COPY;
	}
}

/* Both times are 0 if the device reported none. Some versions report impossible times. */
static uint32_t valid_times(const struct work *work)
{
	uint32_t valid = EXECUTION_STARTED | EXECUTION_ENDED;

	if (!work->started || !work->ended)
		return 0;
	/* CUPTI leaves out each unknown timestamp separately. */
	if (work->submitted && work->submitted <= work->started)
		valid |= EXECUTION_SUBMITTED;
	if (work->queued && work->queued <= work->started &&
	    (!(valid & EXECUTION_SUBMITTED) || work->queued <= work->submitted))
		valid |= EXECUTION_QUEUED;
	if (work->ended >= work->started && work->ended - work->started < UINT64_C(1) << 50)
		return valid;
	guest_trouble(NVIDIA_TROUBLE_TIMES);
	return 0;
}

static void put_execution(struct guest_thread *thread, const struct work *work, uint32_t queue)
{
	const uint32_t valid = valid_times(work), parts = record_parts_detail(&work->parts);
	struct record_execution *record = guest_reserve(
		thread, EVENT_EXECUTION, (uint32_t)sizeof(*record) + record_parts_bytes(parts),
		valid | parts | (work->more & ~(uint32_t)RECORD_NODE_COOPERATIVE));

	if (!record)
		return;
	record->correlation = work->correlation;
	record->queued = valid & EXECUTION_QUEUED ? work->queued : 0;
	record->submitted = valid & EXECUTION_SUBMITTED ? work->submitted : 0;
	record->started = valid ? work->started : 0;
	record->ended = valid ? work->ended : 0;
	record->seen = guest_now(thread);
	record->queue = queue;
	record->status = 0;
	record_parts_write(record + 1, parts, &work->parts);
	ring_commit(&thread->writer);
}

/* Correlation id of a node, above the ids of calls; the recorder uses the uppermost 8 bits. */
static uint64_t new_node(void)
{
	return UINT64_C(1) << 55 | (atomic_fetch_add(&activity.last_node, 1) + 1);
}

static void put_node(struct guest_thread *thread, const struct work *work, uint32_t queue)
{
	const uint32_t dimensions = work->grid ? 3 : 0, valid = valid_times(work);
	const uint32_t parts = record_parts_detail(&work->parts);
	uint32_t kernel = cuda_kernel(thread, work->kernel);
	struct record_node *record = guest_reserve(
		thread, RECORD_NODE,
		(uint32_t)sizeof(*record) + 16 * dimensions + record_parts_bytes(parts),
		valid | parts | work->more | work->command << 16);

	if (!record) {
		if (guest_is_current(thread))
			ring_count_lost(&thread->writer, EVENT_LAUNCH, 1);
		return;
	}
	record->parent = work->correlation;
	record->correlation = new_node();
	record->queued = valid & EXECUTION_QUEUED ? work->queued : 0;
	record->submitted = valid & EXECUTION_SUBMITTED ? work->submitted : 0;
	record->started = valid ? work->started : 0;
	record->ended = valid ? work->ended : 0;
	record->seen = guest_now(thread);
	record->bytes = work->bytes;
	record->graph_node = work->graph_node;
	record->queue = queue;
	record->kernel = kernel;
	record->status = 0;
	record->dimensions = dimensions;
	for (uint32_t i = 0; i < dimensions; i++) {
		record->values[i] = (uint64_t)(uint32_t)work->grid[i] * (uint32_t)work->block[i];
		record->values[dimensions + i] = (uint32_t)work->block[i];
	}
	record_parts_write(record->values + 2 * dimensions, parts, &work->parts);
	ring_commit(&thread->writer);
}

/* The device of one end of a transfer. Managed memory may be anywhere. */
static uint32_t end_of(struct guest_thread *thread, uint8_t memory, uint32_t device)
{
	const bool is_there =
		memory == MEMORY_DEVICE || memory == MEMORY_ARRAY || memory == MEMORY_DEVICE_STATIC;

	return is_there ? cuda_device(thread, device) : 0;
}

static void put_work(struct guest_thread *thread, struct work *work)
{
	struct record_transfer *transfer = &work->parts.transfer;
	enum cuda_slot_kind kind;
	uint32_t queue;

	if (atomic_load(&activity.is_last) && (!work->started || !work->ended))
		return;
	kind = cuda_slot_take(work->correlation, thread->mode);
	if (kind == CUDA_SLOT_NONE)
		guest_trouble(RING_TROUBLE_TRACKING);
	if (kind == CUDA_SLOT_NONE || kind == CUDA_SLOT_OTHERS)
		return;
	queue = cuda_queue(thread, work->device, work->context, work->stream);
	transfer->source_device = end_of(thread, transfer->source_memory, work->source);
	transfer->destination_device =
		end_of(thread, transfer->destination_memory, work->destination);
	if (kind == CUDA_SLOT_FIRST)
		put_execution(thread, work, queue);
	else
		put_node(thread, work, queue);
}

#define WORK(record, what)                                                                    \
	(struct work)                                                                         \
	{                                                                                     \
		.device = (record)->device_id, .context = (record)->context_id,               \
		.stream = (record)->stream_id, .source = (record)->device_id,                 \
		.destination = (record)->device_id,                                           \
		.correlation = cuda_correlation((record)->correlation_id), .command = (what), \
		.started = (record)->start_ns, .ended = (record)->end_ns                      \
	}

/* A macro because the record types of kernels, copies and fills differ. Reads only members that
 * this CUPTI has. */
#define SET_MORE(work, record)                                                      \
	do {                                                                        \
		(work)->graph_node = (record)->graph_node_id;                       \
		if (cuda_version >= API_VERSION_11_1)                               \
			(work)->parts.graph = (record)->graph_id;                   \
		if (cuda_version >= API_VERSION_11_6 && (record)->channel_type)     \
			(work)->more = record_hardware_queue((record)->channel_id); \
	} while (0)

static void take_kernel(struct guest_thread *thread, const struct cupti_activity_kernel *record)
{
	const uint32_t shared_bytes =
		(uint32_t)record->static_shared_bytes + (uint32_t)record->dynamic_shared_bytes;
	struct work work = WORK(record, COMMAND_KERNEL);

	work.kernel = record->name;
	work.queued = record->queued_ns;
	work.submitted = record->submitted_ns;
	work.grid = &record->grid_x;
	work.block = &record->block_x;
	SET_MORE(&work, record);
	if (record->launch_type == CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE ||
	    record->launch_type == CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE)
		work.more |= RECORD_NODE_COOPERATIVE;
	if (cuda_version >= API_VERSION_11_8)
		work.parts.shape = (struct record_shape){
			.cluster = {record->cluster_x, record->cluster_y, record->cluster_z}};
	work.parts.shape.local_bytes = shared_bytes;
	put_work(thread, &work);
	cuda_kernel_needs(thread, record->name, record->registers_per_thread, shared_bytes);
}

/* An enum event_memory for CUPTI's number. */
static uint8_t memory_of(uint32_t kind)
{
	static const uint8_t memories[] = {
		[CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE] = MEMORY_PAGEABLE,
		[CUPTI_ACTIVITY_MEMORY_KIND_PINNED] = MEMORY_PINNED,
		[CUPTI_ACTIVITY_MEMORY_KIND_DEVICE] = MEMORY_DEVICE,
		[CUPTI_ACTIVITY_MEMORY_KIND_ARRAY] = MEMORY_ARRAY,
		[CUPTI_ACTIVITY_MEMORY_KIND_MANAGED] = MEMORY_MANAGED,
		[CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC] = MEMORY_DEVICE_STATIC,
		[CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC] = MEMORY_MANAGED,
	};

	return kind < sizeof(memories) ? memories[kind] : MEMORY_UNKNOWN;
}

static void take_copy(struct guest_thread *thread, const struct cupti_activity_memcpy *record)
{
	struct work work = WORK(record, copy_command(record->copy_kind));

	work.bytes = record->size_bytes;
	SET_MORE(&work, record);
	work.parts.transfer.source_memory = memory_of(record->source_kind);
	work.parts.transfer.destination_memory = memory_of(record->destination_kind);
	put_work(thread, &work);
}

static void take_peer_copy(struct guest_thread *thread,
			   const struct cupti_activity_memcpy_peer *record)
{
	struct work work = WORK(record, COMMAND_COPY);

	work.bytes = record->size_bytes;
	SET_MORE(&work, record);
	work.parts.transfer.source_memory = memory_of(record->source_kind);
	work.parts.transfer.destination_memory = memory_of(record->destination_kind);
	work.source = record->source_device_id;
	work.destination = record->destination_device_id;
	put_work(thread, &work);
}

static void take_set(struct guest_thread *thread, const struct cupti_activity_memset *record)
{
	struct work work = WORK(record, COMMAND_FILL);

	work.bytes = record->size_bytes;
	SET_MORE(&work, record);
	work.parts.transfer.destination_memory = memory_of(record->memory_kind);
	put_work(thread, &work);
}

static void take_graph(struct guest_thread *thread, const struct cupti_activity_graph_trace *record)
{
	struct work work = WORK(record, COMMAND_GRAPH);

	work.parts.graph = record->graph_id;
	put_work(thread, &work);
}

static void take_record(struct guest_thread *thread, const struct cupti_activity *record)
{
	const void *whole = record;

	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return take_kernel(thread, whole);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return take_copy(thread, whole);
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return take_peer_copy(thread, whole);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return take_set(thread, whole);
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		return take_graph(thread, whole);
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		return cuda_take_overhead(thread, whole);
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		return cuda_take_wait(thread, whole);
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		return cuda_take_memory(thread, whole);
	default:
		return;
	}
}

static void take_records(struct guest_thread *thread, uint8_t *buffer, size_t valid_bytes)
{
	struct cupti_activity *record = NULL;
	cupti_result result;

	while ((result = cuda_cupti.cuptiActivityGetNextRecord(buffer, valid_bytes, &record)) ==
	       CUPTI_SUCCESS)
		take_record(thread, record);
	if (result != CUPTI_ERROR_MAX_LIMIT_REACHED &&
	    !atomic_exchange(&activity.walk_refused, true))
		cuda_refused(thread, REFUSED_PART, "cuptiActivityGetNextRecord", result, "");
}

void cuda_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			   size_t valid_bytes)
{
	struct guest_thread *thread;
	int saved = errno;

	guest_notice_fork();
	thread = cuda_is_live() ? guest_enter() : NULL;
	if (buffer == discard)
		guest_trouble_many(RING_TROUBLE_TRACKING, valid_bytes / MIN_RECORD_BYTES);
	else if (thread && buffer && valid_bytes && is_out(buffer))
		take_records(thread, buffer, valid_bytes);
	if (buffer && buffer != discard)
		return_buffer(buffer);
	errno = saved;
}

void cuda_count_dropped(void)
{
	size_t count = 0;

	if (!cuda_cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &count) && count)
		guest_trouble_many(RING_TROUBLE_TRACKING, count);
}

uint64_t cuda_nodes(void)
{
	return atomic_load(&activity.last_node);
}

/* Called after CUPTI was given back. CUPTI does not report whether it still has buffers of ours.
 * They stay mapped without memory, and are reused when all of them are in that state. */
void cuda_activity_reset(void)
{
	uint32_t out = 0;

	if (!guest_lock(&activity.lock))
		return;
	for (uint32_t i = 0; i < activity.count; i++) {
		if (activity.is_out[i])
			madvise(activity.buffers[i], BUFFER_BYTES, MADV_DONTNEED);
		out += activity.is_out[i];
	}
	if (out == MAX_BUFFERS)
		memset(activity.is_out, 0, sizeof(activity.is_out));
	guest_unlock(&activity.lock);
}

void cuda_activity_set_last(bool is_last)
{
	atomic_store(&activity.is_last, is_last);
}

void cuda_activity_forked(void)
{
	guest_unlock(&activity.lock);
}
