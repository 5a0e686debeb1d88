/* SPDX-License-Identifier: MIT
 *
 * cli/record/triggers.h - write the seconds around a trigger's firing into a file of their own
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/session.h"
#include "live/trigger/expr.h"

struct triggers;

struct triggers_options {
	const struct trigger_expr *exprs; /* borrowed */
	size_t count;
	uint64_t keep_ns, after_ns; /* time in each file before and after the firing */
	uint64_t interval_ns;       /* min time between two firings that are written */
	unsigned int max_files;
	const char *pattern; /* for the files' names; NULL: made from the output */
	const char *command; /* run for each file; NULL: none */
	bool is_verbose;
};

/* Starts the watcher and makes the recording a ring. session must have its output and outlive the
 * triggers. Errors: -errno with the error chain. */
int triggers_start(const struct triggers_options *options, struct session_options *session,
		   struct triggers **ret_triggers);

/* Ends the watcher and prints a summary. NULL-safe. */
void triggers_end(struct triggers *triggers);
