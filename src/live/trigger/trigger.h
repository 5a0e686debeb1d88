/* SPDX-License-Identifier: MIT
 *
 * live/trigger/trigger.h - look for the moments at which triggers fire, in the newest rows of a
 * recording
 *
 *	trigger_set_new(exprs, count, &options, &set);
 *	while (the recording goes on) {
 *		trigger_set_feed(set, model, newest_ns);
 *		while (trigger_set_next(set, &firing))
 *			...
 *	}
 *
 * The models of successive calls may overlap: rows of a known chunk are skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/trigger/expr.h"

struct model;
struct trigger_set;

enum { TRIGGER_REASON = 240 };

/* All times are CLOCK_MONOTONIC. */
struct trigger_firing {
	uint32_t expr;               /* index of the expression */
	uint32_t process;            /* id in the recording; 0: none alone */
	uint64_t begin_ns, end_ns;   /* the iteration, kernel, gap or reading */
	char reason[TRIGGER_REASON]; /* "iteration 4711 took 31.2 ms (p99 9.8 ms)" */
};

struct trigger_set_options {
	/* Max time for which an idle gap waits for the times of earlier commands; 0: 8 s. */
	uint64_t hold_ns;
	/* Findings that ended longer than this before the newest row do not fire; 0: all do. */
	uint64_t max_age_ns;
};

/* exprs is borrowed. Expressions of exit-status and signal are ignored. Errors: -ENOMEM. */
int trigger_set_new(const struct trigger_expr *exprs, size_t count,
		    const struct trigger_set_options *options, struct trigger_set **ret_set);
void trigger_set_free(struct trigger_set *set); /* NULL-safe */

/* Evaluates the new rows. newest_ns: latest time of a row; UINT64_MAX: no rows will follow. Errors:
 * -ENOMEM and those of the reader; damaged chunks are skipped. */
int trigger_set_feed(struct trigger_set *set, const struct model *model, uint64_t newest_ns);

/* Removes the oldest firing. False: there is none. */
bool trigger_set_next(struct trigger_set *set, struct trigger_firing *ret_firing);

/* Removes the number of firings that were not kept, because more came at once than the set holds.
 */
uint64_t trigger_set_dropped(struct trigger_set *set);

/* Removes a problem that the user should know, such as a unit that a metric does not have. NULL:
 * there is none. Valid until the next call. */
const char *trigger_set_problem(struct trigger_set *set);

/* Whether any expression needs the recording's rows. */
bool trigger_needs_rows(const struct trigger_expr *exprs, size_t count);
