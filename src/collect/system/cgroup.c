/* SPDX-License-Identifier: MIT
 *
 * collect/system/cgroup.c - control groups, version 1 and 2: what the program's container may use, and does
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     files of the groups of the processes of -p, or of the recorder's own, in which the program begins
 * Gives:    bytes, ns, tasks, with their limits
 * Owns:     a descriptor for each file
 * Fails:    what a version or a group does not have is absent: the root group of version 2 has nothing; the 17th group is
 *           noted
 * Why both versions: a machine may have some controllers in the one and some in the other hierarchy
 */
#include <stdio.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/source.h"

enum { MEMORY, MEMORY_MOST, CPU, CPU_MOST, THROTTLED, TASKS, TASKS_MOST, SWAP };
static const struct metric metrics[] = {
	[MEMORY] = {"cgroup.memory", "bytes", "memory.current (v1: memory.usage_in_bytes)",
		    .limit = LIMIT_VALUE, .limit_value = MEMORY_MOST},
	[MEMORY_MOST] = {NULL},
	[CPU] = {"cgroup.cpu", "ns", "cpu.stat usage_usec (v1: cpuacct.usage)",
		 .kind = METRIC_TOTAL, .limit = LIMIT_VALUE, .limit_value = CPU_MOST},
	[CPU_MOST] = {NULL},
	[THROTTLED] = {"cgroup.cpu.throttled", "ns",
		       "cpu.stat throttled_usec (v1: throttled_time): above the limit, and stopped",
		       .kind = METRIC_TOTAL},
	[TASKS] = {"cgroup.tasks", "tasks", "pids.current", .limit = LIMIT_VALUE,
		   .limit_value = TASKS_MOST},
	[TASKS_MOST] = {NULL},
	[SWAP] = {"cgroup.swap", "bytes", "memory.swap.current"},
};

enum { FILES_MOST = 12, GROUPS_MOST = 16, OWN_BYTES = 4096 };
struct file {
	int fd;
	uint8_t value;
	/* All that a file may say at once, or one number for its value. */
	uint64_t (*parse)(const char *text, size_t length, uint64_t *values);
	bool is_quota; /* cpu.max */
};

struct control_group {
	struct file files[FILES_MOST];
	size_t count;
	char name[SERIES_NAME_BYTES];
	char text[OWN_BYTES]; /* /proc/PID/cgroup, by which it is told from others */
	bool is_own;          /* the recorder's */
};

struct own {
	struct control_group groups[GROUPS_MOST];
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

/* In us; v1 says throttled_time in ns. */
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

/* "max 100000": no limit */
bool cpu_max_parse(const char *text, size_t length, uint64_t *ret_ns)
{
	struct scan rest = scan_of(text, length);
	uint64_t quota, period;

	return scan_u64(&rest, &quota) && scan_u64(&rest, &period) &&
	       per_second(quota, period, ret_ns);
}

/* ---- which files ------------------------------------------------------------------------------- */

static void add(struct control_group *group, int fd, const struct file *file)
{
	if (fd < 0)
		return;
	group->files[group->count] = *file;
	group->files[group->count++].fd = fd;
}

/* A container sees its own group as the root of what is mounted, and the path outside of it in /proc. */
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
		const char *mount, *name; /* mount: of the controller, version 1 */
		struct file file;
	} files[] = {
		{true, "", "memory.current", {.value = MEMORY, .parse = number_parse}},
		{true, "", "memory.max", {.value = MEMORY_MOST, .parse = number_parse}},
		{true, "", "memory.swap.current", {.value = SWAP, .parse = number_parse}},
		{true, "", "cpu.stat", {.parse = cpu_stat_parse}},
		{true, "", "cpu.max", {.value = CPU_MOST, .is_quota = true}},
		{true, "", "pids.current", {.value = TASKS, .parse = number_parse}},
		{true, "", "pids.max", {.value = TASKS_MOST, .parse = number_parse}},
		{false,
		 "/memory",
		 "memory.usage_in_bytes",
		 {.value = MEMORY, .parse = number_parse}},
		{false,
		 "/memory",
		 "memory.limit_in_bytes",
		 {.value = MEMORY_MOST, .parse = number_parse}},
		{false, "/cpuacct", "cpuacct.usage", {.value = CPU, .parse = number_parse}},
		{false, "/cpu", "cpu.stat", {.parse = cpu_stat_parse}},
		{false, "/pids", "pids.current", {.value = TASKS, .parse = number_parse}},
		{false, "/pids", "pids.max", {.value = TASKS_MOST, .parse = number_parse}},
	};

	for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
		if (files[i].is_second != is_second || group->count == FILES_MOST ||
		    (!is_second && strcmp(files[i].mount, mount) != 0))
			continue;
		add(group, open_in(group, tick, mount, path, files[i].name), &files[i].file);
	}
}

static void name_after(struct control_group *group, const char *path)
{
	size_t length = strlen(path), most = sizeof(group->name) - 1;

	/* Of a long one its end tells more. */
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
	/* Where both versions are, the second is mounted beside the controllers of the first. */
	fd = is_second ? tick_open(tick, "/sys/fs/cgroup/unified/cgroup.controllers") : -1;
	if (fd >= 0) {
		close(fd);
		snprintf(mount, sizeof(mount), "/unified");
	}
	add_all(group, tick, mount, strcmp(path, "/") == 0 ? "" : path, is_second);
}

/* Into group->text. Of whom, "self" or a pid. */
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

/* Of two processes in one group it is opened once. */
static void open_group_of(struct source_state *state, const struct tick *tick, const char *who)
{
	static const char *const controllers[] = {"", "memory", "cpuacct", "cpu", "pids"};
	struct own *own = state->own;
	struct control_group group = {.count = 0}, ours = {.count = 0};

	if (!read_groups_of(&group, tick, who) || is_there(own, &group))
		return;
	if (own->count == GROUPS_MOST) {
		state->why = "the processes are in more than 16 control groups: what the others "
			     "used is absent";
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

/* ---- reading ----------------------------------------------------------------------------------- */

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
	/* 2^63 less a page is how version 1 says that there is no limit. */
	if (!number_parse(tick->text, (size_t)length, &number) || number > INT64_MAX / 2)
		return 0;
	values[file->value] = number;
	return 1u << file->value;
}

static void read_group(struct source_state *state, struct tick *tick, size_t index)
{
	const struct control_group *group = &((struct own *)state->own)->groups[index];
	uint64_t values[METRICS_MOST] = {0}, valid = 0;
	struct thing *thing;
	bool is_new;

	for (size_t i = 0; i < group->count; i++)
		valid |= read_file_of(&group->files[i], tick, values);
	thing = things_numbered(&state->things, index, &is_new);
	if (!thing)
		return;
	memcpy(thing->of.instance, group->name, sizeof(group->name));
	thing_sample(&state->things, thing, tick->time_ns, values, valid);
}

static void read_groups(struct source_state *state, struct tick *tick)
{
	const struct own *own = state->own;

	things_begin_round(&state->things);
	for (size_t i = 0; i < own->count; i++)
		read_group(state, tick, i);
}

extern const struct source cgroup_source;
const struct source cgroup_source = {
	.name = "cgroup",
	.file = "/sys/fs/cgroup",
	SOURCE_METRICS(metrics),
	.group = GROUP_SLOW,
	.things_most = GROUPS_MOST,
	.own_bytes = sizeof(struct own),
	.open = open_groups,
	.read = read_groups,
	.close = close_groups,
};
