/* SPDX-License-Identifier: MIT
 *
 * collect/system/cpufreq.c - /sys/devices/system/cpu/cpuN/cpufreq: how fast processors run
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     kHz   Gives: levels in Hz
 * Owns:     a descriptor for each processor
 * Fails:    virtual machines have none of it
 * Why slow: some drivers wake the processor to ask it
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/sensors.h"

#define FOLDER "/sys/devices/system/cpu"

enum { FREQUENCY, MOST };
static const struct metric metrics[] = {
	[FREQUENCY] = {"cpu.frequency", "Hz", "scaling_cur_freq; the limit is cpuinfo_max_freq",
		       .limit = LIMIT_VALUE, .limit_value = MOST},
	[MOST] = {NULL},
};

static void meet(struct source_state *state, const struct tick *tick, const char *entry)
{
	int fd = tick_open(tick, "%s/%s/cpufreq/scaling_cur_freq", FOLDER, entry);

	/* "cpufreq" and "cpuidle" are no processors: they have no such file. */
	if (fd >= 0)
		sensors_add(state, fd, entry,
			    sensor_number(tick, FOLDER, entry, "cpufreq/cpuinfo_max_freq"));
}

static bool open_processors(struct source_state *state, const struct tick *tick)
{
	sensors_list(state, tick, FOLDER, "cpu", meet);
	return ((struct sensors *)state->own)->count != 0;
}

static void read_processors(struct source_state *state, struct tick *tick)
{
	const struct sensors *sensors = state->own;

	things_begin_round(&state->things);
	for (size_t i = 0; i < sensors->count; i++) {
		const struct sensor *sensor = &sensors->all[i];
		uint64_t values[METRICS_MOST] = {[MOST] = sensor->number * 1000}, valid, khz;
		long length = tick_read(tick, sensor->fd);
		uint64_t cpu = strtoul(sensor->name + strlen("cpu"), NULL, 10);
		struct thing *thing;
		bool is_new;

		valid = length > 0 ? number_parse(tick->text, (size_t)length, &khz) : 0;
		if (valid && __builtin_mul_overflow(khz, (uint64_t)1000, &values[FREQUENCY]))
			valid = 0;
		thing = things_numbered(&state->things, cpu + 1, &is_new);
		if (!thing)
			continue;
		thing->of.cpu = (uint32_t)cpu + 1;
		thing_sample(&state->things, thing, tick->time_ns, values, valid | 1u << MOST);
	}
}

extern const struct source cpufreq_source;
const struct source cpufreq_source = {
	.name = "frequency",
	.file = FOLDER "/cpu*/cpufreq",
	SOURCE_METRICS(metrics),
	.group = GROUP_SLOW,
	.things_most = SENSORS_MOST,
	.own_bytes = sizeof(struct sensors),
	.open = open_processors,
	.read = read_processors,
	.close = sensors_close,
};
