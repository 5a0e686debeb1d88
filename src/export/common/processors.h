/* SPDX-License-Identifier: MIT
 *
 * export/common/processors.h - switches as steps of processors that fit together
 *
 * Readers of scheduler events expect that the thread that leaves a processor is the one that came
 * last. A trace may have only one half of a switch, and switches may be lost.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* The name of thread 0 (tid 0, which readers take for idle). */
#define PROCESSORS_NO_THREAD "[idle or not recorded]"

struct event_switch;
struct model;

/* One switch of a processor; ids of threads, 0: none that is recorded. */
struct processors_step {
	uint32_t previous, next;
	/* previous left in no row of the trace: at this moment at the latest */
	bool is_unseen;
};

struct processors {
	/* by processor: 1 + id of the thread that runs there; 0: no switch yet */
	uint64_t *running;
	size_t count, capacity;
	struct hash_map last; /* thread -> processor to which it came last */
};

void processors_fini(struct processors *processors); /* NULL-safe */

/* How the thread that leaves in a step leaves. An unknown reason counts as blocked. */
enum processors_leave { PROCESSORS_RUNNABLE, PROCESSORS_BLOCKED, PROCESSORS_EXITED };
enum processors_leave processors_leave_of(const struct event_switch *row,
					  const struct processors_step *step);

/* Whether a thread runs on a processor, and on which. */
bool processors_find(const struct processors *processors, uint32_t thread, uint32_t *ret_cpu);

/* The name of a thread, or else of its process. */
const char *processors_thread_name(const struct model *model, uint32_t thread);

/* Calls on_step for the steps of a switch from `previous` to `next`. If `previous` differs from the
 * thread that runs there, a step to it comes first; if it is 0, the running thread leaves. If one
 * of the two runs on another processor, it leaves that one before: then the row of the step has the
 * number of the other processor. Errors: -ENOMEM, those of on_step. */
int processors_switch(struct processors *processors, const struct event_switch *row,
		      uint32_t previous, uint32_t next,
		      int (*on_step)(void *context, const struct event_switch *row,
				     const struct processors_step *step),
		      void *context);
