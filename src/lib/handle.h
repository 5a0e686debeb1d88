/* SPDX-License-Identifier: MIT
 *
 * lib/handle.h - a struct duet: its recorder, and a ring for each thread
 *
 * Runs in:  the user's program
 */
#pragma once

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

/* First word of a handle, read by duet.h's inline functions. HANDLE_IDLE stays 1 forever. */
enum handle_mode {
	HANDLE_FORKED = 0,   /* in a forked child: the fork wiped the page that holds this word */
	HANDLE_IDLE = 1,     /* no recorder: one load and one compare per call */
	HANDLE_LOOKING = 2,  /* no recorder, but calls look for one, or for its answer */
	HANDLE_RECORDING = 3 /* and above: each start adds one, so that a thread notices a new
			      * recorder */
};

/* This page is wiped by a fork: a child neither writes into its parent's rings nor waits for a lock
 * that a thread of the parent holds. Zeros are an unlocked mutex. */
union handle_page {
	struct {
		_Atomic uint32_t mode;
		/* counts processes; 0: a child that has not called yet */
		_Atomic uint32_t generation;
		pthread_mutex_t lock; /* for start, stop, and attaching to a recorder */
	};
	char bytes[RING_WIPED_BYTES];
};

/* One per ring. */
struct handle_thread {
	struct ring_writer writer;
	uint32_t mode;  /* mode of the start that it writes for */
	uint32_t clock; /* enum ring_clock */
	uint32_t depth; /* pushed and not popped since, over all domains */
	_Atomic uint32_t tid;
	struct duet *duet;
	struct ring_region *region;    /* borrowed */
	struct attachment *attachment; /* attachment that its ring belongs to */
};

/* Rings of one recorder. Mapped until the handle is closed, because threads may be using them. */
struct attachment {
	struct attachment *older;
	struct handshake_rings rings;
	/* recorder's address, points into the handle */
	const struct handshake_environment *recorder;
	struct handle_thread *threads; /* by ring */
	uint32_t generation;
	_Atomic uint64_t next_claim_ms; /* no ring was free: not all are scanned again before */
};

/* A hello that the recorder has not answered yet. A program may close descriptors that it does not
 * know, and then have one of its own with this number. */
struct handle_hello {
	int fd; /* owned if it is a socket with this inode; -1: none */
	ino_t inode;
	uint32_t next_place; /* the next machine-wide recorder to try if this one refuses */
};

/* All of it is mapped, nothing allocated. */
struct duet {
	union handle_page page;
	uint32_t flags;
	/* so far, including those of parents before a fork */
	uint32_t starts;
	uint32_t generation; /* also counts processes */
	uint32_t place;      /* index among the open handles of the process */
	/* while there is no recorder: HANDLE_IDLE or _LOOKING */
	_Atomic uint32_t idle_mode;
	struct attachment *_Atomic attachment; /* the newest first */
	pthread_key_t key;                     /* a thread's handle_thread */
	_Atomic uint64_t last_id;
	_Atomic uint64_t next_look_ms;
	struct handle_hello hello;
	/* in a child: its parent's recorder may still answer; until then `missed` counts */
	_Atomic bool is_awaited;
	/* events that were not written */
	_Atomic uint64_t missed[RING_TROUBLE_COUNT];
	struct recorder recorder; /* its own */
	/* addresses of the handle's own recorder and of an existing one */
	struct handshake_environment own, other;
	/* one of these two; NULL: no recorder. A child's point to its parent's */
	const struct handshake_environment *recorded_by;
	/* started by the handle so far; a child continues its parent's count */
	uint32_t recordings;
	char config[4096], output[4096];
	char error[512];
};

/* Attaches to an existing recorder: one named in the environment, with is_any also one of the whole
 * machine. The recorder has wait_ms to answer; after -ETIMEDOUT the next call continues to wait.
 * The caller holds the lock. Errors: -ECONNREFUSED there is none; -EACCES the program has installed
 * a seccomp filter; otherwise as handshake_rings_open. */
int handle_attach(struct duet *duet, const struct handshake_environment *environment, bool is_any,
		  uint32_t wait_ms);

/* Stops waiting for the recorder that a hello was sent to. The caller holds the lock. */
void handle_hang_up(struct duet *duet);

/* True if a recorder reads the handle's rings. */
bool handle_is_read(const struct duet *duet);

/* Continues to write into the current rings; false: they are not read any more. The caller holds
 * the lock. */
bool handle_resume(struct duet *duet);

/* Marks the rings as not read any more. */
void handle_abandon(struct duet *duet);

/* There is no recorder from now on: calls see `mode`, now and after later recorders have come and
 * ended. The caller holds the lock. */
void handle_set_idle(struct duet *duet, enum handle_mode mode);

/* Takes the lock; in a forked child, its first call has made the lock its own. */
void handle_lock(struct duet *duet, int *ret_cancel);
void handle_unlock(struct duet *duet, int cancel);

/* Releases the rings of a handle that is no longer used. Returns the first page of the rings that
 * are still read, now owned by the caller; otherwise NULL. */
void *handle_leave(struct duet *duet);
void handle_unmap(struct duet *duet);

/* Slow path: first call of a thread since the start, first call of a child, or a search for a
 * recorder. */
struct handle_thread *handle_enter_slow(struct duet *duet, enum ring_trouble trouble);

/* The calling thread's ring while recording, otherwise NULL. trouble: the counter for a call that
 * should be recorded but has no ring. */
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

/* Reserves room for one record and fills in its head. NULL if the record is lost (and counted), or
 * the ring is not read any more. After filling in the rest, call ring_commit. */
void *handle_reserve(struct handle_thread *thread, uint16_t kind, uint32_t size, uint32_t detail);

#pragma GCC visibility pop
