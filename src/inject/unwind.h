/* SPDX-License-Identifier: MIT
 *
 * inject/unwind.h - the native call stack of the calling thread, without frame pointers
 *
 * Runs in:  the profiled process, at launches
 * Manners:  reads the stack it runs on and the unwind tables of what is loaded, nothing else; no descriptor,
 *           no lock of ours, no allocation but of its table
 */
#ifndef INJECT_UNWIND_H
#define INJECT_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum {
	UNWIND_FRAMES_MOST = 512,
	/* Of a deeper stack as many of each end; the frames between are counted. */
	UNWIND_END_FRAMES = UNWIND_FRAMES_MOST / 2,
	UNWIND_DEPTH_MOST = 1 << 20 /* whoever is deeper is lost in a loop */
};

enum unwind_end {
	UNWIND_COMPLETE, /* the outermost frame was reached */
	UNWIND_NO_RULE,  /* code without unwind tables: what called it is not known */
	UNWIND_BROKEN    /* tables and stack do not fit each other */
};

#define UNWIND_EXACT (UINT64_C(1) << 63)

struct unwind {
	/* Return addresses, innermost first; of a deep stack the innermost UNWIND_END_FRAMES, then the
	 * outermost. The address of a frame that a signal interrupted is exact: it has bit 63 set. */
	uint64_t frames[UNWIND_FRAMES_MOST];
	uint32_t count;
	uint32_t truncated; /* frames left out between the two ends */
	enum unwind_end end;
	uint64_t hash; /* of all frames and the end */
};

/* One frame of the last walk. */
struct unwind_step {
	uint64_t frame, sp, bp; /* registers; frame: the return address */
	uint64_t bp_at;         /* where the inner frame had saved rbp; 0: nowhere */
	uint64_t hash;          /* of this frame and all further out */
};
enum { UNWIND_STEPS_MOST = 128 };

/* What is kept from call to call. Zeroed at first. */
struct unwind_thread {
	uint64_t low, high; /* pages of the stack that were found to be readable */
	/* How many libraries were loaded and unloaded at the last unwind_take: the steps are from before there
	 * were more. */
	uint64_t loads, unloads;
	uint32_t count; /* of steps; 0: too many, or not to be used again */
	uint32_t own;   /* of them in this library */
	uint32_t plain; /* from this step on a frame depends on the inner one and two words alone */
	enum unwind_end end;
	volatile bool busy; /* seen by a signal handler on this thread */
	struct unwind_step steps[UNWIND_STEPS_MOST], fresh[UNWIND_STEPS_MOST];
	struct unwind deep; /* a stack of more steps */
};

/* Walks the stack of the first caller outside this library; *ret_hash: of all its frames. False: this
 * processor is not known, there is no stack, or it is being walked: a signal handler has interrupted that. Until
 * unwind_done the stack stays what it is. */
bool unwind_take(struct unwind_thread *thread, uint64_t *ret_hash);

void unwind_done(struct unwind_thread *thread);

/* Whether `is` holds of a frame of the last unwind_take (of the inner end of one that is cut). */
bool unwind_has(const struct unwind_thread *thread, bool (*is)(uint64_t frame));

/* The stack of the last unwind_take. */
void unwind_stack(const struct unwind_thread *thread, struct unwind *ret_stack);

/* Asks libgcc, a microsecond a frame: true where it says the same, as far as the stack goes. To be called by the
 * caller of unwind_take. */
bool unwind_check(const struct unwind *stack);

/* Counts of this process. */
struct unwind_counts {
	uint64_t learned, flushed;
};
struct unwind_counts unwind_counts(void);

#pragma GCC visibility pop

#endif
