/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/delivery.c - the worker thread of the simulated CUPTI, the program's buffers, losses
 *
 * Runs in:  a program that uses CUDA; the worker starts when the first kind of activity is enabled
 * Gets:     items
 * Gives:    records in the program's buffers, delivered when they are full or flushed
 * Owns:     the items that have not ended, the buffer being filled, the count of lost records
 * Why:      both functions of the program are called on the worker without a lock, so they may call
 *           anything except a flush
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cupti.h"

#define PASS_NS UINT64_C(10000000)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t has_flushed = PTHREAD_COND_INITIALIZER;

static struct {
	bool is_wanted, is_running, is_ending, is_forced;
	pid_t process;
	pthread_t thread;
	struct sim_item *first, **end; /* oldest first */
	size_t item_count;
	uint64_t asked, flushed; /* flushes */
	cupti_buffer_requested requested;
	cupti_buffer_completed completed;
} state = {.end = &state.first}; /* under the lock */

/* The worker's own: */
static struct {
	uint8_t *bytes;
	size_t size, used, record_count, max_record;
} buffer;
static uint64_t record_number;

static _Atomic size_t dropped;
static _Atomic uint64_t passes;
static _Thread_local bool is_worker;

/* ---- buffers --------------------------------------------------------------------------------- */

static void hand_over(void)
{
	uint8_t *bytes = buffer.bytes;

	if (!bytes)
		return;
	buffer.bytes = NULL;
	if (sim_options()->stray_buffer) {
		static _Alignas(8) uint8_t stray[4096];

		memcpy(stray, bytes, buffer.used < sizeof(stray) ? buffer.used : sizeof(stray));
		state.completed(NULL, 0, stray, sizeof(stray),
				sim_stride(CUPTI_ACTIVITY_KIND_MEMSET));
	}
	state.completed(NULL, 0, bytes, buffer.size, buffer.used);
}

static bool request(void)
{
	uint64_t start_ns = sim_now();

	memset(&buffer, 0, sizeof(buffer));
	state.requested(&buffer.bytes, &buffer.size, &buffer.max_record);
	if (!buffer.bytes && sim_options()->null_crash) {
		fprintf(stderr, "sim-nvidia: no buffer, and CUPTI before 12.9 crashes then\n");
		abort();
	}
	if (!buffer.bytes || (uintptr_t)buffer.bytes % ACTIVITY_RECORD_ALIGNMENT) {
		buffer.bytes = NULL;
		return false;
	}
	sim_on_overhead(
		&(struct sim_overhead){.kind = CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST,
				       .start_ns = start_ns,
				       .end_ns = sim_now() + 1});
	return true;
}

static bool is_full(size_t bytes)
{
	return buffer.used + bytes > buffer.size ||
	       (buffer.max_record && buffer.record_count == buffer.max_record);
}

static bool find_room(size_t bytes)
{
	if (sim_options()->drop_every && ++record_number % (uint64_t)sim_options()->drop_every == 0)
		return false;
	if (buffer.bytes && is_full(bytes))
		hand_over();
	return (buffer.bytes || request()) && !is_full(bytes);
}

/* It runs, and CUPTI makes no record of it. */
static bool is_unrecorded(const struct sim_item *item)
{
	static int64_t kernel_number;
	const struct sim_options *options = sim_options();

	if (item->kind == CUPTI_ACTIVITY_KIND_MEMSET)
		return options->silent_sets;
	if (item->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
		return false;
	kernel_number++;
	return kernel_number >= options->range_first && kernel_number <= options->range_last;
}

static void write_record(const struct sim_item *item, uint64_t now_ns)
{
	uint64_t record[MAX_SIM_RECORD_BYTES / sizeof(uint64_t)] = {0};
	size_t bytes = sim_stride(item->kind);

	if (is_unrecorded(item))
		return;
	sim_make_record(item, item->due_ns <= now_ns, record);
	if (!find_room(bytes)) {
		dropped++;
		return;
	}
	memcpy(buffer.bytes + buffer.used, record, bytes);
	buffer.used += bytes;
	buffer.record_count++;
}

/* ---- the worker ------------------------------------------------------------------------------ */

/* Under the lock: the ended items, in their order; is_all: the others, too. */
static struct sim_item *take_due(uint64_t now_ns, bool is_all)
{
	struct sim_item *due = NULL, **due_end = &due, **link = &state.first, *item;

	while ((item = *link)) {
		if (item->due_ns > now_ns && !is_all) {
			link = &item->next;
			continue;
		}
		*link = item->next;
		item->next = NULL;
		*due_end = item;
		due_end = &item->next;
		state.item_count--;
	}
	state.end = link;
	return due;
}

static void write_all(struct sim_item *items, uint64_t now_ns)
{
	while (items) {
		struct sim_item *next = items->next;

		write_record(items, now_ns);
		free(items);
		items = next;
	}
}

/* Under the lock, which it leaves in between. */
static void pass(void)
{
	uint64_t asked = state.asked, now_ns;
	bool is_forced = state.is_forced, is_flush = asked != state.flushed;
	struct sim_item *due;

	state.is_forced = false;
	now_ns = sim_now();
	due = take_due(now_ns, is_forced);
	pthread_mutex_unlock(&lock);
	sim_stamp_pair();
	write_all(due, now_ns);
	if (is_flush)
		hand_over();
	pthread_mutex_lock(&lock);
	if (is_flush) {
		state.flushed = asked;
		pthread_cond_broadcast(&has_flushed);
	}
}

static void wait_for_work(void)
{
	uint64_t until_ns = sim_now() + PASS_NS;
	const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
				       .tv_nsec = (long)(until_ns % 1000000000u)};

	pthread_cond_clockwait(&has_work, &lock, CLOCK_MONOTONIC, &until);
}

static void *work(void *none)
{
	is_worker = true;
	pthread_mutex_lock(&lock);
	while (!state.is_ending) {
		if (state.asked == state.flushed)
			wait_for_work();
		pass();
		passes++;
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Under the lock: without functions there is nowhere to put records, so the worker waits for
 * them. */
static cupti_result start(void)
{
	if (state.is_running || !state.is_wanted || !state.requested)
		return CUPTI_SUCCESS;
	state.is_ending = false;
	state.process = getpid();
	state.is_running = !pthread_create(&state.thread, NULL, work, NULL);
	return state.is_running ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

cupti_result sim_delivery_start(void)
{
	cupti_result result;

	pthread_mutex_lock(&lock);
	state.is_wanted = true;
	result = start();
	pthread_mutex_unlock(&lock);
	return result;
}

void sim_delivery_stop(void)
{
	pthread_t thread;
	bool is_running;

	pthread_mutex_lock(&lock);
	is_running = state.is_running && state.process == getpid();
	thread = state.thread;
	state.is_ending = true;
	state.is_running = state.is_wanted = false;
	if (is_running)
		pthread_cond_broadcast(&has_work);
	pthread_mutex_unlock(&lock);
	if (is_running) {
		pthread_join(thread, NULL);
		memset(&buffer, 0, sizeof(buffer)); /* undelivered records are lost */
	}
}

void sim_deliver(struct sim_item *item)
{
	item->next = NULL;
	pthread_mutex_lock(&lock);
	*state.end = item;
	state.end = &item->next;
	state.item_count++;
	pthread_mutex_unlock(&lock);
}

/* ---- for the program ------------------------------------------------------------------------- */

uint64_t sim_passes(void)
{
	return passes;
}

cupti_result sim_flush(bool is_forced)
{
	cupti_result result = CUPTI_SUCCESS;
	uint64_t mine;

	if (is_worker)
		return CUPTI_ERROR_INVALID_OPERATION;
	pthread_mutex_lock(&lock);
	if (!state.is_running || state.process != getpid()) {
		result = state.requested ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
	} else {
		mine = ++state.asked;
		state.is_forced |= is_forced;
		pthread_cond_broadcast(&has_work);
		while (state.flushed < mine && state.is_running)
			pthread_cond_wait(&has_flushed, &lock);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

cupti_result cuptiActivityRegisterCallbacks(cupti_buffer_requested requested,
					    cupti_buffer_completed completed)
{
	cupti_result result;

	SIM_FAIL_AS_ASKED();
	if (!requested || !completed)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	if (state.is_running) {
		result = CUPTI_ERROR_INVALID_OPERATION;
	} else {
		state.requested = requested;
		state.completed = completed;
		result = start();
	}
	pthread_mutex_unlock(&lock);
	return result;
}

cupti_result cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream_id,
					       size_t *ret_count)
{
	SIM_FAIL_AS_ASKED();
	if (!ret_count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_count = atomic_exchange(&dropped, 0);
	return CUPTI_SUCCESS;
}
