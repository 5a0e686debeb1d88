/* SPDX-License-Identifier: MIT
 *
 * analyze/units.h - from the base units of counters to those that people read
 *
 * A file has whole numbers of base units (docs/design/events.md). What people read is made of them here, and nowhere
 * else, so that the report, the view and every export say the same number with the same unit.
 */
#ifndef ANALYZE_UNITS_H
#define ANALYZE_UNITS_H

#include <stdint.h>

struct event_counter;
struct event_series;
struct model;

enum { UNIT_TEXT_BYTES = 40 };

/* As what a series is shown: a level, an amount by a second, or a ratio, times factor. */
struct unit_shown {
	char text[UNIT_TEXT_BYTES];
	double factor;
};

/* unit: of the series; type: enum event_series_type. A unit that nobody knows is shown as it is. */
struct unit_shown unit_shown(const char *unit, uint32_t type);
struct unit_shown unit_shown_of(const struct model *model, const struct event_series *series);

/* Sums of readings: of the values, and of what they are by: nothing (LEVEL), ns (AMOUNT), of (RATIO). By nothing: NAN. */
double unit_value(const struct unit_shown *unit, uint32_t type, double value, double by);

/* One reading. An AMOUNT that took no time, and a RATIO of nothing, say nothing: NAN. */
double unit_value_of(const struct unit_shown *unit, uint32_t type, const struct event_counter *row);

/* The most that there can be; 0: not known. */
double unit_limit(const struct unit_shown *unit, uint32_t type, uint64_t limit);

#endif
