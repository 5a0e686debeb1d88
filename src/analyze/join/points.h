/* SPDX-License-Identifier: MIT
 *
 * analyze/join/points.h - visits all starts and ends of a trace; those of executions come with
 * their launch
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/order.h"
#include "event/event.h"

struct model;

struct points_visitor {
	/* launch: the launch of an execution; NULL: not known, or not a moment of an execution. */
	int (*on_point)(void *context, const struct order_item *item,
			const struct event_launch *launch);
	/* Device times of executions are delayed by wait_ns, so that a launch which seems later
	 * because of the clocks' error comes first. Other moments are not delayed. */
	bool has_wait;
	uint64_t wait_ns;
};

/* Consumes all items of an order with order_options.points. Errors: -ENOMEM, errors of the reader,
 * results of on_point. */
int points_each(const struct model *model, struct order *order,
		const struct points_visitor *visitor, void *context);
