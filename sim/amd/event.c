/* SPDX-License-Identifier: MIT
 *
 * sim/amd/event.c - events, with which the GPU wakes the host
 *
 * Runs in:  a program that uses ROCr, on the threads that call ioctl and on that of the GPU
 * Gets:     /dev/kfd's ioctls of events, and events raised by the GPU
 * Owns:     the table of events, under one lock; waiting threads check their events after each
 *           change
 * Fails:    EINVAL for an event that does not exist; ENOMEM; ENOSPC if KFD_SIGNAL_EVENT_LIMIT
 *           events are in use
 * Why:      as in KFD, an event wakes all threads that wait for it at that time. It stays set for a
 *           later waiter only if no thread was waiting. ROCr's own thread and the program's thread
 *           do wait for the same event: if only one of them were woken, hsa_queue_destroy would
 *           hang once in some hundred calls on a busy machine.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* Offset of the page of mailboxes in /dev/kfd. The thunk uses one in GPU memory and only checks
 * that this is not 0. */
enum { EVENT_PAGE_OFFSET = 0x1000 };

static struct {
	bool exists, is_set, resets_itself;
	unsigned waiting; /* threads */
	uint64_t times;   /* that it was set or ended, also as another event of this number */
} events[KFD_SIGNAL_EVENT_LIMIT]; /* 0 is not an event */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_condition(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

void sim_event_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	init_condition();
	memset(events, 0, sizeof(events));
}

int sim_event_create(void *arguments)
{
	struct kfd_ioctl_create_event_args *given = arguments;
	uint32_t id = 1;

	pthread_once(&once, init_condition);
	pthread_mutex_lock(&lock);
	while (id < KFD_SIGNAL_EVENT_LIMIT && events[id].exists)
		id++;
	if (id < KFD_SIGNAL_EVENT_LIMIT) {
		events[id].exists = true;
		events[id].is_set = false;
		events[id].resets_itself = given->auto_reset;
		events[id].waiting = 0;
		given->event_id = given->event_slot_index = given->event_trigger_data = id;
		if (!given->event_page_offset)
			given->event_page_offset = EVENT_PAGE_OFFSET;
	}
	pthread_mutex_unlock(&lock);
	return id < KFD_SIGNAL_EVENT_LIMIT ? 0 : -ENOSPC;
}

static bool has(uint32_t id)
{
	return id < KFD_SIGNAL_EVENT_LIMIT && events[id].exists;
}

int sim_event_destroy(void *arguments)
{
	uint32_t id = ((struct kfd_ioctl_destroy_event_args *)arguments)->event_id;
	bool existed;

	pthread_mutex_lock(&lock);
	existed = has(id);
	if (existed) {
		events[id].exists = false;
		events[id].times++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return existed ? 0 : -EINVAL;
}

static int set(uint32_t id)
{
	bool exists;

	pthread_mutex_lock(&lock);
	exists = has(id);
	if (exists) {
		events[id].is_set = !events[id].resets_itself || !events[id].waiting;
		events[id].times++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return exists ? 0 : -EINVAL;
}

int sim_event_set(void *arguments)
{
	return set(((struct kfd_ioctl_set_event_args *)arguments)->event_id);
}

void sim_event_raise(uint32_t id)
{
	set(id);
}

unsigned sim_event_waiting(uint32_t id)
{
	unsigned waiting;

	pthread_mutex_lock(&lock);
	waiting = has(id) ? events[id].waiting : 0;
	pthread_mutex_unlock(&lock);
	return waiting;
}

int sim_event_reset(void *arguments)
{
	uint32_t id = ((struct kfd_ioctl_reset_event_args *)arguments)->event_id;
	bool exists;

	pthread_mutex_lock(&lock);
	exists = has(id);
	if (exists)
		events[id].is_set = false;
	pthread_mutex_unlock(&lock);
	return exists ? 0 : -EINVAL;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* One event of those that a thread waits for. */
struct wait {
	uint32_t id;
	bool is_over;
	uint64_t times; /* when it began to wait */
};

/* Under the lock. -EINVAL: one does not exist, and nothing was changed. */
static int begin_waits(struct wait *waits, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!has(waits[i].id))
			return -EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		waits[i].is_over = events[waits[i].id].is_set;
		waits[i].times = events[waits[i].id].times;
		if (events[waits[i].id].resets_itself)
			events[waits[i].id].is_set = false;
		events[waits[i].id].waiting++;
	}
	return 0;
}

/* Under the lock. */
static uint32_t count_over(struct wait *waits, uint32_t count)
{
	uint32_t over = 0;

	for (uint32_t i = 0; i < count; i++) {
		waits[i].is_over |= events[waits[i].id].times != waits[i].times;
		over += waits[i].is_over;
	}
	return over;
}

/* Under the lock. An event may have been destroyed meanwhile, and another one have its number. */
static void end_waits(const struct wait *waits, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (events[waits[i].id].waiting)
			events[waits[i].id].waiting--;
}

static struct timespec deadline(uint32_t timeout_ms)
{
	struct timespec end;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &end);
	ns = (uint64_t)end.tv_nsec + (uint64_t)timeout_ms * 1000000;
	end.tv_sec += (time_t)(ns / 1000000000);
	end.tv_nsec = (long)(ns % 1000000000);
	return end;
}

/* Under the lock. True: enough of the waits have ended. */
static bool wait_until(struct wait *waits, uint32_t count, uint32_t wanted, uint32_t timeout_ms)
{
	const struct timespec end = deadline(timeout_ms);
	int error = 0;

	while (count_over(waits, count) < wanted && !error)
		error = timeout_ms == UINT32_MAX ? pthread_cond_wait(&changed, &lock)
						 : pthread_cond_timedwait(&changed, &lock, &end);
	return count_over(waits, count) >= wanted;
}

int sim_event_wait(void *arguments)
{
	struct kfd_ioctl_wait_events_args *given = arguments;
	const struct kfd_event_data *asked = (const void *)(uintptr_t)given->events_ptr;
	uint32_t count = given->num_events;
	struct wait *waits = calloc(count + 1, sizeof(*waits));
	bool is_over = false;
	int error;

	if (!waits)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		waits[i].id = asked[i].event_id;
	pthread_once(&once, init_condition);
	pthread_mutex_lock(&lock);
	error = begin_waits(waits, count);
	if (!error) {
		is_over = wait_until(waits, count, given->wait_for_all ? count : 1, given->timeout);
		end_waits(waits, count);
	}
	pthread_mutex_unlock(&lock);
	free(waits);
	given->wait_result = is_over ? KFD_IOC_WAIT_RESULT_COMPLETE : KFD_IOC_WAIT_RESULT_TIMEOUT;
	return error;
}
