/* SPDX-License-Identifier: MIT
 *
 * flame/diff/change.c - a pair of values as text and as colour
 *
 * Runs in:  our own process
 * Gets:     a value of NEW and one of BASE
 * Gives:    texts, levels, colours
 * Owns:     nothing
 * Fails:    out of memory: the builder keeps the error
 * Why the level depends on the frame's own values: colours relative to the largest change of the
 *           graph hide all others. With 8 levels each way, a change below 3 % has no colour.
 */
#include "flame/diff/change.h"

#include <math.h>

/* Red and blue differ for all forms of colour blindness. */
static const struct {
	uint32_t none, more, less;
} palettes[] = {{0xe3e3e3, 0xf0523c, 0x4a90f0}, {0x3c3c3c, 0xb3241a, 0x1d55b8}};

static uint64_t difference(const struct flame_values *values)
{
	return values->now > values->base ? values->now - values->base : values->base - values->now;
}

int flame_values_level(const struct flame_values *values)
{
	const bool is_more = values->now > values->base;
	const double larger = (double)(is_more ? values->now : values->base);
	double share = larger > 0 ? 2 * (double)difference(values) / larger : 0;
	int level = (int)lround(FLAME_LEVELS * fmin(share, 1));

	return is_more ? level : -level;
}

/* One channel between two colours, `part` of FLAME_LEVELS from the first. */
static uint32_t mix_channel(uint32_t from, uint32_t to, unsigned int shift, unsigned int part)
{
	const uint32_t first = from >> shift & 255, second = to >> shift & 255;

	return (first * (FLAME_LEVELS - part) + second * part) / FLAME_LEVELS << shift;
}

uint32_t flame_level_colour(int level, bool is_dark)
{
	const uint32_t from = palettes[is_dark].none;
	const uint32_t to = level > 0 ? palettes[is_dark].more : palettes[is_dark].less;
	const unsigned int part = (unsigned int)(level > 0 ? level : -level);

	return mix_channel(from, to, 16, part) | mix_channel(from, to, 8, part) |
	       mix_channel(from, to, 0, part);
}

static const char *sign_of(const struct flame_values *values)
{
	if (values->now == values->base)
		return "";
	return values->now > values->base ? "+" : "\342\210\222";
}

void flame_values_format_change(const struct flame_values *values, const char *unit,
				struct string_builder *ret_text)
{
	string_builder_append(ret_text, sign_of(values));
	flame_format_human(ret_text, difference(values), unit);
}

static void format_percent(const struct flame_values *values, struct string_builder *ret_text)
{
	const double percent = 100 * (double)difference(values) / (double)values->base;

	if (percent < 0.01)
		string_builder_append(ret_text, " (below 0.01 %)");
	else
		string_builder_appendf(ret_text, " (%s%.*f %%)", sign_of(values),
				       percent < 1000 ? 2 : 0, percent);
}

void flame_values_format(const struct flame_values *values, const char *unit,
			 struct string_builder *ret_text)
{
	flame_format_human(ret_text, values->now, unit);
	string_builder_append(ret_text, " in NEW, ");
	flame_format_human(ret_text, values->base, unit);
	string_builder_append(ret_text, " in BASE, ");
	if (values->now == values->base) {
		string_builder_append(ret_text, "unchanged");
		return;
	}
	flame_values_format_change(values, unit, ret_text);
	if (!values->base)
		string_builder_append(ret_text, ", new");
	else if (!values->now)
		string_builder_append(ret_text, ", gone");
	else
		format_percent(values, ret_text);
}
