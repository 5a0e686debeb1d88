/* SPDX-License-Identifier: MIT
 *
 * analyze/collectors.c - the overall state of a collector, from all its notes
 *
 * Runs in:  our own process
 * Gets:     the notes of a trace (event_collector rows)
 * Gives:    available, partial or refused
 * Owns:     nothing
 * Fails:    never
 * Why together: each part of a collector (calls, counters, samples) writes its own note, and one
 *           part can be refused alone. A report that took the state of the whole collector from one
 *           note printed "not recorded at all" above 12,325 commands that were recorded with times.
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

bool collectors_is_first(const struct event_collector *rows, size_t index)
{
	size_t first = 0;

	while (rows[first].name_string != rows[index].name_string)
		first++;
	return first == index;
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
		/* A note without a text marks the start of the collector. The notes after it may
		 * refuse all its parts. */
		has_worked |= row->state == COLLECTOR_AVAILABLE && row->reason_string;
		begins = row->state == COLLECTOR_AVAILABLE;
	}
	if (is_refused && !is_partial && !has_worked && !begins)
		return COLLECTOR_REFUSED;
	return is_refused || is_partial ? COLLECTOR_PARTIAL : COLLECTOR_AVAILABLE;
}
