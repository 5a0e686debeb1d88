/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/condition.c - the launching thread waits for a batch that another
 * thread computes
 */
#include "diagnosis.h"

#include <pthread.h>

static void start_loader(void);
static void next_batch(uint64_t ns);

PLANT(.name = "condition", .kinds = "thread_wait", .words = "decode_batch thread",
      .start = start_loader, .act = next_batch);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t wanted_ns;
static volatile uint32_t decoded;

NOINLINE static void decode_batch(uint64_t ns)
{
	GUILTY_BEGIN();
	for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;)
		for (int i = 0; i < 4096; i++)
			decoded = decoded * 1664525 + 1013904223;
	GUILTY_END();
}

static void *load_batches(void *unused)
{
	for (pthread_mutex_lock(&mutex);;) {
		uint64_t ns = wanted_ns;

		if (ns) {
			pthread_mutex_unlock(&mutex);
			decode_batch(ns);
			pthread_mutex_lock(&mutex);
			wanted_ns = 0;
			pthread_cond_broadcast(&changed);
		}
		pthread_cond_wait(&changed, &mutex);
	}
	return unused;
}

static void start_loader(void)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, load_batches, NULL) == 0, "pthread_create");
	pthread_setname_np(thread, "loader");
}

NOINLINE static void next_batch(uint64_t ns)
{
	WAIT_BEGIN();
	pthread_mutex_lock(&mutex);
	wanted_ns = ns;
	pthread_cond_broadcast(&changed);
	while (wanted_ns)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	WAIT_END();
}
