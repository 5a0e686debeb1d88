/* SPDX-License-Identifier: MIT
 *
 * collect/system/cpufreq.c - /sys/devices/system/cpu/cpuN/cpufreq: frequency of processors
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     kHz
 * Gives:    levels in Hz
 * Owns:     a descriptor per processor
 * Fails:    without these files, as in most virtual machines, there are no rows
 * Why once a second: some drivers must wake a processor to read its frequency
 */
#include <stdlib.h>
#include <unistd.h>

#include "collect/counter/sensors.h"
#include "collect/system/formats.h"
#include "collect/system/sources.h"

#define FOLDER "/sys/devices/system/cpu"

enum { FREQUENCY, MOST };
static const struct metric metrics[] = {
	[FREQUENCY] = {"cpu.frequency", "Hz",
		       "clock frequency of one CPU when it was read (scaling_cur_freq)",
		       .limit = LIMIT_VALUE, .limit_value = MOST},
	[MOST] = {NULL},
};

static void meet_processor(struct source_state *state, const struct tick *tick, const char *entry)
{
	int fd = tick_open(tick, "%s/%s/cpufreq/scaling_cur_freq", FOLDER, entry);

	/* The folders "cpufreq" and "cpuidle" lack the file, so they are skipped. */
	if (fd >= 0)
		sensors_add(state, fd, entry,
			    sensor_number(tick, FOLDER, entry, "cpufreq/cpuinfo_max_freq"));
}

static bool open_processors(struct source_state *state, const struct tick *tick)
{
	return sensors_list(state, tick, FOLDER, "cpu", meet_processor);
}

static void read_processors(struct source_state *state, struct tick *tick)
{
	const struct sensors *sensors = state->own;

	metric_instances_begin_round(&state->instances);
	for (size_t i = 0; i < sensors->count; i++) {
		const struct sensor *sensor = &sensors->all[i];
		uint64_t values[MAX_METRICS] = {[MOST] = sensor->number * 1000}, valid, khz;
		long length = tick_read(tick, sensor->fd);
		uint64_t cpu = strtoul(sensor->name + strlen("cpu"), NULL, 10);
		struct metric_instance *instance;
		bool is_new;

		valid = length > 0 ? number_parse(tick->text, (size_t)length, &khz) : 0;
		if (valid && __builtin_mul_overflow(khz, (uint64_t)1000, &values[FREQUENCY]))
			valid = 0;
		instance = metric_instances_numbered(&state->instances, cpu + 1, &is_new);
		if (!instance)
			continue;
		instance->of.cpu = (uint32_t)cpu + 1;
		metric_instance_sample(&state->instances, instance, tick->time_ns, values,
				       valid | 1u << MOST);
	}
}

const struct source cpufreq_source = {
	.name = "frequency",
	.file = FOLDER "/cpu*/cpufreq",
	SOURCE_METRICS(metrics),
	.group = GROUP_SLOW,
	.max_instances = MAX_SENSORS,
	.own_bytes = sizeof(struct sensors),
	.open = open_processors,
	.read = read_processors,
	.close = sensors_close,
};
