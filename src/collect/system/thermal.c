/* SPDX-License-Identifier: MIT
 *
 * collect/system/thermal.c - /sys/class/thermal: temperatures
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     thousandths of a degree Celsius, which may be negative
 * Gives:    levels
 * Owns:     a descriptor per zone
 * Fails:    a zone that is switched off cannot be read and has no row
 * Why once a second: drivers of some zones query the firmware, which takes milliseconds
 */
#include <stdio.h>
#include <unistd.h>

#include "collect/counter/sensors.h"
#include "collect/system/formats.h"
#include "collect/system/sources.h"

#define FOLDER "/sys/class/thermal"

static const struct metric metrics[] = {
	{"temperature", "mC",
	 "temperature of one thermal zone of the machine, which is named by its type"}};

uint64_t temperature_parse(const char *text, size_t length, uint64_t *values)
{
	struct scan rest = scan_of(text, length);
	int64_t value;

	if (!scan_i64(&rest, &value))
		return 0;
	values[0] = (uint64_t)value;
	return 1;
}

static void meet_zone(struct source_state *state, const struct tick *tick, const char *entry)
{
	int fd = tick_open(tick, "%s/%s/temp", FOLDER, entry);
	char type[32], name[SERIES_NAME_BYTES];

	if (fd < 0)
		return;
	/* Several zones may have one type. */
	sensor_text(tick, FOLDER, entry, "type", type, sizeof(type));
	snprintf(name, sizeof(name), "%s.%s", type, entry + strlen("thermal_zone"));
	sensors_add(state, fd, name, 0);
}

static bool open_zones(struct source_state *state, const struct tick *tick)
{
	return sensors_list(state, tick, FOLDER, "thermal_zone", meet_zone);
}

const struct source thermal_source = {
	.name = "thermal",
	.file = FOLDER,
	SOURCE_METRICS(metrics),
	.group = GROUP_SLOW,
	.max_instances = MAX_SENSORS,
	.own_bytes = sizeof(struct sensors),
	.open = open_zones,
	.read = sensors_read,
	.parse = temperature_parse,
	.close = sensors_close,
};
