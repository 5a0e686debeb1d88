/* SPDX-License-Identifier: MIT
 *
 * agent/filter.h - which processes the agent records, by glob
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum agent_field { AGENT_COMMAND, AGENT_CGROUP, AGENT_USER, AGENT_ARGUMENTS, AGENT_FIELDS };

struct agent_pattern {
	uint32_t rule;
	enum agent_field field;
	const char *text; /* borrowed; as for fnmatch(3) */
};

struct agent_rule {
	bool excludes;
};

/* All zero: accepts every process. */
struct agent_filter {
	struct agent_rule *rules;       /* owned */
	struct agent_pattern *patterns; /* owned */
	size_t rules_count, rules_capacity, patterns_count, patterns_capacity;
};

/* The texts of a process that patterns are compared with; "" where one is not known. */
struct agent_subject {
	const char *texts[AGENT_FIELDS];
};

void agent_filter_fini(struct agent_filter *filter); /* NULL-safe */

/* Adds a rule without patterns, which no process matches. Errors: -ENOMEM. */
int agent_filter_add_rule(struct agent_filter *filter, bool excludes);
/* Adds a pattern to the newest rule. Errors: -ENOMEM. */
int agent_filter_add_pattern(struct agent_filter *filter, enum agent_field field, const char *text);

/* Whether a process is to be recorded: no rule that excludes matches it, and one that includes
 * does, if there is any. A rule matches if each of its fields has a pattern that matches. */
bool agent_filter_accepts(const struct agent_filter *filter, const struct agent_subject *subject);

/* Whether a pattern looks at this field. */
bool agent_filter_needs(const struct agent_filter *filter, enum agent_field field);

/* Name of the field in the configuration. */
const char *agent_field_name(enum agent_field field);
