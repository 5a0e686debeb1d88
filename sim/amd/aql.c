/* SPDX-License-Identifier: MIT
 *
 * sim/amd/aql.c - process the AQL packets of a queue
 *
 * Runs in:  a program that uses ROCr, on the thread of the GPU, with the lock of queues held
 * Gets:     packets of one queue
 * Gives:    signals with their times, and events for sleeping host threads
 * Owns:     the kernels of the queue that are running
 * Fails:    aborts at a packet that is not valid for any GPU
 * Why:      it never waits. A barrier that waits for another queue is checked again in the next
 *           turn; otherwise the first queue would stop all others.
 */
#include "sim.h"

enum { PACKETS_PER_TURN = 256, VENDOR_PM4 = 1 };

/* The vendor's packets have their type behind the header. */
struct vendor_packet {
	uint16_t header;
	uint8_t format;
};

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

static void complete(const struct sim_queue *queue, uint64_t handle, uint64_t start_ns,
		     uint64_t end_ns)
{
	amd_signal_t *signal = (amd_signal_t *)(uintptr_t)handle;
	uint64_t mailbox;
	uint32_t event;

	if (!signal)
		return;
	if (queue->aql->queue_properties & AMD_QUEUE_PROPERTIES_ENABLE_PROFILING) {
		signal->start_ts = sim_ticks(start_ns);
		signal->end_ts = sim_ticks(end_ns);
	}
	/* before the value, because a thread that waits for the value may free the signal */
	mailbox = signal->event_mailbox_ptr;
	event = signal->event_id;
	__atomic_fetch_sub(&signal->value, 1, __ATOMIC_RELEASE);
	if (!mailbox)
		return;
	__atomic_store_n((uint64_t *)(uintptr_t)mailbox, event, __ATOMIC_RELEASE);
	sim_event_raise(event);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void land(const struct sim_queue *queue, const struct sim_flight *flight)
{
	const char *arguments = sim_host_pointer(flight->arguments, 1);

	if (flight->kernel->execute && arguments)
		flight->kernel->execute(arguments, flight->items);
	sim_log(&(struct sim_truth){.kind = "kernel",
				    .name = flight->kernel->name,
				    .gpu = queue->gpu,
				    .queue_id = queue->aql->hsa_queue.id,
				    .packet = flight->packet,
				    .start_ns = flight->start_ns,
				    .end_ns = flight->end_ns,
				    .amount = flight->items});
	complete(queue, flight->signal, flight->start_ns, flight->end_ns);
}

/* Ends kernels whose time is over. A queue that was full continues when its first kernel has
 * ended. */
static bool land_all(struct sim_queue *queue)
{
	bool was_full = queue->flight_count == MAX_SIM_FLIGHTS;
	uint64_t now_ns = sim_now(), first_end_ns = SIM_NEVER;
	size_t left = 0, count = queue->flight_count;

	queue->wake_ns = SIM_NEVER;
	for (size_t i = 0; i < count; i++) {
		if (queue->flights[i].end_ns > now_ns) {
			if (queue->flights[i].end_ns < queue->wake_ns)
				queue->wake_ns = queue->flights[i].end_ns;
			queue->flights[left++] = queue->flights[i];
			continue;
		}
		if (queue->flights[i].end_ns < first_end_ns)
			first_end_ns = queue->flights[i].end_ns;
		land(queue, &queue->flights[i]);
	}
	queue->flight_count = left;
	if (was_full && left < count)
		queue->clock_ns = later(queue->clock_ns, first_end_ns);
	return left < count;
}

/* The options that speak of the Nth dispatch. */
static bool is_nth(const struct sim_kernel *kernel, uint64_t start_ns)
{
	static uint64_t dispatches;
	const struct sim_options *options = sim_options();

	if (kernel->is_rocrs)
		return false;
	dispatches++;
	if (dispatches == (uint64_t)options->jump_at && !options->jump_at_ns)
		sim_suspend(start_ns);
	return dispatches == (uint64_t)options->never_at;
}

static bool dispatch(struct sim_queue *queue, const hsa_kernel_dispatch_packet_t *packet)
{
	struct sim_flight *flight = &queue->flights[queue->flight_count];
	const struct sim_kernel *kernel;

	if (queue->flight_count == MAX_SIM_FLIGHTS)
		return false;
	kernel = sim_kernel_find(packet->kernel_object);
	*flight = (struct sim_flight){.kernel = kernel,
				      .packet = queue->consumed,
				      .start_ns = queue->clock_ns,
				      .signal = packet->completion_signal.handle,
				      .arguments = (uint64_t)(uintptr_t)packet->kernarg_address,
				      .items = (uint64_t)packet->grid_size_x * packet->grid_size_y *
					       packet->grid_size_z};
	flight->end_ns = flight->start_ns + kernel->duration_ns +
			 (uint64_t)((double)flight->items * sim_options()->item_ns);
	if (is_nth(kernel, flight->start_ns) || kernel->never_completes)
		flight->end_ns = SIM_NEVER;
	queue->ended_ns = later(queue->ended_ns, flight->end_ns);
	queue->flight_count++;
	sim_trace(2, "queue %u.%u packet %llu: kernel '%s' at %#llx, %llu items, signal %#llx",
		  queue->gpu, queue->slot, (unsigned long long)queue->consumed, kernel->name,
		  (unsigned long long)packet->kernel_object, (unsigned long long)flight->items,
		  (unsigned long long)flight->signal);
	return true;
}

/* ---- barriers -------------------------------------------------------------------------------- */

static int64_t value_of(hsa_signal_t signal)
{
	return __atomic_load_n(&((amd_signal_t *)(uintptr_t)signal.handle)->value,
			       __ATOMIC_ACQUIRE);
}

/* A wait for signals is over now, as far as is known; one for none at once. */
static bool finish_wait(struct sim_queue *queue, hsa_signal_t completion, unsigned signals)
{
	uint64_t start_ns = queue->clock_ns;

	if (signals)
		queue->clock_ns = later(start_ns, sim_now());
	sim_log(&(struct sim_truth){.kind = "barrier",
				    .gpu = queue->gpu,
				    .queue_id = queue->aql->hsa_queue.id,
				    .packet = queue->consumed,
				    .start_ns = start_ns,
				    .end_ns = queue->clock_ns,
				    .amount = signals});
	complete(queue, completion.handle, start_ns, queue->clock_ns);
	return true;
}

static bool barrier(struct sim_queue *queue, const hsa_barrier_and_packet_t *packet, bool any)
{
	unsigned asked = 0, done = 0;

	for (int i = 0; i < 5; i++) {
		if (!packet->dep_signal[i].handle)
			continue;
		asked++;
		done += value_of(packet->dep_signal[i]) == 0;
	}
	if (asked && (any ? done == 0 : done < asked))
		return false;
	sim_trace(2, "queue %u.%u packet %llu: barrier of %u", queue->gpu, queue->slot,
		  (unsigned long long)queue->consumed, asked);
	return finish_wait(queue, packet->completion_signal, asked);
}

static bool is_met(const hsa_amd_barrier_value_packet_t *packet)
{
	hsa_signal_value_t value = value_of(packet->signal) & packet->mask;

	switch (packet->cond) {
	case HSA_SIGNAL_CONDITION_EQ:
		return value == packet->value;
	case HSA_SIGNAL_CONDITION_NE:
		return value != packet->value;
	case HSA_SIGNAL_CONDITION_LT:
		return value < packet->value;
	default:
		return value >= packet->value;
	}
}

static bool vendor(struct sim_queue *queue, const void *packet)
{
	const hsa_amd_barrier_value_packet_t *wait = packet;
	uint8_t format = ((const struct vendor_packet *)packet)->format;

	if (format == HSA_AMD_PACKET_TYPE_BARRIER_VALUE && wait->signal.handle && !is_met(wait))
		return false;
	sim_trace(2, "queue %u.%u packet %llu: vendor's, %u", queue->gpu, queue->slot,
		  (unsigned long long)queue->consumed, format);
	if (format == HSA_AMD_PACKET_TYPE_BARRIER_VALUE)
		return finish_wait(queue, wait->completion_signal, 1);
	if (format != VENDOR_PM4)
		sim_die("queue %u.%u: vendor packet %u is not simulated", queue->gpu, queue->slot,
			format);
	sim_kernel_flush(); /* ROCr sends PM4 packets for new code */
	complete(queue, wait->completion_signal.handle, queue->clock_ns, queue->clock_ns);
	return true;
}

/* ---- packets --------------------------------------------------------------------------------- */

static uint16_t *header_at(const struct sim_queue *queue, uint64_t index)
{
	return (uint16_t *)(queue->ring + index * 64 % queue->ring_bytes);
}

static unsigned type_of(uint16_t header)
{
	return header >> HSA_PACKET_HEADER_TYPE & 0xff;
}

/* A doorbell value that another thread has overwritten is lost, so each new value covers all
 * reserved packets. Only the packets that are valid now were there before the clock is read. */
static void look(struct sim_queue *queue)
{
	uint64_t doorbell = *queue->doorbell, known = queue->known, end;
	uint64_t room = queue->consumed + queue->ring_bytes / 64;

	if (doorbell != queue->latest_doorbell)
		queue->rung = atomic_load((_Atomic uint64_t *)&queue->aql->write_dispatch_id);
	queue->latest_doorbell = doorbell;
	end = queue->rung < room ? queue->rung : room;
	while (known < end && type_of(__atomic_load_n(header_at(queue, known), __ATOMIC_ACQUIRE)) !=
				      HSA_PACKET_TYPE_INVALID)
		known++;
	if (known > queue->known)
		sim_arrivals_add(&queue->arrivals, known, sim_now());
	queue->known = known;
}

/* False: not yet. */
static bool act(struct sim_queue *queue, const void *packet, uint16_t header)
{
	if (header >> HSA_PACKET_HEADER_BARRIER & 1) {
		if (queue->flight_count)
			return false;
		queue->clock_ns = later(queue->clock_ns, queue->ended_ns);
	}
	queue->clock_ns =
		later(queue->clock_ns, sim_arrivals_get(&queue->arrivals, queue->consumed));
	switch (type_of(header)) {
	case HSA_PACKET_TYPE_KERNEL_DISPATCH:
		return dispatch(queue, packet);
	case HSA_PACKET_TYPE_BARRIER_AND:
		return barrier(queue, packet, false);
	case HSA_PACKET_TYPE_BARRIER_OR:
		return barrier(queue, packet, true);
	case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
		return vendor(queue, packet);
	default:
		sim_die("queue %u.%u packet %llu: type %u is not simulated", queue->gpu,
			queue->slot, (unsigned long long)queue->consumed, type_of(header));
	}
}

static bool step(struct sim_queue *queue)
{
	uint16_t *header = header_at(queue, queue->consumed);

	if (queue->consumed == queue->known || !act(queue, header, *header))
		return false;
	__atomic_store_n(header, HSA_PACKET_TYPE_INVALID, __ATOMIC_RELEASE);
	queue->consumed++;
	atomic_store_explicit(queue->read_pointer, queue->consumed, memory_order_release);
	return true;
}

bool sim_aql_step(struct sim_queue *queue)
{
	bool moved = false;

	look(queue);
	for (int i = 0; i < PACKETS_PER_TURN; i++) {
		bool landed = queue->flight_count && land_all(queue);

		if (!step(queue) && !landed)
			break;
		moved = true;
	}
	return moved;
}
