/* SPDX-License-Identifier: MIT
 *
 * net/push_queue.c - bodies that wait to be sent: a bounded queue that counts its drops
 *
 * Runs in:  our own process, under the caller's lock
 * Gets:     bodies, verdicts, the time
 * Gives:    the next body to send
 * Owns:     the waiting bodies
 * Fails:    never; a body without room is dropped and counted
 * Why the oldest is dropped: metrics are cumulative, so the newest body contains all older ones. A
 * reader of profiles asks for the newest ones.
 */
#include "net/push_queue.h"

#include <stdlib.h>
#include <string.h>

uint64_t push_counts_dropped(const struct push_counts *counts)
{
	return counts->dropped_full + counts->dropped_old + counts->dropped_refused +
	       counts->dropped_slow + counts->dropped_failed;
}

void push_item_fini(struct push_item *item)
{
	free(item->url);
	free(item->body);
	*item = (struct push_item){.url = NULL};
}

static struct push_item pop_oldest(struct push_queue *queue)
{
	struct push_item item = queue->items[0];

	queue->count--;
	queue->bytes -= item.size;
	memmove(queue->items, queue->items + 1, queue->count * sizeof(*queue->items));
	return item;
}

static void drop_oldest(struct push_queue *queue, uint64_t *counter)
{
	struct push_item item = pop_oldest(queue);

	push_item_fini(&item);
	++*counter;
}

void push_queue_fini(struct push_queue *queue)
{
	while (queue->count)
		drop_oldest(queue, &queue->counts.dropped_end);
}

static bool has_room(const struct push_queue *queue, size_t size)
{
	return queue->count < queue->max_items && queue->bytes + size <= queue->max_bytes;
}

void push_queue_add(struct push_queue *queue, const struct push_item *item, uint64_t now_ns)
{
	struct push_item own = *item;

	own.queued_ns = now_ns;
	while (queue->count && !has_room(queue, own.size))
		drop_oldest(queue, &queue->counts.dropped_full);
	if (!has_room(queue, own.size)) {
		push_item_fini(&own);
		queue->counts.dropped_full++;
		return;
	}
	queue->items[queue->count++] = own;
	queue->bytes += own.size;
}

bool push_queue_take(struct push_queue *queue, uint64_t now_ns, struct push_item *ret_item)
{
	while (queue->count && queue->items[0].queued_ns + queue->max_age_ns < now_ns)
		drop_oldest(queue, &queue->counts.dropped_old);
	if (!queue->count || now_ns < queue->next_ns)
		return false;
	*ret_item = pop_oldest(queue);
	return true;
}

/* A body that was refused for now goes back to its place, unless newer ones have filled the queue.
 */
static void put_back(struct push_queue *queue, struct push_item *item)
{
	if (!has_room(queue, item->size)) {
		push_item_fini(item);
		queue->counts.dropped_full++;
		return;
	}
	memmove(queue->items + 1, queue->items, queue->count * sizeof(*queue->items));
	queue->items[0] = *item;
	queue->count++;
	queue->bytes += item->size;
	queue->counts.retries++;
	*item = (struct push_item){.url = NULL};
}

void push_queue_finish(struct push_queue *queue, struct push_item *item, enum retry_verdict verdict,
		       uint64_t retry_after_ns, uint64_t now_ns)
{
	if (verdict == RETRY_AGAIN) {
		queue->next_ns = now_ns + retry_wait_ns(&queue->retry, retry_after_ns);
		put_back(queue, item);
		return;
	}
	retry_forget(&queue->retry);
	if (verdict == RETRY_DONE) {
		queue->counts.sent++;
		queue->counts.sent_bytes += item->size;
	} else {
		queue->counts.dropped_refused++;
	}
	push_item_fini(item);
}

uint64_t push_queue_wait_ns(const struct push_queue *queue, uint64_t now_ns)
{
	if (!queue->count)
		return UINT64_MAX;
	return queue->next_ns > now_ns ? queue->next_ns - now_ns : 0;
}
