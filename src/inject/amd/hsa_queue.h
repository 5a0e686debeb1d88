/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa_queue.h - state of a tracked queue
 *
 * Shared by hsa_dispatch.c (writes packets), hsa_harvest.c (reads times) and hsa_queues.c (creates
 * and destroys queues) only.
 */
#pragma once

#include "inject/amd/hsa.h"

#pragma GCC visibility push(hidden)

/* PENDING: entries in the list of a queue; more than there are signals, because the list has holes.
 * WINDOW: entries that one pass looks at behind the oldest pending one. */
enum { PENDING = 2 * MAX_HSA_QUIET, WINDOW = 1024, SPARE = 32, BATCH = 64, WAKE_EVERY = 512 };
/* Flag in `harvesters`, beside their number: the queue ends, and no further thread may enter. */
enum { ENDING = 1 << 30 };
/* Number of marks in a queue, and the smallest queue that has room for them. Marks are used with
 * runtimes that end the program when a queue is full. */
enum { MARKS = 8, MIN_MARKED = 64 };

struct hsa_mark {
	struct hsa_slot *slot;
	uint64_t position; /* position of the first packet behind the mark */
};

struct hsa_tracked_queue {
	struct hsa_tracked_queue *older;
	struct hsa_queue *_Atomic handle; /* NULL: this struct is free for another queue */
	struct hsa_device *device;
	uint32_t id;
	uint32_t hardware_queue; /* the runtime's number of the queue, as bits of a record */
	_Atomic uint32_t mode;   /* attachment in which the queue was described */
	bool is_followed;
	/* Another tool's handlers run after ours. That tool would take our signal for the
	 * program's, and would not time the dispatch or would keep its times for itself. */
	bool is_above;
	/* packets counted so far if the queue is not tracked, and why it is not */
	uint64_t counted;
	uint32_t reason;
	/* Used by the thread that writes packets, under the runtime's lock of the queue. */
	struct hsa_slot *spare[SPARE];
	/* spare_count: signals taken and unused; blind: dispatches until the next look */
	uint32_t spare_count, blind;
	struct hsa_mark marks[MARKS];
	uint32_t oldest_mark, newest_mark; /* only grow; the index is the value modulo MARKS */
	uint32_t mark_every;               /* packets between two marks; 0: the queue needs none */
	uint32_t since_mark;
	/* packets written; of these, packets that the device has passed */
	uint64_t written, passed;
	/* room for as many packets as the queue has, and one; NULL: not needed */
	struct hsa_dispatch_packet *batch;
	size_t batch_bytes;
	_Alignas(64) _Atomic uint64_t tail; /* next position in pending; only grows */
	/* Used by harvesters; several threads may harvest at once. */
	_Alignas(64) _Atomic uint64_t head;
	_Atomic uint32_t harvesters;
	struct hsa_slot *_Atomic pending[PENDING]; /* NULL: completed */
};

/* List of all queues; only grows. */
extern struct hsa_tracked_queue *_Atomic hsa_newest_queue;

/* Place of a pending dispatch: unique among all dispatches, so a thread that claims a place claims
 * exactly that dispatch. */
static inline uint64_t hsa_place_of(const struct hsa_tracked_queue *queue, uint64_t position)
{
	return (uint64_t)queue->id << 40 | (position + 1);
}

/* The handler that the runtime calls with packets of the program, under the queue's lock. */
void hsa_on_packets(const void *packets, uint64_t count, uint64_t index, void *data,
		    hsa_packet_writer *writer);

/* Reads the times of a queue's completed dispatches; returns their number. */
uint32_t hsa_harvest_queue(struct guest_thread *thread, struct hsa_tracked_queue *queue);
/* Waits until all harvesters have left the queue. They never block, so this takes little time.
 * False: one is still inside, or it is this thread. */
bool hsa_shut_harvesters_out(struct hsa_tracked_queue *queue);
/* Handlers that come later belong to an earlier runtime. */
void hsa_forget_expected(void);
void hsa_harvest_forked(void);
uint64_t hsa_now_ms(void); /* CLOCK_MONOTONIC */
/* Sleeps for 20 us without changing errno. */
void hsa_pause_briefly(void);

#pragma GCC visibility pop
