/* SPDX-License-Identifier: MIT
 *
 * net/push_queue.h - bodies that wait to be sent: a bounded queue that counts its drops
 *
 * The caller passes the time (CLOCK_MONOTONIC) and holds a lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/retry.h"

enum { PUSH_QUEUE_ITEMS = 16 };

struct push_item {
	char *url;  /* owned */
	void *body; /* owned */
	size_t size;
	uint64_t queued_ns;
};

struct push_counts {
	uint64_t sent, sent_bytes;
	uint64_t retries;
	uint64_t dropped_full;    /* the queue was full: the oldest was dropped */
	uint64_t dropped_old;     /* waited longer than max_age_ns */
	uint64_t dropped_refused; /* the receiver refused it */
	uint64_t dropped_end;     /* the agent ended before */
	uint64_t dropped_slow;    /* making it took too long */
	uint64_t dropped_failed;  /* it could not be made for another reason */
	uint64_t waiting;
};

/* All drops before the end. */
uint64_t push_counts_dropped(const struct push_counts *counts);

struct push_queue {
	size_t max_items; /* at most PUSH_QUEUE_ITEMS */
	size_t max_bytes; /* sum of all bodies; a larger body is dropped */
	uint64_t max_age_ns;
	struct push_item items[PUSH_QUEUE_ITEMS]; /* oldest first */
	size_t count, bytes;
	uint64_t next_ns; /* no request before */
	struct retry retry;
	struct push_counts counts;
};

void push_item_fini(struct push_item *item);
void push_queue_fini(struct push_queue *queue); /* counts what is left as dropped_end */

/* Takes ownership of the item. */
void push_queue_add(struct push_queue *queue, const struct push_item *item, uint64_t now_ns);

/* Moves the oldest item out if it may be sent now. */
bool push_queue_take(struct push_queue *queue, uint64_t now_ns, struct push_item *ret_item);

/* Takes the item back after an attempt. */
void push_queue_finish(struct push_queue *queue, struct push_item *item, enum retry_verdict verdict,
		       uint64_t retry_after_ns, uint64_t now_ns);

/* Time until push_queue_take can return an item; UINT64_MAX: the queue is empty. */
uint64_t push_queue_wait_ns(const struct push_queue *queue, uint64_t now_ns);
