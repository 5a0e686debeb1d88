/* SPDX-License-Identifier: MIT
 *
 * report/series/spark.c - a line of values as one row of characters
 *
 * Runs in:  our own process
 * Gets:     a line
 * Gives:    its text
 * Owns:     nothing
 * Fails:    never
 * Why the scale covers at least 2 % of the largest value: noise of 0.1 % would fill the whole
 *           height otherwise, and look like a change
 */
#include <math.h>
#include <string.h>

#include "analyze/compare/history/history.h"
#include "base/array.h"
#include "base/number.h"
#include "report/series/series.h"

#define MIN_SPAN 0.02

static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
				     "\u2585", "\u2586", "\u2587", "\u2588"};
static const char *const characters[] = {".", ":", "-", "=", "+", "*", "#", "@"};

struct scale {
	double low, span;
};

static struct scale scale_of(const struct history_line *line)
{
	double low = INFINITY, high = -INFINITY, span;

	for (size_t i = 0; i < line->count; i++) {
		low = fmin(low, line->values[i].value);
		high = fmax(high, line->values[i].value);
	}
	span = fmax(high - low, MIN_SPAN * fabs(high));
	/* The middle of a widened scale is in the middle of a character, so noise is one level. */
	return (struct scale){(low + high - span) / 2 -
				      (span > high - low ? span / 2 / ARRAY_COUNT(blocks) : 0),
			      span};
}

static size_t level_of(struct scale scale, double value)
{
	const double levels = ARRAY_COUNT(blocks);
	const double level = scale.span > 0 ? (value - scale.low) / scale.span * levels : 0;

	return (size_t)fmin(fmax(level, 0), levels - 1);
}

void spark_format(const struct history_line *line, size_t recordings, size_t width, bool is_ascii,
		  char ret_text[SPARK_BYTES])
{
	const struct scale scale = scale_of(line);
	const size_t columns = smaller(recordings, smaller(width, SPARK_MAX));
	size_t at = 0;

	*ret_text = 0;
	for (size_t column = 0; column < columns; column++) {
		const size_t end = (column + 1) * recordings / columns;
		const char *shown = " ";
		double sum = 0;
		size_t count = 0;

		for (; at < line->count && line->values[at].recording < end; at++, count++)
			sum += line->values[at].value;
		if (count)
			shown = (is_ascii ? characters
					  : blocks)[level_of(scale, sum / (double)count)];
		strcat(ret_text, shown);
	}
}
