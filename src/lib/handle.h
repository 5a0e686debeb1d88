/* SPDX-License-Identifier: MIT
 *
 * lib/handle.h - a struct duet and what its calls need: where it writes, and a ring for each thread
 *
 * Runs in:  the user's program
 */
#ifndef LIB_HANDLE_H
#define LIB_HANDLE_H

#include <duet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/recorder.h"
#include "ring/handshake.h"
#include "ring/ring.h"

#pragma GCC visibility push(hidden)

#define LIB_LIKELY(x)   __builtin_expect(!!(x), 1)
#define LIB_UNLIKELY(x) __builtin_expect(!!(x), 0)

enum handle_mode {
	HANDLE_FORKED = 0,  /* by a fork, which has wiped the page that says so */
	HANDLE_IDLE = 1,    /* nobody records: one load and one compare a call */
	HANDLE_LOOKING = 2, /* … and a recorder that comes is to be found */
	HANDLE_RECORDING =
		3 /* and above: one more at each start, so that a thread sees that it is another one */
};

/* The page that a fork wipes: a child neither writes into its parent's rings nor waits for a lock that a thread of the
 * parent's holds. Zeros are an open mutex. */
union handle_page {
	struct {
		_Atomic uint32_t mode;
		_Atomic uint32_t
			generation;   /* of processes; 0: of a child that has not called yet */
		pthread_mutex_t lock; /* of start, stop, and coming to a recorder */
	};
	char bytes[RING_WIPED_BYTES];
};

/* One per ring. */
struct handle_thread {
	struct ring_writer writer;
	uint32_t mode;  /* of the start that it writes for */
	uint32_t clock; /* enum ring_clock */
	uint32_t depth; /* pushed and not popped since, over all domains */
	struct duet *duet;
	struct ring_region *region;          /* borrowed; of … */
	const struct attachment *attachment; /* … whose ring it is */
};

/* Rings of one recorder. Never changed once it is made, and mapped until the handle is closed: threads may be inside. */
struct attachment {
	struct attachment *older;
	struct handshake_rings rings;
	struct handle_thread *threads; /* by ring */
	uint32_t generation;
};

/* All of it is mapped, nothing allocated. */
struct duet {
	union handle_page page;
	uint32_t flags;
	uint32_t starts;                       /* so far; those of parents before a fork included */
	uint32_t generation;                   /* … as are these, of processes */
	struct attachment *_Atomic attachment; /* the newest first */
	pthread_key_t key;                     /* of a thread: its handle_thread */
	_Atomic uint64_t last_id;
	_Atomic uint64_t next_look_ms;
	struct recorder recorder;                /* its own */
	struct handshake_environment own, other; /* where that is found, and where another's */
	const struct handshake_environment
		*recorded_by; /* one of them; NULL: nobody. A child's are its parent's */
	uint32_t
		recordings; /* by recorders of its own, so far; a child's go on from its parent's */
	char guest[20];     /* as which it says hello */
	char config[4096], output[4096];
	char error[512];
};

/* To somebody's recorder: one whose names are in the environment, with is_any also one of the whole machine, which is to
 * answer within wait_ms. Under the lock. Errors: -ECONNREFUSED there is none; -EACCES the program has put a seccomp filter
 * on itself; else as handshake_rings_open. */
int handle_attach(struct duet *duet, const struct handshake_environment *environment, bool is_any,
		  uint32_t wait_ms);

/* Whether somebody reads the rings that it has. */
bool handle_is_read(const struct duet *duet);

/* Writes on into them; false: nobody reads them. Under the lock. */
bool handle_resume(struct duet *duet);

/* Nobody reads them any more. */
void handle_abandon(struct duet *duet);

/* From now on calls find mode. */
void handle_set_mode(struct duet *duet, uint32_t mode);

/* Under the lock, which a forked child's first call has made its own. */
void handle_lock(struct duet *duet, int *ret_cancel);
void handle_unlock(struct duet *duet, int cancel);

/* Of a handle that is no longer used. */
void handle_unmap(struct duet *duet);

/* For pthread_key_create. */
void handle_on_thread_exit(void *thread);

/* First call of a thread since the start, or of a child; or a look for a recorder. */
struct handle_thread *handle_enter_slow(struct duet *duet);

/* The calling thread's ring while somebody records, else NULL. */
static inline struct handle_thread *handle_enter(struct duet *duet)
{
	const uint32_t mode = atomic_load_explicit(&duet->page.mode, memory_order_relaxed);
	struct handle_thread *thread;

	if (LIB_LIKELY(mode >= HANDLE_RECORDING)) {
		thread = pthread_getspecific(duet->key);
		if (LIB_LIKELY(thread && thread->mode == mode))
			return thread;
	}
	return handle_enter_slow(duet);
}

/* Room for one record, its head filled in; NULL when it is lost (and counted), or nobody reads any more. After filling in
 * the rest: ring_commit. */
void *handle_reserve(struct handle_thread *thread, uint16_t kind, uint32_t size, uint32_t detail);

#pragma GCC visibility pop

#endif
