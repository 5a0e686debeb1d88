/* SPDX-License-Identifier: MIT
 *
 * collect/drm/sensors.c - a GPU's load, temperature, clocks and power, from its DRM driver's files
 * in /sys
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     files with one number each, named in a table
 * Gives:    rows of the metrics of GPUs
 * Owns:     a descriptor per file, and one per card for its power state
 * Fails:    a missing file means no such sensor; a value that cannot be read is absent
 * Why:      runtime_status is read first, because reading a sleeping GPU's temperature would wake
 *           it. A sleeping GPU has no values.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/counter/scan.h"
#include "collect/counter/sensors.h"
#include "collect/drm/cards.h"
#include "collect/drm/formats.h"

enum {
	BUSY,
	MEMORY_BUSY,
	THROTTLED,
	USED,
	CLOCK,
	POWER,
	POWER_AVERAGE,
	ENERGY,
	TEMPERATURE,
	ASLEEP,
	TIME,
	MOST
};
enum { MAX_DRM_SENSORS = 512 };

#define SHARE(name, help)                                              \
	{                                                              \
		name, "ns", help, NULL, METRIC_PART, TIME, LIMIT_WHOLE \
	}
#define LIMITED .limit = LIMIT_VALUE, .limit_value = MOST
static const struct metric metrics[] = {
	[BUSY] = SHARE("gpu.busy",
		       "share of the time in which the GPU was busy, as the driver samples it"),
	[MEMORY_BUSY] = SHARE("gpu.memory.busy", "share of the time in which device memory was "
						 "read or written, as the driver samples it"),
	[THROTTLED] = SHARE("gpu.throttled", "share of the readings at which one reason, such as "
					     "heat, kept the GPU's clocks low"),
	[USED] = {"gpu.memory.used", "bytes",
		  "GPU memory in use by all processes, for one kind of memory, such as vram",
		  LIMITED},
	[CLOCK] = {"gpu.clock", "Hz", "clock frequency of one part of the GPU when it was read",
		   LIMITED},
	[POWER] = {"gpu.power", "mW", "power that one sensor of the GPU measured when it was read",
		   LIMITED},
	[POWER_AVERAGE] =
		{"gpu.power.average", "mW",
		 "mean power at one sensor of the GPU, over an interval that the driver chooses",
		 LIMITED},
	[ENERGY] = {"gpu.energy", "uJ", "energy that the GPU used, by one of its sensors",
		    .kind = METRIC_TOTAL},
	[TEMPERATURE] = {"gpu.temperature", "mC", "temperature at one sensor of the GPU"},
	[ASLEEP] = {"gpu.asleep", "ns",
		    "time in which a GT, a part of the GPU with several engines, was powered down "
		    "(RC6, C6)",
		    NULL, METRIC_TOTAL, .limit = LIMIT_SECOND},
	[TIME] = {NULL},
	[MOST] = {NULL},
};

enum form { NUMBER, STARRED };

enum instance {
	PLAIN,  /* the name in the table */
	LABEL,  /* the text of the file's _label */
	GT,     /* "gt0", from its path */
	REASON, /* "gt0" and the text behind "reason_" */
};

/* A sensor's file below the card's folder. Drivers do not rename their files. */
static const struct kind {
	const char *driver; /* NULL: all drivers */
	const char *pattern;
	uint8_t metric, form, instance;
	const char *name; /* for PLAIN; NULL: no name */
	/* Name of a file beside it, in the same unit, with the limit; NULL: none. */
	const char *limit;
	uint32_t multiply, divide;
} kinds[] = {
	{"amdgpu", "device/gpu_busy_percent", BUSY, .multiply = 1},
	{"amdgpu", "device/mem_busy_percent", MEMORY_BUSY, .multiply = 1},
	{"amdgpu", "device/mem_info_vram_used", USED, .name = "vram",
	 .limit = "mem_info_vram_total", .multiply = 1},
	{"amdgpu", "device/mem_info_vis_vram_used", USED, .name = "visible vram",
	 .limit = "mem_info_vis_vram_total", .multiply = 1},
	{"amdgpu", "device/mem_info_gtt_used", USED, .name = "gtt", .limit = "mem_info_gtt_total",
	 .multiply = 1},
	{"amdgpu", "device/pp_dpm_sclk", CLOCK, STARRED, .name = "sclk level", .multiply = 1000000},
	{"amdgpu", "device/pp_dpm_mclk", CLOCK, STARRED, .name = "mclk level", .multiply = 1000000},
	{"amdgpu", "device/pp_dpm_fclk", CLOCK, STARRED, .name = "fclk level", .multiply = 1000000},
	{NULL, "device/hwmon/hwmon*/power1_average", POWER_AVERAGE, .instance = LABEL,
	 .limit = "power1_cap", .multiply = 1, .divide = 1000},
	{NULL, "device/hwmon/hwmon*/power1_input", POWER, .instance = LABEL, .limit = "power1_cap",
	 .multiply = 1, .divide = 1000},
	{NULL, "device/hwmon/hwmon*/energy*_input", ENERGY, .instance = LABEL, .multiply = 1},
	{NULL, "device/hwmon/hwmon*/temp*_input", TEMPERATURE, .instance = LABEL, .multiply = 1},
	{NULL, "device/hwmon/hwmon*/freq*_input", CLOCK, .instance = LABEL, .multiply = 1},
	{"i915", "gt/gt*/rps_act_freq_mhz", CLOCK, .instance = GT, .limit = "rps_RP0_freq_mhz",
	 .multiply = 1000000},
	{"i915", "gt/gt*/rc6_residency_ms", ASLEEP, .instance = GT, .multiply = 1000000},
	{"i915", "gt/gt*/throttle_reason_*", THROTTLED, .instance = REASON, .multiply = 100},
	{"xe", "device/tile*/gt*/freq0/act_freq", CLOCK, .instance = GT, .limit = "rp0_freq",
	 .multiply = 1000000},
	{"xe", "device/tile*/gt*/gtidle/idle_residency_ms", ASLEEP, .instance = GT,
	 .multiply = 1000000},
	{"xe", "device/tile*/gt*/freq0/throttle/reason_*", THROTTLED, .instance = REASON,
	 .multiply = 100},
};

struct drm_sensor {
	const struct kind *kind;
	int fd;      /* owned */
	size_t card; /* index of its card */
	char instance[SERIES_NAME_BYTES];
	uint64_t most; /* limit; 0: unknown */
	uint64_t part_ns, of_ns, until_ns;
};

struct own {
	struct drm_sensor all[MAX_DRM_SENSORS];
	size_t count;
	int power_state[MAX_CARDS]; /* owned; -1: not reported */
	bool is_asleep[MAX_CARDS];
};

static bool is_share(const struct drm_sensor *sensor)
{
	return metrics[sensor->kind->metric].kind == METRIC_PART;
}

/* Parses a value into the metric's unit; shares in percent. */
static bool parse(const struct kind *kind, const char *text, size_t length, uint64_t *ret_value)
{
	bool has_number = kind->form == STARRED ? dpm_parse(text, length, ret_value)
						: number_parse(text, length, ret_value) != 0;

	if (!has_number || __builtin_mul_overflow(*ret_value, (uint64_t)kind->multiply, ret_value))
		return false;
	*ret_value /= kind->divide ? kind->divide : 1;
	return true;
}

/* ---- which there are ------------------------------------------------------------------------- */

/* Reads a file in the same folder. */
static ssize_t read_beside(const char *path, const char *file, char *text, size_t size)
{
	const char *slash = strrchr(path, '/');
	char other[1024];
	ssize_t got = -1;
	int fd;

	text[0] = '\0';
	snprintf(other, sizeof(other), "%.*s/%s", (int)(slash - path), path, file);
	fd = open(other, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = read(fd, text, size - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return got;
}

/* Names "temp1_input" by temp1_label ("edge"), otherwise "temp1". */
static void name_by_label(const char *path, char *name, size_t size)
{
	const char *file = strrchr(path, '/') + 1;
	int stem = (int)strcspn(file, "_");
	char label[64];

	snprintf(label, sizeof(label), "%.*s_label", stem, file);
	if (read_beside(path, label, name, size) <= 0)
		snprintf(name, size, "%.*s", stem, file);
}

/* Returns the number N of gtN in the path. Two tiles have separate numbers. */
static int name_by_gt(const char *path, char *name, size_t size)
{
	const char *gt = strstr(path, "/gt");

	while (gt && (gt[3] < '0' || gt[3] > '9'))
		gt = strstr(gt + 1, "/gt");
	return gt ? snprintf(name, size, "%.*s", (int)strcspn(gt + 1, "/"), gt + 1)
		  : snprintf(name, size, "gt");
}

static void name_sensor(const struct kind *kind, const char *path, char *name, size_t size)
{
	const char *reason = strstr(path, "reason_");
	int used;

	name[0] = '\0';
	if (kind->instance == LABEL) {
		name_by_label(path, name, size);
	} else if (kind->instance == GT || kind->instance == REASON) {
		used = name_by_gt(path, name, size);
		if (kind->instance == REASON && reason)
			snprintf(name + used, size - (size_t)used, " %s",
				 reason + strlen("reason_"));
	} else if (kind->name) {
		snprintf(name, size, "%s", kind->name);
	}
}

static uint64_t most_of(const struct kind *kind, const char *path)
{
	char text[64];
	uint64_t most = 0;
	ssize_t got = kind->limit ? read_beside(path, kind->limit, text, sizeof(text)) : -1;

	return got > 0 && parse(kind, text, (size_t)got, &most) ? most : 0;
}

static void add_sensor(struct source_state *state, const struct tick *tick, const struct kind *kind,
		       size_t card, const char *path)
{
	struct own *own = state->own;
	struct drm_sensor *sensor = &own->all[own->count];
	int fd;

	if (own->count == MAX_DRM_SENSORS) {
		state->why = "values of some GPU sensors are missing: at most 512 sensors are read";
		return;
	}
	fd = tick_open(tick, "%s", path + strlen(tick->root));
	if (fd < 0) {
		if (errno == EACCES)
			state->why = "values of some GPU sensors are missing: only root may read "
				     "their files in /sys; record as root";
		return;
	}
	*sensor = (struct drm_sensor){
		.kind = kind, .fd = fd, .card = card, .most = most_of(kind, path)};
	name_sensor(kind, path, sensor->instance, sizeof(sensor->instance));
	own->count++;
}

static void find_sensors(struct source_state *state, const struct tick *tick, size_t card,
			 const struct kind *kind)
{
	const struct cards *cards = tick->context;
	char pattern[512];
	glob_t found = {0};

	if (!cards->all[card].id ||
	    (kind->driver && strcmp(kind->driver, cards->all[card].driver) != 0))
		return;
	snprintf(pattern, sizeof(pattern), "%s/sys/class/drm/%s/%s", tick->root,
		 cards->all[card].name, kind->pattern);
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			add_sensor(state, tick, kind, card, found.gl_pathv[i]);
	globfree(&found);
}

static void close_sensors(struct source_state *state)
{
	struct own *own = state->own;

	for (size_t i = 0; i < own->count; i++)
		close(own->all[i].fd);
	for (size_t i = 0; i < MAX_CARDS; i++)
		if (own->power_state[i] > 0)
			close(own->power_state[i]);
}

static bool open_sensors(struct source_state *state, const struct tick *tick)
{
	const struct cards *cards = tick->context;
	struct own *own = state->own;

	for (size_t i = 0; i < cards->count; i++) {
		own->power_state[i] = tick_open(
			tick, "/sys/class/drm/%s/device/power/runtime_status", cards->all[i].name);
		for (size_t j = 0; j < ARRAY_COUNT(kinds); j++)
			find_sensors(state, tick, i, &kinds[j]);
	}
	if (!own->count)
		close_sensors(state);
	return own->count != 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_asleep(struct tick *tick, int fd)
{
	long length = fd < 0 ? -1 : tick_read(tick, fd);
	struct scan text = scan_of(tick->text, length > 0 ? (size_t)length : 0);

	return scan_text(&text, "suspend");
}

static uint64_t take_value(struct drm_sensor *sensor, uint64_t now_ns, uint64_t value,
			   uint64_t *values)
{
	uint64_t took_ns = now_ns - sensor->until_ns, percent = value < 100 ? value : 100;

	if (!is_share(sensor)) {
		values[sensor->kind->metric] = value;
		values[MOST] = sensor->most;
		return 1u << sensor->kind->metric | (uint64_t)(sensor->most != 0) << MOST;
	}
	if (sensor->until_ns) {
		sensor->part_ns += took_ns * percent / 100;
		sensor->of_ns += took_ns;
	}
	sensor->until_ns = now_ns;
	values[sensor->kind->metric] = sensor->part_ns;
	values[TIME] = sensor->of_ns;
	return 1u << sensor->kind->metric | 1u << TIME;
}

static void read_sensor(struct source_state *state, struct tick *tick, size_t index)
{
	struct own *own = state->own;
	struct drm_sensor *sensor = &own->all[index];
	const struct cards *cards = tick->context;
	uint64_t values[MAX_METRICS] = {0}, value, valid = 0;
	long length = own->is_asleep[sensor->card] ? -1 : tick_read(tick, sensor->fd);
	struct metric_instance *instance;
	bool is_new;

	instance = metric_instances_numbered(&state->instances, index, &is_new);
	if (!instance)
		return;
	if (length > 0 && parse(sensor->kind, tick->text, (size_t)length, &value))
		valid = take_value(sensor, tick->time_ns, value, values);
	else
		sensor->until_ns = 0;
	instance->of.device = cards->all[sensor->card].id;
	memcpy(instance->of.instance, sensor->instance, sizeof(instance->of.instance));
	metric_instance_sample(&state->instances, instance, tick->time_ns, values, valid);
}

static void read_sensors(struct source_state *state, struct tick *tick)
{
	const struct cards *cards = tick->context;
	struct own *own = state->own;

	for (size_t i = 0; i < cards->count; i++)
		own->is_asleep[i] = is_asleep(tick, own->power_state[i]);
	metric_instances_begin_round(&state->instances);
	for (size_t i = 0; i < own->count; i++)
		read_sensor(state, tick, i);
	metric_instances_end_round(&state->instances, tick->time_ns);
}

const struct source drm_sensor_source = {
	.name = "sensors",
	.file = "/sys/class/drm",
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.max_hz = 20,
	.max_instances = MAX_DRM_SENSORS,
	.own_bytes = sizeof(struct own),
	.open = open_sensors,
	.read = read_sensors,
	.close = close_sensors,
};
