/* SPDX-License-Identifier: MIT
 *
 * event/time_sources.h - sources of CPU samples that come where the time goes, as perf names them
 *
 * Runs in:  our own process, where samples are recorded and where they are read
 *
 * Page faults, cache misses and all else come where they come: no time is divided by them.
 */
#ifndef EVENT_TIME_SOURCES_H
#define EVENT_TIME_SOURCES_H

#include <stddef.h>

static const struct time_source {
	const char *name, *unit; /* unit: of a sample's weight */
} time_sources[] = {
	{"cpu-clock", "ns"},    {"task-clock", "ns"},
	{"thread-state", "ns"}, /* looks at threads */
	{"cycles", "cycles"},   {"ref-cycles", "ref-cycles"},
};

/* NULL: a source of anything else. */
static inline const char *time_source_unit(const char *name)
{
	for (size_t i = 0; i < sizeof(time_sources) / sizeof(time_sources[0]); i++)
		if (__builtin_strcmp(name, time_sources[i].name) == 0)
			return time_sources[i].unit;
	return NULL;
}

#endif
