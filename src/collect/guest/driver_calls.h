/* SPDX-License-Identifier: MIT
 *
 * collect/guest/driver_calls.h - driver calls of threads, to extend the stacks of runtime calls
 * into the kernel
 *
 * A guest records the stack that called the runtime. The eBPF programs record the kernel frames of
 * driver calls. If a thread's driver call lies within its runtime call, the two are joined to one
 * stack.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct call_way;
struct kernel_frames;
struct recording;

/* All zero: empty. */
struct driver_calls {
	struct hash_map threads; /* tid -> struct calling_thread *, owned */
	/* Owned; the different lists of kernel frames that led into a driver. */
	struct call_way *ways;
	size_t ways_count, ways_capacity, ways_last;
	uint64_t read_ns; /* CLOCK_MONOTONIC; all driver calls that ended before are stored */
};

/* Limits: calls per thread, threads, lists of frames. The oldest call is replaced by the newest.
 * Threads and lists beyond their limit are not stored. */
enum { MAX_DRIVER_CALLS = 1024, DRIVER_CALLS_THREADS = 1024, DRIVER_CALLS_WAYS = 256 };

/* A call, with times of CLOCK_MONOTONIC. */
struct driver_call {
	uint64_t enter_ns, exit_ns;
	uint32_t tid;
};

void driver_calls_fini(struct driver_calls *calls); /* NULL-safe */

/* Stores a call. Frames: innermost first. A call without frames, or without memory for it, is
 * dropped. Each thread's calls must be stored in order of time. */
void driver_calls_put(struct driver_calls *calls, const struct driver_call *call,
		      struct kernel_frames *frames, const uint64_t *addresses, size_t count);

/* Returns the stack of a runtime call, with the kernel frames of a driver call that lies within it.
 * Each thread's calls must be asked for in order of time, because earlier driver calls are
 * dropped. */
uint32_t driver_calls_extend(struct recording *recording, const struct driver_call *call,
			     uint32_t stack);

/* Drops threads whose last call ended before that time. */
void driver_calls_sweep(struct driver_calls *calls, uint64_t before_ns);
