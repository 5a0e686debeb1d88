/* SPDX-License-Identifier: MIT
 *
 * collect/ranges.h - begins and ends of a program's ranges, put together
 */
#ifndef COLLECT_RANGES_H
#define COLLECT_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/record.h"

struct injected;
struct injected_ring;

/* A range that has begun, or the end of one whose begin has not been read yet. */
struct range_half {
	uint64_t time, id;
	uint32_t of; /* enum record_range_of */
	uint32_t thread, domain_string, name_string;
	bool is_missing; /* of a push that was lost: nothing else is known */
};

struct range_list {
	struct range_half *items; /* owned; the latest last */
	size_t count, capacity;
};

/* Of a process. */
struct ranges {
	struct range_list started, stopped;
	uint64_t names_bytes; /* described so far */
	uint64_t lost;        /* that there was no room to follow; not written yet */
};

/* A record of kind EVENT_RANGE. False: it makes no sense. */
bool ranges_take(struct injected *injected, struct injected_ring *ring,
		 const struct record *record);

/* What a thread has pushed and not popped is written: it ends here. */
void ranges_end_thread(struct injected *injected, struct injected_ring *ring);
/* … and what its process has started, after its threads. */
void ranges_end(struct injected *injected);

/* Of a ring whose thread was not ended: nothing is written. */
void ranges_thread_fini(struct injected_ring *ring);

#endif
