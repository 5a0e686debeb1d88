/* SPDX-License-Identifier: MIT
 *
 * analyze/text/units.h - converts the base units of counters to units for display
 *
 * A trace contains whole numbers of base units (docs/design/events.md). This file contains all
 * conversions for display, so that the report, the view and every export show the same number with
 * the same unit.
 */
#pragma once

#include <stdint.h>

struct event_counter;
struct event_series;
struct model;

enum { UNIT_TEXT_BYTES = 40 };

/* The displayed unit of a series. The displayed value is the level, the amount per second or the
 * ratio, multiplied by factor. */
struct unit_shown {
	char text[UNIT_TEXT_BYTES];
	double factor;
};

/* unit: the series' base unit; type: enum event_series_type. An unknown unit is shown unchanged. */
struct unit_shown unit_shown(const char *unit, uint32_t type);
struct unit_shown unit_shown_of(const struct model *model, const struct event_series *series);

/* Converts a sum of values. `by` is the sum of the divisors: not used (LEVEL), ns (AMOUNT),
 * event_counter.of (RATIO). Returns NAN if the divisor is 0. */
double unit_value(const struct unit_shown *unit, uint32_t type, double value, double by);

/* Converts one reading; NAN for an AMOUNT of zero length and a RATIO with the denominator 0. */
double unit_value_of(const struct unit_shown *unit, uint32_t type, const struct event_counter *row);

/* Converts the upper limit of a series; 0: not known. */
double unit_limit(const struct unit_shown *unit, uint32_t type, uint64_t limit);
