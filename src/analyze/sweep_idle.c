/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_idle.c - how long in the program's ranges no device executed anything
 *
 * Runs in:  the readers
 * Gets:     ranges and executions   Gives: idle_ns of each row of ranges
 * Owns:     begins and ends of ranges up to which it is not known yet what was executed
 * Fails:    -ENOMEM
 * Why two moments and no interval: what was executed within a range is what was until its end less what was until its
 *           begin, so that a range costs two steps in a heap however many commands ran in it, and ranges may overlap as
 *           they like
 */
#include "analyze/sweep.h"

#include <errno.h>

#include "base/array.h"
#include "base/number.h"

/* Of all devices together, up to a moment behind which nothing has begun. */
static uint64_t busy_until(const struct busy *busy, uint64_t time)
{
	const uint64_t end = smaller(time, busy->end);

	return busy->past_ns + (end > busy->begin ? end - busy->begin : 0);
}

static int add_moment(struct busy *busy, struct busy_moment moment)
{
	size_t i = busy->moments_count;

	if (array_grow(busy->moments, busy->moments_capacity, i + 1))
		return -ENOMEM;
	for (; i && busy->moments[(i - 1) / 2].time > moment.time; i = (i - 1) / 2)
		busy->moments[i] = busy->moments[(i - 1) / 2];
	busy->moments[i] = moment;
	busy->moments_count++;
	return 0;
}

static struct busy_moment take_earliest(struct busy *busy)
{
	const struct busy_moment earliest = busy->moments[0];
	const struct busy_moment last = busy->moments[--busy->moments_count];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < busy->moments_count) {
		if (child + 1 < busy->moments_count &&
		    busy->moments[child + 1].time < busy->moments[child].time)
			child++;
		if (busy->moments[child].time >= last.time)
			break;
		busy->moments[i] = busy->moments[child];
		i = child;
	}
	busy->moments[i] = last;
	return earliest;
}

/* Nothing that is still to come was executed before. A begin is taken off before its end is added: for a while a sum is
 * below zero, which unsigned numbers take without harm. */
static void settle(struct sweep *sweep, uint64_t until)
{
	struct busy *busy = &sweep->busy;

	while (busy->moments_count && busy->moments[0].time <= until) {
		const struct busy_moment moment = take_earliest(busy);
		const uint64_t busy_ns = busy_until(busy, moment.time);
		struct analysis_range *range = &sweep->analysis->ranges[moment.row];

		range->busy_ns += moment.is_end ? busy_ns : -busy_ns;
	}
}

int sweep_range_busy(struct sweep *sweep, const struct event_range *row, uint32_t index)
{
	int error = add_moment(&sweep->busy, (struct busy_moment){row->begin, index, false});

	if (!error)
		error = add_moment(&sweep->busy, (struct busy_moment){row->end, index, true});
	/* Executions come late by what their clocks may be off. */
	if (row->begin > sweep->delay_ns)
		settle(sweep, row->begin - sweep->delay_ns);
	return error;
}

void sweep_execute_busy(struct sweep *sweep, uint64_t started, uint64_t ended)
{
	struct busy *busy = &sweep->busy;

	settle(sweep, started);
	busy->has_any = true;
	if (started > busy->end) {
		busy->past_ns += busy->end - busy->begin;
		busy->begin = busy->end = started;
	}
	if (ended > busy->end)
		busy->end = ended;
}

/* Where a command has no times it is not known what was idle. */
static bool is_known(const struct sweep *sweep)
{
	for (size_t i = 0; i <= sweep->analysis->devices_count; i++)
		if (!sweep->analysis->devices[i].is_measured)
			return false;
	return sweep->busy.has_any;
}

void sweep_close_idle(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;

	settle(sweep, UINT64_MAX);
	analysis->has_range_idle = is_known(sweep);
	for (size_t i = 0; i < analysis->ranges_count; i++) {
		struct analysis_range *range = &analysis->ranges[i];

		range->idle_ns = range->total_ns - smaller(range->busy_ns, range->total_ns);
	}
}
