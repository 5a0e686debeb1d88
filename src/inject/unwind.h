/* SPDX-License-Identifier: MIT
 *
 * inject/unwind.h - the native call stack of the calling thread, without frame pointers
 *
 * Runs in:  the profiled process, at launches
 * Manners:  reads only the stack it runs on and the unwind tables of loaded code; no descriptor, no
 *           lock of the guest, no allocation except its table
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum {
	MAX_UNWIND_FRAMES = 512,
	/* A deeper stack keeps this many frames of each end and counts those between. */
	UNWIND_END_FRAMES = MAX_UNWIND_FRAMES / 2,
	MAX_UNWIND_DEPTH = 1 << 20 /* a deeper walk is in a loop */
};

enum unwind_end {
	UNWIND_COMPLETE, /* the outermost frame was reached */
	UNWIND_NO_RULE,  /* code without unwind tables: its caller is unknown */
	UNWIND_BROKEN    /* tables and stack contradict each other */
};

#define UNWIND_EXACT (UINT64_C(1) << 63)

struct unwind {
	/* Return addresses, innermost first; of a deep stack the innermost UNWIND_END_FRAMES, then
	 * the outermost. The address of a frame that a signal interrupted is exact: it has bit 63
	 * set. */
	uint64_t frames[MAX_UNWIND_FRAMES];
	uint32_t count;
	uint32_t truncated; /* frames left out between the two ends */
	enum unwind_end end;
	uint64_t hash; /* hash of all frames and the end */
};

/* One frame of the last walk. */
struct unwind_step {
	uint64_t frame, sp, bp; /* registers; frame: the return address */
	uint64_t bp_at;         /* address of rbp saved by the inner frame; 0: not saved */
	uint64_t hash;          /* hash of this frame and all further out */
};
enum { MAX_UNWIND_STEPS = 128 };

/* State kept from call to call; zeroed at first. */
struct unwind_thread {
	uint64_t low, high; /* pages of the stack known to be readable */
	/* Numbers of libraries loaded and unloaded at the last unwind_take: with other numbers the
	 * steps are invalid. */
	uint64_t loads, unloads;
	uint32_t count; /* number of steps; 0: too many, or not to be used again */
	uint32_t own;   /* number of the first steps that are in this library */
	uint32_t plain; /* from this step on a frame depends only on the inner one and two words */
	enum unwind_end end;
	volatile bool busy; /* read by a signal handler on this thread */
	struct unwind_step steps[MAX_UNWIND_STEPS], fresh[MAX_UNWIND_STEPS];
	struct unwind deep; /* stack with more steps than fit below */
};

/* Walks the stack of the first caller outside this library. ret_hash: hash of all its frames.
 * False: unsupported processor, no stack, or a signal handler has interrupted another walk. The
 * stack stays valid until unwind_done. */
bool unwind_take(struct unwind_thread *thread, uint64_t *ret_hash);

void unwind_done(struct unwind_thread *thread);

/* True if `is` holds for a frame of the last unwind_take; for a truncated stack, only the inner end
 * is checked. */
bool unwind_has(const struct unwind_thread *thread, bool (*is)(uint64_t frame));

/* Copies the stack of the last unwind_take. */
void unwind_stack(const struct unwind_thread *thread, struct unwind *ret_stack);

/* Unwinds with libgcc, a microsecond a frame: true if the result is the same, as far as the stack
 * goes. Call it from the caller of unwind_take. */
bool unwind_check(const struct unwind *stack);

/* Counts for this process. */
struct unwind_counts {
	uint64_t learned, flushed;
};
struct unwind_counts unwind_counts(void);

#pragma GCC visibility pop
