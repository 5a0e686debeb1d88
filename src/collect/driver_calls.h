/* SPDX-License-Identifier: MIT
 *
 * collect/driver_calls.h - calls of GPUs' drivers by threads whose own stacks a guest tells
 *
 * A guest knows who called the runtime and not that the runtime went into the kernel; who watches the driver knows the rest
 * of the way. Where a driver was called within a runtime's call, and by its thread, the two are one stack.
 */
#ifndef COLLECT_DRIVER_CALLS_H
#define COLLECT_DRIVER_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct call_way;
struct kernel_frames;
struct recording;

/* All zero: there were none. */
struct driver_calls {
	struct hash_map threads; /* tid -> struct calling_thread *, owned */
	struct call_way *ways;   /* owned; by which frames of the kernel a driver was come to */
	size_t ways_count, ways_capacity, ways_last;
	uint64_t read_ns; /* of CLOCK_MONOTONIC: all that ended before is here */
};

/* Calls of a thread that are kept, and threads: of both the oldest give way. */
enum { DRIVER_CALLS_MOST = 1024, DRIVER_CALLS_THREADS = 1024, DRIVER_CALLS_WAYS = 256 };

/* A call between two times, of CLOCK_MONOTONIC. */
struct driver_call {
	uint64_t enter_ns, exit_ns;
	uint32_t tid;
};

void driver_calls_fini(struct driver_calls *calls); /* NULL-safe */

/* Without memory, or frames, it is not kept. Frames: innermost first. To be called in the order of each thread. */
void driver_calls_put(struct driver_calls *calls, const struct driver_call *call,
		      struct kernel_frames *frames, const uint64_t *addresses, size_t count);

/* A runtime's call with its thread and stack: the stack, with the frames of the kernel on it where the thread was in a driver
 * within the call. To be asked in the order of each thread: what was before is forgotten. */
uint32_t driver_calls_extend(struct recording *recording, const struct driver_call *call,
			     uint32_t stack);

/* Forgets threads that have called nothing since then. */
void driver_calls_sweep(struct driver_calls *calls, uint64_t before_ns);

#endif
