/* SPDX-License-Identifier: MIT
 *
 * analyze/cost.h - what recording cost the programs, as `duet record --max-overhead` measured it
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/model.h"

enum { COST_LEVELS = 5 };

/* The cost of one guest in one process. Costs are parts of the time without recording: 0.01 is 1 %.
 */
struct cost_process {
	const struct event_process *process; /* NULL: the trace does not describe it */
	const char *guest;                   /* name of its collector */
	uint64_t level_ns[COST_LEVELS];      /* time at each level */
	uint32_t steps;                      /* changes of the level */
	/* Windows with and without recording were compared: time, mean and 95 % interval. */
	uint64_t measured_ns;
	double cost, half_width;
	/* That was not possible: duet's own time. */
	uint64_t own_ns;
	double own_cost;
	double limit; /* --max-overhead as a part of the time; 0: not known */
};

/* The time at all levels. */
uint64_t cost_all_ns(const struct cost_process *cost);

/* Whether the limit was held over the whole time. Time with counts alone costs nothing that can be
 * measured. */
enum cost_limit { COST_LIMIT_UNKNOWN, COST_LIMIT_HELD, COST_LIMIT_NOT_HELD };
enum cost_limit cost_limit_of(const struct cost_process *cost);

struct costs {
	struct cost_process *all;
	size_t count;
};

/* Reads the whole trace. Processes that are not chosen are left out. Errors: -ENOMEM and those of
 * the reader. */
int costs_new(const struct model *model, struct costs *ret_costs);
void costs_fini(struct costs *costs); /* NULL-safe */

/* A short text for a level, and its key in JSON. */
const char *cost_level_text(uint32_t level);
const char *cost_level_name(uint32_t level);
