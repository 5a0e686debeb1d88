/* SPDX-License-Identifier: MIT
 *
 * analyze/join/join.h - the one join of launches with their executions
 *
 * The analysis, the list of commands (join/commands.h) and the list of starts and ends
 * (join/points.h) use it, so all of them match the same pairs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/join/correlate.h"
#include "analyze/join/unexecuted.h"

struct model;

struct join {
	struct correlate correlate; /* open launches by place */
	struct unexecuted unexecuted;
	struct event_execution *early; /* owned; ring of the latest executions without a launch */
	size_t early_next;
	struct pair_map early_rows; /* (process, correlation) -> index of early */
	/* Called for an execution whose launch is not in the trace; may be NULL. */
	int (*on_orphan)(void *context, const struct event_execution *row);
	void *context;
};

/* -ENOMEM. model must outlive it. */
int join_init(struct join *join, const struct model *model);
void join_fini(struct join *join); /* NULL-safe */

/* The place of the open launch with this correlation id; CORRELATE_NONE: none. */
uint32_t join_find(const struct join *join, uint32_t process, uint64_t correlation);

/* Opens a launch whose call succeeded. Errors: -ENOMEM. */
int join_open(struct join *join, uint32_t process, const struct event_launch *row,
	      uint32_t *ret_place);

/* Records that an open launch was executed. It stays open until correlate_done. */
void join_add_executed(struct join *join, const struct event_execution *row, uint32_t place);

/* Keeps an execution whose launch may still come. Errors: -ENOMEM and results of on_orphan. */
int join_keep_early(struct join *join, const struct event_execution *row);
/* Takes out the execution that was kept for a launch; NULL: none. Valid until the next one is
 * kept. */
const struct event_execution *join_take_early(struct join *join, uint32_t process,
					      uint64_t correlation);
/* Call after the last row: passes all kept executions to on_orphan, the earliest first. */
int join_give_orphans(struct join *join);

/* Whether a launch is still open although its queue passed it (see unexecuted.h). Final after the
 * last row. */
bool join_is_passed(const struct join *join, uint32_t place);
