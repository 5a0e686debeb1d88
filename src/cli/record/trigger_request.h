/* SPDX-License-Identifier: MIT
 *
 * cli/record/trigger_request.h - the options of `duet record` about triggers
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "cli/record/triggers.h"

struct trigger_values {
	struct option_texts exprs;
	uint64_t after_ns, interval_ns, max_files;
	const char *output, *command;
};

/* Rows of request_options. */
#define TRIGGER_MEMBER(member) offsetof(struct record_values, trigger.member)
#define TRIGGER_OPTIONS                                                                          \
	{"trigger",                                                                              \
	 0,                                                                                      \
	 OPTION_TEXTS,                                                                           \
	 "EXPR",                                                                                 \
	 "write a file when EXPR becomes true, as 'iteration > 3 x p99' (man duet-record); may " \
	 "be repeated",                                                                          \
	 TRIGGER_MEMBER(exprs)},                                                                 \
		{"trigger-after",                                                                \
		 0,                                                                              \
		 OPTION_SPAN,                                                                    \
		 "SEC",                                                                          \
		 "seconds after the trigger in its file (default 1); --keep gives those before", \
		 TRIGGER_MEMBER(after_ns)},                                                      \
		{"trigger-interval",                                                             \
		 0,                                                                              \
		 OPTION_SPAN,                                                                    \
		 "SEC",                                                                          \
		 "minimum time between two files (default: --keep plus --trigger-after)",        \
		 TRIGGER_MEMBER(interval_ns)},                                                   \
		{"trigger-max",                                                                  \
		 0,                                                                              \
		 OPTION_NUMBER,                                                                  \
		 "N",                                                                            \
		 "maximum number of files (default 10)",                                         \
		 TRIGGER_MEMBER(max_files)},                                                     \
		{"trigger-output",                                                               \
		 0,                                                                              \
		 OPTION_TEXT,                                                                    \
		 "FILE",                                                                         \
		 "name of the files; %n is their number (default NAME.trigger-%n.duet)",         \
		 TRIGGER_MEMBER(output)},                                                        \
	{                                                                                        \
		"trigger-run", 0, OPTION_TEXT, "CMD",                                            \
			"run CMD by sh for each file, with DUET_TRIGGER_FILE and "               \
			"DUET_TRIGGER_REASON set",                                               \
			TRIGGER_MEMBER(command)                                                  \
	}

/* Triggers that were checked. */
struct trigger_request {
	struct trigger_expr *exprs; /* owned; by values.exprs */
	struct triggers_options options;
};

void trigger_request_fini(struct trigger_request *triggers); /* NULL-safe on zeroed memory */

/* Checks the options about triggers and fills in their defaults. keep_ns: --keep. Errors: -EINVAL,
 * -ENOMEM with the mistake in the error chain; *ret_option: the option with the mistake. */
int trigger_request_read(const struct trigger_values *values, uint64_t keep_ns,
			 struct trigger_request *ret_triggers, const char **ret_option);
