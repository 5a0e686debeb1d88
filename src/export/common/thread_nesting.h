/* SPDX-License-Identifier: MIT
 *
 * export/common/thread_nesting.h - the slice in which a thread is, while slices come in the order
 * of their start
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/entity_index.h"

struct model;

struct open_interval {
	uint64_t end, number;
};

struct thread_intervals {
	struct open_interval *open; /* the innermost last */
	size_t count, capacity;
};

struct thread_nesting {
	struct entity_index threads; /* the trace's */
	struct thread_intervals *by_thread;
};

/* Errors: -ENOMEM. */
int thread_nesting_init(struct thread_nesting *nesting, const struct model *model);
void thread_nesting_fini(struct thread_nesting *nesting); /* NULL-safe, half-built-safe */

/* The number of the innermost slice that is open at `now`; 0: none. */
uint64_t thread_nesting_find(struct thread_nesting *nesting, uint32_t thread, uint64_t now);

/* Opens a slice. Errors: -ENOMEM. */
int thread_nesting_add(struct thread_nesting *nesting, uint32_t thread, uint64_t begin,
		       uint64_t end, uint64_t number);
