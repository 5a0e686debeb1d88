/* SPDX-License-Identifier: MIT
 *
 * symbol/python_threads.h - which thread of another process has which thread state of its CPython
 */
#ifndef SYMBOL_PYTHON_THREADS_H
#define SYMBOL_PYTHON_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "event/python_offsets.h"
#include "symbol/remote_memory.h"
#include "symbol/remote_windows.h"

struct python_thread {
	uint32_t tid;
	uint32_t inner_tid; /* as its own namespace counts */
	uint64_t state;     /* address; 0: it has none that is known */
	uint64_t
		identity; /* what the state says whose it is: native id, or before 3.11 pthread_t */
	uint64_t newest;  /* list of thread states when it was looked for */
	uint32_t asks, patience; /* so often asked for in vain since, before the next look */
	/* What the walk over its frames reads at once. */
	struct remote_windows windows;
	uint64_t cframe;
	uint32_t pause; /* too deep: so many times not read */
};

struct python_state {
	uint64_t address, identity;
	uint32_t tid; /* inner; 0: not known */
};

struct python_threads {
	struct remote_memory *memory;         /* borrowed */
	const struct python_offsets *offsets; /* borrowed */
	uint64_t runtime;
	uint64_t
		newest_at; /* where the main interpreter's newest thread state is told; 0: not known */
	uint32_t tid_at;        /* of a thread's id in glibc's struct pthread; 0: not known */
	struct hash_map by_tid; /* struct python_thread, owned */
	struct python_state *states;
	size_t state_count, state_capacity;
};

void python_threads_init(struct python_threads *threads, struct remote_memory *memory,
			 const struct python_offsets *offsets, uint64_t runtime);
void python_threads_fini(struct python_threads *threads);

/* What is known of a thread, at first nothing. NULL: no memory. Valid until the next call. */
struct python_thread *python_threads_get(struct python_threads *threads, uint32_t tid);

/* Looks its state up where that can have changed; it may have none afterwards. newest: as just read, or 0.
 * Errors: -EAGAIN where the lists make no sense, -ENOMEM, -ESRCH, -EPERM. */
int python_threads_look(struct python_threads *threads, struct python_thread *thread,
			uint64_t newest);

/* The id of the thread that a state is of, as we count; 0: not known. Errors: -EAGAIN, -ESRCH, -EPERM. */
int python_threads_owner(struct python_threads *threads, uint64_t state, uint32_t *ret_tid);

#endif
