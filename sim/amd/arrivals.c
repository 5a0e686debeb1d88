/* SPDX-License-Identifier: MIT
 *
 * sim/amd/arrivals.c - when the GPU received the packets of a queue
 *
 * Runs in:  a program that uses ROCr, on the thread of the GPU
 * Gets:     how far a queue is filled, and since when
 * Gives:    the time at which each position was filled
 * Why:      the thread sees packets later than a GPU would, and several at once. With the time at
 *           which each was seen, it can process them as a GPU would have done, and no packet starts
 *           before it was seen.
 */
#include <string.h>

#include "sim.h"

enum {
	MAX_STEPS = sizeof(((struct sim_arrivals *)0)->steps) /
		    sizeof(((struct sim_arrivals *)0)->steps[0])
};

void sim_arrivals_add(struct sim_arrivals *arrivals, uint64_t end, uint64_t at_ns)
{
	size_t last = arrivals->count < MAX_STEPS ? arrivals->count++ : MAX_STEPS - 1;

	arrivals->steps[last].end = end;
	arrivals->steps[last].at_ns = at_ns;
}

uint64_t sim_arrivals_get(struct sim_arrivals *arrivals, uint64_t position)
{
	size_t over = 0;

	while (over + 1 < arrivals->count && arrivals->steps[over].end <= position)
		over++;
	if (over) {
		arrivals->count -= over;
		memmove(arrivals->steps, arrivals->steps + over,
			arrivals->count * sizeof(*arrivals->steps));
	}
	return arrivals->steps[0].at_ns;
}
