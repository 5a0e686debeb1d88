/* SPDX-License-Identifier: MIT
 *
 * collect/collector_options.c - parses options of collectors, by the tables of the collectors
 *
 * Runs in:  the recorder
 * Gets:     the text behind "NAME:", the collector's table
 * Gives:    bits and values in the collector's own struct
 * Owns:     nothing
 * Fails:    -EINVAL for a value that the option does not accept
 * Why not through the registry: the registry depends on the collectors, so collectors must not
 *           depend on it. This file finds a collector in the session's options, so collectors may
 *           call it.
 */
#include "collect/collector_options.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "collect/collector.h"
#include "collect/counter/counters.h"

static const struct collector_slot *find_slot(const struct session_options *session,
					      const char *name)
{
	static const struct collector_slot none;

	for (size_t i = 0; i < MAX_COLLECTORS && session->collected[i].collector; i++)
		if (strcmp(session->collected[i].collector->name, name) == 0)
			return &session->collected[i];
	return &none;
}

const void *collector_options(const struct session_options *session, const char *name)
{
	return find_slot(session, name)->bytes;
}

const char *collector_guest_path(const struct session_options *session, const char *name)
{
	return find_slot(session, name)->guest;
}

static bool is_chosen(const struct collector_slot *slot)
{
	return slot->collector &&
	       ((slot->choice.words & slot->collector->chosen_by) || slot->choice.hz);
}

bool session_collects(const struct session_options *session, const char *name)
{
	return is_chosen(find_slot(session, name));
}

bool session_has_option(const struct session_options *session, const char *name, const char *option)
{
	const struct collector_slot *slot = find_slot(session, name);
	const struct collector_option *row = slot->collector ? slot->collector->options : NULL;

	while (row && row->name && strcmp(row->name, option) != 0)
		row++;
	return row && row->name && is_chosen(slot) &&
	       (slot->choice.words & (row->set | row->clear)) == row->set;
}

bool collector_slot_has_calls(const struct collector_slot *slot)
{
	return slot->collector && slot->collector->way && slot->collector->way->runtime &&
	       (slot->choice.words & slot->collector->way->calls);
}

void collector_leave_out(struct collector_slot *slot)
{
	memset(slot->bytes, 0, sizeof(slot->bytes));
}

/* Whether the text is "10" or "10Hz", in range or not. */
static bool is_rate(const char *option)
{
	size_t digits = strspn(option, "0123456789");

	return digits && (!option[digits] || strcmp(option + digits, "Hz") == 0);
}

/* Errors: -ENOENT: the text is not a rate. */
static int read_rate(const struct collector *collector, const char *option,
		     struct collector_choice *choice)
{
	const uint32_t max_hz = collector->rate ? collector->rate->max_hz : 0;
	const uint32_t hz = max_hz ? counters_frequency(option, max_hz) : 0;

	if (hz)
		choice->hz = hz;
	if (hz || !max_hz || !is_rate(option))
		return hz ? 0 : -ENOENT;
	return error_set(-EINVAL, "collector '%s' reads 1 to %u times a second, not %s",
			 collector->name, max_hz, option);
}

/* Any option chooses a collector that has a rate, with its default rate. If the rate has to be
 * asked for (rate->asked) and was not, it is 0. */
static void settle_rate(const struct collector_rate *rate, const char *option,
			struct collector_choice *choice)
{
	const bool is_off = option && *option == '-';

	if (!choice->hz)
		choice->hz = rate->usual_hz;
	if (!is_off && rate->asked && !(choice->words & rate->asked))
		choice->hz = 0;
}

static void apply_words(const struct collector_option *row, struct collector_choice *choice)
{
	choice->words = (choice->words & ~row->clear) | row->set;
}

/* Errors: -ENOENT: the text is another option. */
static int apply_row(const struct collector *collector, const struct collector_option *row,
		     const char *option, struct collector_slot *slot)
{
	int error = -ENOENT;

	if (*option == '-' && row->off && strcmp(option + 1, row->name) == 0) {
		slot->choice.words &= ~row->off;
		return 0;
	}
	if (row->read)
		error = row->read(option, slot->bytes);
	else if (strcmp(option, row->name) == 0)
		error = 0;
	else if (strcmp(row->name, COLLECTOR_RATE_NAME) == 0)
		error = read_rate(collector, option, &slot->choice);
	if (!error)
		apply_words(row, &slot->choice);
	return error;
}

static int apply(const struct collector *collector, const char *option, struct collector_slot *slot)
{
	const struct collector_option *row = collector->options;
	int error = -ENOENT;

	if (!option) {
		apply_words(&collector->named, &slot->choice);
		return 0;
	}
	for (; row && row->name && error == -ENOENT; row++)
		error = apply_row(collector, row, option, slot);
	return error;
}

int collector_option_apply(const struct collector *collector, const char *option,
			   struct collector_slot *slot)
{
	struct collector_slot changed = *slot;
	int error = apply(collector, option, &changed);

	if (error)
		return error;
	if (collector->rate)
		settle_rate(collector->rate, option, &changed.choice);
	*slot = changed;
	return 0;
}
