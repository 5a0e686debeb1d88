/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/devices.c - finds the same device in several recordings
 *
 * Runs in:  our own process
 * Gets:     the devices of all runs
 * Gives:    one list of devices, and for each run its indices in it
 * Owns:     the list and the map
 * Fails:    -ENOMEM
 * Why three steps: a run on the same machine has the same UUID, one on a machine of the same type
 * the same name, and one on another type only the same number
 */
#include "analyze/compare/devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum device_step { STEP_KEY, STEP_NAME, STEP_NUMBER, STEPS };

struct known_device {
	const struct side_device *device; /* in the run that added it */
	size_t number;                    /* in that run */
	bool is_taken;                    /* a device of the current run is it */
};

struct device_finder {
	struct comparison *comparison;
	struct known_device *known; /* by index of comparison.devices */
};

static const struct compare_side *run_at(const struct comparison *comparison, size_t run)
{
	return run < comparison->base.count
		       ? comparison->base.runs[run]
		       : comparison->changed.runs[run - comparison->base.count];
}

static bool is_device(const struct known_device *known, const struct side_device *device,
		      size_t number, enum device_step step)
{
	if (step == STEP_KEY)
		return *device->key && strcmp(known->device->key, device->key) == 0;
	if (step == STEP_NAME)
		return strcmp(known->device->name, device->name) == 0;
	return known->number == number;
}

static void find_known(struct device_finder *finder, const struct compare_side *side,
		       enum device_step step, uint32_t *map)
{
	for (size_t i = 0; i < side->devices_count; i++)
		for (size_t k = 0;
		     k < finder->comparison->devices_count && map[i] == SIDE_NO_DEVICE; k++)
			if (!finder->known[k].is_taken &&
			    is_device(&finder->known[k], &side->devices[i], i, step)) {
				finder->known[k].is_taken = true;
				map[i] = (uint32_t)k;
			}
}

static void add_new(struct device_finder *finder, const struct compare_side *side, uint32_t *map)
{
	for (size_t i = 0; i < side->devices_count; i++) {
		const size_t added = finder->comparison->devices_count;

		if (map[i] != SIDE_NO_DEVICE)
			continue;
		finder->known[added] = (struct known_device){&side->devices[i], i, true};
		map[i] = (uint32_t)added;
		finder->comparison->devices_count++;
	}
}

static void add_sums(struct comparison_device *sum, const struct side_device *device, bool is_base)
{
	if (is_base) {
		if (!sum->base_name)
			sum->base_name = device->name;
		sum->base_wall_ns += device->wall_ns;
		sum->base_busy_ns += device->busy_ns;
		sum->base_idle_ns += device->idle_ns;
	} else {
		if (!sum->name)
			sum->name = device->name;
		sum->changed_wall_ns += device->wall_ns;
		sum->changed_busy_ns += device->busy_ns;
		sum->changed_idle_ns += device->idle_ns;
	}
}

static int map_run(struct device_finder *finder, size_t run, uint32_t **ret_map)
{
	struct comparison *comparison = finder->comparison;
	const struct compare_side *side = run_at(comparison, run);
	uint32_t *map = malloc((side->devices_count + 1) * sizeof(*map));

	if (!map)
		return -ENOMEM;
	for (size_t i = 0; i <= side->devices_count; i++)
		map[i] = SIDE_NO_DEVICE;
	for (size_t i = 0; i < comparison->devices_count; i++)
		finder->known[i].is_taken = false;
	for (unsigned int step = 0; step < STEPS; step++)
		find_known(finder, side, (enum device_step)step, map);
	add_new(finder, side, map);
	for (size_t i = 0; i < side->devices_count; i++)
		add_sums(&comparison->devices[map[i]], &side->devices[i],
			 run < comparison->base.count);
	*ret_map = map;
	return 0;
}

int device_map_make(struct comparison *comparison, struct device_map *ret_map)
{
	const size_t runs = comparison->base.count + comparison->changed.count;
	struct device_finder finder = {.comparison = comparison};
	size_t count = 1;
	int error = 0;

	for (size_t i = 0; i < runs; i++)
		count += run_at(comparison, i)->devices_count;
	comparison->devices = calloc(count, sizeof(*comparison->devices));
	finder.known = calloc(count, sizeof(*finder.known));
	*ret_map =
		(struct device_map){.of_run = calloc(runs, sizeof(*ret_map->of_run)), .runs = runs};
	if (!comparison->devices || !finder.known || !ret_map->of_run)
		error = -ENOMEM;
	for (size_t i = 0; i < runs && !error; i++)
		error = map_run(&finder, i, &ret_map->of_run[i]);
	free(finder.known);
	if (error)
		device_map_fini(ret_map);
	return error;
}

void device_map_fini(struct device_map *map)
{
	if (!map)
		return;
	for (size_t i = 0; map->of_run && i < map->runs; i++)
		free(map->of_run[i]);
	free(map->of_run);
	map->of_run = NULL;
}
