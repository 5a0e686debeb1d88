/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_names.c - translates the name of a perf event (option -e)
 *
 * Runs in:  the recorder
 * Gets:     a name as perf(1) writes it: "cycles", "r1a8", "sched:sched_switch"
 * Gives:    type and config for perf_event_open(2)
 * Owns:     nothing
 * Fails:    -ENOENT for an unknown name, with a message that lists the names, or if tracefs is not
 *           mounted; -errno if the id file of a tracepoint cannot be read
 */
#include "collect/cpu/perf_names.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A raw event: r and hexadecimal digits. */
static bool find_raw(const char *name, struct perf_event_source *source)
{
	char *end;

	if (name[0] != 'r' || !name[1] || name[1] == '-')
		return false;
	source->type = PERF_TYPE_RAW;
	source->config = strtoull(name + 1, &end, 16);
	return !*end;
}

/* "sched:sched_switch". A name with "/" or ".." is refused, because it could lead out of
 * tracefs. */
static bool is_tracepoint(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon && colon != name && colon[1] && !strchr(name, '/') && !strstr(name, "..");
}

/* The number of a tracepoint changes with each boot; a file in tracefs contains it. */
static int read_id(const char *tracefs, const char *name, uint64_t *ret_id)
{
	auto_free char *text = NULL;
	char path[512];
	int error;

	snprintf(path, sizeof(path), "%s/events/%.*s/%s/id", tracefs, (int)strcspn(name, ":"), name,
		 strchr(name, ':') + 1);
	error = read_file(path, 32, &text, NULL);
	if (!error)
		*ret_id = strtoull(text, NULL, 10);
	return error;
}

/* -ENODEV: tracefs is not mounted there. */
static int look_into(const char *tracefs, const char *name, uint64_t *ret_id)
{
	char events[512];
	int error = read_id(tracefs, name, ret_id);

	snprintf(events, sizeof(events), "%s/events", tracefs);
	return error == -ENOENT && access(events, F_OK) < 0 && errno == ENOENT ? -ENODEV : error;
}

static int find_tracepoint(const char *const *places, size_t count, const char *name,
			   uint64_t *ret_id)
{
	int error = -ENODEV;

	for (size_t i = 0; i < count && error == -ENODEV; i++)
		error = look_into(places[i], name, ret_id);
	if (error == -ENODEV)
		return error_set(
			-ENOENT,
			"event '%s' is a tracepoint, but tracefs, which contains its id, is "
			"not mounted: sudo mount -t tracefs tracefs /sys/kernel/tracing",
			name);
	if (error == -ENOENT)
		return error_set(error, "no tracepoint '%s' (sudo ls /sys/kernel/tracing/events)",
				 name);
	if (error)
		return error_set(error,
				 "event '%s' is a tracepoint, and its id file in tracefs cannot be "
				 "read (%s): run duet as root, or choose another event",
				 name, strerror(-error));
	return 0;
}

static int find_named(const char *name, struct perf_event_source *source)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

	if (find_raw(name, source))
		return 0;
	if (!is_tracepoint(name))
		return unknown_event(name);
	source->type = PERF_TYPE_TRACEPOINT;
	return find_tracepoint(places, ARRAY_COUNT(places), name, &source->config);
}

int perf_source_find(const char *name, struct perf_event_source *ret_source)
{
	struct perf_event_source source = {0};
	int error;

	if (strlen(name) >= sizeof(source.name))
		return unknown_event(name);
	for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
		if (strcmp(known[i].name, name) != 0)
			continue;
		*ret_source = known[i];
		return 0;
	}
	error = find_named(name, &source);
	if (error)
		return error;
	snprintf(source.name, sizeof(source.name), "%s", name);
	*ret_source = source;
	return 0;
}
