/* SPDX-License-Identifier: MIT
 *
 * collect/system/threads.h - CPU time of a process as the sum of its threads'
 */
#ifndef COLLECT_SYSTEM_THREADS_H
#define COLLECT_SYSTEM_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "collect/counter/sampled_processes.h"
#include "collect/counter/source.h"

struct threads {
	struct hash_map before,
		now; /* place << 32 | tid -> ns, in the last round and in this one */
	uint64_t totals[MAX_TRACKED];      /* sum per slot, including ended threads */
	uint32_t generations[MAX_TRACKED]; /* generation of the slot's process */
};

void threads_init(struct threads *threads);
void threads_fini(struct threads *threads);
void threads_begin_round(struct threads *threads);

/* CPU time of all threads of the process in a slot since it was added. For a thread that ended
 * between two rounds, the time after the first of the two is missing. Call it once per round.
 * False: it cannot be read. */
bool threads_read(struct threads *threads, struct tick *tick, size_t place,
		  const struct tracked_place *who, uint64_t *ret_ns);

#endif
