/* SPDX-License-Identifier: MIT
 *
 * analyze/collectors.c - what the notes of one collector say together
 *
 * Runs in:  our own process
 * Gets:     a trace's notes   Gives: a state
 * Owns:     nothing
 * Fails:    never
 * Why together: a collector has several parts (calls, counters, samples), each is refused for itself, and a note of
 *           one says nothing of the others: "not at all" above 12,325 timed commands was wrong
 */
#include "analyze/collectors.h"

#include <stdbool.h>

#include "base/array.h"

const char *collectors_state_name(uint32_t state)
{
	static const char *const names[] = {[COLLECTOR_AVAILABLE] = "available",
					    [COLLECTOR_PARTIAL] = "partial",
					    [COLLECTOR_REFUSED] = "refused"};

	return array_text(names, ARRAY_COUNT(names), state, "unknown");
}

enum event_collector_state collectors_state(const struct event_collector *rows, size_t count,
					    size_t index)
{
	bool is_refused = false, is_partial = false, has_worked = false, begins = false;

	for (size_t i = 0; i < count; i++) {
		const struct event_collector *row = &rows[i];

		if (row->name_string != rows[index].name_string)
			continue;
		is_refused |= row->state == COLLECTOR_REFUSED;
		is_partial |= row->state == COLLECTOR_PARTIAL;
		/* One without a text says that the collector begins: what is refused behind it may be all of it. */
		has_worked |= row->state == COLLECTOR_AVAILABLE && row->reason_string;
		begins = row->state == COLLECTOR_AVAILABLE;
	}
	if (is_refused && !is_partial && !has_worked && !begins)
		return COLLECTOR_REFUSED;
	return is_refused || is_partial ? COLLECTOR_PARTIAL : COLLECTOR_AVAILABLE;
}
