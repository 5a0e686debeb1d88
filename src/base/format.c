/* SPDX-License-Identifier: MIT
 *
 * base/format.c - format numbers, dates and names for people
 *
 * Runs in:  our own process
 * Gets:     nanoseconds, bytes, counts, texts
 * Gives:    short texts
 * Owns:     nothing
 * Fails:    never; a text that does not fit is truncated
 * Why one place for all: terminal output, pictures and foreign files use the same formats
 */
#include "base/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/string.h"

struct shown format_text(const char *text)
{
	struct shown shown;

	string_make_printable(text, shown.text, sizeof(shown.text));
	return shown;
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

const char *format_noun(uint64_t value, const char *one, const char *many)
{
	return value == 1 ? one : many;
}
