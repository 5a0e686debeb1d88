/* SPDX-License-Identifier: MIT
 *
 * What is shown of a series: the number and its unit, by its type and base unit.
 */
#include "analyze/text/units.h"

#include <math.h>

#include "event/event.h"
#include "harness.h"

static bool is_near(double got, double want)
{
	return fabs(got - want) <= 1e-12 * fabs(want);
}

static double row_of(uint32_t type, const char *unit, int64_t value, uint64_t of,
		     uint64_t length_ns)
{
	const struct unit_shown units = unit_shown(unit, type);
	const struct event_counter row = {
		.begin = 1000, .end = 1000 + length_ns, .value = value, .of = of};

	return unit_value_of(&units, type, &row);
}

TEST(shows_what_people_read)
{
	CHECK_TEXT(unit_shown("ns", SERIES_RATIO).text, "%");
	CHECK(is_near(row_of(SERIES_RATIO, "ns", 3, 8, 10), 37.5));
	CHECK_TEXT(unit_shown("ns", SERIES_AMOUNT).text, "%");
	CHECK(is_near(row_of(SERIES_AMOUNT, "ns", 20000000, 0, 10000000), 200));
	CHECK_TEXT(unit_shown("bytes", SERIES_AMOUNT).text, "MB/s");
	CHECK(is_near(row_of(SERIES_AMOUNT, "bytes", 3000000, 0, 500000000), 6));
	CHECK_TEXT(unit_shown("uJ", SERIES_AMOUNT).text, "W");
	CHECK(is_near(row_of(SERIES_AMOUNT, "uJ", 45000000, 0, 1000000000), 45));
	CHECK_TEXT(unit_shown("mC", SERIES_LEVEL).text, "\u00b0C");
	CHECK(is_near(row_of(SERIES_LEVEL, "mC", -1500, 0, 0), -1.5));
	CHECK_TEXT(unit_shown("bytes", SERIES_LEVEL).text, "MiB");
	CHECK(row_of(SERIES_LEVEL, "bytes", INT64_C(1) << 40, 0, 0) == 0x1p20);
}

TEST(shows_units_that_nobody_knows)
{
	CHECK_TEXT(unit_shown("parsecs", SERIES_LEVEL).text, "parsecs");
	CHECK_TEXT(unit_shown("parsecs", SERIES_AMOUNT).text, "parsecs/s");
	CHECK(is_near(row_of(SERIES_AMOUNT, "parsecs", 7, 0, 1000), 7e6));
	CHECK_TEXT(unit_shown("", SERIES_LEVEL).text, "");
	CHECK_TEXT(unit_shown("a unit whose name is longer than there is room for", SERIES_AMOUNT)
			   .text,
		   "a unit whose name is longer than/s");
}

TEST(says_nothing_of_nothing)
{
	CHECK(isnan(row_of(SERIES_AMOUNT, "bytes", 7, 0, 0)));
	CHECK(isnan(row_of(SERIES_RATIO, "ns", 7, 0, 10)));
	CHECK(row_of(SERIES_AMOUNT, "bytes", 0, 0, 10) == 0);
}

TEST(has_honest_tops)
{
	const struct unit_shown share = unit_shown("ns", SERIES_RATIO),
				time = unit_shown("ns", SERIES_AMOUNT);
	const struct unit_shown size = unit_shown("bytes", SERIES_LEVEL);

	CHECK(is_near(unit_limit(&share, SERIES_RATIO, 1), 100));
	CHECK(is_near(unit_limit(&time, SERIES_AMOUNT, UINT64_C(16000000000)), 1600));
	CHECK(unit_limit(&size, SERIES_LEVEL, UINT64_C(1) << 34) == 0x1p14);
	CHECK(unit_limit(&size, SERIES_LEVEL, 0) == 0);
}

int main(void)
{
	RUN(shows_what_people_read);
	RUN(shows_units_that_nobody_knows);
	RUN(says_nothing_of_nothing);
	RUN(has_honest_tops);
	return harness_end();
}
