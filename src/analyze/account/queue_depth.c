/* SPDX-License-Identifier: MIT
 *
 * analyze/account/queue_depth.c - how many commands of a queue are in flight, over time
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     enter times of launches, end times of commands
 * Gives:    mean and maximum in flight, time without any
 * Owns:     enter and end times that are not counted yet, because their command is in flight or
 *           because earlier times may still come (the clock has an error)
 * Fails:    -ENOMEM
 * Why a heap: an out-of-order queue ends its commands in any order. For an in-order queue the heap
 *           has one element.
 */
#include "analyze/account/queue_depth.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/order/heap.h"

void depth_init(struct depth *depth, uint64_t from, uint64_t to)
{
	*depth = (struct depth){.from = from, .to = to < from ? from : to, .cursor = from};
}

void depth_fini(struct depth *depth)
{
	if (!depth)
		return;
	free(depth->enters);
	free(depth->ends);
	depth->enters = depth->ends = NULL;
	depth->enters_count = depth->enters_capacity = 0;
	depth->ends_count = depth->ends_capacity = 0;
}

int depth_enter(struct depth *depth, uint64_t enter_ns)
{
	if (array_grow_ring(depth->enters, depth->enters_capacity, depth->enters_first,
			    depth->enters_count))
		return -ENOMEM;
	depth->enters[(depth->enters_first + depth->enters_count++) &
		      (depth->enters_capacity - 1)] = enter_ns;
	return 0;
}

int depth_leave(struct depth *depth, uint64_t end_ns)
{
	if (array_append(depth->ends, depth->ends_capacity, depth->ends_count, end_ns))
		return -ENOMEM;
	HEAP_LIFT(depth->ends, depth->ends_count, *a < *b);
	return 0;
}

static uint64_t take_earliest_end(struct depth *depth)
{
	return HEAP_POP(depth->ends, depth->ends_count, *a < *b);
}

/* Counts the interval from the cursor to `until`, in which `count` commands were in flight. */
static void count_until(struct depth *depth, uint64_t until)
{
	uint64_t end = until < depth->to ? until : depth->to;

	if (end <= depth->cursor)
		return;
	depth->sum += (unsigned __int128)depth->count * (end - depth->cursor);
	if (!depth->count)
		depth->empty_ns += end - depth->cursor;
	else if (depth->count > depth->max)
		depth->max = depth->count;
	depth->cursor = end;
}

/* The next time is `next`: if it is not in the window, those that were in flight at its end are
 * known. A launch at the very end is not among them. */
static void find_end(struct depth *depth, uint64_t next)
{
	if (depth->has_ended || next < depth->to)
		return;
	depth->at_end = depth->count;
	depth->has_ended = true;
}

/* At equal times, ends come before enters. */
void depth_advance(struct depth *depth, uint64_t until)
{
	for (;;) {
		uint64_t enter =
			depth->enters_count ? depth->enters[depth->enters_first] : UINT64_MAX;
		uint64_t end = depth->ends_count ? depth->ends[0] : UINT64_MAX;

		if ((enter < end ? enter : end) >= until)
			return;
		find_end(depth, enter < end ? enter : end);
		if (end <= enter && depth->count) {
			count_until(depth, end);
			depth->count--;
			take_earliest_end(depth);
		} else if (depth->enters_count) {
			count_until(depth, enter);
			depth->count++;
			depth->enters_first =
				(depth->enters_first + 1) & (depth->enters_capacity - 1);
			depth->enters_count--;
		} else {
			take_earliest_end(depth); /* an end without an enter */
		}
	}
}

void depth_finish(struct depth *depth, uint64_t to)
{
	if (to < depth->to)
		depth->to = to < depth->from ? depth->from : to;
	depth_advance(depth, UINT64_MAX);
	find_end(depth, UINT64_MAX);
	count_until(depth, depth->to);
}

double depth_mean(const struct depth *depth)
{
	uint64_t wall_ns = depth->to - depth->from;

	return wall_ns ? (double)depth->sum / (double)wall_ns : 0;
}
