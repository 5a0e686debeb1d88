/* SPDX-License-Identifier: MIT
 *
 * collect/collector.h - what a collector is: a source of events with a name
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/session.h"

struct collector_option {
	const char *name; /* NULL ends the table */
	const char *help;
};

struct collector {
	const char *name; /* begins with its room: "opencl", "cpu", "system" … */
	const char *help;
	const struct collector_option *options;
	/* Switches the collector on (or, with on false, off) in the session's options; option: one of
	 * the table, or NULL. */
	void (*choose)(struct session_options *session, bool on, const char *option);
};

/* All collectors, in the order in which they are listed. */
extern const struct collector *const collectors[];
extern const size_t collectors_count;

/* Applies --collect LIST ("opencl:host,-cpu"); NULL: the default of each. Errors: -EINVAL with what
 * exists in the error chain. */
int collectors_choose(const char *list, struct session_options *session);

#endif
