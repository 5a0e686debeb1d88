/* SPDX-License-Identifier: MIT
 *
 * collect/counter/sensors.c - files of /sys with one number each, for sensors that are listed once
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     a folder
 * Owns:     descriptors of the files
 * Fails:    files that cannot be opened are left out; state->why is set if rights are missing
 * Why:      Sensors are listed once, because no sensor appears or disappears during a recording,
 *           and listing a folder allocates memory
 */
#include "collect/counter/sensors.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/counter/scan.h"

bool sensors_list(struct source_state *state, const struct tick *tick, const char *folder,
		  const char *prefix,
		  void (*meet)(struct source_state *state, const struct tick *tick,
			       const char *entry))
{
	struct dirent **entries = NULL;
	char path[512];
	int count;

	snprintf(path, sizeof(path), "%s%s", tick->root, folder);
	count = scandir(path, &entries, NULL, versionsort);
	for (int i = 0; i < count; i++) {
		if (strncmp(entries[i]->d_name, prefix, strlen(prefix)) == 0)
			meet(state, tick, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return ((struct sensors *)state->own)->count != 0;
}

void sensors_add(struct source_state *state, int fd, const char *name, uint64_t number)
{
	struct sensors *sensors = state->own;
	struct sensor *sensor;

	if (sensors->count == MAX_SENSORS ||
	    array_grow(sensors->all, sensors->capacity, sensors->count + 1)) {
		state->why = "there are more than 1024 sensors of one kind; the others are absent";
		close(fd);
		return;
	}
	sensor = &sensors->all[sensors->count++];
	*sensor = (struct sensor){.fd = fd, .number = number};
	snprintf(sensor->name, sizeof(sensor->name), "%s", name);
}

void sensor_text(const struct tick *tick, const char *folder, const char *entry, const char *file,
		 char *text, size_t size)
{
	int fd = tick_open(tick, "%s/%s/%s", folder, entry, file);
	ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);

	text[got > 0 ? got : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}

uint64_t sensor_number(const struct tick *tick, const char *folder, const char *entry,
		       const char *file)
{
	uint64_t number = 0;
	char text[64];

	sensor_text(tick, folder, entry, file, text, sizeof(text));
	number_parse(text, strlen(text), &number);
	return number;
}

void sensors_read(struct source_state *state, struct tick *tick)
{
	const struct sensors *sensors = state->own;

	metric_instances_begin_round(&state->instances);
	for (size_t i = 0; i < sensors->count; i++) {
		const struct sensor *sensor = &sensors->all[i];
		uint64_t values[MAX_METRICS] = {0}, valid = 0;
		struct metric_instance *instance;
		bool is_new;

		if (tick_read(tick, sensor->fd) > 0)
			valid = source_values(state, tick, i, values);
		instance = metric_instances_named(&state->instances, sensor->name,
						  strlen(sensor->name), &is_new);
		if (instance)
			metric_instance_sample(&state->instances, instance, tick->time_ns, values,
					       valid);
	}
}

void sensors_close(struct source_state *state)
{
	struct sensors *sensors = state->own;

	for (size_t i = 0; i < sensors->count; i++)
		close(sensors->all[i].fd);
	free(sensors->all);
}

uint64_t number_parse(const char *text, size_t length, uint64_t *values)
{
	struct scan rest = scan_of(text, length);

	return scan_u64(&rest, values);
}
