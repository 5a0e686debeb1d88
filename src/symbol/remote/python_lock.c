/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python_lock.c - the global interpreter lock (GIL) of another process, and its
 * holder
 *
 * Runs in:  the recorder
 * Gets:     addresses that threads sleep on
 * Gives:    whether such an address lies in a lock; the thread that holds the lock
 * Owns:     nothing; the list of locks belongs to the reader
 * Fails:    -EAGAIN, -ENOMEM, -ESRCH, -EPERM
 * Why by the address: a wait for the lock needs no stack then. The lock has 208 bytes. The
 * structure around it, _PyRuntime, has 450 kB and contains other locks.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "symbol/remote/python.h"
#include "symbol/remote/python_private.h"

/* Interpreters come and go while the process runs. */
#define LOCKS_AGE_NS UINT64_C(20000000)

/* ---- locks of the process -------------------------------------------------------------------- */

static uint64_t coarse_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* 3.12 and later: each interpreter points to its lock, and several may point to the same. */
static int list_locks(struct python_remote *remote, struct python_locks *ret_locks)
{
	const struct python_offsets *at = &remote->at;
	uint64_t interpreter;
	int r = remote_memory_read(&remote->memory,
				   remote->threads.runtime + at->runtime_interpreters, &interpreter,
				   sizeof(interpreter));

	ret_locks->count = 0;
	for (size_t i = 0; !r && interpreter; i++) {
		const struct remote_piece pieces[] = {{interpreter + at->interpreter_next, 8},
						      {interpreter + at->interpreter_lock, 8}};
		uint64_t words[2];
		int64_t got = remote_memory_gather(&remote->memory, pieces, 2, words);

		if (got < 0)
			return (int)got;
		if (got != sizeof(words) || i == PYTHON_MAX_INTERPRETERS)
			return -EAGAIN;
		/* an interpreter that is being created has none yet */
		if (words[1])
			ret_locks->addresses[ret_locks->count++] = words[1];
		interpreter = words[0];
	}
	return r == -EFAULT ? -EAGAIN : r;
}

/* If they cannot be read, the old list stays: the process may have ended since the wait. */
static int update_locks(struct python_remote *remote)
{
	const uint64_t now_ns = coarse_now_ns();
	struct python_locks locks = {.listed_ns = now_ns};
	int r = 0;

	if (remote->at.runtime_lock) {
		locks.addresses[0] = remote->threads.runtime + remote->at.runtime_lock;
		locks.count = 1;
	} else if (remote->locks.listed_ns && now_ns - remote->locks.listed_ns < LOCKS_AGE_NS) {
		return 0;
	} else {
		r = list_locks(remote, &locks);
	}
	if (!r)
		remote->locks = locks;
	return remote->locks.count ? 0 : r;
}

int python_remote_lock(struct python_remote *remote, uint64_t address, uint64_t *ret_lock)
{
	int r = update_locks(remote);

	for (size_t i = 0; !r && i < remote->locks.count; i++)
		if (address - remote->locks.addresses[i] < remote->at.lock_bytes) {
			*ret_lock = remote->locks.addresses[i];
			return 1;
		}
	return r;
}

enum { WAITERS_SHIFT = 3 };

uint32_t python_remote_waiters(struct python_remote *remote)
{
	struct remote_piece pieces[PYTHON_MAX_INTERPRETERS];
	uint32_t words[PYTHON_MAX_INTERPRETERS], waiters = 0;
	int64_t got;

	if (update_locks(remote))
		return 0;
	for (size_t i = 0; i < remote->locks.count; i++)
		pieces[i] = (struct remote_piece){
			remote->locks.addresses[i] + remote->at.lock_waiters, sizeof(words[i])};
	got = remote_memory_gather(&remote->memory, pieces, remote->locks.count, words);
	for (size_t i = 0; (int64_t)((i + 1) * sizeof(words[0])) <= got; i++)
		waiters += words[i] >> WAITERS_SHIFT;
	return waiters;
}

/* ---- its holder ------------------------------------------------------------------------------ */

static bool read_copy(const struct python_remote_copy *copy, uint64_t address, void *to,
		      size_t size)
{
	const uint64_t offset = address - copy->address;

	if (offset > copy->size || copy->size - offset < size)
		return false;
	memcpy(to, (const uint8_t *)copy->bytes + offset, size);
	return true;
}

/* The holder's thread state remains in the lock after it has released the lock. */
struct lock_words {
	uint64_t state, switches, is_taken;
};

static int read_lock(struct python_remote *remote, uint64_t lock,
		     const struct python_remote_copy *copy, struct lock_words *ret_words)
{
	const struct python_offsets *at = &remote->at;
	const struct remote_piece pieces[] = {{lock + at->lock_holder, sizeof(uint64_t)},
					      {lock + at->lock_switches, sizeof(uint64_t)},
					      {lock + at->lock_taken, sizeof(uint32_t)}};
	struct lock_words words = {0};
	int64_t got;

	if (copy) {
		if (!read_copy(copy, pieces[0].address, &words.state, sizeof(uint64_t)) ||
		    !read_copy(copy, pieces[2].address, &words.is_taken, sizeof(uint32_t)))
			words.is_taken = 0;
	} else {
		got = remote_memory_gather(&remote->memory, pieces, 3, &words);
		if (got < 0)
			return (int)got;
		if (got != 2 * sizeof(uint64_t) + sizeof(uint32_t))
			return -EAGAIN;
	}
	*ret_words = words;
	return 0;
}

uint64_t python_collecting_at(const struct python_remote *remote)
{
	const struct python_offsets *at = &remote->at;
	const uint64_t collector = at->runtime_collector
					   ? remote->threads.runtime + at->runtime_collector
					   : remote->threads.newest_at - at->interpreter_threads +
						     at->interpreter_collector;

	return collector + at->collector_runs;
}

bool python_holds_lock(struct python_remote *remote, uint64_t state)
{
	const struct python_offsets *at = &remote->at;
	uint64_t lock = remote->threads.runtime + at->runtime_lock;
	struct lock_words words;

	if (!at->runtime_lock &&
	    remote_memory_read(&remote->memory,
			       remote->threads.newest_at - at->interpreter_threads +
				       at->interpreter_lock,
			       &lock, sizeof(lock)))
		return false;
	return !read_lock(remote, lock, NULL, &words) && (uint32_t)words.is_taken == 1 &&
	       words.state == state;
}

/* Before 3.11 the position of thread ids is learned from a thread whose state is searched. */
static int learn_ids(struct python_remote *remote, uint32_t tid)
{
	struct python_thread *thread;

	if (remote->at.thread_native_id || remote->threads.tid_at)
		return 0;
	thread = python_threads_get(&remote->threads, tid);
	return thread ? python_threads_find_state(&remote->threads, thread, 0) : -ENOMEM;
}

int python_remote_holder(struct python_remote *remote, uint32_t tid, uint64_t lock,
			 const struct python_remote_copy *copy,
			 struct python_remote_holder *ret_holder)
{
	struct lock_words words = {0};
	int r = read_lock(remote, lock, copy, &words);

	if (r)
		return r;
	*ret_holder = (struct python_remote_holder){.switches = words.switches};
	if ((uint32_t)words.is_taken != 1)
		return 0;
	r = learn_ids(remote, tid);
	return r ? r : python_threads_owner(&remote->threads, words.state, &ret_holder->tid);
}
