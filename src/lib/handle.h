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
#include <sys/types.h>

#include "lib/open_handles.h"
#include "lib/recorder.h"
#include "ring/handshake.h"
#include "ring/ring.h"

#pragma GCC visibility push(hidden)

#define LIB_LIKELY(x)   __builtin_expect(!!(x), 1)
#define LIB_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* duet.h's inline functions look at it: a handle's first word, in which 1 is HANDLE_IDLE for ever. */
enum handle_mode {
	HANDLE_FORKED = 0,  /* by a fork, which has wiped the page that says so */
	HANDLE_IDLE = 1,    /* nobody records: one load and one compare a call */
	HANDLE_LOOKING = 2, /* … and a recorder that comes, or answers, is to be found */
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
	_Atomic uint32_t tid;
	struct duet *duet;
	struct ring_region *region;    /* borrowed; of … */
	struct attachment *attachment; /* … whose ring it is */
};

/* Rings of one recorder. Mapped until the handle is closed: threads may be inside. */
struct attachment {
	struct attachment *older;
	struct handshake_rings rings;
	const struct handshake_environment *recorder; /* where it was found, in the handle */
	struct handle_thread *threads;                /* by ring */
	uint32_t generation;
	_Atomic uint64_t next_claim_ms; /* no ring was free: not all are looked at again before */
};

/* What was said to a recorder that has not answered yet. A program may close the descriptors that it does not know, and
 * then have one of its own of this number. */
struct handle_hello {
	int fd; /* owned where it is a socket and its inode this one; -1: none */
	ino_t inode;
};

/* All of it is mapped, nothing allocated. */
struct duet {
	union handle_page page;
	uint32_t flags;
	uint32_t starts;                       /* so far; those of parents before a fork included */
	uint32_t generation;                   /* … as are these, of processes */
	uint32_t place;                        /* among the open handles of the process */
	_Atomic uint32_t idle_mode;            /* while nobody records: HANDLE_IDLE or _LOOKING */
	struct attachment *_Atomic attachment; /* the newest first */
	pthread_key_t key;                     /* of a thread: its handle_thread */
	_Atomic uint64_t last_id;
	_Atomic uint64_t next_look_ms;
	struct handle_hello hello;
	_Atomic bool is_awaited; /* by a child: an answer of its parent's recorder, until when … */
	_Atomic uint64_t missed[RING_TROUBLE_COUNT]; /* … this is what it would have written */
	struct recorder recorder;                    /* its own */
	struct handshake_environment own, other;     /* where that is found, and where another's */
	const struct handshake_environment
		*recorded_by; /* one of them; NULL: nobody. A child's are its parent's */
	uint32_t
		recordings; /* by recorders of its own, so far; a child's go on from its parent's */
	char config[4096], output[4096];
	char error[512];
};

/* To somebody's recorder: one whose names are in the environment, with is_any also one of the whole machine, which is to
 * answer within wait_ms; where it does not (-ETIMEDOUT), the next call goes on waiting. Under the lock. Errors:
 * -ECONNREFUSED there is none; -EACCES the program has put a seccomp filter on itself; else as handshake_rings_open. */
int handle_attach(struct duet *duet, const struct handshake_environment *environment, bool is_any,
		  uint32_t wait_ms);

/* Waits no more for who was said hello to. Under the lock. */
void handle_hang_up(struct duet *duet);

/* Whether somebody reads the rings that it has. */
bool handle_is_read(const struct duet *duet);

/* Writes on into them; false: nobody reads them. Under the lock. */
bool handle_resume(struct duet *duet);

/* Nobody reads them any more. */
void handle_abandon(struct duet *duet);

/* Nobody records from now on, and calls find mode, now and when somebody has come and ended. Under the lock. */
void handle_set_idle(struct duet *duet, enum handle_mode mode);

/* Under the lock, which a forked child's first call has made its own. */
void handle_lock(struct duet *duet, int *ret_cancel);
void handle_unlock(struct duet *duet, int cancel);

/* Gives back the rings of a handle that is no longer used. Returns the first page of those that somebody reads, now the
 * caller's; else NULL. */
void *handle_leave(struct duet *duet);
void handle_unmap(struct duet *duet);

/* First call of a thread since the start, or of a child; or a look for a recorder. */
struct handle_thread *handle_enter_slow(struct duet *duet, enum ring_trouble trouble);

/* The calling thread's ring while somebody records, else NULL. trouble: as what a call is counted that somebody would
 * record, and that has no ring. */
static inline struct handle_thread *handle_enter(struct duet *duet, enum ring_trouble trouble)
{
	const uint32_t mode = atomic_load_explicit(&duet->page.mode, memory_order_relaxed);
	struct handle_thread *thread;

	if (LIB_LIKELY(mode >= HANDLE_RECORDING)) {
		thread = pthread_getspecific(duet->key);
		if (LIB_LIKELY(thread && thread->mode == mode))
			return thread;
	}
	return handle_enter_slow(duet, trouble);
}

/* Room for one record, its head filled in; NULL when it is lost (and counted), or nobody reads any more. After filling in
 * the rest: ring_commit. */
void *handle_reserve(struct handle_thread *thread, uint16_t kind, uint32_t size, uint32_t detail);

#pragma GCC visibility pop

#endif
