/* SPDX-License-Identifier: MIT
 *
 * tests/unit/report/test_spark.c - lines of values as characters
 */
#include "report/series/series.h"

#include "analyze/compare/history/history.h"
#include "harness.h"

static struct history_value values[200];

static const char *format_spark(size_t count, size_t recordings, size_t width, bool is_ascii)
{
	static char text[SPARK_BYTES];
	const struct history_line line = {.values = values, .count = count};

	spark_format(&line, recordings, width, is_ascii, text);
	return text;
}

TEST(values_fill_the_height)
{
	for (size_t i = 0; i < 8; i++)
		values[i] = (struct history_value){(uint32_t)i, (double)(100 + 10 * i)};
	CHECK_TEXT(format_spark(8, 8, 60, false), "▁▂▃▄▅▆▇█");
	CHECK_TEXT(format_spark(8, 8, 60, true), ".:-=+*#@");
}

TEST(gaps_are_blanks)
{
	values[0] = (struct history_value){1, 1};
	values[1] = (struct history_value){4, 2};
	CHECK_TEXT(format_spark(2, 6, 60, true), " .  @ ");
	CHECK_TEXT(format_spark(0, 3, 60, true), "   ");
}

TEST(small_noise_is_flat)
{
	for (size_t i = 0; i < 6; i++)
		values[i] = (struct history_value){(uint32_t)i, 1000 + (double)(i % 2)};
	CHECK_TEXT(format_spark(6, 6, 60, true), "++++++");
}

TEST(many_recordings_are_averaged)
{
	for (size_t i = 0; i < 200; i++)
		values[i] = (struct history_value){(uint32_t)i, i < 100 ? 1 : 3};
	CHECK_TEXT(format_spark(200, 200, 10, true), ".....@@@@@");
	CHECK_EQUAL(strlen(format_spark(200, 200, 1000, false)), 3 * SPARK_MAX);
}

int main(void)
{
	RUN(values_fill_the_height);
	RUN(gaps_are_blanks);
	RUN(small_noise_is_flat);
	RUN(many_recordings_are_averaged);
	return harness_end();
}
