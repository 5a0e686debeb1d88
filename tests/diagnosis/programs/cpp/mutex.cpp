/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/cpp/mutex.cpp - std::mutex, held by a thread that computes
 */
#include "diagnosis.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <semaphore>
#include <thread>

static void start_compaction(void);
static void let_compaction_lock(uint64_t ns);
static void append_entry(uint64_t ns);

PLANT(.name = "mutex", .kinds = "lock", .words = "lock mutex compact_log",
      .start = start_compaction, .during = let_compaction_lock, .act = append_entry);

static std::mutex log_mutex;
static std::binary_semaphore wanted(0), locked(0);
static std::atomic<bool> is_awaited;
static uint64_t hold_ns, entries;
static volatile uint32_t compacted;

NOINLINE static void compact_log()
{
	GUILTY_BEGIN();
	while (!is_awaited)
		sleep_ns(100000);
	for (uint64_t end = cpu_ns() + hold_ns; cpu_ns() < end;)
		for (int i = 0; i < 4096; i++)
			compacted = compacted * 1664525 + 1013904223;
	GUILTY_END();
}

static void start_compaction(void)
{
	std::thread thread([] {
		for (;;) {
			wanted.acquire();
			std::lock_guard<std::mutex> guard(log_mutex);
			locked.release();
			compact_log();
		}
	});
	pthread_setname_np(thread.native_handle(), "compaction");
	thread.detach();
}

static void let_compaction_lock(uint64_t ns)
{
	hold_ns = ns;
	is_awaited = false;
	wanted.release();
	locked.acquire();
}

NOINLINE static void append_entry(uint64_t ns)
{
	is_awaited = true;
	WAIT_BEGIN();
	log_mutex.lock();
	entries += ns;
	log_mutex.unlock();
	WAIT_END();
}
