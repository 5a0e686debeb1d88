/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa_dispatch.c - pass packets on to the device with signals that show their times
 *
 * Runs in:  the profiled process: in the thread that rings a doorbell, under the lock of its queue
 * Gets:     packets on their way to the device
 * Gives:    launch records; pending dispatches, whose times hsa_harvest.c reads
 * Owns:     the list of pending dispatches of each queue, which only this thread extends
 * Fails:    by passing a packet on without a signal of the guest: it runs untimed, and is counted
 * Why:      a device writes the times of a packet into the packet's completion signal. A packet
 *           without a signal gets a quiet one of the guest, which raises no interrupt and which the
 *           guest polls. Each queue has its own list of pending dispatches, because a dispatch may
 *           wait for a later one of another queue: no list may wait for the oldest dispatch of all
 *           queues. In a packet with a signal of the program, a waking signal of the guest replaces
 *           it, and the runtime calls the guest when that signal completes. Only then does the
 *           guest complete the program's signal, and copies the times into it for the program to
 *           read.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "inject/amd/hsa_queue.h"

/* When all signals are in use and none is complete, the next look is this many dispatches later. */
enum { LOOK_EVERY = 64 };

/* ---- room in a queue that must not become full ----------------------------------------------- */

static bool take_oldest_mark(struct hsa_tracked_queue *queue)
{
	struct hsa_mark *mark = &queue->marks[queue->oldest_mark % MARKS];

	if (queue->oldest_mark == queue->newest_mark || !hsa_signal_is_done(mark->slot->signal))
		return false;
	queue->passed = mark->position;
	queue->oldest_mark++;
	return true;
}

/* The writer of a full queue has to wait anyway. It waits here, before the runtime finds the queue
 * full. */
static void await_room(struct hsa_tracked_queue *queue)
{
	const uint64_t most = (MARKS - 1) * (uint64_t)queue->mark_every;
	int saved = errno;

	while (take_oldest_mark(queue))
		;
	for (uint32_t tries = 0; queue->written - queue->passed >= most; tries++) {
		if (take_oldest_mark(queue))
			continue;
		if (tries < 10)
			sched_yield();
		else
			hsa_pause_briefly();
	}
	errno = saved;
}

/* A barrier packet without dependencies completes when the device has reached it. */
static void fill_mark(struct hsa_tracked_queue *queue, struct hsa_dispatch_packet *packet)
{
	struct hsa_mark *mark = &queue->marks[queue->newest_mark++ % MARKS];

	hsa_next.silent_store(mark->slot->signal, 1);
	mark->position = queue->written;
	memset(packet, 0, sizeof(*packet));
	packet->header = HSA_PACKET_BARRIER_AND;
	packet->completion = mark->slot->signal;
	queue->since_mark = 0;
}

/* `packets` has room for one more packet. The runtime's writer is called once: before ROCm 6.0 a
 * second call crashes it. */
static void write_packets(struct hsa_tracked_queue *queue, struct hsa_dispatch_packet *packets,
			  uint64_t count, hsa_packet_writer *writer)
{
	if (GUEST_UNLIKELY(queue->mark_every)) {
		await_room(queue);
		queue->written += count;
		queue->since_mark += (uint32_t)count;
		if (queue->since_mark >= queue->mark_every) {
			queue->written++;
			fill_mark(queue, &packets[count++]);
		}
	}
	writer(packets, count);
}

/* ---- dispatches ------------------------------------------------------------------------------ */

/* Takes signals for this queue. All signals may be in use although some are complete, because the
 * helper has to wait for a processor like any thread. The guest then harvests here. */
static void look_for_spare(struct guest_thread *thread, struct hsa_tracked_queue *queue)
{
	queue->spare_count = hsa_signals_take(HSA_QUIET, SPARE, queue->spare);
	if (queue->spare_count)
		return;
	if (queue->blind) {
		queue->blind--;
		return;
	}
	if (hsa_harvest(thread))
		queue->spare_count = hsa_signals_take(HSA_QUIET, SPARE, queue->spare);
	else
		queue->blind = LOOK_EVERY;
}

static struct hsa_slot *take_spare(struct guest_thread *thread, struct hsa_tracked_queue *queue)
{
	if (GUEST_UNLIKELY(!queue->spare_count))
		look_for_spare(thread, queue);
	return queue->spare_count ? queue->spare[--queue->spare_count] : NULL;
}

static void fill_slot(struct hsa_slot *slot, const struct hsa_tracked_queue *queue,
		      const struct guest_thread *thread, const struct hsa_launch *launch)
{
	slot->queue_id = queue->id;
	slot->mode = thread->mode;
	slot->is_copy = false;
	slot->agent = queue->device->agent;
	slot->original.handle = 0;
	slot->correlation = launch->correlation;
	hsa_slot_set_parts(slot, queue->hardware_queue, launch->packet->group_bytes, NULL);
}

/* Replaces the program's signal by ours. NULL: no signal is available, or nothing would complete
 * the program's signal. */
static struct hsa_slot *replace_signal(struct hsa_tracked_queue *queue,
				       const struct guest_thread *thread,
				       struct hsa_dispatch_packet *packet,
				       const struct hsa_launch *launch)
{
	struct hsa_slot *slot;

	if (!hsa_signals_take(HSA_WAKING, 1, &slot))
		return NULL;
	fill_slot(slot, queue, thread, launch);
	slot->original = packet->completion;
	if (!hsa_expect(slot)) {
		hsa_signals_give(&slot, 1);
		return NULL;
	}
	packet->completion = slot->signal;
	return slot;
}

static void push_pending(struct hsa_tracked_queue *queue, struct hsa_slot *slot)
{
	uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);

	atomic_store_explicit(&slot->place, hsa_place_of(queue, tail), memory_order_relaxed);
	atomic_store_explicit(&queue->pending[tail % PENDING], slot, memory_order_release);
	/* An exchange (full barrier), because the helper's state is read after it. */
	atomic_exchange(&queue->tail, tail + 1);
	if (GUEST_UNLIKELY(hsa_helper_is_asleep() || tail % WAKE_EVERY == 0))
		hsa_helper_wake();
}

static bool has_place(const struct hsa_tracked_queue *queue)
{
	return atomic_load_explicit(&queue->tail, memory_order_relaxed) -
		       atomic_load_explicit(&queue->head, memory_order_relaxed) <
	       PENDING;
}

static struct hsa_slot *add_quiet_signal(struct hsa_tracked_queue *queue,
					 struct guest_thread *thread,
					 struct hsa_dispatch_packet *packet,
					 const struct hsa_launch *launch)
{
	struct hsa_slot *slot = has_place(queue) ? take_spare(thread, queue) : NULL;

	if (!slot)
		return NULL;
	fill_slot(slot, queue, thread, launch);
	packet->completion = slot->signal;
	return slot;
}

static struct hsa_slot *leave_untimed(struct hsa_launch *launch, uint32_t reason)
{
	guest_trouble(reason);
	launch->flags |= LAUNCH_UNTIMED;
	return NULL;
}

/* Gives the packet a signal of ours, or marks the launch as untimed. Returns a quiet signal's slot,
 * which the caller pushes once the packet is written; otherwise NULL. */
static struct hsa_slot *time_dispatch(struct hsa_tracked_queue *queue, struct guest_thread *thread,
				      struct hsa_launch *launch, struct hsa_dispatch_packet *packet)
{
	bool is_quiet = !packet->completion.handle;
	bool is_left_alone = !is_quiet && (hsa_options & AMD_OPTION_LITE);
	struct hsa_slot *slot = NULL;

	if (queue->is_above)
		return leave_untimed(launch, AMD_TROUBLE_TOOL_BEHIND);
	if (is_left_alone)
		return leave_untimed(launch, AMD_TROUBLE_MODE);
	if (is_quiet)
		slot = add_quiet_signal(queue, thread, packet, launch);
	else
		slot = replace_signal(queue, thread, packet, launch);
	if (!slot)
		return leave_untimed(launch, AMD_TROUBLE_SIGNALS);
	return is_quiet ? slot : NULL;
}

static void describe_queue(struct guest_thread *thread, struct hsa_tracked_queue *queue)
{
	struct hsa_queue *handle = atomic_load(&queue->handle);

	hsa_describe_devices(thread);
	if (handle && hsa_describe_queue(thread, handle, queue->id, queue->device))
		atomic_store(&queue->mode, thread->mode);
}

/* Fills in the launch before its packet is written, and adds a signal; returns as time_dispatch. */
static struct hsa_slot *begin_launch(struct guest_thread *thread, struct hsa_tracked_queue *queue,
				     struct hsa_launch *launch, struct hsa_dispatch_packet *packet)
{
	if (GUEST_UNLIKELY(atomic_load_explicit(&queue->mode, memory_order_relaxed) !=
			   thread->mode))
		describe_queue(thread, queue);
	*launch = (struct hsa_launch){
		.command = COMMAND_KERNEL,
		.queue_id = queue->id,
		.kernel = hsa_kernel(thread, packet->kernel_object),
		.correlation = guest_new_correlation(thread),
		.packet = packet,
	};
	hsa_launch_begin(thread, launch, HSA_CALL_DISPATCH);
	return time_dispatch(queue, thread, launch, packet);
}

static bool is_dispatch(const struct hsa_dispatch_packet *packet)
{
	return (packet->header & 0xff) == HSA_PACKET_DISPATCH;
}

static void write_dispatch(struct guest_thread *thread, struct hsa_tracked_queue *queue,
			   struct hsa_dispatch_packet packets[2], hsa_packet_writer *writer)
{
	struct hsa_launch launch;
	struct guest_timing timing;
	struct hsa_slot *quiet;
	uint64_t enter, exit;

	guest_timing_begin(thread, &timing);
	quiet = begin_launch(thread, queue, &launch, packets);
	enter = timing.began ? guest_now(thread) : 0;
	write_packets(queue, packets, 1, writer);
	exit = timing.began ? guest_now(thread) : 0;
	if (quiet)
		push_pending(queue, quiet);
	hsa_put_launch(thread, &launch);
	guest_timing_end(thread, &timing, enter, exit);
}

/* ---- packets that launch nothing ------------------------------------------------------------- */

/* Function id of a barrier packet; 0: not a packet that is counted. */
static uint32_t barrier_of(const struct hsa_dispatch_packet *packet)
{
	switch (packet->header & 0xff) {
	case HSA_PACKET_BARRIER_AND:
		return HSA_CALL_BARRIER_AND;
	case HSA_PACKET_BARRIER_OR:
		return HSA_CALL_BARRIER_OR;
	case HSA_PACKET_VENDOR:
		return (packet->dimensions & 0xff) == HSA_PACKET_FORMAT_BARRIER_VALUE
			       ? HSA_CALL_BARRIER_VALUE
			       : 0;
	default:
		return 0;
	}
}

/* Barriers that a call of HIP puts between its kernels are part of that call. */
static void put_barrier(struct guest_thread *thread, const struct hsa_dispatch_packet *packet)
{
	uint32_t function = hsa_caller ? 0 : barrier_of(packet);
	uint64_t now;

	if (!function)
		return;
	if (!thread) {
		guest_missed(RING_TROUBLE_NO_RING);
		return;
	}
	now = guest_now(thread);
	guest_put_api(thread, function | API_TYPE_CALL << 16, now, now, 0, 0, 0);
}

/* ---- batches --------------------------------------------------------------------------------- */

static uint32_t count_dispatches(const struct hsa_dispatch_packet *packets, uint64_t count)
{
	uint32_t dispatches = 0;

	for (uint64_t i = 0; i < count; i++)
		dispatches += is_dispatch(&packets[i]);
	return dispatches;
}

static void put_batch(struct guest_thread *thread, uint64_t begin, uint32_t dispatches)
{
	/* Before guest_put_api, because the stack may need a record of its own. */
	uint32_t stack = guest_stack_of(thread, guest_site(0, HSA_CALL_BATCH, 0));

	guest_put_api(thread, HSA_CALL_BATCH | API_TYPE_CALL << 16, begin, guest_now(thread), 0,
		      dispatches, stack);
}

/* Counts dispatches that get no rows. */
static void count_batch(const struct guest_thread *thread, uint32_t dispatches)
{
	bool is_wanted = hsa_options & AMD_OPTION_FULL;

	guest_trouble_many(is_wanted && !thread ? RING_TROUBLE_NO_RING_LAUNCH : AMD_TROUBLE_BATCHES,
			   dispatches);
}

static void time_batch(struct guest_thread *thread, struct hsa_tracked_queue *queue,
		       struct hsa_dispatch_packet *packets, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct hsa_launch launch;
		struct hsa_slot *quiet;

		if (!is_dispatch(&packets[i]))
			continue;
		quiet = begin_launch(thread, queue, &launch, &packets[i]);
		/* Pushed before it is written: its signal stays at 1 until the packet has run. */
		if (quiet)
			push_pending(queue, quiet);
		hsa_put_launch(thread, &launch);
	}
}

/* Writes a batch with one call of the writer, because its packets belong together. */
static void write_batch(struct guest_thread *thread, struct hsa_tracked_queue *queue,
			const struct hsa_dispatch_packet *packets, uint64_t count,
			hsa_packet_writer *writer)
{
	bool fits = queue->batch && (count + 1) * sizeof(*packets) <= queue->batch_bytes;
	uint32_t dispatches = guest_is_idle() ? 0 : count_dispatches(packets, count);
	uint64_t begin = thread ? guest_now(thread) : 0;

	for (uint64_t i = 0; i < count; i++)
		put_barrier(thread, &packets[i]);
	if (fits)
		memcpy(queue->batch, packets, count * sizeof(*packets));
	if (fits && thread && (hsa_options & AMD_OPTION_FULL))
		time_batch(thread, queue, queue->batch, count);
	else
		count_batch(thread, dispatches);
	if (fits)
		write_packets(queue, queue->batch, count, writer);
	else
		writer(packets, count);
	if (hsa_caller)
		hsa_caller->batched += dispatches;
	else if (dispatches && thread)
		put_batch(thread, begin, dispatches);
	else if (dispatches)
		guest_missed(RING_TROUBLE_NO_RING);
}

static void write_one(struct guest_thread *thread, struct hsa_tracked_queue *queue,
		      const void *packet, hsa_packet_writer *writer)
{
	struct hsa_dispatch_packet copy[2];

	memcpy(copy, packet, sizeof(copy[0]));
	if (thread && is_dispatch(copy)) {
		write_dispatch(thread, queue, copy, writer);
		return;
	}
	if (is_dispatch(copy))
		guest_missed(RING_TROUBLE_NO_RING_LAUNCH);
	else
		put_barrier(thread, copy);
	write_packets(queue, copy, 1, writer);
}

void hsa_on_packets(const void *packets, uint64_t count, uint64_t index, void *data,
		    hsa_packet_writer *writer)
{
	struct hsa_tracked_queue *queue = data;
	struct guest_thread *thread = guest_enter();
	int saved = errno;

	if (GUEST_UNLIKELY(count != 1))
		write_batch(thread, queue, packets, count, writer);
	else
		write_one(thread, queue, packets, writer);
	errno = saved;
}
