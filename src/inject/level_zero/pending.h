/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero/pending.h - commands in flight, and the launches that start them
 *
 * Shared by commands.c (appends and executions) and pending.c only.
 */
#pragma once

#include <pthread.h>

#include "event/record_parts.h"
#include "inject/level_zero/level_zero.h"

#pragma GCC visibility push(hidden)

enum { LEVEL_ZERO_BLOCK_BITS = 14, LEVEL_ZERO_BLOCKS = 64 };

struct level_zero_pending {
	struct level_zero_event *event; /* NULL: the command has ended and is recorded */
	uint64_t event_serial;
	struct level_zero_queue *queue;
	uint64_t contents; /* generation of the list that contains the command */
	uint64_t correlation;
	uint32_t queue_id;
	uint32_t detail; /* hardware queue and parts of the execution's record */
	struct record_transfer transfer;
	/* attachment of the launch, whose recorder alone knows it; 0: the launch was lost */
	uint32_t mode;
	uint32_t next;
	bool gives_back; /* the event is ours and does not belong to a list */
	bool is_renewed; /* as in struct level_zero_command */
};
_Static_assert(sizeof(struct level_zero_pending) <= 80, "2^20 commands may be pending");

struct level_zero_pending_commands {
	struct guest_lock lock; /* protects queues, pending commands and pool */
	int cancel; /* under the lock: cancel state that the holder's thread had before */
	struct level_zero_pending *blocks[LEVEL_ZERO_BLOCKS];
	uint32_t used; /* number of slots ever handed out */
	uint32_t free; /* first slot that was given back */
	struct level_zero_queue *queues;
	_Atomic uint64_t next_poll;
};
extern struct level_zero_pending_commands level_zero_pending;

static inline struct level_zero_pending *level_zero_slot(uint32_t index)
{
	return &level_zero_pending.blocks[index >> LEVEL_ZERO_BLOCK_BITS]
					 [index & ((1 << LEVEL_ZERO_BLOCK_BITS) - 1)];
}

/* The driver is called with the lock held. A thread that was cancelled there would hold the lock
 * forever, so cancellation is disabled. */
static inline bool level_zero_lock(void)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (guest_lock(&level_zero_pending.lock)) {
		level_zero_pending.cancel = cancel;
		return true;
	}
	pthread_setcancelstate(cancel, NULL);
	return false;
}

static inline void level_zero_unlock(void)
{
	int cancel = level_zero_pending.cancel;

	guest_unlock(&level_zero_pending.lock);
	pthread_setcancelstate(cancel, NULL);
}

/* True if the event still exists, so that the driver may be called with it. */
static inline bool level_zero_event_is_there(const struct level_zero_event *event, uint64_t serial)
{
	return event &&
	       atomic_load_explicit(&event->object.serial, memory_order_acquire) == serial &&
	       (!event->context || level_zero_is_there(&event->context->object));
}

/* An unknown command signals the event at an unknown time. Its timestamps are not used until the
 * program resets it. */
static inline void level_zero_spoil(struct level_zero_event *event)
{
	event->is_overtaken = event->is_mixed = true;
}

/* The caller holds the lock in the next three. */

/* False: its command had not completed and gets no times. */
bool level_zero_read_event_stamps(struct guest_thread *thread, struct level_zero_event *event);
/* Reads the timestamps of an event that the device no longer signals. */
void level_zero_settle_last(struct guest_thread *thread, struct level_zero_event *event);
/* Prepares an event for another command. is_renewed: if its previous command has not completed, the
 * device resets the event between the two. A signalled event of the program stays signalled until
 * the device has reset it, so its old timestamps are kept for comparison. */
void level_zero_prepare(struct guest_thread *thread, struct level_zero_event *event,
			bool is_renewed);

/* Data for a launch record. stack: an id that the calling thread's ring knows. */
struct level_zero_launch {
	const struct level_zero_command *command;
	struct level_zero_queue *queue;
	uint32_t function, flags, stack;
	uint64_t correlation, enter, exit;
	ze_result result;
};

/* Writes the launch record; false: it is lost. */
bool level_zero_put_launch(struct guest_thread *thread, const struct level_zero_launch *launch);
/* Records a command that the driver has accepted, and tracks it if it has an event. It is tracked
 * even if the record was lost, so that the event is known to be in use. gives_back: the event is
 * ours and does not belong to a list. */
void level_zero_launch_command(struct guest_thread *thread, struct level_zero_launch *launch,
			       bool gives_back, uint64_t contents);

#pragma GCC visibility pop
