/* SPDX-License-Identifier: MIT
 *
 * collect/system/cgroup.c - limits and use of control groups, version 1 and 2
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     files of the groups of the -p processes, or of the recorder's own group, in which the
 *           program starts
 * Gives:    bytes, ns, tasks, with their limits
 * Owns:     a descriptor per file
 * Fails:    values that a version or a group lacks are absent: the root group of version 2 has
 *           none. A 17th group is not read, which is noted.
 * Why:      Both versions are read, because a machine may have some controllers in one hierarchy
 *           and some in the other
 */
#include <stdio.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/counter/source.h"
#include "collect/system/formats.h"
#include "collect/system/sources.h"

enum { MEMORY, MAX_MEMORY, CPU, MAX_CPU, THROTTLED, TASKS, MAX_TASKS, SWAP };
static const struct metric metrics[] = {
	[MEMORY] = {"cgroup.memory", "bytes",
		    "memory of the control group (memory.current; v1: memory.usage_in_bytes)",
		    .limit = LIMIT_VALUE, .limit_value = MAX_MEMORY},
	[MAX_MEMORY] = {NULL},
	[CPU] = {"cgroup.cpu", "ns",
		 "CPU time of the control group, all CPUs added up (usage_usec in cpu.stat; v1: "
		 "cpuacct.usage)",
		 .kind = METRIC_TOTAL, .limit = LIMIT_VALUE, .limit_value = MAX_CPU},
	[MAX_CPU] = {NULL},
	[THROTTLED] = {"cgroup.cpu.throttled", "ns",
		       "time in which the control group was stopped, because its CPU quota was "
		       "used up (throttled_usec)",
		       .kind = METRIC_TOTAL},
	[TASKS] = {"cgroup.tasks", "tasks", "threads in the control group (pids.current)",
		   .limit = LIMIT_VALUE, .limit_value = MAX_TASKS},
	[MAX_TASKS] = {NULL},
	[SWAP] = {"cgroup.swap", "bytes",
		  "swap space that the control group uses (memory.swap.current)"},
};

enum { MAX_FILES = 12, MAX_GROUPS = 16, OWN_BYTES = 4096 };
struct file {
	int fd;
	uint8_t value;
	/* Parses a file into several values, or into one number. */
	uint64_t (*parse)(const char *text, size_t length, uint64_t *values);
	bool is_quota; /* cpu.max */
};

struct control_group {
	struct file files[MAX_FILES];
	size_t count;
	char name[SERIES_NAME_BYTES];
	char text[OWN_BYTES]; /* its identity: the text of /proc/PID/cgroup */
	bool is_own;          /* the recorder's own group */
};

struct own {
	struct control_group groups[MAX_GROUPS];
	size_t count;
};

bool cgroup_path(const char *text, size_t length, const char *controller, struct scan *ret_path)
{
	struct scan rest = scan_of(text, length), line;
	size_t wanted = strlen(controller);
	uint64_t number;

	while (scan_line(&rest, &line)) {
		const char *names, *colon;

		if (!scan_u64(&line, &number) || !scan_text(&line, ":"))
			continue;
		names = line.at;
		colon = memchr(names, ':', (size_t)(line.end - names));
		if (!colon)
			continue;
		for (const char *at = names; at <= colon;) {
			const char *end = at;

			while (end < colon && *end != ',')
				end++;
			if ((size_t)(end - at) == wanted && !memcmp(at, controller, wanted)) {
				*ret_path = (struct scan){colon + 1, line.end};
				return true;
			}
			at = end + 1;
		}
	}
	return false;
}

/* Converts from us; throttled_time of version 1 is in ns. */
uint64_t cpu_stat_parse(const char *text, size_t length, uint64_t *values)
{
	static const struct scan_field fields[] = {
		{"usage_usec", 1000}, {"throttled_usec", 1000}, {"throttled_time", 1}};
	uint64_t found[ARRAY_COUNT(fields)] = {0};
	uint64_t valid = scan_fields(text, length, fields, ARRAY_COUNT(fields), found), bits = 0;

	if (valid & 1) {
		values[CPU] = found[0];
		bits |= 1u << CPU;
	}
	if (valid & 6) {
		values[THROTTLED] = found[valid & 2 ? 1 : 2];
		bits |= 1u << THROTTLED;
	}
	return bits;
}

static bool per_second(uint64_t quota, uint64_t period, uint64_t *ret_ns)
{
	uint64_t product;

	if (!quota || !period || __builtin_mul_overflow(quota, (uint64_t)1000000000, &product))
		return false;
	*ret_ns = product / period;
	return true;
}

/* "max 100000" means no limit */
bool cpu_max_parse(const char *text, size_t length, uint64_t *ret_ns)
{
	struct scan rest = scan_of(text, length);
	uint64_t quota, period;

	return scan_u64(&rest, &quota) && scan_u64(&rest, &period) &&
	       per_second(quota, period, ret_ns);
}

/* ---- which files ----------------------------------------------------------------------------- */

static void add(struct control_group *group, int fd, const struct file *file)
{
	if (fd < 0)
		return;
	group->files[group->count] = *file;
	group->files[group->count++].fd = fd;
}

/* Opens a file of the group. In a container, the mounted root is its own group, but /proc has the
 * path as seen outside; both are tried. */
static int open_in(const struct control_group *group, const struct tick *tick, const char *mount,
		   const char *path, const char *name)
{
	int fd = tick_open(tick, "/sys/fs/cgroup%s%s/%s", mount, path, name);

	return fd < 0 && group->is_own ? tick_open(tick, "/sys/fs/cgroup%s/%s", mount, name) : fd;
}

static void add_all(struct control_group *group, const struct tick *tick, const char *mount,
		    const char *path, bool is_second)
{
	static const struct {
		bool is_second;
		const char *mount, *name; /* mount: the controller's, for version 1 */
		struct file file;
	} files[] = {
		{true, "", "memory.current", {.value = MEMORY, .parse = number_parse}},
		{true, "", "memory.max", {.value = MAX_MEMORY, .parse = number_parse}},
		{true, "", "memory.swap.current", {.value = SWAP, .parse = number_parse}},
		{true, "", "cpu.stat", {.parse = cpu_stat_parse}},
		{true, "", "cpu.max", {.value = MAX_CPU, .is_quota = true}},
		{true, "", "pids.current", {.value = TASKS, .parse = number_parse}},
		{true, "", "pids.max", {.value = MAX_TASKS, .parse = number_parse}},
		{false,
		 "/memory",
		 "memory.usage_in_bytes",
		 {.value = MEMORY, .parse = number_parse}},
		{false,
		 "/memory",
		 "memory.limit_in_bytes",
		 {.value = MAX_MEMORY, .parse = number_parse}},
		{false, "/cpuacct", "cpuacct.usage", {.value = CPU, .parse = number_parse}},
		{false, "/cpu", "cpu.stat", {.parse = cpu_stat_parse}},
		{false, "/pids", "pids.current", {.value = TASKS, .parse = number_parse}},
		{false, "/pids", "pids.max", {.value = MAX_TASKS, .parse = number_parse}},
	};

	for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
		if (files[i].is_second != is_second || group->count == MAX_FILES ||
		    (!is_second && strcmp(files[i].mount, mount) != 0))
			continue;
		add(group, open_in(group, tick, mount, path, files[i].name), &files[i].file);
	}
}

static void name_after(struct control_group *group, const char *path)
{
	size_t length = strlen(path), most = sizeof(group->name) - 1;

	/* A name that is too long keeps its end, which is more specific. */
	if (length > most)
		path += length - most;
	if (!group->name[0] && strcmp(path, "/") != 0)
		memcpy(group->name, path, strlen(path) + 1);
}

static void open_hierarchy(struct control_group *group, const struct tick *tick,
			   const char *controller)
{
	bool is_second = !*controller;
	char mount[32] = "", path[400];
	struct scan found;
	int fd;

	if (!cgroup_path(group->text, strlen(group->text), controller, &found) ||
	    (size_t)(found.end - found.at) >= sizeof(path))
		return;
	snprintf(path, sizeof(path), "%.*s", (int)(found.end - found.at), found.at);
	name_after(group, path);
	if (!is_second)
		snprintf(mount, sizeof(mount), "/%s", controller);
	/* If both versions are mounted, version 2 is in a folder beside the controllers of version
	 * 1. */
	fd = is_second ? tick_open(tick, "/sys/fs/cgroup/unified/cgroup.controllers") : -1;
	if (fd >= 0) {
		close(fd);
		snprintf(mount, sizeof(mount), "/unified");
	}
	add_all(group, tick, mount, strcmp(path, "/") == 0 ? "" : path, is_second);
}

/* Reads /proc/WHO/cgroup into group->text; who: "self" or a pid. */
static bool read_groups_of(struct control_group *group, const struct tick *tick, const char *who)
{
	int fd = tick_open(tick, "/proc/%s/cgroup", who);
	ssize_t length = fd < 0 ? -1 : read(fd, group->text, sizeof(group->text) - 1);

	if (fd >= 0)
		close(fd);
	group->text[length > 0 ? length : 0] = '\0';
	return length > 0;
}

static bool is_there(const struct own *own, const struct control_group *group)
{
	for (size_t i = 0; i < own->count; i++)
		if (strcmp(own->groups[i].text, group->text) == 0)
			return true;
	return false;
}

/* Opens the group of a process, once for all processes in it. */
static void open_group_of(struct source_state *state, const struct tick *tick, const char *who)
{
	static const char *const controllers[] = {"", "memory", "cpuacct", "cpu", "pids"};
	struct own *own = state->own;
	struct control_group group = {.count = 0}, ours = {.count = 0};

	if (!read_groups_of(&group, tick, who) || is_there(own, &group))
		return;
	if (own->count == MAX_GROUPS) {
		state->why =
			"the processes are in more than 16 control groups; the others are absent";
		return;
	}
	group.is_own = read_groups_of(&ours, tick, "self") && strcmp(ours.text, group.text) == 0;
	for (size_t i = 0; i < ARRAY_COUNT(controllers); i++)
		open_hierarchy(&group, tick, controllers[i]);
	if (group.count)
		own->groups[own->count++] = group;
}

static bool open_groups(struct source_state *state, const struct tick *tick)
{
	char who[16];

	for (size_t i = 0; i < tick->pids_count; i++) {
		snprintf(who, sizeof(who), "%d", tick->pids[i]);
		open_group_of(state, tick, who);
	}
	if (!tick->pids_count)
		open_group_of(state, tick, "self");
	return ((struct own *)state->own)->count != 0;
}

static void close_groups(struct source_state *state)
{
	const struct own *own = state->own;

	for (size_t i = 0; i < own->count; i++)
		for (size_t k = 0; k < own->groups[i].count; k++)
			close(own->groups[i].files[k].fd);
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t read_file_of(const struct file *file, struct tick *tick, uint64_t *values)
{
	long length = tick_read(tick, file->fd);
	uint64_t number;

	if (length <= 0)
		return 0;
	if (file->is_quota)
		return cpu_max_parse(tick->text, (size_t)length, &values[file->value])
			       ? 1u << file->value
			       : 0;
	if (file->parse != number_parse)
		return file->parse(tick->text, (size_t)length, values);
	/* Version 1 writes 2^63 minus a page for no limit. */
	if (!number_parse(tick->text, (size_t)length, &number) || number > INT64_MAX / 2)
		return 0;
	values[file->value] = number;
	return 1u << file->value;
}

static void read_group(struct source_state *state, struct tick *tick, size_t index)
{
	const struct control_group *group = &((struct own *)state->own)->groups[index];
	uint64_t values[MAX_METRICS] = {0}, valid = 0;
	struct metric_instance *instance;
	bool is_new;

	for (size_t i = 0; i < group->count; i++)
		valid |= read_file_of(&group->files[i], tick, values);
	instance = metric_instances_numbered(&state->instances, index, &is_new);
	if (!instance)
		return;
	memcpy(instance->of.instance, group->name, sizeof(group->name));
	metric_instance_sample(&state->instances, instance, tick->time_ns, values, valid);
}

static void read_groups(struct source_state *state, struct tick *tick)
{
	const struct own *own = state->own;

	metric_instances_begin_round(&state->instances);
	for (size_t i = 0; i < own->count; i++)
		read_group(state, tick, i);
}

const struct source cgroup_source = {
	.name = "cgroup",
	.file = "/sys/fs/cgroup",
	SOURCE_METRICS(metrics),
	.group = GROUP_SLOW,
	.max_instances = MAX_GROUPS,
	.own_bytes = sizeof(struct own),
	.open = open_groups,
	.read = read_groups,
	.close = close_groups,
};
