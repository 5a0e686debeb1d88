/* SPDX-License-Identifier: MIT
 *
 * cli/table.c - numbers and columns for people
 *
 * Runs in:  our own process
 * Gets:     nanoseconds, bytes, counts and names   Gives: cells on stdout
 * Owns:     nothing
 * Fails:    never; whether stdout arrived is finish_output's question
 * Why:      names come from the recorded program: they are cut to their column, and what a terminal
 *           would obey does not reach it. Columns are counted in code points, because the unit
 *           of 1 us has one that takes two bytes.
 */
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analyze/model.h"
#include "base/array.h"
#include "base/string.h"

struct number format_date(const struct model *model, uint64_t host_ns)
{
	struct number number = {""};
	uint64_t realtime_ns;

	return model_wall_clock(model, host_ns, &realtime_ns) ? format_realtime(realtime_ns)
							      : number;
}

struct number format_realtime(uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	struct number number = {""};
	struct tm fields;

	if (localtime_r(&seconds, &fields))
		strftime(number.text, sizeof(number.text), "%Y-%m-%d %H:%M:%S %z", &fields);
	return number;
}

struct number format_signal(int signal)
{
	const char *name = sigabbrev_np(signal);
	struct number number;

	if (name)
		snprintf(number.text, sizeof(number.text), "%d (SIG%s)", signal, name);
	else
		snprintf(number.text, sizeof(number.text), "%d", signal);
	return number;
}

struct number format_duration(uint64_t ns)
{
	static const struct {
		uint64_t limit;
		double unit;
		const char *name;
	} units[] = {{1000, 1, "ns"}, {1000000, 1e3, "µs"}, {1000000000, 1e6, "ms"}, {0, 1e9, "s"}};
	struct number number;
	unsigned int i = 0;
	double value;

	while (units[i].limit && ns >= units[i].limit)
		i++;
	value = (double)ns / units[i].unit;
	snprintf(number.text, sizeof(number.text), "%.*f %s",
		 i == 0 ? 0 : (value < 9.9995 ? 3 : (value < 99.995 ? 2 : 1)), value,
		 units[i].name);
	return number;
}

struct number format_size(double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	struct number number;
	unsigned int i = 0;

	for (; bytes >= 1024 && i + 1 < ARRAY_COUNT(units); i++)
		bytes /= 1024;
	snprintf(number.text, sizeof(number.text), "%.*f %s", i == 0 ? 0 : 1, bytes, units[i]);
	return number;
}

struct number format_percent(uint64_t part, uint64_t whole)
{
	struct number number;

	if (!whole)
		snprintf(number.text, sizeof(number.text), "-");
	else
		snprintf(number.text, sizeof(number.text), "%.1f %%",
			 100.0 * (double)part / (double)whole);
	return number;
}

struct number format_count(uint64_t value)
{
	struct number number;

	snprintf(number.text, sizeof(number.text), "%" PRIu64, value);
	return number;
}

struct shown format_text(const char *text)
{
	struct shown shown;

	string_make_printable(text, shown.text, sizeof(shown.text));
	return shown;
}

/* Columns that a text takes: its code points, and one for each '?'. */
static size_t width_of(const char *text)
{
	size_t width = 0, left = strlen(text);

	for (; left; width++) {
		int length = utf8_printable(text, left);
		size_t taken = (size_t)(length > 0 ? length : -length);

		text += taken;
		left -= taken;
	}
	return width;
}

void table_put_text(const char *text, size_t limit)
{
	size_t width = width_of(text), shown = 0, left = strlen(text);

	while (left) {
		int length = utf8_printable(text, left);
		size_t taken = (size_t)(length > 0 ? length : -length);

		if (++shown == limit && width > limit) {
			fputs("…", stdout);
			return;
		}
		if (length > 0)
			fwrite(text, 1, taken, stdout);
		else
			putchar('?');
		text += taken;
		left -= taken;
	}
}

/* Left-aligned and cut to width. */
void table_put_left(const char *text, size_t width)
{
	size_t used = width_of(text);

	table_put_text(text, width);
	for (; used < width; used++)
		putchar(' ');
}

void table_put_right(const char *text, size_t width)
{
	for (size_t used = width_of(text); used < width; used++)
		putchar(' ');
	table_put_text(text, SIZE_MAX);
}

void table_put_title(const char *title, size_t width, const char *const *columns)
{
	putchar('\n');
	table_put_left(title, width);
	for (; *columns; columns++)
		table_put_right(*columns, TABLE_CELL);
	putchar('\n');
}

void table_put_name(const char *name, size_t width)
{
	fputs("  ", stdout);
	table_put_left(name, width - 2);
}

void table_put_cell(struct number number)
{
	table_put_right(number.text, TABLE_CELL);
}

/* What a number of things is called. */
const char *table_noun(uint64_t value, const char *one, const char *many)
{
	return value == 1 ? one : many;
}

void table_put_rest(size_t shown, size_t all, const char *one, const char *many)
{
	if (shown < all)
		printf("  … %zu more %s (--top 0 shows all)\n", all - shown,
		       table_noun(all - shown, one, many));
}
