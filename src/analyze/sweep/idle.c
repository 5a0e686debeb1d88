/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/idle.c - the time in the program's ranges in which no device executed anything
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     ranges and executions
 * Gives:    idle_ns of each row of ranges
 * Owns:     begins and ends of ranges for which earlier executions may still come
 * Fails:    -ENOMEM
 * Why only two times per range: the busy time within a range is the busy time until its end minus
 *           the busy time until its begin. So a range costs two insertions and two removals in a
 *           heap, whatever the number of commands in it, and ranges may overlap freely.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>

#include "base/array.h"
#include "base/number.h"
#include "base/order/heap.h"

/* Busy time of all devices together up to `time`. No known command starts after `time`. */
static uint64_t busy_until(const struct busy *busy, uint64_t time)
{
	const uint64_t end = smaller(time, busy->end);

	return busy->past_ns + (end > busy->begin ? end - busy->begin : 0);
}

static int add_moment(struct busy *busy, struct busy_moment moment)
{
	if (array_append(busy->moments, busy->moments_capacity, busy->moments_count, moment))
		return -ENOMEM;
	HEAP_LIFT(busy->moments, busy->moments_count, a->time < b->time);
	return 0;
}

/* Counts the moments up to `until`: no later execution starts before it. The begin of a range is
 * subtracted before its end is added, so a sum may wrap around below zero for a while. */
static void count_moments(struct sweep *sweep, uint64_t until)
{
	struct busy *busy = &sweep->ranges.busy;

	while (busy->moments_count && busy->moments[0].time <= until) {
		const struct busy_moment moment =
			HEAP_POP(busy->moments, busy->moments_count, a->time < b->time);
		const uint64_t busy_ns = busy_until(busy, moment.time);
		struct analysis_range *range = &sweep->analysis->program.ranges[moment.row];

		range->busy_ns += moment.is_end ? busy_ns : -busy_ns;
	}
}

int sweep_range_busy(struct sweep *sweep, const struct event_range *row, uint32_t index)
{
	int error = add_moment(&sweep->ranges.busy, (struct busy_moment){row->begin, index, false});

	if (!error)
		error = add_moment(&sweep->ranges.busy,
				   (struct busy_moment){row->end, index, true});
	/* Executions may come late by the error of their clocks. */
	if (row->begin > sweep->delay_ns)
		count_moments(sweep, row->begin - sweep->delay_ns);
	return error;
}

void sweep_execute_busy(struct sweep *sweep, uint64_t started, uint64_t ended)
{
	struct busy *busy = &sweep->ranges.busy;

	count_moments(sweep, started);
	busy->has_any = true;
	if (started > busy->end) {
		busy->past_ns += busy->end - busy->begin;
		busy->begin = busy->end = started;
	}
	if (ended > busy->end)
		busy->end = ended;
}

/* If a device has commands without times, its idle time is not known. */
static bool is_known(const struct sweep *sweep)
{
	for (size_t i = 0; i <= sweep->analysis->devices_count; i++)
		if (!sweep->analysis->devices[i].is_measured)
			return false;
	return sweep->ranges.busy.has_any;
}

void sweep_close_idle(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;

	count_moments(sweep, UINT64_MAX);
	analysis->program.has_range_idle = is_known(sweep);
	for (size_t i = 0; i < analysis->program.ranges_count; i++) {
		struct analysis_range *range = &analysis->program.ranges[i];

		range->idle_ns = range->total_ns - smaller(range->busy_ns, range->total_ns);
	}
}
