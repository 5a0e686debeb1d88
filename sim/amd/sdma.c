/* SPDX-License-Identifier: MIT
 *
 * sim/amd/sdma.c - the copy engine
 *
 * Runs in:  a program that uses ROCr, on the thread of the GPU, with the lock of queues held
 * Gets:     packets of one SDMA queue
 * Gives:    copied bytes, timestamps, signals, events
 * Fails:    aborts at a packet that is not simulated, or an address that the GPU has not mapped
 * Why:      a copy moves its bytes at once but lasts until its time is over. Later packets, such as
 *           the timestamp, take effect at exactly that time. A poll packet is checked again in the
 *           next turn.
 */
#include <string.h>

#include "sim.h"

enum { PACKETS_PER_TURN = 64, COUNT_MASK = 0x3fffffff };

/* The first byte of a packet, and of copies the second. */
enum operation {
	NOP = 0,
	COPY = 1,
	FENCE = 5,
	TRAP = 6,
	POLL = 8,
	ATOMIC = 10,
	TIMESTAMP = 13,
	CACHE_CONTROL = 17,
	OPERATIONS
};

enum { COPY_LINEAR = 0, COPY_RECT = 4, COPY_RECT_BYTES = 52 };

static uint64_t address_at(const uint32_t *packet, int word)
{
	return packet[word] | (uint64_t)packet[word + 1] << 32;
}

static void *pointer_at(const struct sim_queue *queue, const uint32_t *packet, int word,
			uint64_t bytes)
{
	void *pointer = sim_host_pointer(address_at(packet, word), bytes);

	if (!pointer)
		sim_die("SDMA queue %u.%u: GPU %u has no %llu bytes at %#llx", queue->gpu,
			queue->slot, queue->gpu, (unsigned long long)bytes,
			(unsigned long long)address_at(packet, word));
	return pointer;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static uint64_t copy_linear(const struct sim_queue *queue, const uint32_t *packet)
{
	uint64_t bytes = (packet[1] & COUNT_MASK) + 1;

	memmove(pointer_at(queue, packet, 5, bytes), pointer_at(queue, packet, 3, bytes), bytes);
	return bytes;
}

/* One side of a copy of a box: where its first byte is, and from row to row and layer to layer. */
struct side {
	char *first;
	uint64_t row_bytes, layer_bytes;
};

static struct side side_at(const struct sim_queue *queue, const uint32_t *packet, int word,
			   unsigned shift, const uint64_t size[3])
{
	uint64_t x = packet[word + 2] & 0x3fff, y = packet[word + 2] >> 16 & 0x3fff;
	uint64_t z = packet[word + 3] & 0x7ff;
	struct side side = {.row_bytes = ((uint64_t)(packet[word + 3] >> 13) + 1) << shift,
			    .layer_bytes = ((uint64_t)(packet[word + 4] & 0xfffffff) + 1) << shift};
	uint64_t offset = (x << shift) + y * side.row_bytes + z * side.layer_bytes;

	side.first = pointer_at(queue, packet, word,
				offset + (size[2] - 1) * side.layer_bytes +
					(size[1] - 1) * side.row_bytes + (size[0] << shift));
	side.first += offset;
	return side;
}

static uint64_t copy_rect(const struct sim_queue *queue, const uint32_t *packet)
{
	unsigned shift = packet[0] >> 29;
	const uint64_t size[3] = {(packet[11] & 0x3fff) + 1, (packet[11] >> 16 & 0x3fff) + 1,
				  (packet[12] & 0x7ff) + 1};
	struct side from = side_at(queue, packet, 1, shift, size);
	struct side to = side_at(queue, packet, 6, shift, size);

	for (uint64_t z = 0; z < size[2]; z++)
		for (uint64_t y = 0; y < size[1]; y++)
			memmove(to.first + z * to.layer_bytes + y * to.row_bytes,
				from.first + z * from.layer_bytes + y * from.row_bytes,
				size[0] << shift);
	return size[0] * size[1] * size[2] << shift;
}

/* Later packets wait for the time that this many bytes take. */
static bool spend(struct sim_queue *queue, uint64_t bytes)
{
	uint64_t end_ns = queue->clock_ns + (uint64_t)((double)bytes / sim_options()->copy_gbps);

	sim_log(&(struct sim_truth){.kind = "copy",
				    .gpu = queue->gpu,
				    .queue_id = queue->slot,
				    .packet = queue->consumed,
				    .start_ns = queue->clock_ns,
				    .end_ns = end_ns,
				    .amount = bytes});
	queue->wake_ns = queue->clock_ns = end_ns;
	return true;
}

static bool on_copy(struct sim_queue *queue, const uint32_t *packet)
{
	bool is_rect = (packet[0] >> 8 & 0xff) == COPY_RECT;

	return spend(queue, is_rect ? copy_rect(queue, packet) : copy_linear(queue, packet));
}

/* ---- the other packets ----------------------------------------------------------------------- */

static bool on_nothing(struct sim_queue *queue, const uint32_t *packet)
{
	return true;
}

static bool on_fence(struct sim_queue *queue, const uint32_t *packet)
{
	__atomic_store_n((uint32_t *)pointer_at(queue, packet, 1, 4), packet[3], __ATOMIC_RELEASE);
	return true;
}

static bool on_trap(struct sim_queue *queue, const uint32_t *packet)
{
	sim_event_raise(packet[1] & 0xfffffff);
	return true;
}

/* Without the bit for memory it is a flush of a cache that we do not have. */
static bool on_poll(struct sim_queue *queue, const uint32_t *packet)
{
	uint64_t now_ns;

	if (!(packet[0] >> 31) || !address_at(packet, 1))
		return true;
	if ((__atomic_load_n((uint32_t *)pointer_at(queue, packet, 1, 4), __ATOMIC_ACQUIRE) &
	     packet[4]) != packet[3])
		return false;
	now_ns = sim_now();
	if (now_ns > queue->clock_ns)
		queue->clock_ns = now_ns;
	return true;
}

static bool on_atomic(struct sim_queue *queue, const uint32_t *packet)
{
	__atomic_fetch_add((int64_t *)pointer_at(queue, packet, 1, 8),
			   (int64_t)address_at(packet, 3), __ATOMIC_RELEASE);
	return true;
}

static bool on_timestamp(struct sim_queue *queue, const uint32_t *packet)
{
	__atomic_store_n((uint64_t *)pointer_at(queue, packet, 1, 8), sim_ticks(queue->clock_ns),
			 __ATOMIC_RELEASE);
	return true;
}

static const struct row {
	const char *name;
	uint32_t bytes;
	bool (*act)(struct sim_queue *queue, const uint32_t *packet);
} rows[OPERATIONS] = {
	[NOP] = {"nop", 4, on_nothing},
	[COPY] = {"copy", 28, on_copy},
	[FENCE] = {"fence", 16, on_fence},
	[TRAP] = {"trap", 8, on_trap},
	[POLL] = {"poll", 24, on_poll},
	[ATOMIC] = {"atomic", 32, on_atomic},
	[TIMESTAMP] = {"timestamp", 12, on_timestamp},
	[CACHE_CONTROL] = {"cache control", 20, on_nothing},
};

static const struct row *row_of(const struct sim_queue *queue, uint32_t header, uint32_t *ret_bytes)
{
	unsigned operation = header & 0xff, kind = header >> 8 & 0xff;

	if (operation >= OPERATIONS || !rows[operation].act ||
	    (operation == COPY && kind != COPY_LINEAR && kind != COPY_RECT))
		sim_die("SDMA queue %u.%u at %llu: packet %u.%u is not simulated", queue->gpu,
			queue->slot, (unsigned long long)queue->consumed, operation, kind);
	*ret_bytes =
		operation == COPY && kind == COPY_RECT ? COPY_RECT_BYTES : rows[operation].bytes;
	return &rows[operation];
}

static void look(struct sim_queue *queue)
{
	uint64_t end = *queue->doorbell;

	if (end <= queue->known)
		return;
	sim_arrivals_add(&queue->arrivals, end, sim_now());
	queue->known = end;
}

static bool step(struct sim_queue *queue)
{
	const uint32_t *packet;
	const struct row *row;
	uint64_t came_ns;
	uint32_t bytes;

	if (queue->wake_ns != SIM_NEVER && queue->wake_ns > sim_now())
		return false;
	queue->wake_ns = SIM_NEVER;
	if (queue->consumed >= queue->known)
		return false;
	packet = (const uint32_t *)(queue->ring + queue->consumed % queue->ring_bytes);
	row = row_of(queue, packet[0], &bytes);
	came_ns = sim_arrivals_get(&queue->arrivals, queue->consumed);
	if (came_ns > queue->clock_ns)
		queue->clock_ns = came_ns;
	if (!row->act(queue, packet))
		return false;
	sim_trace(2, "SDMA queue %u.%u at %llu: %s", queue->gpu, queue->slot,
		  (unsigned long long)queue->consumed, row->name);
	queue->consumed += bytes;
	atomic_store_explicit(queue->read_pointer, queue->consumed, memory_order_release);
	return true;
}

bool sim_sdma_step(struct sim_queue *queue)
{
	bool moved = false;

	look(queue);
	for (int i = 0; i < PACKETS_PER_TURN && step(queue); i++)
		moved = true;
	return moved;
}
