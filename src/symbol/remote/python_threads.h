/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python_threads.h - find the CPython thread state of a thread of another process
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/python_offsets.h"
#include "base/hash.h"
#include "symbol/remote/batch.h"
#include "symbol/remote/memory.h"

enum { PYTHON_MAX_INTERPRETERS = 64 };

struct python_thread {
	uint32_t tid;
	uint32_t inner_tid; /* in its own pid namespace */
	uint64_t state;     /* address; 0: none known */
	/* owner's identity in the state: native id, or before 3.11 pthread_t */
	uint64_t identity;
	uint64_t newest; /* list of thread states at the time of the search */
	/* number of requests in vain since then, and before the next search */
	uint32_t asks, patience;
	/* Memory that the walk over its frames reads at once. */
	struct remote_windows windows;
	uint64_t cframe;
	uint32_t pause; /* too deep: number of reads skipped */
};

struct python_state {
	uint64_t address, identity;
	uint32_t tid; /* inner; 0: not known */
};

struct python_threads {
	struct remote_memory *memory;         /* borrowed */
	const struct python_offsets *offsets; /* borrowed */
	uint64_t runtime;
	/* address of the pointer to the main interpreter's newest thread state; 0: unknown */
	uint64_t newest_at;
	uint32_t tid_at;        /* offset of a thread's id in glibc's struct pthread; 0: unknown */
	struct hash_map by_tid; /* struct python_thread, owned */
	struct python_state *states;
	size_t state_count, state_capacity;
};

void python_threads_init(struct python_threads *threads, struct remote_memory *memory,
			 const struct python_offsets *offsets, uint64_t runtime);
void python_threads_fini(struct python_threads *threads);

/* The cached data of a thread, empty at first. NULL: no memory. Valid until the next call. */
struct python_thread *python_threads_get(struct python_threads *threads, uint32_t tid);

/* Searches its state if that can have changed; it may have none afterwards. newest: as just read,
 * or 0. Errors: -EAGAIN if the lists are inconsistent, -ENOMEM, -ESRCH, -EPERM. */
int python_threads_find_state(struct python_threads *threads, struct python_thread *thread,
			      uint64_t newest);

/* Address of the pointer to the main interpreter's newest thread state. Errors: as above. */
int python_threads_newest_at(struct python_threads *threads, uint64_t *ret_address);

/* The id of the thread that owns a state, in our pid namespace; 0: unknown. Errors: -EAGAIN,
 * -ESRCH, -EPERM. */
int python_threads_owner(struct python_threads *threads, uint64_t state, uint32_t *ret_tid);
