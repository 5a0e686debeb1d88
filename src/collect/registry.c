/* SPDX-License-Identifier: MIT
 *
 * collect/registry.c - the collectors there are, and the user's choice among them
 *
 * Runs in:  the recorder
 * Gets:     --collect LIST   Gives: the session's options
 * Owns:     nothing
 * Fails:    -EINVAL for a name or option that does not exist; the message lists those that do
 * Why:      an explicit table: one collector is one file and one word here
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/collector.h"

extern const struct collector cpu_collector, opencl_collector;

const struct collector *const collectors[] = {
	&opencl_collector,
	&cpu_collector,
};
const size_t collectors_count = ARRAY_COUNT(collectors);
_Static_assert(ARRAY_COUNT(collectors) <= COLLECTORS_MOST, "a session has room for so many");

static const struct collector *find(const char *name)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (strcmp(collectors[i]->name, name) == 0)
			return collectors[i];
	return NULL;
}

static int unknown_collector(const char *name)
{
	char names[512] = "";

	for (size_t i = 0; i < collectors_count; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s",
			 collectors[i]->name);
	return error_set(-EINVAL, "no collector '%s'; there are:%s (duet list collectors)", name,
			 names);
}

static int check_option(const struct collector *collector, const char *option)
{
	char names[512] = "";

	if (!option)
		return 0;
	for (const struct collector_option *row = collector->options; row && row->name; row++) {
		if (strcmp(row->name, option) == 0)
			return 0;
		snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s:%s",
			 collector->name, row->name);
	}
	return error_set(-EINVAL, "collector '%s' has no option '%s'; there are:%s",
			 collector->name, option, *names ? names : " none");
}

/* One word of the list: NAME, NAME:OPTION or -NAME. */
static int choose_word(char *word, bool *inout_only, struct session_options *session)
{
	bool on = word[0] != '-';
	char *name = on ? word : word + 1, *option = strchr(name, ':');
	const struct collector *collector;
	int error;

	if (option)
		*option++ = '\0';
	collector = find(name);
	if (!collector)
		return unknown_collector(name);
	error = check_option(collector, option);
	if (error)
		return error;
	/* The first collector named for itself means: these, and no others. */
	if (on && !*inout_only) {
		for (size_t i = 0; i < collectors_count; i++)
			collectors[i]->choose(session, false, NULL);
		*inout_only = true;
	}
	collector->choose(session, on, option);
	return 0;
}

int collectors_choose(const char *list, struct session_options *session)
{
	char copy[1024], *rest = copy, *word;
	bool only = false;

	for (size_t i = 0; i < collectors_count; i++)
		collectors[i]->choose(session, !collectors[i]->by_request, NULL);
	if (!list)
		return 0;
	if (snprintf(copy, sizeof(copy), "%s", list) >= (int)sizeof(copy))
		return error_set(-EINVAL, "--collect: the list is too long");
	while ((word = strsep(&rest, ","))) {
		int error = *word ? choose_word(word, &only, session) : 0;

		if (error)
			return error;
	}
	return 0;
}
