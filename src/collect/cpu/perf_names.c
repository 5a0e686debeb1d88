/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_names.c - perf events by name
 *
 * Runs in:  the recorder
 * Gets:     a name   Gives: what perf_event_open wants
 * Owns:     nothing
 * Fails:    -ENOENT for a name that nobody knows; the message says which there are
 */
#include "collect/cpu/perf_names.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

static const struct perf_event_source known[] = {
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, 0, "cycles"},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, 0, "instructions"},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, 0, 0, "cache-references"},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 0, 0, "cache-misses"},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0, 0, "branches"},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 0, 0, "branch-misses"},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, 0, 0, "bus-cycles"},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, 0, 0, "ref-cycles"},
	{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0, 0, "cpu-clock"},
	{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0, 0, "task-clock"},
	{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, 0, "page-faults"},
	{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 0, 0, "minor-faults"},
	{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 0, 0, "major-faults"},
	{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 0, 0, "context-switches"},
	{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 0, 0, "cpu-migrations"},
};

static int unknown_event(const char *name)
{
	char names[512] = "";

	for (size_t i = 0; i < ARRAY_COUNT(known); i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s",
			 known[i].name);
	return error_set(-ENOENT,
			 "no event '%s'; there are:%s, rHEX (raw), SYSTEM:NAME (a tracepoint)",
			 name, names);
}

/* r and hexadecimal digits. */
static bool find_raw(const char *name, struct perf_event_source *source)
{
	char *end;

	if (name[0] != 'r' || !name[1] || name[1] == '-')
		return false;
	source->type = PERF_TYPE_RAW;
	source->config = strtoull(name + 1, &end, 16);
	return !*end;
}

static bool read_id(const char *system, const char *name, uint64_t *ret_id)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

	for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
		auto_free char *text = NULL;
		char path[512];

		snprintf(path, sizeof(path), "%s/events/%s/%s/id", places[i], system, name);
		if (read_file(path, 32, &text, NULL) == 0) {
			*ret_id = strtoull(text, NULL, 10);
			return true;
		}
	}
	return false;
}

static bool find_tracepoint(const char *name, struct perf_event_source *source)
{
	const char *colon = strchr(name, ':');
	char system[64];

	if (!colon || colon == name || (size_t)(colon - name) >= sizeof(system) ||
	    strchr(name, '/') || strstr(name, ".."))
		return false;
	snprintf(system, sizeof(system), "%.*s", (int)(colon - name), name);
	source->type = PERF_TYPE_TRACEPOINT;
	return read_id(system, colon + 1, &source->config);
}

int perf_source_find(const char *name, struct perf_event_source *ret_source)
{
	struct perf_event_source source = {0};

	if (strlen(name) >= sizeof(source.name))
		return unknown_event(name);
	for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
		if (strcmp(known[i].name, name) != 0)
			continue;
		*ret_source = known[i];
		return 0;
	}
	if (!find_raw(name, &source) && !find_tracepoint(name, &source))
		return unknown_event(name);
	snprintf(source.name, sizeof(source.name), "%s", name);
	*ret_source = source;
	return 0;
}
