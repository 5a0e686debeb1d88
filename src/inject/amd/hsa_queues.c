/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa_queues.c - track queues from their creation to their end
 *
 * Runs in:  the profiled process, in calls that create or destroy a queue, or end the runtime
 * Gets:     requests for queues
 * Gives:    intercept queues whose packets go to hsa_dispatch.c; counts for untracked queues
 * Owns:     the state of each queue; it is reused, and never freed
 * Fails:    with an error of the runtime: the caller then creates an ordinary queue, which is
 *           counted
 * Why:      the state of a queue outlives the queue, because a thread that collects times
 *           (hsa_harvest.c) may still use it. Signals that a device may write to later are never
 *           used again.
 */
#include <errno.h>
#include <sys/mman.h>

#include "inject/amd/hsa_queue.h"

static struct {
	struct guest_lock lock;        /* protects the list of queues */
	_Atomic uint32_t not_followed; /* number of queues that are not tracked */
} queues;

void hsa_dispatch_forked(void)
{
	atomic_store(&queues.lock.taken, 0);
	atomic_store(&hsa_newest_queue, NULL);
	atomic_store(&queues.not_followed, 0);
	hsa_harvest_forked();
}

/* The caller holds the lock. Returns the struct of a destroyed queue, or a new one. */
static struct hsa_tracked_queue *find_free(void)
{
	struct hsa_tracked_queue *queue = atomic_load(&hsa_newest_queue);

	while (queue && atomic_load(&queue->handle))
		queue = queue->older;
	if (queue)
		return queue;
	queue = guest_memory(sizeof(*queue));
	if (!queue) {
		guest_trouble(RING_TROUBLE_OBJECTS);
		return NULL;
	}
	queue->older = atomic_load(&hsa_newest_queue);
	atomic_store(&hsa_newest_queue, queue);
	return queue;
}

static struct hsa_tracked_queue *new_queue(struct hsa_queue *handle, struct hsa_device *device)
{
	struct hsa_tracked_queue *queue;

	if (!guest_lock(&queues.lock))
		return NULL;
	queue = find_free();
	if (queue) {
		queue->device = device;
		queue->id = hsa_new_queue();
		queue->hardware_queue = record_hardware_queue(
			handle->id < UINT32_MAX ? (uint32_t)handle->id : UINT32_MAX);
		queue->counted = 0;
		queue->blind = 0;
		queue->is_followed = queue->is_above = false;
		atomic_store(&queue->mode, 0);
		atomic_store(&queue->handle, handle);
	}
	guest_unlock(&queues.lock);
	return queue;
}

static struct hsa_tracked_queue *find_queue(const struct hsa_queue *handle)
{
	struct hsa_tracked_queue *queue = atomic_load(&hsa_newest_queue);

	while (queue && atomic_load(&queue->handle) != handle)
		queue = queue->older;
	return queue;
}

bool hsa_queue_is_followed(const struct hsa_queue *handle)
{
	const struct hsa_tracked_queue *queue = find_queue(handle);

	return queue && queue->is_followed;
}

void hsa_queue_not_followed(struct hsa_queue *handle, uint32_t reason)
{
	int saved = errno;
	struct hsa_tracked_queue *queue = new_queue(handle, NULL);

	if (queue) {
		queue->reason = reason;
		atomic_fetch_add(&queues.not_followed, 1);
		hsa_helper_start();
		hsa_helper_wake();
	}
	errno = saved;
}

bool hsa_any_not_followed(void)
{
	return atomic_load_explicit(&queues.not_followed, memory_order_relaxed) != 0;
}

bool hsa_any_queues(void)
{
	return atomic_load(&hsa_newest_queue) != NULL;
}

/* True if the mark was written into the queue and the device has not reached it. */
static bool is_under_way(const struct hsa_tracked_queue *queue, uint32_t index)
{
	return (index - queue->oldest_mark) % MARKS < queue->newest_mark - queue->oldest_mark &&
	       !hsa_signal_is_done(queue->marks[index].slot->signal);
}

static void give_marks(struct hsa_tracked_queue *queue, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!is_under_way(queue, i))
			hsa_signals_give(&queue->marks[i].slot, 1);
	queue->mark_every = 0;
}

static bool take_marks(struct hsa_tracked_queue *queue, uint32_t size)
{
	struct hsa_slot *slots[MARKS];
	uint32_t count = 0, more;

	/* First the free signals that exist, then new ones. */
	do {
		more = hsa_signals_take(HSA_QUIET, MARKS - count, slots + count);
		count += more;
	} while (more && count < MARKS);
	for (uint32_t i = 0; i < count; i++)
		queue->marks[i].slot = slots[i];
	queue->since_mark = queue->oldest_mark = queue->newest_mark = 0;
	if (count < MARKS) {
		give_marks(queue, count);
		return false;
	}
	queue->mark_every = size / MARKS;
	queue->written = queue->passed = 0;
	return true;
}

static bool make_batch(struct hsa_tracked_queue *queue, uint32_t size)
{
	queue->batch_bytes = (size + (size_t)1) * sizeof(struct hsa_dispatch_packet);
	queue->batch = guest_memory(queue->batch_bytes);
	return queue->batch != NULL;
}

static void free_batch(struct hsa_tracked_queue *queue)
{
	if (queue->batch)
		munmap(queue->batch, queue->batch_bytes);
	queue->batch = NULL;
}

/* Allocates the batch buffer and the marks. A queue with another tool's handlers behind ours needs
 * no marks: the guest adds no packets of its own to it. */
static bool allocate_buffers(struct hsa_tracked_queue *queue, uint32_t size)
{
	bool has_marks = hsa_overflow_fatal && !queue->is_above;

	if (!(hsa_options & AMD_OPTION_FULL) && !has_marks)
		return true;
	return make_batch(queue, size) && (!has_marks || take_marks(queue, size));
}

static void free_buffers(struct hsa_tracked_queue *queue)
{
	if (queue->mark_every)
		give_marks(queue, MARKS);
	free_batch(queue);
}

/* The runtime answers that a plain queue is invalid. Any other error, such as too little memory,
 * does not show the type of the queue. */
static enum hsa_join register_handler(struct hsa_queue *handle, struct hsa_tracked_queue *queue)
{
	hsa_status status = hsa_next.intercept_register(handle, hsa_on_packets, queue);

	if (status == HSA_SUCCESS)
		return HSA_JOINED;
	return status == HSA_ERROR_INVALID_QUEUE ? HSA_JOIN_PLAIN : HSA_JOIN_REFUSED;
}

static enum hsa_join track_queue(struct hsa_queue *handle, struct hsa_device *device, bool is_above)
{
	struct hsa_tracked_queue *queue = new_queue(handle, device);
	enum hsa_join joined = HSA_JOIN_REFUSED;

	if (!queue)
		return HSA_JOIN_REFUSED;
	queue->is_above = is_above;
	if (allocate_buffers(queue, handle->size) &&
	    hsa_next.set_profiler(handle, 1) == HSA_SUCCESS)
		joined = register_handler(handle, queue);
	if (joined == HSA_JOINED) {
		queue->is_followed = true;
		return HSA_JOINED;
	}
	free_buffers(queue);
	atomic_store(&queue->handle, NULL);
	return joined;
}

/* All cooperative queues of a device share one hardware queue, which may not be wrapped. */
bool hsa_can_follow(uint32_t size, uint32_t type)
{
	return type != HSA_QUEUE_COOPERATIVE && (!hsa_overflow_fatal || size >= MIN_MARKED);
}

bool hsa_before_queue(hsa_agent agent)
{
	int saved = errno;
	bool is_ready = hsa_device_of(agent) && hsa_signals_init();

	if (is_ready)
		hsa_samples_begin();
	errno = saved;
	return is_ready;
}

enum hsa_join hsa_join_queue(struct hsa_queue *handle, hsa_agent agent, bool is_above)
{
	int saved = errno;
	enum hsa_join joined = track_queue(handle, hsa_device_of(agent), is_above);

	if (joined == HSA_JOINED)
		hsa_helper_start();
	errno = saved;
	return joined;
}

hsa_status hsa_follow_queue(hsa_agent agent, uint32_t size, uint32_t type, hsa_queue_error *error,
			    void *data, uint32_t private_bytes, uint32_t group_bytes,
			    struct hsa_queue **ret_queue)
{
	struct hsa_device *device = hsa_device_of(agent);
	int saved = errno;
	hsa_status status;

	if (!hsa_before_queue(agent))
		return HSA_ERROR;
	status = hsa_next.intercept_create(agent, size, type, error, data, private_bytes,
					   group_bytes, ret_queue);
	if (status != HSA_SUCCESS)
		return status;
	/* An intercept queue without marks may become full, which ends the program. */
	if (track_queue(*ret_queue, device, false) == HSA_JOINED) {
		hsa_helper_start();
	} else {
		hsa_next.queue_destroy(*ret_queue);
		status = HSA_ERROR;
	}
	errno = saved;
	return status;
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* The caller holds the lock. Counts the packets of an untracked queue by its write index. */
static void count_not_followed(struct hsa_tracked_queue *queue)
{
	struct hsa_queue *handle = atomic_load(&queue->handle);
	uint64_t index;

	if (!handle || queue->is_followed)
		return;
	index = hsa_next.queue_write_index(handle);
	if (index <= queue->counted)
		return;
	guest_trouble_many(queue->reason, index - queue->counted);
	queue->counted = index;
}

void hsa_count_not_followed(void)
{
	if (!hsa_any_not_followed() || !guest_lock(&queues.lock))
		return;
	for (struct hsa_tracked_queue *queue = atomic_load(&hsa_newest_queue); queue;
	     queue = queue->older)
		count_not_followed(queue);
	guest_unlock(&queues.lock);
}

/* Takes the lock so that no other thread calls the runtime for this queue's write index
 * afterwards. */
static void end_not_followed(struct hsa_tracked_queue *queue)
{
	bool is_locked = guest_lock(&queues.lock);

	atomic_store(&queue->handle, NULL);
	atomic_fetch_sub(&queues.not_followed, 1);
	if (is_locked)
		guest_unlock(&queues.lock);
}

struct hsa_tracked_queue *hsa_queue_ends(struct hsa_queue *handle)
{
	struct guest_thread *thread = guest_enter();
	struct hsa_tracked_queue *queue = find_queue(handle);

	hsa_count_not_followed();
	if (!queue)
		return NULL;
	if (!queue->is_followed) {
		end_not_followed(queue);
		return NULL;
	}
	hsa_harvest_queue(thread, queue);
	return queue;
}

/* is_gone: no device writes into the signals any more. Otherwise signals that a device may still
 * write to are never used again. */
static void give_up_pending(struct hsa_tracked_queue *queue, bool is_gone)
{
	uint64_t tail = atomic_load(&queue->tail);

	for (uint64_t i = atomic_load(&queue->head); i < tail; i++) {
		struct hsa_slot *slot = atomic_load(&queue->pending[i % PENDING]);

		if (slot && (is_gone || hsa_signal_is_done(slot->signal)))
			hsa_signals_give(&slot, 1);
		atomic_store(&queue->pending[i % PENDING], NULL);
	}
	atomic_store(&queue->head, tail);
}

static void end_queue(struct hsa_tracked_queue *queue, bool is_gone)
{
	/* A harvester is still inside. The struct keeps its signals until the runtime ends, and its
	 * handle is set to a value that no queue has. */
	if (!hsa_shut_harvesters_out(queue)) {
		atomic_store(&queue->head, atomic_load(&queue->tail));
		atomic_store(&queue->handle, (struct hsa_queue *)(void *)queue);
		return;
	}
	give_up_pending(queue, is_gone);
	hsa_signals_give(queue->spare, queue->spare_count);
	queue->spare_count = 0;
	if (is_gone)
		queue->oldest_mark = queue->newest_mark;
	free_buffers(queue);
	atomic_fetch_and(&queue->harvesters, ~(uint32_t)ENDING);
	atomic_store(&queue->handle, NULL);
}

void hsa_queue_ended(struct hsa_tracked_queue *queue)
{
	if (queue)
		end_queue(queue, true);
}

void hsa_queues_fini(void)
{
	for (struct hsa_tracked_queue *queue = atomic_load(&hsa_newest_queue); queue;
	     queue = queue->older)
		if (atomic_load(&queue->handle))
			end_queue(queue, false);
	atomic_store(&queues.not_followed, 0);
	hsa_forget_expected();
}

void hsa_harvest_last(uint64_t max_ms)
{
	struct guest_thread *thread = guest_enter();
	uint64_t end_ms = hsa_now_ms() + max_ms;

	hsa_count_not_followed();
	do {
		hsa_harvest(thread);
		if (!hsa_is_pending())
			break;
		hsa_pause_briefly();
	} while (hsa_now_ms() < end_ms);
	if (thread)
		hsa_read_clock(thread, true);
}

void hsa_finish(uint64_t last_ms)
{
	hsa_samples_end();
	if (!hsa_helper_is_abandoned())
		hsa_harvest_last(last_ms);
}
