/* SPDX-License-Identifier: MIT
 *
 * event/time_sources.h - sources of CPU samples that measure time, by their perf names
 *
 * Runs in:  our own process, in the recorder and in commands that read a trace
 *
 * The samples of these sources are proportional to time. Samples of other sources, such as page
 * faults, are not, and no time is apportioned by them.
 */
#pragma once

#include <stddef.h>

static const struct time_source {
	const char *name, *unit; /* unit: unit of a sample's weight */
} time_sources[] = {
	{"cpu-clock", "ns"},    {"task-clock", "ns"},
	{"thread-state", "ns"}, /* polls the states of threads */
	{"cycles", "cycles"},   {"ref-cycles", "ref-cycles"},
};

/* The unit of a source's weights; NULL: the source does not measure time. */
static inline const char *time_source_unit(const char *name)
{
	for (size_t i = 0; i < sizeof(time_sources) / sizeof(time_sources[0]); i++)
		if (__builtin_strcmp(name, time_sources[i].name) == 0)
			return time_sources[i].unit;
	return NULL;
}
