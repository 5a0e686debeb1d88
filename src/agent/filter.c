/* SPDX-License-Identifier: MIT
 *
 * agent/filter.c - which processes the agent records, by glob
 *
 * Runs in:  the agent's recorder
 * Gets:     rules of the configuration; command, arguments, control group and user of a process
 * Gives:    whether the process is recorded
 * Owns:     the lists; the texts belong to the configuration
 * Fails:    -ENOMEM
 * Why:      a star matches slashes too: "/kubepods*" is the pattern that people write for a whole
 *           subtree of control groups
 */
#include "agent/filter.h"

#include <fnmatch.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

void agent_filter_fini(struct agent_filter *filter)
{
	if (!filter)
		return;
	free(filter->rules);
	free(filter->patterns);
	*filter = (struct agent_filter){0};
}

int agent_filter_add_rule(struct agent_filter *filter, bool excludes)
{
	if (array_append(filter->rules, filter->rules_capacity, filter->rules_count,
			 (struct agent_rule){.excludes = excludes}))
		return error_no_memory();
	return 0;
}

int agent_filter_add_pattern(struct agent_filter *filter, enum agent_field field, const char *text)
{
	const struct agent_pattern pattern = {(uint32_t)filter->rules_count - 1, field, text};

	if (array_append(filter->patterns, filter->patterns_capacity, filter->patterns_count,
			 pattern))
		return error_no_memory();
	return 0;
}

static bool rule_matches(const struct agent_filter *filter, uint32_t rule,
			 const struct agent_subject *subject)
{
	bool has_field[AGENT_FIELDS] = {false}, matches[AGENT_FIELDS] = {false};
	bool is_empty = true;

	for (size_t i = 0; i < filter->patterns_count; i++) {
		const struct agent_pattern *pattern = &filter->patterns[i];

		if (pattern->rule != rule)
			continue;
		is_empty = false;
		has_field[pattern->field] = true;
		matches[pattern->field] |=
			fnmatch(pattern->text, subject->texts[pattern->field], 0) == 0;
	}
	for (int field = 0; field < AGENT_FIELDS; field++)
		if (has_field[field] && !matches[field])
			return false;
	return !is_empty;
}

bool agent_filter_accepts(const struct agent_filter *filter, const struct agent_subject *subject)
{
	bool has_include = false, is_included = false;

	for (uint32_t rule = 0; rule < filter->rules_count; rule++) {
		const bool excludes = filter->rules[rule].excludes;

		has_include |= !excludes;
		if (!rule_matches(filter, rule, subject))
			continue;
		if (excludes)
			return false;
		is_included = true;
	}
	return is_included || !has_include;
}

bool agent_filter_needs(const struct agent_filter *filter, enum agent_field field)
{
	for (size_t i = 0; i < filter->patterns_count; i++)
		if (filter->patterns[i].field == field)
			return true;
	return false;
}

const char *agent_field_name(enum agent_field field)
{
	static const char *const names[] = {[AGENT_COMMAND] = "command",
					    [AGENT_CGROUP] = "cgroup",
					    [AGENT_USER] = "user",
					    [AGENT_ARGUMENTS] = "arguments"};

	return array_text(names, ARRAY_COUNT(names), field, "unknown");
}
