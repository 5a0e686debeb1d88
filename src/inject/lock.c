/* SPDX-License-Identifier: MIT
 *
 * inject/lock.c - a lock that a signal handler and a fork survive
 *
 * Runs in:  the profiled process; never on the hot path
 * Gets:     a lock; gives whether the caller holds it
 * Owns:     nothing
 * Fails:    false after a second, or at once if the calling thread holds the lock already
 * Why:      pthread_mutex_lock deadlocks in a signal handler of the holder.
 */
#include "inject/lock.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/guest.h"

enum { LOCK_PATIENCE_MS = 1000 /* then the record that the lock protects is lost, and counted */ };

static _Thread_local char lock_thread __attribute__((tls_model("initial-exec")));

uint32_t lock_own_id(void)
{
	return (uint32_t)((uintptr_t)&lock_thread >> 2) | 1;
}

/* A preempted holder comes back when the scheduler lets it. Yielding is not enough if many threads
 * run (5 of 38 commands were lost with 8 threads on 2 busy cores), so the others sleep. A holder
 * that this signal handler interrupted on the same thread never comes back; the lock records its
 * owner to detect that. */
bool guest_lock(struct guest_lock *lock)
{
	static const struct timespec nap = {0, 50000};
	const int saved = errno;
	const uint32_t self = lock_own_id();
	uint64_t end_ms = 0;

	for (uint32_t tries = 1;; tries++) {
		uint32_t holder = 0;

		if (atomic_compare_exchange_weak_explicit(&lock->taken, &holder, self,
							  memory_order_acquire,
							  memory_order_relaxed))
			return true;
		if (holder == self)
			return false;
		if (tries % 50 != 0)
			continue;
		if (tries <= 200) {
			sched_yield();
			continue;
		}
		if (!end_ms)
			end_ms = ring_now_ms() + LOCK_PATIENCE_MS;
		else if (ring_now_ms() >= end_ms)
			return false;
		/* A raw system call: a thread may be cancelled in the library's function. */
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
		errno = saved;
	}
}
