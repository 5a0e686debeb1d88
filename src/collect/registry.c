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
#include "base/suggest.h"
#include "collect/collector.h"
#include "collect/counters.h"

extern const struct collector amd_collector, cpu_collector, opencl_collector, ranges_collector,
	system_collector, nvidia_collector, drm_collector, level_zero_collector, intel_collector;

const struct collector *const collectors[] = {
	&opencl_collector, &amd_collector,    &level_zero_collector,
	&cpu_collector,    &ranges_collector, &system_collector,
	&nvidia_collector, &drm_collector,    &intel_collector,
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

static bool has_option(const struct collector *collector, const char *name)
{
	for (const struct collector_option *row = collector->options; row && row->name; row++)
		if (strcmp(row->name, name) == 0)
			return true;
	return false;
}

/* " amd" or " nvidia:cuda": collectors whose guest has this name, and options of it, but not of `without`. */
static void list_namesakes(const char *name, const struct collector *without, char *list,
			   size_t size)
{
	*list = '\0';
	for (size_t i = 0; i < collectors_count; i++) {
		const struct collector *one = collectors[i];
		const bool is_option = has_option(one, name);

		if (one == without ||
		    (!is_option && !(one->guest && strcmp(one->guest, name) == 0)))
			continue;
		snprintf(list + strlen(list), size - strlen(list), "%s%s%s%s", *list ? " or " : "",
			 one->name, is_option ? ":" : "", is_option ? name : "");
	}
}

static const char *nearest_collector(const char *name)
{
	const char *names[COLLECTORS_MOST];

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

/* "10" or "10Hz", whether it may be or not. */
static bool is_rate(const char *option)
{
	size_t digits = strspn(option, "0123456789");

	return digits && (!option[digits] || strcmp(option + digits, "Hz") == 0);
}

static int check_option(const struct collector *collector, const char *option)
{
	char names[512] = "", others[256];
	int error = option && collector->check_option ? collector->check_option(option) : -ENOENT;

	if (error != -ENOENT)
		return error;
	if (!option || (collector->has_option && collector->has_option(option)) ||
	    (collector->rate && counters_frequency(option, collector->rate->most_hz)))
		return 0;
	if (collector->rate && is_rate(option))
		return error_set(-EINVAL, "collector '%s' reads 1 to %u times a second, not %s",
				 collector->name, collector->rate->most_hz, option);
	for (const struct collector_option *row = collector->options; row && row->name; row++) {
		if (strcmp(row->name, option) == 0)
			return 0;
		snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s:%s",
			 collector->name, row->name);
	}
	list_namesakes(option, collector, others, sizeof(others));
	return error_set(-EINVAL, "collector '%s' has no option '%s'%s%s%s; there are:%s",
			 collector->name, option, *others ? " (" : "", others,
			 *others ? " has)" : "", *names ? names : " none");
}

static uint32_t *rate_in(const struct collector *collector, struct session_options *session)
{
	return (uint32_t *)((char *)session + collector->rate->offset);
}

/* Chosen once more without a rate it keeps the one it has. */
static void choose_rate(const struct collector *collector, struct session_options *session, bool on,
			const char *option)
{
	const struct collector_rate *rate = collector->rate;
	uint32_t hz = option ? counters_frequency(option, rate->most_hz) : 0;
	uint32_t *chosen = rate_in(collector, session);

	if (!on)
		*chosen = 0;
	else if (hz || !*chosen)
		*chosen = hz ? hz : rate->usual_hz;
}

static void choose(const struct collector *collector, struct session_options *session, bool on,
		   const char *option)
{
	if (collector->rate)
		choose_rate(collector, session, on, option);
	if (collector->choose)
		collector->choose(session, on, option);
}

bool collector_is_chosen(const struct collector *collector, const struct session_options *session)
{
	if (collector->is_chosen)
		return collector->is_chosen(session);
	return *(const uint32_t *)((const char *)session + collector->rate->offset) != 0;
}

/* One word of the list: NAME, NAME:OPTION or -NAME. */
struct choice {
	bool on;
	const struct collector *collector;
	const char *option; /* NULL: none */
};

static int read_word(char *word, struct choice *ret_choice)
{
	bool on = word[0] != '-';
	char *name = on ? word : word + 1, *option = strchr(name, ':');
	const struct collector *collector;

	if (option)
		*option++ = '\0';
	collector = find(name);
	if (!collector)
		return unknown_collector(name);
	*ret_choice = (struct choice){on, collector, option};
	return check_option(collector, option);
}

/* What the words so far have said. */
struct chosen {
	bool only; /* others were put out already */
	bool is_named[COLLECTORS_MOST];
};

static void note_name(struct chosen *chosen, const struct choice *choice)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (collectors[i] == choice->collector)
			chosen->is_named[i] = choice->on;
}

static int choose_word(char *word, struct chosen *chosen, struct session_options *session)
{
	struct choice choice;
	int error = read_word(word, &choice);

	if (error)
		return error;
	/* The first collector named for itself means: these, and no others. */
	if (choice.on && !chosen->only) {
		for (size_t i = 0; i < collectors_count; i++)
			choose(collectors[i], session, false, NULL);
		chosen->only = true;
	}
	note_name(chosen, &choice);
	choose(choice.collector, session, choice.on, choice.option);
	return 0;
}

static bool is_default(const struct collector *collector, const struct session_options *session)
{
	return !collector->by_request && !(session->any && collector->needs_program) &&
	       (!collector->is_default || collector->is_default());
}

static int settle(const struct chosen *chosen, struct session_options *session)
{
	int error = 0;

	for (size_t i = 0; i < collectors_count && !error; i++)
		if (collectors[i]->settle)
			error = collectors[i]->settle(session, chosen->is_named[i]);
	return error;
}

/* list: NULL: nothing. */
static int choose_list(const char *list, struct chosen *chosen, struct session_options *session)
{
	char copy[1024], *rest = copy, *word;
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
	int error;

	for (size_t i = 0; i < collectors_count; i++)
		choose(collectors[i], session, is_default(collectors[i], session), NULL);
	error = choose_list(list, &chosen, session);
	chosen.only = true;
	if (!error)
		error = choose_list(beside, &chosen, session);
	return error ? error : settle(&chosen, session);
}

int collectors_check(const char *word)
{
	struct choice choice;
	char copy[256];

	if (snprintf(copy, sizeof(copy), "%s", word) >= (int)sizeof(copy))
		return error_set(-EINVAL, "no collector has a name as long as '%s'", word);
	return read_word(copy, &choice);
}
