/* SPDX-License-Identifier: MIT
 *
 * collect/registry.c - the table of collectors, and the user's choice among them
 *
 * Runs in:  the recorder
 * Gets:     --collect LIST
 * Owns:     nothing
 * Fails:    -EINVAL for an unknown name or option; the message lists the known ones
 * Why an explicit table: a new collector needs one file, and one row in this table.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/suggest.h"
#include "collect/collector.h"

const struct collector *const collectors[] = {
	&opencl_collector, &amd_collector,    &level_zero_collector,
	&cpu_collector,    &ranges_collector, &system_collector,
	&nvidia_collector, &drm_collector,    &intel_collector,
};
const size_t collectors_count = ARRAY_COUNT(collectors);

void collectors_look(void *const *states)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (states[i] && collectors[i]->work->look)
			collectors[i]->work->look(states[i]);
}

void collectors_catch_up(void *const *states, uint64_t until_ns)
{
	for (size_t i = 0; i < collectors_count; i++) {
		const struct collector_work *work = collectors[i]->work;

		if (states[i] && work->catch_up)
			work->catch_up(states[i], until_ns);
		else if (states[i])
			work->drain(states[i]);
	}
}
_Static_assert(ARRAY_COUNT(collectors) <= MAX_COLLECTORS,
	       "a session has room for this number of collectors");

/* Returns collectors_count if there is no such collector. */
static size_t find_collector(const char *name)
{
	size_t index = 0;

	while (index < collectors_count && strcmp(collectors[index]->name, name) != 0)
		index++;
	return index;
}

bool collectors_is_unverified(const char *name)
{
	const size_t index = find_collector(name);

	return index < collectors_count && collectors[index]->unverified;
}

static bool has_option(const struct collector *collector, const char *name)
{
	for (const struct collector_option *row = collector->options; row && row->name; row++)
		if (row->help && strcmp(row->name, name) == 0)
			return true;
	return false;
}

/* Lists " amd" or " nvidia:cuda": collectors whose guest has this name, and those with such an
 * option, but not `without`. */
static void list_namesakes(const char *name, const struct collector *without, char *list,
			   size_t size)
{
	*list = '\0';
	for (size_t i = 0; i < collectors_count; i++) {
		const struct collector *one = collectors[i];
		const bool is_option = has_option(one, name);

		if (one == without ||
		    (!is_option && !(one->way && strcmp(one->way->name, name) == 0)))
			continue;
		snprintf(list + strlen(list), size - strlen(list), "%s%s%s%s", *list ? " or " : "",
			 one->name, is_option ? ":" : "", is_option ? name : "");
	}
}

static const char *nearest_collector(const char *name)
{
	const char *names[MAX_COLLECTORS];

	for (size_t i = 0; i < collectors_count; i++)
		names[i] = collectors[i]->name;
	return suggest_name(name, names, collectors_count, sizeof(*names));
}

static int unknown_collector(const char *name)
{
	char names[512] = "";
	const char *near;

	list_namesakes(name, NULL, names, sizeof(names));
	near = *names ? names : nearest_collector(name);
	if (near)
		return error_set(-EINVAL,
				 "no collector '%s'; did you mean %s? (duet list collectors)", name,
				 near);
	for (size_t i = 0; i < collectors_count; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s",
			 collectors[i]->name);
	return error_set(-EINVAL, "no collector '%s'; there are:%s (duet list collectors)", name,
			 names);
}

static int refuse_option(const struct collector *collector, const char *option)
{
	char names[512] = "", others[256];

	for (const struct collector_option *row = collector->options; row && row->name; row++)
		if (row->help)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s:%s",
				 collector->name, row->name);
	list_namesakes(option, collector, others, sizeof(others));
	return error_set(-EINVAL, "collector '%s' has no option '%s'%s%s%s; there are:%s",
			 collector->name, option, *others ? " (" : "", others,
			 *others ? " has)" : "", *names ? names : " none");
}

static int check_option(const struct collector *collector, const char *option)
{
	struct collector_slot scratch = {.collector = collector};
	int error = collector_option_apply(collector, option, &scratch);

	return error == -ENOENT ? refuse_option(collector, option) : error;
}

bool collector_is_chosen(const struct collector *collector, const struct session_options *session)
{
	return session_collects(session, collector->name);
}

/* One word of the list: NAME, NAME:OPTION or -NAME. */
struct choice {
	bool on;
	size_t index;       /* index of the collector */
	const char *option; /* NULL: none */
};

static int read_word(char *word, struct choice *ret_choice)
{
	bool on = word[0] != '-';
	char *name = on ? word : word + 1, *option = strchr(name, ':');
	size_t index;

	if (option)
		*option++ = '\0';
	index = find_collector(name);
	if (index == collectors_count)
		return unknown_collector(name);
	*ret_choice = (struct choice){on, index, option};
	return check_option(collectors[index], option);
}

/* State of the choice after the words so far. */
struct chosen {
	bool only; /* all collectors were removed already */
	bool is_named[MAX_COLLECTORS];
};

static int choose_word(char *word, struct chosen *chosen, struct session_options *session)
{
	struct choice choice;
	int error = read_word(word, &choice);

	if (error)
		return error;
	/* The first collector that is given by name removes all that are chosen by default. */
	if (choice.on && !chosen->only) {
		for (size_t i = 0; i < collectors_count; i++)
			collector_leave_out(&session->collected[i]);
		chosen->only = true;
	}
	chosen->is_named[choice.index] = choice.on;
	if (!choice.on)
		collector_leave_out(&session->collected[choice.index]);
	else
		error = collector_option_apply(collectors[choice.index], choice.option,
					       &session->collected[choice.index]);
	return error;
}

static bool is_default(const struct collector *collector, const struct session_options *session)
{
	return !collector->by_request && (!collector->is_default || collector->is_default());
}

static int choose_default(const struct collector *collector, const struct session_options *session,
			  struct collector_slot *slot)
{
	slot->collector = collector;
	collector_leave_out(slot);
	return is_default(collector, session) ? collector_option_apply(collector, NULL, slot) : 0;
}

static int settle_choices(const struct chosen *chosen, struct session_options *session)
{
	int error = 0;

	for (size_t i = 0; i < collectors_count && !error; i++)
		if (collectors[i]->settle)
			error = collectors[i]->settle(session->collected[i].bytes,
						      chosen->is_named[i]);
	return error;
}

/* list: NULL: nothing. */
static int choose_list(const char *list, struct chosen *chosen, struct session_options *session)
{
	char copy[8192], *rest = copy, *word;
	int error = 0;

	if (snprintf(copy, sizeof(copy), "%s", list ? list : "") >= (int)sizeof(copy))
		return error_set(-EINVAL, "--collect: the list is too long");
	while (!error && (word = strsep(&rest, ",")))
		error = *word ? choose_word(word, chosen, session) : 0;
	return error;
}

int collectors_choose(const char *list, const char *beside, struct session_options *session)
{
	struct chosen chosen = {.only = false};
	int error = 0;

	for (size_t i = 0; i < collectors_count && !error; i++)
		error = choose_default(collectors[i], session, &session->collected[i]);
	if (!error)
		error = choose_list(list, &chosen, session);
	chosen.only = true;
	if (!error)
		error = choose_list(beside, &chosen, session);
	return error ? error : settle_choices(&chosen, session);
}

int collectors_check(const char *word)
{
	struct choice choice;
	char copy[256];

	if (snprintf(copy, sizeof(copy), "%s", word) >= (int)sizeof(copy))
		return error_set(-EINVAL, "no collector has a name as long as '%s'", word);
	return read_word(copy, &choice);
}
