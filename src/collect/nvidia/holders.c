/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/holders.c - finds processes that may hold a GPU's hardware counters
 *
 * Runs in:  the recorder, once; duet doctor
 * Gets:     /proc
 * Gives:    processes
 * Owns:     nothing
 * Fails:    never; a process that may not be inspected is recognized by its name only
 * Why:      Hardware counters have one user at a time, and CUPTI returns "hardware busy" to the
 *           next one without naming the holder. Any number of processes can read NVML's metrics at
 *           once, so these have no holder.
 */
#include "collect/nvidia/holders.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

enum { MAX_MAPS = 1024, MAPS_BYTES = 8 << 20 };

static const struct {
	const char *name;
	const char *what;
} known[] = {
	{"nv-hostengine", "DCGM's service; its profiling metrics take the counters up to Ampere, "
			  "and use GPM since Hopper (dcgmi profile --pause)"},
	{"dcgm-exporter", "DCGM's exporter, as nv-hostengine"},
	{"nsys", "Nsight Systems"},
	{"nsys-launcher", "Nsight Systems"},
	{"ncu", "Nsight Compute, which holds all counters of a GPU while it profiles"},
	{"nvprof", "nvprof"},
};

static const struct {
	const char *file_name;
	const char *what;
} libraries[] = {
	{"/libcupti.so", "has CUPTI loaded: it may trace, or hold counters"},
	{"/libnvperf_host", "has CUPTI's metrics loaded: it may hold counters"},
};

static const char *read_process(const char *root, const char *pid, const char *file, size_t most,
				char **ret_text)
{
	char path[512];

	*ret_text = NULL;
	if (snprintf(path, sizeof(path), "%s/proc/%s/%s", root, pid, file) >= (int)sizeof(path))
		return "";
	if (read_file(path, most, ret_text, NULL))
		error_clear();
	return *ret_text ? *ret_text : "";
}

static const char *known_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(known); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].what;
	return NULL;
}

static const char *known_by_maps(const char *root, const char *pid)
{
	auto_free char *text = NULL;
	const char *maps = read_process(root, pid, "maps", MAPS_BYTES, &text);

	for (size_t i = 0; i < ARRAY_COUNT(libraries); i++)
		if (strstr(maps, libraries[i].file_name))
			return libraries[i].what;
	return NULL;
}

static bool look_at_process(const char *root, const char *pid, size_t *inout_maps,
			    struct holder *ret_holder)
{
	auto_free char *text = NULL;
	const char *name = read_process(root, pid, "comm", 64, &text);
	struct holder holder = {.pid = (uint32_t)strtoul(pid, NULL, 10)};

	snprintf(holder.name, sizeof(holder.name), "%.*s", (int)strcspn(name, "\n"), name);
	holder.what = known_by_name(holder.name);
	if (!holder.what && *inout_maps) {
		--*inout_maps;
		holder.what = known_by_maps(root, pid);
	}
	*ret_holder = holder;
	return holder.what != NULL;
}

size_t holders_find(const char *root, bool look_at_maps, struct holder holders[MAX_HOLDERS])
{
	size_t count = 0, maps = look_at_maps ? MAX_MAPS : 0;
	char path[512];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/proc", root);
	folder = opendir(path);
	while (folder && count < MAX_HOLDERS && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			count += look_at_process(root, entry->d_name, &maps, &holders[count]);
	if (folder)
		closedir(folder);
	return count;
}

void holders_format(const struct holder *holders, size_t count, char *ret_text, size_t size)
{
	size_t used = 0;

	*ret_text = '\0';
	for (size_t i = 0; i < count && used < size; i++)
		used += (size_t)snprintf(ret_text + used, size - used, "%s%s (%u): %s",
					 i ? "; " : "", holders[i].name, holders[i].pid,
					 holders[i].what);
}
