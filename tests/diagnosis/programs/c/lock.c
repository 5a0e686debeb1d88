/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/lock.c - a thread holds a mutex that the launching thread wants
 */
#include "diagnosis.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static void start_writer(void);
static void let_writer_lock(uint64_t ns);
static void update_statistics(uint64_t ns);

PLANT(.name = "lock", .kinds = "lock", .words = "lock flush_statistics", .start = start_writer,
      .during = let_writer_lock, .act = update_statistics);

static pthread_mutex_t statistics = PTHREAD_MUTEX_INITIALIZER;
static sem_t wanted, locked;
static atomic_bool is_awaited;
static uint64_t hold_ns, total;

NOINLINE static void flush_statistics(void)
{
	GUILTY_BEGIN();
	while (!atomic_load(&is_awaited))
		sleep_ns(100000);
	sleep_ns(hold_ns);
	GUILTY_END();
}

static void *write_statistics(void *unused)
{
	for (;;) {
		sem_wait(&wanted);
		pthread_mutex_lock(&statistics);
		sem_post(&locked);
		flush_statistics();
		pthread_mutex_unlock(&statistics);
	}
	return unused;
}

static void start_writer(void)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, write_statistics, NULL) == 0, "pthread_create");
	pthread_setname_np(thread, "statistics");
}

static void let_writer_lock(uint64_t ns)
{
	hold_ns = ns;
	atomic_store(&is_awaited, 0);
	sem_post(&wanted);
	sem_wait(&locked);
}

NOINLINE static void update_statistics(uint64_t ns)
{
	atomic_store(&is_awaited, 1);
	WAIT_BEGIN();
	pthread_mutex_lock(&statistics);
	total += ns;
	pthread_mutex_unlock(&statistics);
	WAIT_END();
}
