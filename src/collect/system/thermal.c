/* SPDX-License-Identifier: MIT
 *
 * collect/system/thermal.c - /sys/class/thermal: temperatures
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     thousandths of a degree Celsius, which may be below 0   Gives: levels
 * Owns:     a descriptor for each zone
 * Fails:    a zone that is switched off cannot be read and has no row
 * Why slow: some zones ask the firmware, which takes milliseconds
 */
#include <stdio.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/sensors.h"

#define FOLDER "/sys/class/thermal"

static const struct metric metrics[] = {
	{"temperature", "mC", "temp: of a thermal zone, by its type"}};

uint64_t temperature_parse(const char *text, size_t length, uint64_t *values)
{
	struct scan rest = scan_of(text, length);
	int64_t value;

	if (!scan_i64(&rest, &value))
		return 0;
	values[0] = (uint64_t)value;
	return 1;
}

static void meet(struct source_state *state, const struct tick *tick, const char *entry)
{
	int fd = tick_open(tick, "%s/%s/temp", FOLDER, entry);
	char type[32], name[SERIES_NAME_BYTES];

	if (fd < 0)
		return;
	/* Several may be of one type. */
	sensor_text(tick, FOLDER, entry, "type", type, sizeof(type));
	snprintf(name, sizeof(name), "%s.%s", type, entry + strlen("thermal_zone"));
	sensors_add(state, fd, name, 0);
}

static bool open_zones(struct source_state *state, const struct tick *tick)
{
	sensors_list(state, tick, FOLDER, "thermal_zone", meet);
	return ((struct sensors *)state->own)->count != 0;
}

static void read_zones(struct source_state *state, struct tick *tick)
{
	const struct sensors *sensors = state->own;

	things_begin_round(&state->things);
	for (size_t i = 0; i < sensors->count; i++) {
		const struct sensor *sensor = &sensors->all[i];
		uint64_t values[METRICS_MOST] = {0}, valid;
		long length = tick_read(tick, sensor->fd);
		struct thing *thing;
		bool is_new;

		thing = things_named(&state->things, sensor->name, strlen(sensor->name), &is_new);
		valid = length > 0 ? temperature_parse(tick->text, (size_t)length, values) : 0;
		if (thing)
			thing_sample(&state->things, thing, tick->time_ns, values, valid);
	}
}

extern const struct source thermal_source;
const struct source thermal_source = {
	.name = "thermal",
	.file = FOLDER,
	SOURCE_METRICS(metrics),
	.group = GROUP_SLOW,
	.things_most = SENSORS_MOST,
	.own_bytes = sizeof(struct sensors),
	.open = open_zones,
	.read = read_zones,
	.close = sensors_close,
};
