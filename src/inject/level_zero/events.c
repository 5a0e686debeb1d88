/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero/events.c - events of the guest, for commands without one of the program
 *
 * Runs in:  the profiled process, before a command is appended
 * Gets:     a context
 * Gives:    events with timestamps that only the guest uses
 * Owns:     pools of events, by context; a pool is destroyed with its context, or with the process
 * Fails:    with NULL if the driver refuses: the command has no timestamps
 * Why:      an event is reset and reused, because creating one takes the driver more than a
 *           microsecond. The guest's events have no scope: they order no memory accesses, and so
 *           cause no flush. An event whose command is not tracked (no room, no lock) waits until
 *           the device has signalled it: otherwise a program that appends many commands in that
 *           time would need a new event for each append, 50,000 of them a second.
 */
#include "inject/level_zero/level_zero.h"

enum { POOL_EVENTS = 128 };

struct level_zero_own_pool {
	struct level_zero_own_pool *next_pool;
	ze_handle handle;
	uint32_t used;
	struct level_zero_event *events[POOL_EVENTS];
};

static struct guest_lock lock;

void level_zero_events_forked(void)
{
	atomic_store(&lock.taken, 0);
}

static struct level_zero_event *take_free(struct level_zero_context *context)
{
	struct level_zero_event *event;

	if (!guest_lock(&lock))
		return NULL;
	event = context->free_events;
	if (event)
		context->free_events = event->next_free_event;
	guest_unlock(&lock);
	return event;
}

static void add_lost(struct level_zero_context *context, struct level_zero_event *event)
{
	event->next_free_event = NULL;
	if (context->last_lost)
		context->last_lost->next_free_event = event;
	else
		context->first_lost = event;
	context->last_lost = event;
}

void level_zero_event_lose(struct level_zero_event *event)
{
	if (!guest_lock(&lock))
		return;
	add_lost(event->context, event);
	guest_unlock(&lock);
}

/* Returns the event that was lost first, if its command has completed. */
static struct level_zero_event *take_lost(struct level_zero_context *context)
{
	struct level_zero_event *event;

	if (!context->first_lost || !guest_lock(&lock))
		return NULL;
	event = context->first_lost;
	if (event)
		context->first_lost = event->next_free_event;
	if (!context->first_lost)
		context->last_lost = NULL;
	guest_unlock(&lock);
	if (!event)
		return NULL;
	if (next.zeEventQueryStatus(event->object.handle) != ZE_SUCCESS) {
		level_zero_event_lose(event);
		return NULL;
	}
	return next.zeEventHostReset(event->object.handle) == ZE_SUCCESS ? event : NULL;
}

/* Returns a pool with a free place; NULL: all are full. */
static struct level_zero_own_pool *take_place(struct level_zero_context *context,
					      uint32_t *ret_index)
{
	struct level_zero_own_pool *pool;

	if (!guest_lock(&lock))
		return NULL;
	pool = context->pools;
	if (pool && pool->used < POOL_EVENTS)
		*ret_index = pool->used++;
	else
		pool = NULL;
	guest_unlock(&lock);
	return pool;
}

/* Calls the driver without the lock, so two threads may create one pool each. */
static bool make_pool(struct level_zero_context *context)
{
	const struct ze_event_pool_desc desc = {.type = ZE_TYPE_EVENT_POOL_DESC,
						.flags = ZE_EVENT_POOL_HOST_VISIBLE |
							 ZE_EVENT_POOL_KERNEL_TIMESTAMP,
						.count = POOL_EVENTS};
	struct level_zero_own_pool *pool = guest_memory(sizeof(*pool));
	bool is_linked = false;

	if (!pool)
		return false;
	if (!next.zeEventPoolCreate || next.zeEventPoolCreate(context->object.handle, &desc, 0,
							      NULL, &pool->handle) != ZE_SUCCESS) {
		guest_memory_free(pool, sizeof(*pool));
		context->is_refused = true;
		return false;
	}
	if (guest_lock(&lock)) {
		pool->next_pool = context->pools;
		context->pools = pool;
		is_linked = true;
		guest_unlock(&lock);
	}
	return is_linked;
}

static struct level_zero_event *make_event(struct level_zero_context *context,
					   struct level_zero_own_pool *pool, uint32_t index)
{
	const struct ze_event_desc desc = {.type = ZE_TYPE_EVENT_DESC, .index = index};
	struct level_zero_event *event;
	ze_handle handle = NULL;

	if (next.zeEventCreate(pool->handle, &desc, &handle) != ZE_SUCCESS)
		return NULL;
	event = level_zero_add(handle, LEVEL_ZERO_EVENT);
	if (!event) {
		next.zeEventDestroy(handle);
		return NULL;
	}
	event->context = context;
	event->is_timed = true;
	event->pending = NO_COMMAND;
	pool->events[index] = event;
	return event;
}

struct level_zero_event *level_zero_event_take(struct level_zero_context *context)
{
	struct level_zero_event *event = context ? take_free(context) : NULL;
	struct level_zero_own_pool *pool;
	uint32_t index = 0;

	if (!event && context)
		event = take_lost(context);
	if (event) {
		event->is_overtaken = event->is_mixed = event->is_renewed = false;
		event->contents = 0;
		event->before = (struct ze_stamps){0};
	}
	if (event || !context || context->is_refused)
		return event;
	pool = take_place(context, &index);
	if (!pool && make_pool(context))
		pool = take_place(context, &index);
	return pool ? make_event(context, pool, index) : NULL;
}

void level_zero_event_give_back(struct level_zero_event *event)
{
	struct level_zero_context *context = event->context;

	/* An event that cannot be reset would look signalled for the next command, so it is not
	 * reused. */
	if (next.zeEventHostReset(event->object.handle) != ZE_SUCCESS || !guest_lock(&lock))
		return;
	event->next_free_event = context->free_events;
	context->free_events = event;
	guest_unlock(&lock);
}

void level_zero_events_destroy(struct level_zero_context *context)
{
	struct level_zero_own_pool *pool, *following;

	if (!guest_lock(&lock))
		return;
	pool = context->pools;
	context->pools = NULL;
	context->free_events = context->first_lost = context->last_lost = NULL;
	guest_unlock(&lock);
	for (; pool; pool = following) {
		following = pool->next_pool;
		for (uint32_t i = 0; i < pool->used; i++) {
			struct level_zero_event *event = pool->events[i];
			ze_handle handle = event ? event->object.handle : NULL;

			if (!event)
				continue;
			level_zero_remove(handle, LEVEL_ZERO_EVENT, true);
			next.zeEventDestroy(handle);
		}
		next.zeEventPoolDestroy(pool->handle);
		guest_memory_free(pool, sizeof(*pool));
	}
}
