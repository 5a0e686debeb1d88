/* SPDX-License-Identifier: MIT
 *
 * cli/doctor/system.c - check which counters of the collector system this machine has
 *
 * Runs in:  our own process
 * Gets:     the machine, or the tree below a root
 * Gives:    checks
 * Owns:     nothing
 * Fails:    never; a missing part is a result
 * Why:      each source is opened as in a recording, so a recording gets the same result
 */
#include <string.h>

#include "cli/doctor/doctor.h"
#include "collect/counter/source_group.h"
#include "collect/system/sources.h"

#define POWER_FIX "chmod a+r /sys/class/powercap/*/energy_uj"

/* A source that cannot be opened, and the reason that a recording would report. */
struct refusal {
	const struct source *source;
	const char *why;
};

struct examined {
	struct group group;
	struct refusal refused[8];
	size_t refused_count;
};

static void on_absent(void *context, const struct source *source, const char *why)
{
	struct examined *examined = context;

	if (examined->refused_count < sizeof(examined->refused) / sizeof(examined->refused[0]))
		examined->refused[examined->refused_count++] = (struct refusal){source, why};
}

static const char *why_refused(const struct examined *examined, const struct source *source)
{
	for (size_t i = 0; i < examined->refused_count; i++)
		if (examined->refused[i].source == source)
			return examined->refused[i].why;
	return NULL;
}

static bool is_open(const struct group *group, const struct source *source)
{
	for (size_t i = 0; i < group->count; i++)
		if (group->states[i].source == source)
			return true;
	return false;
}

/* A source without a file is not a failure, because many machines lack sensors. Only /proc/stat
 * must exist. */
static void add(struct doctor_collector *collector, const struct examined *examined,
		const struct source *source)
{
	const char *why = why_refused(examined, source);
	bool is_there = is_open(&examined->group, source);

	if (why)
		doctor_add(collector, source->name, false, false,
			   strcmp(source->name, "power") == 0 ? POWER_FIX : NULL, "%s", why);
	else if (is_there || strcmp(source->name, "cpu") != 0)
		doctor_add(collector, source->name, true, false, NULL, "%s%s",
			   is_there ? source->file : "this machine does not have ",
			   is_there ? "" : source->file);
	else
		doctor_add(collector, source->name, false, true, "mount -t proc proc /proc",
			   "%s cannot be read", source->file);
}

/* False for sources of processes, which exist only while a program is recorded. */
static bool is_of_machine(const struct source *source)
{
	static const char of_processes[] = "/proc/[pid]";

	return strncmp(source->file, of_processes, sizeof(of_processes) - 1) != 0;
}

static void examine(struct doctor_collector *collector, const char *root, enum group_id id)
{
	struct examined examined = {.refused_count = 0};
	const struct group_options options = {.id = id,
					      .name = "doctor",
					      .hz = 1,
					      .sources = &system_sources,
					      .root = root,
					      .on_absent = on_absent,
					      .context = &examined};

	if (group_open(&examined.group, &options))
		return;
	for (size_t i = 0; i < system_sources.count; i++) {
		const struct source *source = system_sources.all[i];

		if (source->group == id && is_of_machine(source))
			add(collector, &examined, source);
	}
	group_close(&examined.group);
}

void doctor_examine_system(struct doctor_collector *collector, const char *root)
{
	collector->name = "system";
	examine(collector, root, GROUP_MACHINE);
	examine(collector, root, GROUP_SLOW);
}
