/* SPDX-License-Identifier: MIT
 *
 * collect/system/threads.h - processor time of a process as the sum of its threads'
 */
#ifndef COLLECT_SYSTEM_THREADS_H
#define COLLECT_SYSTEM_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "collect/source.h"
#include "collect/tracked.h"

struct threads {
	struct hash_map before,
		now; /* place << 32 | tid -> ns, in the last round and in this one */
	uint64_t totals[TRACKED_MOST]; /* of each place, across threads that came and went … */
	uint32_t generations[TRACKED_MOST]; /* … of this process */
};

void threads_init(struct threads *threads);
void threads_fini(struct threads *threads);
void threads_begin_round(struct threads *threads);

/* What all threads of the process at a place used since it is there, of which those that ended between two rounds lack what
 * came since the first of the two. Once a round. False: it cannot be read. */
bool threads_read(struct threads *threads, struct tick *tick, size_t place,
		  const struct tracked_place *who, uint64_t *ret_ns);

#endif
