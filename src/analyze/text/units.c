/* SPDX-License-Identifier: MIT
 *
 * analyze/text/units.c - converts the base units of counters to units for display
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     the unit and type of a series
 * Gives:    a factor and a text; sums of readings in the displayed unit
 * Owns:     nothing
 * Fails:    never; a division by 0 gives NAN
 * Why on reading: if the recorder wrote percentages, their mean could not be computed. So it writes
 *           base units, and readers convert them.
 */
#include "analyze/text/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analyze/model.h"
#include "base/array.h"
#include "event/event.h"

#define SECOND_NS 1e9

static const struct {
	const char *unit, *level, *rate;
	double level_factor, rate_factor;
} units[] = {
	{"bytes", "MiB", "MB/s", 1.0 / 1048576, 1e-6},
	{"ns", "ms", "%", 1e-6, 100e-9}, /* time per time */
	{"uJ", "J", "W", 1e-6, 1e-6},
	{"mC",
	 "\xc2\xb0"
	 "C",
	 NULL, 1e-3, 0},
	{"Hz", "MHz", NULL, 1e-6, 0},
	{"mW", "W", NULL, 1e-3, 0},
	{"mtasks", "tasks", NULL, 1e-3, 0},
	{"ppm", "%", NULL, 1e-4, 0},
};

struct unit_shown unit_shown(const char *unit, uint32_t type)
{
	struct unit_shown shown = {.factor = 1};
	bool is_rate = type == SERIES_AMOUNT;

	if (type == SERIES_RATIO)
		return (struct unit_shown){"%", 100};
	for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
		const char *text = is_rate ? units[i].rate : units[i].level;

		if (strcmp(units[i].unit, unit) != 0 || !text)
			continue;
		snprintf(shown.text, sizeof(shown.text), "%s", text);
		shown.factor = is_rate ? units[i].rate_factor : units[i].level_factor;
		return shown;
	}
	snprintf(shown.text, sizeof(shown.text), "%.32s%s", unit, is_rate ? "/s" : "");
	return shown;
}

struct unit_shown unit_shown_of(const struct model *model, const struct event_series *series)
{
	return unit_shown(model_text(model, series->unit_string, ""), series->type);
}

double unit_value(const struct unit_shown *unit, uint32_t type, double value, double by)
{
	if (type == SERIES_LEVEL)
		return value * unit->factor;
	if (!(by > 0))
		return NAN;
	return value / by * (type == SERIES_AMOUNT ? SECOND_NS : 1) * unit->factor;
}

double unit_value_of(const struct unit_shown *unit, uint32_t type, const struct event_counter *row)
{
	return unit_value(unit, type, (double)row->value,
			  type == SERIES_RATIO ? (double)row->of : (double)(row->end - row->begin));
}

double unit_limit(const struct unit_shown *unit, uint32_t type, uint64_t limit)
{
	return unit_value(unit, type, (double)limit, type == SERIES_AMOUNT ? SECOND_NS : 1);
}
