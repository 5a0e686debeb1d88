/* SPDX-License-Identifier: MIT
 *
 * analyze/join/points.c - visits all starts and ends of a trace in the order of time; those of
 * executions come with their launch
 *
 * Runs in:  our own process
 * Gets:     an order of moments, which are the single times in rows (order_options.points)
 * Gives:    a callback per moment
 * Owns:     the rows of launches whose execution has not been read yet, and starts and ends of
 *           executions whose launch has not been read yet
 * Fails:    -ENOMEM, errors of the reader, results of a callback
 */
#include "analyze/join/points.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/join/commands.h"
#include "analyze/join/correlate.h"
#include "analyze/model.h"
#include "base/array.h"

struct pending {
	struct order_item item; /* without its row */
	struct event_execution row;
};

struct points {
	const struct model *model;
	const struct points_visitor *visitor;
	void *context;
	struct correlate correlate;
	struct event_launch *launches; /* the launches, indexed by place in correlate */
	size_t launches_capacity;
	struct pending *pending; /* in the order of time */
	size_t pending_first, pending_count, pending_capacity;
};

static int open_launch(struct points *points, const struct event_launch *row)
{
	struct event_launch launch = *row;
	uint32_t place;
	int error;

	launch.handle = 0; /* this pass does not need dependencies */
	error = correlate_launch(&points->correlate, model_process_of(points->model, row->thread),
				 &launch, &place);
	if (!error && array_grow(points->launches, points->launches_capacity, (size_t)place + 1))
		error = -ENOMEM;
	if (!error)
		points->launches[place] = *row;
	return error;
}

static int give_execution(struct points *points, const struct order_item *item)
{
	const struct event_execution *row = item->row;
	const uint32_t place = correlate_find(&points->correlate, row->process, row->correlation);
	int error = points->visitor->on_point(
		points->context, item, place == CORRELATE_NONE ? NULL : &points->launches[place]);

	if (!error && place != CORRELATE_NONE && command_is_over(row, item->point))
		error = correlate_done(&points->correlate, place, 0);
	return error;
}

/* Passes on the pending moments that are at least wait_ns old. Their launches have come by now. */
static int give_until(struct points *points, uint64_t now_ns)
{
	int error = 0;

	while (points->pending_first < points->pending_count && !error) {
		struct pending *pending = &points->pending[points->pending_first];

		if (now_ns - pending->item.time_ns <= points->visitor->wait_ns &&
		    now_ns != UINT64_MAX)
			break;
		points->pending_first++;
		pending->item.row = &pending->row;
		error = give_execution(points, &pending->item);
	}
	if (points->pending_first == points->pending_count)
		points->pending_first = points->pending_count = 0;
	return error;
}

static int wait_for_launch(struct points *points, const struct order_item *item)
{
	size_t left = points->pending_count - points->pending_first;

	if (points->pending_first > left) {
		memmove(points->pending, points->pending + points->pending_first,
			left * sizeof(*points->pending));
		points->pending_first = 0;
		points->pending_count = left;
	}
	return array_append(points->pending, points->pending_capacity, points->pending_count,
			    (struct pending){*item, *(const struct event_execution *)item->row});
}

static int on_item(struct points *points, const struct order_item *item)
{
	const struct event_launch *launch = item->row;
	int error = give_until(points, item->time_ns);

	if (error)
		return error;
	if (item->kind == EVENT_EXECUTION && item->point != POINT_SEEN && points->visitor->has_wait)
		return wait_for_launch(points, item);
	if (item->kind == EVENT_EXECUTION)
		return give_execution(points, item);
	if (item->kind == EVENT_LAUNCH && item->point == POINT_BEGIN && !launch->result)
		error = open_launch(points, launch);
	return error ? error : points->visitor->on_point(points->context, item, NULL);
}

int points_each(const struct model *model, struct order *order,
		const struct points_visitor *visitor, void *context)
{
	struct points points = {.model = model, .visitor = visitor, .context = context};
	struct order_item item;
	int error = 0, status;

	correlate_init(&points.correlate);
	while (!error && (status = order_next(order, &item)) != 0)
		error = status < 0 ? status : on_item(&points, &item);
	if (!error)
		error = give_until(&points, UINT64_MAX);
	correlate_fini(&points.correlate);
	free(points.launches);
	free(points.pending);
	return error;
}
