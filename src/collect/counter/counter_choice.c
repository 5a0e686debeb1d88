/* SPDX-License-Identifier: MIT
 *
 * collect/counter/counter_choice.c - the user's choice of metrics, their rates, and instances
 *
 * Runs in:  the recorder; a sampler's thread matches names
 * Gets:     options such as "metric=cpu.*@50" and "disk=nvme*"
 * Gives:    whether a metric or an instance is read, and how often
 * Owns:     nothing
 * Fails:    -EINVAL for a name that does not exist; the message lists those that do
 * Why a fixed room: options of a collector are copied as bytes, and a choice of more than some
 *           twenty patterns is better written as a few globs
 */
#include "collect/counter/counter_choice.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "collect/counter/source.h"

enum { NAME_BYTES = 96, LIST_BYTES = 700, MAX_LISTED = 256 };

/* ---- patterns -------------------------------------------------------------------------------- */

const char *name_patterns_next(const struct name_patterns *patterns, const char *after)
{
	const char *next = after ? after + strlen(after) + 1 : patterns->texts;

	return next < patterns->texts + sizeof(patterns->texts) && *next ? next : NULL;
}

bool name_patterns_is_empty(const struct name_patterns *patterns)
{
	return !patterns->texts[0];
}

bool name_patterns_match(const struct name_patterns *patterns, const char *name)
{
	const char *pattern = NULL;

	while ((pattern = name_patterns_next(patterns, pattern)))
		if (fnmatch(pattern, name, 0) == 0)
			return true;
	return name_patterns_is_empty(patterns);
}

bool name_pattern_is_glob(const char *pattern)
{
	return strpbrk(pattern, "*?[\\") != NULL;
}

static int add_pattern(struct name_patterns *patterns, const char *option, const char *text)
{
	const char *last = NULL, *next;
	size_t used;

	while ((next = name_patterns_next(patterns, last)))
		last = next;
	used = last ? (size_t)(last - patterns->texts) + strlen(last) + 1 : 0;
	/* With the NUL of the text and the empty text at the end. */
	if (used + strlen(text) + 2 > sizeof(patterns->texts))
		return error_set(-EINVAL,
				 "'%s': all patterns of this option together are longer than %d "
				 "bytes; use fewer, or shorter globs",
				 option, PATTERN_BYTES - 2);
	memcpy(patterns->texts + used, text, strlen(text) + 1);
	return 0;
}

/* The text behind "NAME="; NULL: another option. */
static const char *value_of(const char *option, const char *name)
{
	const size_t length = strlen(name);

	return strncmp(option, name, length) == 0 && option[length] == '=' ? option + length + 1
									   : NULL;
}

int name_patterns_read(const char *option, const char *name, struct name_patterns *patterns)
{
	const char *value = value_of(option, name);

	if (!value)
		return -ENOENT;
	if (!*value)
		return error_set(-EINVAL, "'%s': give a name or a glob, such as %s=*", option,
				 name);
	return add_pattern(patterns, option, value);
}

int name_patterns_check(const struct name_patterns *patterns, const char *kind, const char *topic,
			const char *const *names, size_t count)
{
	const char *pattern = NULL, *near;
	char list[LIST_BYTES] = "";

	while ((pattern = name_patterns_next(patterns, pattern))) {
		size_t found = 0;

		if (name_pattern_is_glob(pattern))
			continue;
		while (found < count && strcmp(names[found], pattern) != 0)
			found++;
		if (found < count)
			continue;
		for (size_t i = 0; i < count && strlen(list) + NAME_BYTES < sizeof(list); i++)
			snprintf(list + strlen(list), NAME_BYTES, " %s", names[i]);
		near = suggest_name(pattern, names, count, sizeof(*names));
		return error_set(-EINVAL, "no %s '%s'%s%s%s; there are:%s (duet list %s)", kind,
				 pattern, near ? "; did you mean '" : "", near ? near : "",
				 near ? "'?" : "", *list ? list : " none", topic);
	}
	return 0;
}

/* ---- metrics --------------------------------------------------------------------------------- */

/* Splits "GLOB@HZ". *ret_hz: 0: no rate. False: not a rate. */
static bool split_rate(const char *text, char ret_glob[NAME_BYTES], uint32_t *ret_hz)
{
	const char *at = strrchr(text, '@');
	const size_t length = at ? (size_t)(at - text) : strlen(text);
	char *end;
	unsigned long hz;

	*ret_hz = 0;
	snprintf(ret_glob, NAME_BYTES, "%.*s", (int)length, text);
	if (!at)
		return true;
	hz = at[1] >= '0' && at[1] <= '9' ? strtoul(at + 1, &end, 10) : 0;
	if (!hz || hz > UINT32_MAX || (*end && strcmp(end, "Hz") != 0))
		return false;
	*ret_hz = (uint32_t)hz;
	return true;
}

static bool matches_any(const struct source_list *sources, const char *glob)
{
	for (size_t i = 0; i < sources->count; i++)
		for (size_t j = 0; j < sources->all[i]->metrics_count; j++) {
			const char *name = sources->all[i]->metrics[j].name;

			if (name && fnmatch(glob, name, 0) == 0)
				return true;
		}
	return false;
}

/* Adds a name to a list of words unless it is there. */
static void list_once(char list[LIST_BYTES], const char *name)
{
	char word[NAME_BYTES];

	snprintf(word, sizeof(word), " %s ", name);
	if (strstr(list, word) || strlen(list) + strlen(word) >= LIST_BYTES)
		return;
	/* the blank at the end of the list begins the word */
	strcpy(list + strlen(list), *list ? word + 1 : word);
}

/* Lists the metrics that begin as the wrong name does ("disk."); without any, all beginnings. */
static void list_metrics(const struct source_list *sources, const char *wrong, char *list)
{
	const size_t first = strcspn(wrong, ".*?[");

	*list = '\0';
	for (int round = 0; round < 2 && !*list; round++)
		for (size_t i = 0; i < sources->count; i++)
			for (size_t j = 0; j < sources->all[i]->metrics_count; j++) {
				const char *name = sources->all[i]->metrics[j].name;
				char group[NAME_BYTES];

				if (!name)
					continue;
				snprintf(group, sizeof(group), "%.*s.*", (int)strcspn(name, "."),
					 name);
				if (round)
					list_once(list, strchr(name, '.') ? group : name);
				else if (strcspn(name, ".") == first &&
					 strncmp(name, wrong, first) == 0)
					list_once(list, name);
			}
}

static const char *nearest_metric(const struct source_list *sources, const char *wrong)
{
	const char *names[MAX_LISTED];
	size_t count = 0;

	for (size_t i = 0; i < sources->count; i++)
		for (size_t j = 0; j < sources->all[i]->metrics_count && count < MAX_LISTED; j++)
			if (sources->all[i]->metrics[j].name)
				names[count++] = sources->all[i]->metrics[j].name;
	return suggest_name(wrong, names, count, sizeof(*names));
}

static int refuse_metric(const char *collector, const struct source_list *sources, const char *glob)
{
	const char *near = nearest_metric(sources, glob);
	char list[LIST_BYTES];

	list_metrics(sources, glob, list);
	return error_set(-EINVAL,
			 "collector '%s' has no metric '%s'%s%s%s; there are:%s(duet list metrics)",
			 collector, glob, near ? "; did you mean '" : "", near ? near : "",
			 near ? "'?" : "", list);
}

int counter_choice_read_metric(const char *option, const char *collector,
			       const struct source_list *sources, uint32_t max_hz,
			       struct name_patterns *metrics)
{
	const char *value = value_of(option, "metric");
	char glob[NAME_BYTES];
	uint32_t hz;

	if (!value)
		return -ENOENT;
	if (strlen(value) >= NAME_BYTES)
		return error_set(-EINVAL, "'%s': no metric has a name as long as this", option);
	if (!split_rate(value, glob, &hz) || hz > max_hz)
		return error_set(-EINVAL,
				 "'%s': the rate is 1 to %u readings a second, as in metric=%s@10",
				 option, max_hz, glob);
	if (!matches_any(sources, glob))
		return refuse_metric(collector, sources, glob);
	return add_pattern(metrics, option, value);
}

/* False: not chosen. *ret_hz: the rate of the last pattern that matches and has one; 0: none. */
static bool is_chosen(const struct counter_choice *choice, const char *name, uint32_t *ret_hz)
{
	const char *pattern = NULL;
	bool matches = name_patterns_is_empty(&choice->metrics);
	char glob[NAME_BYTES];
	uint32_t hz;

	*ret_hz = 0;
	while ((pattern = name_patterns_next(&choice->metrics, pattern))) {
		if (!split_rate(pattern, glob, &hz) || fnmatch(glob, name, 0) != 0)
			continue;
		matches = true;
		*ret_hz = hz ? hz : *ret_hz;
	}
	return matches;
}

uint64_t counter_choice_left_out(const struct counter_choice *choice, const struct source *source)
{
	uint64_t left_out = 0;
	uint32_t hz;

	for (size_t i = 0; i < source->metrics_count; i++)
		if (source->metrics[i].name && !is_chosen(choice, source->metrics[i].name, &hz))
			left_out |= (uint64_t)1 << i;
	return left_out;
}

bool counter_choice_names(const struct counter_choice *choice, const struct source *source)
{
	const char *pattern = NULL;
	char glob[NAME_BYTES];
	uint32_t hz;

	while ((pattern = name_patterns_next(&choice->metrics, pattern)))
		for (size_t i = 0; i < source->metrics_count; i++)
			if (source->metrics[i].name && split_rate(pattern, glob, &hz) &&
			    strcmp(glob, source->metrics[i].name) == 0)
				return true;
	return false;
}

static uint32_t usual_hz_of(const struct source *source, uint32_t hz)
{
	const uint32_t limit = source->usual_max_hz ? source->usual_max_hz : source->max_hz;

	return limit && limit < hz ? limit : hz;
}

uint32_t counter_choice_hz(const struct counter_choice *choice, const struct source *source,
			   uint32_t hz)
{
	uint32_t highest = 0;

	for (size_t i = 0; i < source->metrics_count; i++) {
		uint32_t own_hz;

		if (!source->metrics[i].name ||
		    !is_chosen(choice, source->metrics[i].name, &own_hz))
			continue;
		if (!own_hz)
			own_hz = usual_hz_of(source, hz);
		if (source->max_hz && own_hz > source->max_hz)
			own_hz = source->max_hz;
		highest = own_hz > highest ? own_hz : highest;
	}
	return highest;
}
