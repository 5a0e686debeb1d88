/* SPDX-License-Identifier: MIT
 *
 * export/lanes.h - spans side by side: which of a row's lanes each goes to
 *
 * Spans of one lane must nest, and those of a queue must not even do that: what overlaps gets another lane,
 * the first that is free, so that the same trace always gives the same picture.
 */
#ifndef EXPORT_LANES_H
#define EXPORT_LANES_H

#include <stddef.h>
#include <stdint.h>

struct lanes_span {
	uint64_t begin, end;
};

struct lanes_stack {
	struct lanes_span *open; /* calls that are not over, the longest first */
	size_t count, capacity;
};

/* The lanes of a thread, or those of a queue. All zero: none yet. */
struct lanes {
	size_t count;
	struct lanes_stack *stacks; /* threads */
	size_t stacks_capacity;
	/* Queues. A tree of minima over when the last command of each lane ends: the first free lane in O(log lanes).
	 * ends[1] is the root, ends[leaves + i] of lane i. */
	uint64_t *ends;
	size_t leaves; /* a power of two, or 0 */
};

/* Where a call of a thread goes, or a command of a queue: a lane there is, or lanes->count as it was, which is a
 * new one then. They come in the order of begin. -ENOMEM. */
int lanes_place_call(struct lanes *lanes, uint64_t begin, uint64_t end, size_t *ret_lane);
int lanes_place_command(struct lanes *lanes, uint64_t begin, uint64_t end, size_t *ret_lane);

void lanes_fini(struct lanes *lanes);

#endif
