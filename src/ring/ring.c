/* SPDX-License-Identifier: MIT
 *
 * ring/ring.c - the slow paths of a ring, and its consumer
 *
 * Runs in:  guests (claim, close, reserve_slow) and the recorder (drain, recycle)
 * Gets:     a mapped region
 * Gives:    records, one at a time, copied out of shared memory
 * Owns:     nothing; the mapping belongs to the caller
 * Fails:    a full ring counts a loss; invalid bytes are skipped up to the head and counted
 * Why:      positions are 64-bit and private to each side: a program that corrupts the region can
 *           spoil its own records, never the recorder's or its own memory. Records are contiguous
 *           (the end of the buffer is padded), because a split copy costs more than the padding:
 *           1-2 ns a record.
 */
#include "ring/ring.h"

#include <string.h>
#include <sys/mman.h>

static struct ring_control *slot_control(struct ring_region *region, uint32_t ring_bytes,
					 uint32_t index)
{
	return (struct ring_control *)((uint8_t *)region + RING_PAGE +
				       index * ring_slot_bytes(ring_bytes));
}

bool ring_claim(struct ring_region *region, uint32_t ring_count, uint32_t ring_bytes, uint32_t tid,
		struct ring_writer *ret_writer)
{
	for (uint32_t i = 0; i < ring_count; i++) {
		struct ring_control *control = slot_control(region, ring_bytes, i);
		uint32_t expected = RING_FREE;

		if (atomic_load_explicit(&control->state, memory_order_relaxed) != RING_FREE ||
		    !atomic_compare_exchange_strong(&control->state, &expected, RING_CLAIMED))
			continue;
		control->tid = tid;
		*ret_writer = (struct ring_writer){
			.control = control,
			.data = (uint8_t *)control + RING_PAGE,
			/* aligned, otherwise padding at the end would reach beyond the buffer */
			.head = atomic_load_explicit(&control->head, memory_order_relaxed) &
				~UINT64_C(7),
			.tail_seen = atomic_load_explicit(&control->tail, memory_order_acquire),
			.bytes = ring_bytes,
		};
		atomic_store_explicit(&control->state, RING_BUSY, memory_order_release);
		return true;
	}
	return false;
}

/* The lowest free ring is always claimed, so no ring behind the first never-claimed one was ever
 * used. */
void ring_give_back_data(struct ring_region *region, uint32_t ring_count, uint32_t ring_bytes)
{
	for (uint32_t i = 0; i < ring_count; i++) {
		struct ring_control *control = slot_control(region, ring_bytes, i);

		if ((atomic_load(&control->state) == RING_FREE && !control->tid) ||
		    madvise((uint8_t *)control + RING_PAGE, ring_bytes, MADV_REMOVE) < 0)
			return;
	}
}

void ring_close(struct ring_writer *writer)
{
	struct ring_control *control = writer->control;

	/* Before closing: once the ring is closed another thread may claim it, with this writer. */
	writer->control = NULL;
	if (control)
		atomic_store_explicit(&control->state, RING_CLOSED, memory_order_release);
}

static void *count_lost(struct ring_writer *writer, uint16_t kind)
{
	if (kind < EVENT_KIND_COUNT)
		ring_count_lost(writer, kind, 1);
	atomic_signal_fence(memory_order_seq_cst);
	writer->writing = false;
	return NULL;
}

void *ring_reserve_nested(struct ring_writer *writer, uint16_t kind)
{
	if (kind < EVENT_KIND_COUNT)
		atomic_fetch_add_explicit(&writer->control->nested[kind], 1, memory_order_relaxed);
	return NULL;
}

/* Called with `writing` set, which stays set if there is room. */
void *ring_reserve_slow(struct ring_writer *writer, uint16_t kind, uint32_t size)
{
	uint32_t offset = (uint32_t)writer->head & (writer->bytes - 1);
	uint32_t left = writer->bytes - offset;
	uint32_t padding = size > left ? left : 0;
	uint64_t after = writer->head + padding + size;

	if (size > writer->bytes / 2)
		return count_lost(writer, kind);
	writer->tail_seen = atomic_load_explicit(&writer->control->tail, memory_order_acquire);
	/* A tail beyond the head is corrupted. Using it would only let this side overwrite unread
	 * records, but the difference must not wrap to "fits". */
	if (writer->tail_seen > writer->head || after - writer->tail_seen > writer->bytes)
		return count_lost(writer, kind);
	if (padding) {
		*(struct record *)(writer->data + offset) =
			(struct record){.kind = EVENT_PADDING, .size = 8, .detail = padding};
		offset = 0;
	}
	writer->reserved = after;
	return writer->data + offset;
}

void ring_reader_init(struct ring_reader *reader, struct ring_region *region, uint32_t ring_bytes,
		      uint32_t index)
{
	struct ring_control *control = slot_control(region, ring_bytes, index);

	*reader = (struct ring_reader){
		.control = control,
		.data = (const uint8_t *)control + RING_PAGE,
		.bytes = ring_bytes,
	};
}

static void skip_broken(struct ring_reader *reader, uint64_t head)
{
	reader->broken_bytes += head - reader->tail;
	reader->broken_times++;
	reader->tail = head;
}

/* Copies one record between private tail and head into scratch; false if the bytes are invalid. */
static bool take_one(struct ring_reader *reader, uint64_t available, void *scratch,
		     uint64_t *ret_taken)
{
	uint32_t offset = (uint32_t)reader->tail & (reader->bytes - 1);
	uint32_t left = reader->bytes - offset;
	struct record head;

	memcpy(&head, reader->data + offset, sizeof(head));
	if (head.kind == EVENT_PADDING) {
		*ret_taken = head.detail;
		memcpy(scratch, &head, sizeof(head));
		return head.detail == left && head.detail <= available;
	}
	if (head.size < sizeof(head) || head.size % 8 || head.size > left || head.size > available)
		return false;
	memcpy(scratch, reader->data + offset, head.size);
	/* The program may have changed the head since it was checked: the checked copy counts. */
	memcpy(scratch, &head, sizeof(head));
	*ret_taken = head.size;
	return true;
}

size_t ring_drain(struct ring_reader *reader, size_t most, void *scratch, ring_take *take,
		  void *context)
{
	uint64_t head = atomic_load_explicit(&reader->control->head, memory_order_acquire);
	uint64_t begin = reader->tail;

	if (head == reader->tail)
		return 0;
	if (head < reader->tail || head - reader->tail > reader->bytes || head % 8) {
		/* Only a corrupted region gets here: start again from the head that it gives. */
		reader->broken_bytes += reader->bytes;
		reader->broken_times++;
		reader->tail = head & ~UINT64_C(7);
		atomic_store_explicit(&reader->control->tail, reader->tail, memory_order_release);
		return 0;
	}
	while (reader->tail < head && reader->tail - begin < most) {
		uint64_t taken;

		if (!take_one(reader, head - reader->tail, scratch, &taken)) {
			skip_broken(reader, head);
			break;
		}
		reader->tail += taken;
		if (((struct record *)scratch)->kind != EVENT_PADDING)
			take(context, scratch);
	}
	atomic_store_explicit(&reader->control->tail, reader->tail, memory_order_release);
	return reader->tail - begin;
}

void ring_recycle(struct ring_reader *reader)
{
	uint32_t expected = RING_CLOSED;

	atomic_compare_exchange_strong(&reader->control->state, &expected, RING_FREE);
}
