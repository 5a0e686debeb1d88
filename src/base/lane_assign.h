/* SPDX-License-Identifier: MIT
 *
 * base/lane_assign.h - assign overlapping spans of one row to lanes
 *
 * Spans of one thread must nest in a lane; commands of a queue must not even nest. An overlapping
 * span gets the first free lane, so the same trace always gives the same picture.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct lanes_span {
	uint64_t begin, end;
};

struct lanes_stack {
	struct lanes_span *open; /* calls that are still open, the longest first */
	size_t count, capacity;
};

/* The lanes of a thread or of a queue. All zero: none yet. */
struct lanes {
	size_t count;
	struct lanes_stack *stacks; /* threads */
	size_t stacks_capacity;
	/* For queues: a min tree over the end of each lane's last command, which finds the first
	 * free lane in O(log lanes). ends[1] is the root, ends[leaves + i] is lane i. */
	uint64_t *ends;
	size_t leaves; /* a power of two, or 0 */
};

/* The lane for a call of a thread, or for a command of a queue: an existing lane, or the former
 * lanes->count for a new one. Spans come ordered by start. -ENOMEM. */
int lanes_place_call(struct lanes *lanes, uint64_t begin, uint64_t end, size_t *ret_lane);
int lanes_place_command(struct lanes *lanes, uint64_t begin, uint64_t end, size_t *ret_lane);

void lanes_fini(struct lanes *lanes);
